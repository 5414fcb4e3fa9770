"""Archives wherever data files are: in a repository, behind a URL, in a mixed folder."""

import io
import tarfile
import zipfile

import pytest

from gristmill.errors import DataFilesNotFoundError, DatasetGenerationError, UnsafePathError
from gristmill.load import load_dataset


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("_", "/", 1) + ".jsonl", data)
    return out.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture
def files():
    return {
        "data/train.zip": zipped(deep_a=b'{"x": 1}\n', deep_b=b'{"x": 2}\n'),
        "data/test.tar.gz": tarred("c.jsonl", b'{"x": 3}\n'),
    }


def test_in_a_repository(online, files):
    online(files)
    loaded = load_dataset("org/data")
    assert {name: split["x"][:] for name, split in loaded.items()} == {"train": [1, 2], "test": [3]}
    origins = loaded["train"].origins().to_pylist()
    assert [origin["file"] for origin in origins] == [
        "zip://deep/a.jsonl::data/train.zip",
        "zip://deep/b.jsonl::data/train.zip",
    ]


def test_in_a_repository_as_a_stream(online, files):
    online(files)
    stream = load_dataset("org/data", split="train", streaming=True)
    assert [row["x"] for row in stream] == [1, 2]


def test_beside_data_files_they_are_something_else(tmp_path, files):
    (tmp_path / "images.zip").write_bytes(files["data/train.zip"])
    (tmp_path / "rows.jsonl").write_bytes(b'{"x": 9}\n')
    assert load_dataset(str(tmp_path), split="train")["x"][:] == [9]


def test_named_with_a_format(tmp_path, files):
    (tmp_path / "packed").write_bytes(files["data/train.zip"])
    assert load_dataset("json", data_files=str(tmp_path / "packed"), split="train")["x"][:] == [1, 2]


def test_damaged_and_hostile_ones_are_named(tmp_path, files):
    data = bytearray(files["data/test.tar.gz"])
    (tmp_path / "a.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DatasetGenerationError, match=r"a\.tar\.gz"):
        load_dataset("json", data_files=str(tmp_path / "a.tar.gz"))
    (tmp_path / "b.tar.gz").write_bytes(tarred("../evil.jsonl", b"{}"))
    with pytest.raises(UnsafePathError, match=r"b\.tar\.gz"):
        load_dataset("json", data_files=str(tmp_path / "b.tar.gz"))
    (tmp_path / "c.tar.gz").write_bytes(tarred("photo.png", b"not rows"))
    with pytest.raises(DataFilesNotFoundError, match=r"c\.tar\.gz|\.gz"):
        load_dataset(str(tmp_path / "c.tar.gz"))
