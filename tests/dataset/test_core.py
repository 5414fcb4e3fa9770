import copy
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.dataset import Column, Dataset, DatasetDict
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    DataError,
    FileFormatError,
    InvalidArgumentError,
    NotThereYetError,
    RowIndexError,
    TransformError,
)
from gristmill.features import ClassLabel, Features, Json, Value
from gristmill.fingerprint import disable_caching, enable_caching
from gristmill.info import DatasetInfo
from gristmill.splits import NamedSplit, Split
from gristmill.table.arrow_file import write_arrow


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": [1, 2, 3], "s": ["x", "y", None]})


def test_looking(ds):
    assert repr(ds) == str(ds) == "Dataset({\n    features: ['a', 's'],\n    num_rows: 3\n})"
    assert (len(ds), ds.num_rows, ds.num_columns, ds.shape) == (3, 3, 2, (3, 2))
    assert ds.column_names == ["a", "s"]
    assert ds.features == {"a": Value("int64"), "s": Value("string")}
    assert ds.cache_files == []
    assert (ds.split, ds.description, ds.version) == (None, "", None)
    assert ds.data.schema.metadata[b"huggingface"]


def test_rows(ds):
    assert ds[0] == ds[-3] == ds[np.int64(0)] == {"a": 1, "s": "x"}
    assert (
        ds[1:]
        == ds[[1, 2]]
        == ds[np.array([1, 2])]
        == ds[range(1, 3)]
        == ds[(1, 2)]
        == {"a": [2, 3], "s": ["y", None]}
    )
    assert ds[:0] == ds[[]] == {"a": [], "s": []}
    assert ds[[-1, 0]]["a"] == [3, 1]
    assert list(ds)[2] == {"a": 3, "s": None}
    assert ds.__getitems__([2, 0]) == [{"a": 3, "s": None}, {"a": 1, "s": "x"}]


@pytest.mark.parametrize("key", [3, -4, [0, 3], [-4]])
def test_rows_that_do_not_exist(ds, key):
    with pytest.raises(IndexError) as caught:
        ds[key]
    assert isinstance(caught.value, RowIndexError)


@pytest.mark.parametrize(
    "key", [True, 1.5, None, [True, False, True], [1.5], ["a", "s"], np.array([True, False, True])]
)
def test_keys_that_mean_nothing(ds, key):
    with pytest.raises(InvalidArgumentError):
        ds[key]


def test_columns_that_do_not_exist(ds):
    with pytest.raises(KeyError, match="There is no column"):
        ds["zz"]
    for act in (
        lambda: ds.remove_columns("zz"),
        lambda: ds.select_columns(["a", "zz"]),
        lambda: ds.rename_column("zz", "b"),
    ):
        with pytest.raises(ColumnNotFoundError):
            act()


def test_a_column_is_a_sequence(ds):
    column = ds["a"]
    assert isinstance(column, Column)
    assert (len(column), column[0], column[-1], column[1:], column[[2, 0]]) == (3, 1, 3, [2, 3], [3, 1])
    assert list(column) == [1, 2, 3]
    assert column == [1, 2, 3]
    assert column != [1, 2]
    assert column == ds["a"]
    assert 2 in column
    assert repr(column) == "Column([1, 2, 3])"
    assert repr(Dataset.from_dict({"a": range(9)})["a"]) == "Column([0, 1, 2, 3, 4, ...])"
    with pytest.raises(RowIndexError):
        column[3]


def test_a_column_of_structs_is_entered_by_name():
    ds = Dataset.from_dict({"d": [{"x": {"y": 1}}, None]})
    assert ds["d"]["x"]["y"] == [1, None]
    with pytest.raises(InvalidArgumentError, match="no field"):
        list(ds["d"]["zz"])


def test_batches(ds):
    assert [batch["a"] for batch in ds.iter(2)] == [[1, 2], [3]]
    assert [batch["a"] for batch in ds.iter(2, drop_last_batch=True)] == [[1, 2]]
    for size in (0, -1):
        with pytest.raises(ValueError, match="batch_size"):
            ds.iter(size)


def test_columns_taken_dropped_renamed_added(ds):
    assert ds.select_columns(["s", "a"])[0] == {"s": "x", "a": 1}
    assert ds.select_columns("s").column_names == ["s"]
    assert ds.remove_columns(["a"]).features == {"s": Value("string")}
    assert ds.rename_columns({"a": "s", "s": "a"})[0] == {"s": 1, "a": "x"}
    assert ds.add_column("n", np.arange(3))["n"] == [0, 1, 2]
    assert ds.add_column("y", ["p", "n", "p"], feature=ClassLabel(names=["n", "p"]))["y"] == [1, 0, 1]
    assert ds.select([2, 0]).add_column("n", [7, 8]).to_list()[0] == {"a": 3, "s": None, "n": 7}
    for act in (
        lambda: ds.rename_column("a", "s"),
        lambda: ds.rename_column("a", ""),
        lambda: ds.add_column("a", [1, 2, 3]),
        lambda: ds.add_column("n", [1, 2]),
    ):
        with pytest.raises(InvalidArgumentError):
            act()
    assert ds.column_names == ["a", "s"]
    assert ds.remove_columns(["a", "s"]).shape == (3, 0)


