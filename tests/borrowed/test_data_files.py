"""Lists of data files and of patterns."""

import pickle

import pytest
from gristmill.data_files import (
    DataFilesDict,
    DataFilesList,
    DataFilesPatternsDict,
    DataFilesPatternsList,
    EmptyDatasetError,
    contains_wildcards,
    get_data_patterns,
    resolve_pattern,
    sanitize_patterns,
)


@pytest.fixture
def folder(tmp_path):
    for name in ("train-a.csv", "train-b.csv", "test.csv", "README.md", ".hidden/x.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a\n1\n")
    return tmp_path


def test_files_of_a_pattern(folder):
    base = str(folder)
    assert resolve_pattern("train*", base) == [f"{base}/train-a.csv", f"{base}/train-b.csv"]
    assert resolve_pattern("**", base, allowed_extensions=[".csv"]) == [
        f"{base}/{name}" for name in ("test.csv", "train-a.csv", "train-b.csv")
    ]
    assert resolve_pattern(f"{base}/test.csv", "") == [f"{base}/test.csv"]
    for pattern, allowed in (("nothing*", None), ("train*", [".json"])):
        with pytest.raises(EmptyDatasetError, match=r"train|nothing"):
            resolve_pattern(pattern, base, allowed)
    assert contains_wildcards("a*")
    assert not contains_wildcards("a")


def test_splits_by_name_give_the_patterns_of_their_files(folder):
    found = get_data_patterns(str(folder))
    assert found == {"train": ["train-a.csv", "train-b.csv"], "test": ["test.csv"]}
    files = DataFilesDict.from_patterns(found, base_path=str(folder))
    assert files["test"] == [f"{folder}/test.csv"]
    with pytest.raises(EmptyDatasetError):
        get_data_patterns(str(folder / "nowhere"))


def test_lists_keep_what_files_are_known_by(folder):
    files = DataFilesList.from_patterns(["test.csv"], base_path=str(folder))
    before = files.origin_metadata
    assert len(before) == 1
    assert pickle.loads(pickle.dumps(files)).origin_metadata == before
    (folder / "test.csv").write_text("another text")
    assert DataFilesList.from_patterns(["test.csv"], base_path=str(folder)).origin_metadata != before
    both = files + DataFilesList.from_patterns(["train*"], base_path=str(folder))
    assert len(both) == len(both.origin_metadata) == 3
    assert both.filter(file_names=["test.csv"]) == files
    assert both.filter(extensions=[".json"]) == []
    assert DataFilesDict({"train": both}).filter(extensions=[".json"]) == {}


def test_patterns_by_split(folder):
    patterns = DataFilesPatternsDict.from_patterns(sanitize_patterns({"test": "t*", "train": ["train-a*"]}))
    assert patterns == {"test": ["t*"], "train": ["train-a*"]}
    found = patterns.resolve(str(folder))
    assert isinstance(found, DataFilesDict)
    assert [len(files) for files in found.values()] == [3, 1]
    only = patterns.filter_extensions([".csv"])
    assert only["test"].allowed_extensions == [[".csv"]]
    assert only.resolve(str(folder)) == found
    joined = patterns["test"] + DataFilesPatternsList.from_patterns(["x"], [".json"])
    assert joined.allowed_extensions == [None, [".json"]]
    assert pickle.loads(pickle.dumps(joined)).allowed_extensions == [None, [".json"]]
