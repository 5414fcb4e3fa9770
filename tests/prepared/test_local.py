import os

import pytest

from gristmill.errors import DataFilesNotFoundError, FileMissingError
from gristmill.prepared.local import expand_local, list_folder, local_file


@pytest.fixture
def folder(tmp_path):
    for name in (
        "[raw] {x}/run [1]/rows.json",
        "[raw] {x}/run [1]/part-2.csv",
        "[raw] {x}/run [1]/part-10.csv",
        ".work/train/rows.jsonl",
        ".work/.inner/x.jsonl",
        "data/__cache__/x.csv",
        "data/a.csv",
        "data/deep/b.csv",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def names(paths, folder):
    return [path.relative_to(folder).as_posix() for path in paths]


def test_listing_passes_over_hidden_names(folder):
    assert list_folder(folder) == [
        "[raw] {x}/run [1]/part-10.csv", "[raw] {x}/run [1]/part-2.csv", "[raw] {x}/run [1]/rows.json",
        "data/a.csv", "data/deep/b.csv",
    ]  # fmt: skip
    assert list_folder(folder / ".work") == ["train/rows.jsonl"]
    with pytest.raises(FileMissingError):
        list_folder(folder / "none")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("[raw] {x}/run [1]/rows.json", ["[raw] {x}/run [1]/rows.json"]),
        ("[raw] {x}/run [1]/part-*.csv", ["[raw] {x}/run [1]/part-2.csv", "[raw] {x}/run [1]/part-10.csv"]),
        (".work/train/rows.jsonl", [".work/train/rows.jsonl"]),
        (".work/train/*.jsonl", [".work/train/rows.jsonl"]),
        (".work/**", [".work/train/rows.jsonl"]),
        (".work/.*/*.jsonl", [".work/.inner/x.jsonl"]),
        ("data/*.csv", ["data/a.csv"]),
        ("data/**/*.csv", ["data/a.csv", "data/deep/b.csv"]),
        ("data/*/*.csv", ["data/deep/b.csv"]),
        ("data", ["data/a.csv", "data/deep/b.csv"]),
        ("data/../data/a.csv", ["data/../data/a.csv"]),
        ("d{ata,one}/a.csv", ["data/a.csv"]),
    ],
)
def test_patterns(folder, pattern, found, monkeypatch):
    assert names(expand_local(str(folder / pattern)), folder) == found
    monkeypatch.chdir(folder)
    assert [str(path) for path in expand_local(pattern)] == found
    assert names(expand_local(pattern, folder), folder) == found


def test_nothing_found(folder):
    with pytest.raises(DataFilesNotFoundError, match=r'has no "b.csv"\. Did you mean "a.csv"'):
        expand_local(str(folder / "data/b.csv"))
    with pytest.raises(DataFilesNotFoundError, match=r'no data file for the pattern "\*.json"'):
        expand_local(str(folder / "data/*.json"))
    with pytest.raises(DataFilesNotFoundError, match=r'"dta/\*.json"'):
        expand_local(str(folder / "dta/*.json"))


def test_identity_changes_with_the_file(folder):
    path = folder / "data/a.csv"
    before = local_file(path)
    assert before == local_file(path)
    path.write_text("xy")
    os.utime(path, ns=(1, 1))
    assert local_file(path).identity != before.identity
    with pytest.raises(FileMissingError):
        local_file(folder / "none")