ORDERS = {
    "split": ([0, 1, 2, 5, 9, 6, 3], [8, 4, 7]),
    "stratified": ([5, 6, 9, 1, 8, 3, 2, 10], [0, 7, 4, 11]),
    "global": [7, 6, 1, 3, 2, 4, 0, 9, 5, 8],
}


def test_orders_and_parts_are_those_of_datasets():
    """The numbers are what `datasets` 5.2.0 gives."""
    ds = Dataset.from_dict({"i": range(10)})
    assert ds.shuffle(seed=0)["i"] == [4, 6, 2, 7, 3, 5, 9, 0, 8, 1]
    parts = ds.train_test_split(test_size=0.3, seed=1)
    assert (parts["train"]["i"][:], parts["test"]["i"][:]) == ORDERS["split"]
    features = Features({"i": Value("int64"), "y": ClassLabel(names=["a", "b"])})
    labelled = Dataset.from_dict({"i": range(12), "y": [0, 0, 1] * 4}, features=features)
    parts = labelled.train_test_split(test_size=4, seed=3, stratify_by_column="y")
    assert (parts["train"]["i"][:], parts["test"]["i"][:]) == ORDERS["stratified"]
    np.random.seed(5)
    assert ds.shuffle()["i"] == ORDERS["global"]
    assert ds.shuffle(generator=np.random.default_rng(0))["i"] == [4, 6, 2, 7, 3, 5, 9, 0, 8, 1]


@pytest.mark.parametrize(
    "bad",
    [
        {"test_size": 0}, {"test_size": 10}, {"test_size": 1.0}, {"test_size": -1}, {"test_size": "x"},
        {"test_size": 0.6, "train_size": 0.6}, {"test_size": 8, "train_size": 8}, {"train_size": 0.001},
        {"stratify_by_column": "i"}, {"stratify_by_column": "zz"}, {"shuffle": False, "stratify_by_column": "i"},
        {"seed": 1, "generator": np.random.default_rng(1)}, {"generator": 3},
    ],
)  # fmt: skip
def test_parts_that_can_not_be_made(bad):
    with pytest.raises((InvalidArgumentError, ColumnNotFoundError)):
        Dataset.from_dict({"i": range(10)}).train_test_split(**bad)


def test_shards_are_each_row_once():
    ds = Dataset.from_dict({"i": range(10)})
    for contiguous in (True, False):
        found = [v for k in range(3) for v in ds.shard(3, k, contiguous=contiguous)["i"]]
        assert sorted(found) == list(range(10))
    for num_shards, index in ((0, 0), (-1, 0), (2, 2), (2, -1)):
        with pytest.raises(InvalidArgumentError):
            ds.shard(num_shards, index)


def test_making():
    assert Dataset.from_list([{"a": 1}, {"b": "x"}]).to_list() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]
    assert Dataset.from_list([]).shape == (0, 0)
    assert Dataset.from_dict({}).shape == (0, 0)
    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 6])
    assert Dataset.from_pandas(frame).column_names == ["a", "__index_level_0__"]
    assert Dataset.from_pandas(frame, preserve_index=False).to_dict() == {"a": [1, 2]}
    with pytest.raises(InvalidArgumentError, match="same length"):
        Dataset.from_dict({"a": [1], "b": [1, 2]})
    with pytest.raises(InvalidArgumentError):
        Dataset({"a": [1]})
    info = DatasetInfo(description="d", features=Features({"a": Value("int8")}))
    made = Dataset.from_dict({"a": [1]}, info=info, split=Split.TEST)
    assert (made.description, made.features["a"].dtype, made.split) == ("d", "int8", "test")
    assert isinstance(made.split, NamedSplit)
    with pytest.raises(CastError):
        Dataset(pa.table({"b": [1]}), info=info)


def test_rows_of_an_indices_table():
    made = Dataset(
        pa.table({"a": [1, 2, 3]}), indices_table=pa.table({"indices": pa.array([2, 0], pa.uint64())})
    )
    assert made["a"] == [3, 1]
    assert made._indices is not None
    assert made._indices["indices"].to_pylist() == [2, 0]
    assert made.data.num_rows == 3


