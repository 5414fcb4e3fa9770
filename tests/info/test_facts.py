import json

import pytest

from gristmill.errors import CardError, FileFormatError, FileMissingError
from gristmill.features import Features, Value
from gristmill.info import DatasetInfo
from gristmill.splits import SplitDict, SplitInfo


def full():
    return DatasetInfo(
        description="d",
        features=Features({"a": Value("int64")}),
        splits=SplitDict({"train": SplitInfo("train", 10, 3)}),
        version="1.2.0",
        download_size=7,
    )


def test_a_file_keeps_it(tmp_path):
    full().write_to_directory(str(tmp_path))
    plain = json.loads((tmp_path / "dataset_info.json").read_text())
    assert plain["features"] == {"a": {"dtype": "int64", "_type": "Value"}}
    assert plain["splits"]["train"] == {
        "name": "train",
        "num_bytes": 10,
        "num_examples": 3,
        "dataset_name": None,
    }
    assert DatasetInfo.from_directory(str(tmp_path)) == full()


def test_a_file_of_datasets_is_read():
    plain = {
        "description": "", "citation": "", "homepage": "", "license": None, "builder_name": "parquet",
        "features": {"a": {"dtype": "int64", "_type": "Value"}},
        "splits": {"train": {"name": "train", "num_bytes": 10, "num_examples": 3, "dataset_name": "x"}},
        "version": {"version_str": "0.0.0", "major": 0, "minor": 0, "patch": 0}, "later": 1,
    }  # fmt: skip
    info = DatasetInfo.from_dict(plain)
    assert (info.version, info.license, info.builder_name) == ("0.0.0", "", "parquet")
    assert info.features == {"a": Value("int64")}
    assert info.splits is not None
    assert info.splits["train"].num_examples == 3


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"features": 3}', '{"splits": [3]}', '{"features": {"a": {"_type": "Nope"}}}']
)
def test_files_that_are_not(tmp_path, text):
    (tmp_path / "dataset_info.json").write_text(text)
    with pytest.raises(FileFormatError, match="dataset_info"):
        DatasetInfo.from_directory(str(tmp_path))


def test_no_file(tmp_path):
    with pytest.raises(FileMissingError):
        DatasetInfo.from_directory(str(tmp_path))


def test_cards():
    yaml = full()._to_yaml_dict()
    assert yaml["features"] == [{"name": "a", "dtype": "int64"}]
    assert yaml["splits"] == [{"name": "train", "num_bytes": 10, "num_examples": 3}]
    again = DatasetInfo._from_yaml_dict(yaml)
    assert again.features == full().features
    with pytest.raises(CardError):
        DatasetInfo._from_yaml_dict({"splits": [3]})


def test_copies_and_updates():
    info, other = full(), DatasetInfo(description="e")
    assert info.copy() == info
    assert info.copy().features is not info.features
    many = DatasetInfo(
        post_processed={"a": [{"b": 1}]},
        download_checksums={"f": {"num_bytes": 1, "checksum": None}},
        splits=SplitDict({"train": SplitInfo("train", shard_lengths=[1, 2])}),
    )
    made = many.copy()
    assert made == many
    assert made.post_processed is not None
    assert made.download_checksums is not None
    assert made.splits is not None
    assert many.splits is not None
    assert many.download_checksums is not None
    made.post_processed["a"][0]["b"] = 2
    made.download_checksums["f"]["num_bytes"] = 2
    made.splits["train"].shard_lengths.append(3)
    assert many.post_processed == {"a": [{"b": 1}]}
    assert many.download_checksums["f"]["num_bytes"] == 1
    assert many.splits["train"].shard_lengths == [1, 2]
    info.update(other)
    assert (info.description, info.download_size) == ("e", 7)
