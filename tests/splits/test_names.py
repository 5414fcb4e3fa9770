import copy
import pickle

import pytest

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits import NamedSplit, NamedSplitAll, Split, SplitBase, SplitDict, SplitInfo, percent


def test_names_are_strings():
    assert Split.TRAIN == "train"
    assert {str(Split.TRAIN): 1, Split.TRAIN: 2} == {"train": 2}
    assert repr(Split("x")) == "NamedSplit('x')"
    assert f"{Split.TEST}" == "test"
    assert isinstance(Split.TRAIN, SplitBase)
    assert Split.TRAIN + "-1" == "train-1"
    assert Split.TRAIN != "test"
    assert sorted([Split.TRAIN, Split.TEST]) == ["test", "train"]


@pytest.mark.parametrize("name", [Split.TEST, Split.ALL, NamedSplit("train[:5%]+test")])
def test_names_are_copied_and_pickled(name):
    for made in (pickle.loads(pickle.dumps(name)), copy.deepcopy(name)):
        assert type(made) is type(name)
        assert made == name


def test_all_is_a_name_of_its_own():
    assert isinstance(Split.ALL, NamedSplitAll)
    assert isinstance(Split("all"), NamedSplitAll)
    assert repr(Split.ALL) == "NamedSplitAll()"


@pytest.mark.parametrize("name", ["", "a b", "-x", "a/b", "tr\nain", "train\n", "a+", 5, None])
def test_what_is_no_name(name):
    with pytest.raises(InvalidArgumentError, match="split="):
        NamedSplit(name)


def specs(parts):
    return [[part.spec for part in one.parts] for one in parts]


def test_subsplits():
    assert specs([Split.TRAIN.subsplit(percent[:25])]) == [["train[:25%]"]]
    assert specs(Split.TRAIN.subsplit(k=3)) == [["train[0%:33%]"], ["train[33%:66%]"], ["train[66%:100%]"]]
    assert specs(Split.TRAIN.subsplit([1, 1, 2]))[1] == ["train[25%:50%]"]
    assert specs(Split.TRAIN.subsplit(weighted=[2, 2])) == specs(Split.TRAIN.subsplit(2))
    both = (Split.TRAIN + Split.TEST).subsplit(percent[-5:])
    assert specs([both]) == [["train[-5%:]", "test[-5%:]"]]
    assert specs([Split.ALL + both]) == [["all", "train[-5%:]", "test[-5%:]"]]
    assert both == (Split.TRAIN + Split.TEST).subsplit(slice(-5, None))
    assert len({both, Split.TRAIN.subsplit(percent[:1]), Split.TRAIN + Split.TEST}) == 3


@pytest.mark.parametrize(
    "arguments",
    [{}, {"k": 2, "percent": percent[:5]}, {"k": 0}, {"k": 101}, {"weighted": []}, {"weighted": [1, 0]},
     {"arg": "x"}, {"arg": slice(0, 5, 2)}, {"arg": slice(0, 500)}, {"arg": True}],
)  # fmt: skip
def test_subsplits_that_can_not_be(arguments):
    with pytest.raises(InvalidArgumentError):
        Split.TRAIN.subsplit(**arguments)
    with pytest.raises(InvalidArgumentError, match="cut again"):
        Split.TRAIN.subsplit(percent[:5]).subsplit(percent[:5])
    with pytest.raises(TypeError):
        Split.TRAIN.subsplit(percent[:5]) + 3


def test_splits_are_looked_up():
    splits = SplitDict(dataset_name="d")
    splits.add(SplitInfo("train", 10, 100))
    splits.add(SplitInfo("test", 10, 10))

    def found(split):
        instruction = split.get_read_instruction(splits)
        return [(s.split_info.name, s.slice_value) for s in instruction.get_list_sliced_split_info()]

    assert found(Split.TRAIN) == [("train", None)]
    assert found(Split.ALL) == [("train", None), ("test", None)]
    assert found(Split.TEST.subsplit(percent[:25])) == [("test", slice(None, 25))]
    with pytest.raises(SplitNotFoundError):
        found(Split.VALIDATION)
    with pytest.raises(InvalidArgumentError, match="already"):
        found(Split.TRAIN + Split.TRAIN)