def test_arrow_files(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"a": [1, 2]}))
    made = Dataset.from_file(str(tmp_path / "a.arrow"))
    assert made.cache_files == [{"filename": str(tmp_path / "a.arrow")}]
    assert made[1] == {"a": 2}
    (tmp_path / "bad.arrow").write_bytes(b"no")
    with pytest.raises(FileFormatError):
        Dataset.from_file(str(tmp_path / "bad.arrow"))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"a": pa.int64()})) as stream:
        stream.write_table(pa.table({"a": [1, 2]}))
    assert Dataset.from_buffer(sink.getvalue())["a"] == [1, 2]


def test_a_file_that_is_written_again_is_another_dataset(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"a": [1, 2]}))
    first = Dataset.from_file(str(path))
    assert first._fingerprint == Dataset.from_file(str(path))._fingerprint
    assert first.map(lambda row: {"b": row["a"]})["b"] == [1, 2]
    write_arrow(path, pa.table({"a": [3, 4, 5]}))
    assert Dataset.from_file(str(path)).map(lambda row: {"b": row["a"]})["b"] == [3, 4, 5]


def test_generators(tmp_path):
    log = tmp_path / "log"

    def rows(shards, n=2):
        with log.open("a") as file:
            file.write("x")
        for shard in shards:
            for i in range(n):
                yield {"shard": shard, "i": i if shard else None}

    def make(**kwargs):
        return Dataset.from_generator(rows, cache_dir=str(tmp_path / "c"), **kwargs)

    made = make(gen_kwargs={"shards": [0, 1]})
    assert made["i"] == [None, None, 0, 1]
    assert made.split == "train"
    assert make(gen_kwargs={"shards": [0, 1]}).to_dict() == made.to_dict()
    assert log.stat().st_size == 1
    assert make(gen_kwargs={"shards": [0, 1], "n": 1}, num_proc=2)["i"] == [None, 0]
    assert len(make(gen_kwargs={"shards": []}, features=Features({"i": Value("int8")}))) == 0
    disable_caching()
    try:
        size = log.stat().st_size
        make(gen_kwargs={"shards": [0, 1]})
        assert log.stat().st_size == size + 1
    finally:
        enable_caching()

    def fails():
        yield {"a": 1}
        raise ZeroDivisionError("oops")

    with pytest.raises(TransformError, match=r"fails failed on row 1: ZeroDivisionError: oops"):
        Dataset.from_generator(fails, cache_dir=str(tmp_path / "c"))


def test_copies_share_rows_and_nothing_else(ds):
    for made in (copy.deepcopy(ds), copy.copy(ds), pickle.loads(pickle.dumps(ds))):
        assert made.to_dict() == ds.to_dict()
        assert made._fingerprint == ds._fingerprint
        made.set_format("numpy")
        made.features["new"] = Value("int8")
        assert ds.format["type"] is None
        assert "new" not in ds.features
    derived = ds.select([0])
    derived.features["new"] = Value("int8")
    assert "new" not in ds.features


def test_fingerprints(ds):
    same = Dataset.from_dict({"a": [1, 2, 3], "s": ["x", "y", None]})
    assert ds._fingerprint == same._fingerprint
    assert ds._fingerprint != Dataset.from_dict({"a": [1, 2, 4], "s": ["x", "y", None]})._fingerprint
    assert (
        ds.shuffle(seed=1)._fingerprint
        == same.shuffle(seed=1)._fingerprint
        != ds.shuffle(seed=2)._fingerprint
    )
    assert ds.select([0])._fingerprint != ds.select([1])._fingerprint
    assert ds.map(lambda r: {"a": 1})._fingerprint != ds.map(lambda r: {"a": 2})._fingerprint
    assert ds.select([0], new_fingerprint="mine")._fingerprint == "mine"
    with pytest.raises(InvalidArgumentError):
        ds.select([0], new_fingerprint="../mine")
    for _ in range(3000):
        ds = ds.take(3)
    assert len(ds._fingerprint) == 16


def test_giving_away(ds, tmp_path):
    assert ds.to_dict() == {"a": [1, 2, 3], "s": ["x", "y", None]}
    assert [len(b["a"]) for b in ds.to_dict(batch_size=2, batched=True)] == [2, 1]
    assert ds.select([2, 0]).to_pandas()["a"].tolist() == [3, 1]
    assert ds.select([2, 0]).to_json(str(tmp_path / "o.jsonl")) > 0
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 3, "s": None}, {"a": 1, "s": "x"}]
    labelled = ds.add_column("y", [0, 1, 0], feature=ClassLabel(names=["n", "p"])).shuffle(seed=1)
    assert labelled.to_parquet(tmp_path / "o.parquet") > 0
    back = pq.read_table(tmp_path / "o.parquet")
    assert back["a"].to_pylist() == labelled["a"][:]
    assert Features.from_arrow_schema(back.schema) == labelled.features
    with pytest.raises(InvalidArgumentError, match="nosuch"):
        ds.to_json("nosuch://bucket/o.jsonl")


