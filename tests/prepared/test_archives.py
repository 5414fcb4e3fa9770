import tarfile
import zipfile
from pathlib import Path

import pytest

import gristmill
from gristmill import config
from gristmill.errors import DataFilesNotFoundError, FileFormatError
from gristmill.prepared.archives import enter_archives, format_of_members, unpack_archives
from gristmill.prepared.local import local_file
from gristmill.prepared.source import SplitSource, fetch_each

FILES = {
    "data/10.csv": "a\n3\n",
    "data/2.csv": "a\n2\n",
    "README.md": "notes",
    "__MACOSX/data/2.csv": "junk",
    ".hidden.csv": "junk",
}


def source(*paths: Path, format: str = "csv") -> SplitSource:
    files = tuple(map(local_file, paths))
    return SplitSource("d", "d", "d", None, "default", "train", format, files)


@pytest.fixture
def archive(tmp_path) -> Path:
    path = tmp_path / "train.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in FILES.items():
            made.writestr(name, text)
    return path


def test_data_files_inside_stand_for_the_archive_in_natural_order(archive, tmp_path):
    (tmp_path / "b.csv").write_text("a\n1\n")
    split = source(tmp_path / "b.csv", archive)
    unpacked, paths = unpack_archives(split, [tmp_path / "b.csv", archive], tmp_path / "out")
    assert [path.read_text() for path in paths] == ["a\n1\n", "a\n2\n", "a\n3\n"]
    assert [file.name for file in unpacked.files] == [
        str(tmp_path / "b.csv"),
        f"zip://data/2.csv::{archive}",
        f"zip://data/10.csv::{archive}",
    ]
    assert len({file.identity for file in unpacked.files}) == 3
    assert format_of_members(split.files[1], fetch_each) == "csv"


def test_what_is_extracted_is_used_again(archive, tmp_path):
    split = source(archive)
    _, [first, _] = unpack_archives(split, [archive], tmp_path / "out")
    first.write_text("seen")
    _, [again, _] = unpack_archives(split, [archive], tmp_path / "out")
    assert again.read_text() == "seen"


def test_splits_without_archives_are_left_alone(tmp_path):
    (tmp_path / "b.csv").write_text("a\n1\n")
    split = source(tmp_path / "b.csv")
    same, paths = unpack_archives(split, [tmp_path / "b.csv"], tmp_path / "out")
    assert same is split
    assert paths == [tmp_path / "b.csv"]
    assert not (tmp_path / "out").exists()


def test_files_of_no_known_suffix_are_read_as_the_format_asked_for(tmp_path):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as made:
        (tmp_path / "words").write_text("one\n")
        made.add(tmp_path / "words", "words")
    split = source(tmp_path / "a.tgz", format="text")
    unpacked, [path] = unpack_archives(split, [tmp_path / "a.tgz"], tmp_path / "out")
    assert path.read_text() == "one\n"
    assert unpacked.files[0].name == f"tar://words::{tmp_path / 'a.tgz'}"


def test_archives_without_files_and_damaged_ones_are_named(tmp_path):
    zipfile.ZipFile(tmp_path / "a.zip", "w").close()
    with pytest.raises(DataFilesNotFoundError, match=r"a\.zip holds no data files"):
        unpack_archives(source(tmp_path / "a.zip"), [tmp_path / "a.zip"], tmp_path / "out")
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FileFormatError, match=r"b\.zip"):
        unpack_archives(source(tmp_path / "b.zip"), [tmp_path / "b.zip"], tmp_path / "out")


@pytest.mark.parametrize("blank", [b"", bytes(10_240)])
@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_what_is_called_an_archive_and_holds_nothing_is_no_empty_data_file(blank, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(blank)
    with pytest.raises(FileFormatError, match=rf"{name}: is no zip, tar or 7z archive"):
        unpack_archives(source(path), [path], tmp_path / "out")


def test_an_archive_in_an_archive_is_named_by_a_chain(archive, tmp_path):
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as made:
        made.write(archive, "inner/train.zip")
    with pytest.raises(DataFilesNotFoundError, match="holds an archive") as caught:
        unpack_archives(source(outer), [outer], tmp_path / "out")
    chain = str(caught.value).split('data_files="')[1].partition('"')[0]
    with config.override(EXTRACTED_DATASETS_PATH=tmp_path / "extracted"):
        loaded = gristmill.load_dataset(
            "csv", data_files=chain.replace("*", "data/*"), split="train", cache_dir=str(tmp_path)
        )
    assert loaded["a"][:] == [2, 3]


def test_archives_in_a_folder_are_loaded_as_the_splits_they_are_named_after(archive, tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    archive.rename(folder / "train.zip")
    with tarfile.open(folder / "test.tar.xz", "w:xz") as made:
        (tmp_path / "t.csv").write_text("a\n4\n")
        made.add(tmp_path / "t.csv", "deep/t.csv")
    loaded = gristmill.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {name: split["a"][:] for name, split in loaded.items()} == {"train": [2, 3], "test": [4]}
    assert not list((tmp_path / "cache").rglob("*extracted*"))


def test_archives_are_streamed_from_the_folder_of_extracted_ones(archive, tmp_path):
    with config.override(EXTRACTED_DATASETS_PATH=tmp_path / "extracted"):
        for _ in range(2):
            stream = gristmill.load_dataset("csv", data_files=str(archive), split="train", streaming=True)
            assert [row["a"] for row in stream] == [2, 3]
    assert len(list((tmp_path / "extracted").iterdir())) == 1


def test_archives_are_data_files_of_any_format(archive, tmp_path):
    loaded = gristmill.load_dataset("text", data_files=str(archive), cache_dir=str(tmp_path), split="train")
    assert loaded["text"][:] == ["notes", "a", "2", "a", "3"]
    one = gristmill.load_dataset(str(archive), cache_dir=str(tmp_path), split="train")
    assert one["a"][:] == [2, 3]


def test_formats_that_read_archives_get_them(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("gristmill.formats.csv.CsvFormat.reads_archives", True)
    split = source(archive)
    assert unpack_archives(split, [archive], tmp_path / "out") == (split, [archive])
    assert enter_archives(split) is split
