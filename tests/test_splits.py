import copy
import pickle

import pytest

from gristmill.splits import NamedSplit, Split, SplitDict, SplitInfo


def test_names_are_strings():
    assert Split.TRAIN == "train"
    assert {str(Split.TRAIN): 1, Split.TRAIN: 2} == {"train": 2}
    assert repr(Split("x")) == "NamedSplit('x')"
    assert f"{Split.TEST}" == "test"
    for made in (pickle.loads(pickle.dumps(Split.TEST)), copy.deepcopy(Split.TEST)):
        assert isinstance(made, NamedSplit)
        assert made == "test"


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
