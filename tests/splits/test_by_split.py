"""What `DatasetDict` and `IterableDatasetDict` say of keys and values that are none."""

import pickle
from typing import Any

import pytest

from gristmill import Dataset, DatasetDict, IterableDataset, IterableDatasetDict
from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.features import Value

DICTS: list[type[Any]] = [DatasetDict, IterableDatasetDict]


def _part(of: type[Any]) -> Any:
    dataset = Dataset.from_dict({"a": [1, 2]})
    return dataset if of is DatasetDict else dataset.to_iterable_dataset()


@pytest.mark.parametrize("of", DICTS)
@pytest.mark.parametrize("given", [[1], 5, "train"])
def test_what_is_no_dict_is_refused(of: type[Any], given: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{of.__name__} takes a dict of datasets by split name"):
        of(given)
    with pytest.raises(InvalidArgumentError, match="takes a dict of datasets by split name"):
        of([_part(of)])


USES: dict[str, Any] = {
    "rename_column": lambda parts: parts.rename_column("a", "b"),
    "remove_columns": lambda parts: parts.remove_columns("a"),
    "select_columns": lambda parts: parts.select_columns("a"),
    "cast_column": lambda parts: parts.cast_column("a", Value("int8")),
    "map": lambda parts: parts.map(lambda row: row),
    "filter": lambda parts: parts.filter(lambda row: True),
    "shuffle": lambda parts: parts.shuffle(seed=1),
    "with_format": lambda parts: parts.with_format("numpy"),
    "column_names": lambda parts: parts.column_names,
    "num_columns": lambda parts: parts.num_columns,
    "push_to_hub": lambda parts: parts.push_to_hub("somebody/something", token="none"),
}


@pytest.mark.parametrize("of", DICTS)
@pytest.mark.parametrize("use", USES)
def test_what_is_no_dataset_is_named(of: type[Any], use: str) -> None:
    kind = "Dataset" if of is DatasetDict else "IterableDataset"
    for value, name in ((5, "an int"), (None, "a NoneType"), ({"a": [1]}, "a dict")):
        with pytest.raises(
            InvalidArgumentError, match=f'split "odd" of the {of.__name__} is {name}, not an? {kind}'
        ):
            USES[use](of({"train": _part(of), "odd": value}))
    with pytest.raises(InvalidArgumentError, match="the name of a split=3"):
        USES[use](of({3: _part(of)}))
    assert USES["column_names"](of()) == {}
    if use not in {"column_names", "num_columns", "push_to_hub"}:
        assert type(USES[use](of())) is of


@pytest.mark.parametrize("use", USES)
def test_the_other_kind_says_where_it_goes(use: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"is an IterableDataset, not a Dataset\. Streams go into an Iter"
    ):
        USES[use](DatasetDict(train=_part(IterableDatasetDict)))
    with pytest.raises(
        InvalidArgumentError, match=r"is a Dataset, not an IterableDataset\. Make a stream of it"
    ):
        USES[use](IterableDatasetDict(train=_part(DatasetDict)))


@pytest.mark.parametrize("use", ["num_rows", "shape", "data", "cache_files"])
def test_facts_of_what_is_no_dataset_are_refused(use: str) -> None:
    with pytest.raises(InvalidArgumentError, match='split "odd"'):
        getattr(DatasetDict(odd=1), use)


@pytest.mark.parametrize("of", DICTS)
def test_columns_of_all_splits_are_changed(of: type[Any]) -> None:
    parts = of(train=_part(of), test=_part(of))
    assert parts.rename_columns({"a": "b"}).column_names == {"train": ["b"], "test": ["b"]}
    assert parts.remove_columns(["a"]).num_columns == {"train": 0, "test": 0}
    assert parts.cast_column("a", Value("float32"))["test"].features["a"] == Value("float32")
    told = parts.map(lambda row, split: {"from": split}, with_split=True)
    assert [row["from"] for row in told["test"]] == ["test", "test"]
    again = pickle.loads(pickle.dumps(parts))
    assert type(again) is of
    assert list(again["train"]) == [{"a": 1}, {"a": 2}]
    assert repr(parts).startswith(f"{of.__name__}({{\n    train: ")
    with pytest.raises(SplitNotFoundError, match="valid"):
        parts["valid"]
    with pytest.raises(SplitNotFoundError) as rows:
        parts[0]
    assert str(rows.value) == (
        '0 is no name of a split: choose a split before its rows, for example ["train"][0]. '
        "There are: test, train."
    )
    with pytest.raises(SplitNotFoundError, match=r"choose a split before its rows\. There are none"):
        of()[[1]]


def test_a_stream_is_of_the_kind_that_its_dict_names() -> None:
    assert (DatasetDict.kind, IterableDatasetDict.kind) == (Dataset.__name__, IterableDataset.__name__)
