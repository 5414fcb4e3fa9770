import pytest

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits import Split, SplitDict, SplitInfo, SubSplitInfo


def test_splits_by_name():
    splits = SplitDict(dataset_name="d")
    splits.add(SplitInfo("train", 10, 3))
    splits.add(SplitInfo("test", 5, 2, shard_lengths=[1, 1]))
    assert splits.total_num_examples == 5
    assert splits[Split.TRAIN].dataset_name == "d"
    assert "shard_lengths" not in repr(splits["train"])
    again = SplitDict._from_yaml_list(splits._to_yaml_list())
    assert again["test"].num_examples == 2
    assert SplitDict.from_split_dict(splits.to_split_dict()) == splits
    assert splits.copy() == splits
    with pytest.raises(KeyError):
        splits["zz"]


def test_plain_dicts_with_unknown_keys_are_read():
    splits = SplitDict.from_split_dict({"train": {"num_examples": 3, "later": 1}})
    assert splits["train"] == SplitInfo("train", 0, 3)


def test_rows_of_splits():
    splits = SplitDict(dataset_name="d")
    splits.add(SplitInfo("train", 10, 30, shard_lengths=[10, 20]))
    splits.add(SplitInfo("test", 10, 4))
    part = splits["train[5:15]+test"]
    assert isinstance(part, SubSplitInfo)
    assert part.num_examples == 14
    assert part.file_instructions == [
        {"filename": "d-train-00000-of-00002.arrow", "skip": 5, "take": -1},
        {"filename": "d-train-00001-of-00002.arrow", "skip": 0, "take": 5},
        {"filename": "d-test.arrow", "skip": 0, "take": -1},
    ]
    assert splits["test"].file_instructions == part.file_instructions[2:]
    for odd in ("dev[:5]", "train[", ""):
        with pytest.raises(SplitNotFoundError):
            splits[odd]


def test_a_name_is_there_once():
    splits = SplitDict()
    splits.add(SplitInfo("train"))
    with pytest.raises(InvalidArgumentError, match="already"):
        splits.add(SplitInfo("train"))
    with pytest.raises(InvalidArgumentError, match='"test"'):
        splits["train"] = SplitInfo("test")
