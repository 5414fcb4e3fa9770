"""Archives wherever data files are: in a repository, behind a URL, in a mixed folder."""

import gzip
import io
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import (
    DataFilesNotFoundError,
    DatasetGenerationError,
    FileFormatError,
    UnsafePathError,
)
from gristmill.load import load_dataset
from tests.files.test_archive_repeats import tar_of, zip_of
from tests.files.test_archives import MAKERS
from tests.files.test_compression import COMPRESS


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


def as_bytes(kind: str) -> bytes:
    rows = b'{"x": 1}\n'
    return {
        "zip": zipped(deep_a=rows),
        "tar": gzip.decompress(tarred("a.jsonl", rows)),
        "tar.gz": tarred("a.jsonl", rows),
        "gz": gzip.compress(rows),
        "text": rows,
        "page": b"<!DOCTYPE html><html>Sign in</html>",
        "nothing": b"",
    }[kind]


PACKED = ["zip", "tar", "tgz", "tar.gz", "7z", "gz", "zst", "xz", "bz2", "lz4", "jsonl.gz", "jsonl.zip"]
HELD = {
    "text": "it holds text that begins with '{\"x\": 1}'",
    "page": "it holds a web page, as servers send it instead of a file",
    "nothing": "it holds nothing",
}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("content", HELD)
@pytest.mark.parametrize("suffix", PACKED)
def test_what_is_called_packed_and_is_not_is_an_error(tmp_path, suffix, content, streaming):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(as_bytes(content))
    is_archive = any(suffix.endswith(end) for end in ("zip", "tar", "tgz", "tar.gz", "7z"))
    for format in ("json", "text", "csv"):
        with pytest.raises((FileFormatError, DatasetGenerationError)) as caught:
            list(load_dataset(format, data_files=str(path), split="train", streaming=streaming))
        ending = suffix.removeprefix("jsonl")
        name = f"{path}: is no zip, tar or 7z archive" if is_archive else f"{path}: is not compressed"
        said = f"{name}, though its name ends in .{ending.lstrip('.')}: {HELD[content]}. Fetch it again"
        assert said in str(caught.value)


def test_in_a_folder_too(tmp_path):
    for suffix in ("zip", "tar.gz", "jsonl.gz"):
        folder = tmp_path / suffix
        folder.mkdir()
        (folder / f"train.{suffix}").write_bytes(as_bytes("page"))
        for streaming in (False, True):
            with pytest.raises((FileFormatError, DatasetGenerationError), match="it holds a web page"):
                list(load_dataset(str(folder), split="train", streaming=streaming))


def test_and_inside_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in.jsonl.gz", b'{"x": 1}\n')
    for streaming in (False, True):
        with pytest.raises(
            (FileFormatError, DatasetGenerationError), match=r"in\.jsonl\.gz.*is not compressed"
        ):
            list(load_dataset("json", data_files=str(tmp_path / "a.zip"), split="train", streaming=streaming))


def test_and_of_parquet(tmp_path):
    held = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), held)
    for name, data, said in [
        ("a.zip", held.getvalue(), "is no zip, tar or 7z archive, though its name ends in .zip: it holds a Parquet file"),
        ("a.parquet.gz", held.getvalue(), "is not compressed, though its name ends in .gz: it holds a Parquet file"),
        ("b.parquet.gz", gzip.compress(held.getvalue()), "it holds data compressed by gzip. Decompress it"),
        ("b.parquet", gzip.compress(held.getvalue()), "it holds data compressed by gzip. Decompress it"),
        ("c.parquet", held.getvalue()[:-9], "it is cut off or damaged"),
        ("d.parquet", b"<html>" + bytes(99), "it holds a web page"),
    ]:  # fmt: skip
        (tmp_path / name).write_bytes(data)
        for streaming in (False, True):
            with pytest.raises((FileFormatError, DatasetGenerationError)) as caught:
                list(
                    load_dataset(
                        "parquet", data_files=str(tmp_path / name), split="train", streaming=streaming
                    )
                )
            assert f"{tmp_path / name}: " in str(caught.value)
            assert said in str(caught.value)


@pytest.mark.parametrize("streaming", [False, True])
def test_packed_files_are_known_by_content(tmp_path, streaming):
    """By whatever name, prepared and streamed alike."""
    for kind in ("zip", "tar", "tar.gz", "gz"):
        for name in ("a", "a.bin", "a.gz", "a.zip", "a.tar", "a.7z"):
            path = tmp_path / f"{kind}-{name}"
            path.write_bytes(as_bytes(kind))
            loaded = load_dataset("json", data_files=str(path), split="train", streaming=streaming)
            assert list(loaded) == [{"x": 1}], path.name
    (tmp_path / "a.jsonl").write_bytes(as_bytes("gz"))
    loaded = load_dataset("json", data_files=str(tmp_path / "a.jsonl"), split="train", streaming=streaming)
    assert list(loaded) == [{"x": 1}]