def test_what_is_to_come_says_so(ds):
    with pytest.raises(NotThereYetError, match=r"Dataset\.from_spark"):
        _ = ds.from_spark
    assert not hasattr(ds, "from_spark")


def test_dicts_of_splits(ds):
    parts = DatasetDict({"train": ds, "test": ds.select([0])})
    assert parts.num_rows == {"train": 3, "test": 1}
    assert parts.column_names == {"train": ["a", "s"], "test": ["a", "s"]}
    assert parts.map(lambda row: {"b": row["a"]})["test"].to_list() == [{"a": 1, "s": "x", "b": 1}]
    assert parts.filter(lambda row: row["a"] > 1).num_rows == {"train": 2, "test": 0}
    assert parts.map(lambda row, name: {"b": name}, with_split=True)["test"]["b"] == ["test"]
    assert parts.shuffle(seed=1)["train"]["a"] == ds.shuffle(seed=1)["a"]
    assert parts.shuffle(seeds={"train": 1, "test": 2})["train"]["a"] == ds.shuffle(seed=1)["a"]
    assert parts.rename_column("a", "b").select_columns("b").remove_columns([]).shape == {
        "train": (3, 1),
        "test": (1, 1),
    }
    assert parts[Split.TRAIN] is ds
    assert repr(parts).startswith(
        "DatasetDict({\n    train: Dataset({\n        features: ['a', 's'],\n        num_rows: 3\n    })\n"
    )
    assert pickle.loads(pickle.dumps(parts)).num_rows == parts.num_rows
    assert isinstance(parts, dict)
    with pytest.raises(KeyError, match='Did you mean "train"'):
        parts["trian"]
    with parts.formatted_as("numpy"):
        assert parts["train"].format["type"] == "numpy"
    assert parts["train"].format["type"] is None
    with pytest.raises(InvalidArgumentError, match="not a Dataset"):
        DatasetDict({"train": 3}).remove_columns("a")


def test_a_column_that_is_added_is_formatted_too(ds):
    made = Dataset.from_dict({"a": [1], "b": [2]}).with_format("numpy", columns=["a"]).add_column("c", [3])
    assert made.format["columns"] == ["a", "c"]
    assert list(made[0]) == ["a", "c"]


def test_columns_are_made_of_datasets_and_columns():
    made = Dataset.from_dict({"a": [{"b": 1}, {"b": 2}]})
    column = Column(Column(made, "a"), "b")
    assert (column[:], column.column_name, column.source.source is made) == ([1, 2], "b", True)
    assert made["a"]["b"] == column
    with pytest.raises(ColumnNotFoundError):
        Column(made, "zz")


def test_columns_say_what_their_values_are():
    made = Dataset.from_dict({"a": [{"b": 1}], "c": ["x"]}).cast_column("c", ClassLabel(names=["x"]))
    assert made["a"].features == {"b": Value("int64")}
    assert made["a"]["b"].features == Value("int64")
    assert made.with_format("numpy")["c"].features == ClassLabel(names=["x"])
    free = Dataset.from_dict({"a": [{"b": 1}]}, features=Features({"a": Json()}))
    assert free["a"].features == Json()
    assert free["a"]["b"].features is None


def test_empty_arrays_choose_no_rows(ds):
    assert ds[np.array([])] == {name: [] for name in ds.column_names}
    assert len(ds.select(np.array([]))) == 0


def test_columns_of_objects_in_frames_are_what_their_values_are():
    large = pd.Series([2**64 - 1, None, float("nan")], dtype=object)
    ds = Dataset.from_pandas(pd.DataFrame({"b": [1, 2, 3], "a": large}))
    assert ds.features == {"b": Value("int64"), "a": Value("uint64")}
    assert ds.to_dict() == {"b": [1, 2, 3], "a": [2**64 - 1, None, None]}
    any_value = Features({"a": Json()})
    for values in (["1", "null", None], [1, "1", {"k": []}]):  # text that reads as JSON stays text
        mixed = Dataset.from_dict({"a": values}, features=any_value)
        assert Dataset.from_pandas(pd.DataFrame({"a": values}), features=any_value)["a"] == values
        assert Dataset.from_pandas(mixed.to_pandas(), features=any_value)["a"] == values
    texts = pd.DataFrame({"a": pd.Series([2**70, None], dtype=object)})
    assert Dataset.from_pandas(texts, features=Features({"a": Value("string")}))["a"] == [str(2**70), None]
    odd: list[tuple[list[Any], int]] = [([0, 2**70], 1), (["", "\ud800"], 1), ([object()], 0), ([1, "a"], 1)]
    for wrong, row in odd:
        with pytest.raises(DataError, match=f'row {row}, column "a"'):
            Dataset.from_pandas(pd.DataFrame({"a": pd.Series(wrong, dtype=object)}))
