import gzip
import io
import tarfile
import zipfile

import pytest

from gristmill import config
from tests.hub.faulty import FaultyHub


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


INSIDE = {"data/a.txt": b"one\n", "data/.hidden": b"x", "data/b.txt": b"two\n", "__MACOSX/c.txt": b"x"}


@pytest.fixture
def server(tmp_path):
    """A server with files, caches of the test's own, and that server as the only Hub."""
    files = {
        "a.txt": b"hello",
        "a.txt.gz": gzip.compress(b"hello"),
        "a.zip": zip_of(INSIDE),
        "a.tar.gz": tar_of(INSIDE),
        "data/train.csv": b"a\n1\n",
    }
    with (
        FaultyHub(files) as hub,
        config.override(
            HF_DATASETS_CACHE=tmp_path / "home/datasets",
            DOWNLOADED_DATASETS_PATH=tmp_path / "home/downloads",
            EXTRACTED_DATASETS_PATH=tmp_path / "home/downloads/extracted",
            HF_HUB_CACHE=tmp_path / "home/hub",
            HF_ENDPOINT=hub.url,
            HF_HUB_OFFLINE=False,
        ),
    ):
        yield hub
