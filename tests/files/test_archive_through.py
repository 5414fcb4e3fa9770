import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from gristmill.files.archive_through import open_through
from tests.files.test_archives import add
from tests.files.test_compression import COMPRESS

DATA = bytes(i * 7 % 251 for i in range(150_000))


def _archive() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        add(archive, "before", b"x" * 1000)
        add(archive, "data/a", DATA)
        add(archive, "after", b"y")
    return bytes(COMPRESS["gzip"](target.getvalue()))


ARCHIVE = _archive()


@given(st.lists(st.one_of(st.integers(0, 50_000), st.just(-1)), max_size=12))
def test_it_reads_what_any_file_reads(sizes):
    plain = io.BytesIO(DATA)
    with open_through(lambda: io.BytesIO(ARCHIVE), "data/a", "a.tgz") as file:
        for size in sizes:
            assert file.read(size) == plain.read(size)
        assert not file.seekable()