@pytest.mark.parametrize("kind", COMPRESS)
def test_every_compression_is_known_by_content(tmp_path, kind):
    (tmp_path / "a").write_bytes(COMPRESS[kind](b'{"x": 1}\n' * 3))
    for streaming in (False, True):
        loaded = load_dataset("json", data_files=str(tmp_path / "a"), split="train", streaming=streaming)
        assert list(loaded) == [{"x": 1}] * 3


@pytest.mark.parametrize("kind", MAKERS)
def test_every_archive_is_known_by_content(tmp_path, kind):
    """Its data files are the rows in natural order, whatever the archive is called and whatever lies beside them."""
    files = {"d/b10.jsonl": b'{"x": 3}\n', "d/b9.jsonl": b'{"x": 1}\n{"x": 2}\n', "README": b"words"}
    MAKERS[kind](tmp_path / "a", files)
    for streaming in (False, True):
        loaded = load_dataset("json", data_files=str(tmp_path / "a"), split="train", streaming=streaming)
        assert list(loaded) == [{"x": 1}, {"x": 2}, {"x": 3}]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_called_a_data_file_is_no_rows(tmp_path, kind, streaming):
    for name, format in [
        ("a.jsonl", "json"),
        ("a.csv", "csv"),
        ("a.txt", "text"),
        ("a.xml", "xml"),
        ("a.csv.gz", "csv"),
    ]:
        (tmp_path / name).write_bytes(as_bytes(kind))
        said = (
            f"is a {kind[:3]} archive, which its name does not say. Give it a name that ends in .{kind[:3]}"
        )
        with pytest.raises((FileFormatError, DatasetGenerationError)) as caught:
            list(load_dataset(format, data_files=str(tmp_path / name), split="train", streaming=streaming))
        assert f"{tmp_path / name}: {said}" in str(caught.value)


@pytest.mark.parametrize("streaming", [False, True])
def test_on_a_hub_too(online, streaming):
    held = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), held)
    online(
        {"a.zip": b"<html>", "b.csv.gz": b"a,b\n", "c.parquet.gz": held.getvalue(), "d.tgz": as_bytes("zip")}
    )
    for name, said in [
        ("a.zip", "a.zip: is no zip, tar or 7z archive, though its name ends in .zip: it holds a web page"),
        ("b.csv.gz", "b.csv.gz: is not compressed, though its name ends in .gz: it holds text"),
        ("c.parquet.gz", "c.parquet.gz: is not compressed, though its name ends in .gz: it holds a Parquet"),
    ]:  # fmt: skip
        with pytest.raises((FileFormatError, DatasetGenerationError)) as caught:
            list(load_dataset("org/data", data_files=name, split="train", streaming=streaming))
        assert said in str(caught.value)
    loaded = load_dataset("org/data", data_files="d.tgz", split="train", streaming=streaming)
    assert list(loaded) == [{"x": 1}]


def twice(kind: str) -> bytes:
    """An archive with two files of one name."""
    contents = [("a.jsonl", b'{"x": 1}\n'), ("b.jsonl", b'{"x": 2}\n'), ("a.jsonl", b'{"x": 3}\n')]
    return zip_of(*contents) if kind == "zip" else tar_of(*contents, mode="w:gz" if kind == "tgz" else "w")


@pytest.mark.parametrize("where", ["here", "hub"])
@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_two_files_of_one_name(tmp_path, online, warnings_said, kind, where):
    """Of a tar the last counts, as for any program; what a zip means by it nobody knows. Prepared and streamed alike."""
    name = f"train.{kind}"
    if where == "hub":
        online({name: twice(kind)})
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_bytes(twice(kind))
    place = "org/data" if where == "hub" else str(tmp_path / "data")
    for streaming in (False, True):
        if kind == "zip":
            with pytest.raises(
                (FileFormatError, DatasetGenerationError), match=r'two files of the name "a\.jsonl"'
            ):
                list(load_dataset(place, split="train", streaming=streaming))
            continue
        rows = list(load_dataset(place, split="train", streaming=streaming))
        assert rows == [{"x": 3}, {"x": 2}]
        assert any("the last one counts, as in any tar" in said for said in warnings_said())
