"""What a builder prepares, and rows of a generator, on a disk that fails or is deleted: at each system call in turn."""

import errno

import pytest

from gristmill import Dataset, DatasetInfo, Features, GeneratorBasedBuilder, SplitGenerator, Value
from gristmill.errors import DiskFullError, FileError, FileMissingError, GristmillError
from tests.disk_faults import deleted, failing, read_only

ROWS = [1, 2, 3]


class Numbers(GeneratorBasedBuilder):
    """Three rows."""

    def _info(self):
        return DatasetInfo(features=Features({"a": Value("int64")}))

    def _split_generators(self, dl_manager):
        return [SplitGenerator("train", {})]

    def _generate_examples(self):
        yield from ((row, {"a": row}) for row in ROWS)


def built(cache):
    builder = Numbers(cache_dir=str(cache))
    builder.download_and_prepare()
    return builder.as_dataset("train")["a"][:]


def generated(cache):
    return Dataset.from_generator(lambda: ({"a": row} for row in ROWS), cache_dir=str(cache))["a"][:]


@pytest.mark.parametrize("make", [built, generated])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EMFILE], ids=errno.errorcode.get)
def test_each_call_that_fails_is_told(tmp_path, make, number):
    rows = None
    for since in range(100):
        cache = tmp_path / f"cache{since}"
        with failing(cache, number, since=since, reads=number == errno.EMFILE) as calls:
            try:
                rows = make(cache)
            except GristmillError as caught:
                failure = caught
            else:
                break
        expected = DiskFullError if number == errno.ENOSPC else FileError
        assert isinstance(failure, expected), (since, calls[-1], failure)
        assert make(cache) == ROWS
    assert rows == ROWS
    assert since > 5


@pytest.mark.parametrize("make", [built, generated])
def test_a_cache_that_is_deleted_at_any_moment(tmp_path, make):
    """What a builder prepares is made again; a generator, which may give its rows once alone, is not asked again."""
    errors: list[FileError] = []
    for moment in range(1, 300):
        cache = tmp_path / f"cache{moment}"
        with deleted(cache, moment) as calls:
            try:
                assert make(cache) == ROWS
            except FileError as error:
                errors.append(error)
        assert make(cache) == ROWS, moment
        if len(calls) < moment:
            break
    assert moment > 10
    if make is built:  # gone before it is opened
        errors = [error for error in errors if not isinstance(error, FileMissingError)]
    assert bool(errors) == (make is generated), errors


def test_read_only(tmp_path):
    assert built(tmp_path / "full") == ROWS
    for name in ("full", "empty"):
        with read_only(tmp_path / name):
            if name == "full":
                assert built(tmp_path / name) == ROWS
            else:
                with pytest.raises(
                    FileError, match=r"The dataset test_disk_faults is not prepared in the cache .*cache_dir="
                ):
                    built(tmp_path / name)
