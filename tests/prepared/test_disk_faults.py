"""The cache on a disk that is full, can't be written, or is deleted under the build: at each system call in turn."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

import pytest

from gristmill.errors import DiskFullError, FileError, GristmillError
from gristmill.load import load_dataset
from tests.disk_faults import deleted, failing, read_only, watched

ROWS = [1, 2, 3]
SAID = {
    errno.ENOSPC: (DiskFullError, r"No room left on the disk: could not .*MB are free at .*HF_DATASETS_CACHE.*cache_dir="),
    errno.EDQUOT: (DiskFullError, r"Your quota is used up: could not .*HF_DATASETS_CACHE.*cache_dir="),
    errno.EROFS: (FileError, r'^The split "train" of csv is not prepared in the cache .*Read-only file system.*cache_dir='),
    errno.EACCES: (FileError, r'^The split "train" of csv is not prepared in the cache .*Permission denied.*cache_dir='),
    errno.EMFILE: (FileError, r"too many files open.*ulimit -n"),
    errno.ENAMETOOLONG: (FileError, r"names of up to 255 bytes.*shorter"),
    errno.EIO: (FileError, r"Could not .*Input/output error"),
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, text in zip(paths, ["a\n1\n2\n", "a\n3\n"], strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def load(files: list[str], cache: Path, **options):
    return load_dataset("csv", data_files=files, split="train", cache_dir=str(cache), **options)


def left_over(cache: Path) -> list[str]:
    """Temporary files and locks."""
    return [path.name for path in cache.rglob("*") if path.name.endswith((".incomplete", ".lock", ".owner"))]


@pytest.mark.parametrize("number", SAID, ids=errno.errorcode.get)
def test_each_call_that_fails_is_told(tmp_path, files, number):
    error, said = SAID[number]
    opens = number == errno.EMFILE
    rows = None
    for since in range(100):
        cache = tmp_path / f"cache{since}"
        with failing(cache, number, since=since, reads=opens) as calls:
            try:
                rows = load(files, cache)["a"][:]
            except GristmillError as caught:
                failure = caught
            else:
                break
        assert type(failure) is error, (since, calls[-1])
        assert isinstance(failure, OSError)
        with pytest.raises(error, match=said):
            raise failure
        # To delete a folder takes an open file as well: then the next process deletes it.
        assert opens or not left_over(cache)
        assert load(files, cache)["a"][:] == ROWS
    assert rows == ROWS  # of the last time, when nothing was left to fail
    assert since > 10


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cache_that_is_deleted_at_any_moment_is_made_again(tmp_path, files, workers):
    for moment in range(1, 200):
        cache = tmp_path / f"cache{moment}"
        with deleted(cache, moment) as calls:
            assert load(files, cache, num_proc=workers)["a"][:] == ROWS, moment
        assert load(files, cache)["a"][:] == ROWS, moment
        assert not left_over(cache)
        if len(calls) < moment:
            break
    assert moment > 30


def test_a_cache_that_is_deleted_again_and_again_is_an_error(tmp_path, files):
    cache = tmp_path / "cache"

    def delete(call, _writes):
        if call == "os.replace":
            shutil.rmtree(cache, ignore_errors=True)

    with (
        watched(cache, delete),
        pytest.raises(
            FileError, match=r'was deleted, twice, while the split "train" of csv was prepared there'
        ),
    ):
        load(files, cache)
    assert load(files, cache)["a"][:] == ROWS


def test_read_only(tmp_path, files):
    """What was prepared loads; what was not says what to do."""
    cache = tmp_path / "cache"
    load(files, cache)
    before = sorted(path for path in cache.rglob("*"))
    with read_only(cache):
        prepared = load(files, cache)
        assert prepared["a"][:] == ROWS
        assert prepared.sort("a", reverse=True)["a"][:] == ROWS[::-1]
        assert prepared.map(lambda row: {"b": row["a"] + 1}, keep_in_memory=True)["b"][:] == [2, 3, 4]
        assert [row["a"] for row in load(files, cache, streaming=True)] == ROWS
        said = r'split "train" of csv is not prepared in the cache .*cache, which can\'t be written \(Read-only file system\)'
        for change in ({"download_mode": "reuse_cache_if_exists"}, {"quotechar": "'"}):
            with pytest.raises(FileError, match=said) as caught:
                load(files, cache, **change)
            for what in ("HF_DATASETS_CACHE", "cache_dir=", "streaming=True", "with the same arguments"):
                assert what in str(caught.value)
        with pytest.raises(FileError, match=r"Read-only file system.*keep_in_memory=True"):
            prepared.map(lambda row: {"b": row["a"] + 1})
    assert sorted(path for path in cache.rglob("*")) == before


def test_a_prepared_split_that_may_not_be_read_is_not_damaged(tmp_path, files, caplog):
    cache = tmp_path / "cache"
    load(files, cache)

    def refuse(call, writes):
        if call.endswith("open") and not writes:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with watched(cache, refuse), pytest.raises(FileError, match=r"Permission denied\. You may not read it"):
        load(files, cache)
    assert not [said for said in caplog.messages if "damaged" in said]


def test_a_disk_that_is_really_full(tmp_path, files):
    """Where a small disk can be made: with nothing in between that could hide what happens."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.system(f"mount -t tmpfs -o size=64k,nr_inodes=20 none {disk} 2>/dev/null") != 0:
        pytest.skip("only the superuser may mount; the tests above need no mount")
    try:
        (disk / "filler").write_bytes(b"x")
        with contextlib.suppress(OSError), (disk / "filler").open("ab") as filler:
            while True:
                filler.write(b"x" * 4096)
                filler.flush()
        with pytest.raises(DiskFullError, match=r"HF_DATASETS_CACHE"):
            load(files, disk / "cache")
        (disk / "filler").unlink()
        assert load(files, disk / "cache")["a"][:] == ROWS
        assert not left_over(disk)
    finally:
        os.system(f"umount -l {disk}")
