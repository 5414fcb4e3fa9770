import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gristmill.dataset import Dataset
from gristmill.distributed import split_dataset_by_node
from gristmill.errors import ColumnNotFoundError, FileFormatError, GristmillError, InvalidArgumentError
from gristmill.iterable import IterableDataset
from gristmill.table import InMemoryTable, MemoryMappedTable
from gristmill.table.arrow_file import write_arrow

NO_NUMBERS = [None, True, 1.5, float("nan"), "1", b"a", [1], {}, object, np.array([0.5]), np.float32(2)]
CALLS = {
    "skip": lambda ds, x: ds.skip(x),
    "take": lambda ds, x: ds.take(x),
    "repeat": lambda ds, x: ds.repeat(x),
    "shard": lambda ds, x: ds.shard(x, 0),
    "iter": lambda ds, x: ds.iter(x),
    "batch": lambda ds, x: ds.batch(x),
    "flatten": lambda ds, x: ds.flatten(max_depth=x),
    "select": lambda ds, x: ds.select(x) if not isinstance(x, list | dict) else ds.skip(x),
    "select_columns": lambda ds, x: ds.select_columns(x) if x not in ("1", {}) else ds.skip(x),
    "cast": lambda ds, x: ds.cast(x),
    "rename_columns": lambda ds, x: ds.rename_columns(x) if x != {} else ds.skip(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_such_thing_is_refused_by_name(call, value):
    ds = Dataset.from_dict({"a": [1, 2], "b": [{"x": 1}, None]})
    with pytest.raises((InvalidArgumentError, ColumnNotFoundError)):
        call(ds, value)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", {}, [None], object])
def test_seeds(seed):
    with pytest.raises(InvalidArgumentError, match="seed"):
        Dataset.from_dict({"a": [1, 2]}).shuffle(seed=seed)


BELOW = {
    "skip": (-1, lambda ds, n: ds.skip(n)),
    "take": (-1, lambda ds, n: ds.take(n)),
    "batch": (0, lambda ds, n: ds.batch(n)),
    "iter": (0, lambda ds, n: ds.iter(n)),
    "shard of none": (0, lambda ds, n: ds.shard(n, 0)),
    "shard": (2, lambda ds, n: ds.shard(2, n)),
    "map": (-1, lambda ds, n: ds.map(lambda row: row, num_proc=n)),
    "filter": (-1, lambda ds, n: ds.filter(lambda row: True, num_proc=n)),
    "train_test_split": (0, lambda ds, n: ds.train_test_split(test_size=n)),
    "too large a split": (3, lambda ds, n: ds.train_test_split(test_size=n)),
    "to_iterable_dataset": (0, lambda ds, n: ds.to_iterable_dataset(num_shards=n)),
    "stream.skip": (-1, lambda ds, n: ds.to_iterable_dataset().skip(n)),
    "stream.take": (-1, lambda ds, n: ds.to_iterable_dataset().take(n)),
    "stream.repeat": (-1, lambda ds, n: ds.to_iterable_dataset().repeat(n)),
    "stream.batch": (0, lambda ds, n: ds.to_iterable_dataset().batch(n)),
    "stream.iter": (0, lambda ds, n: ds.to_iterable_dataset().iter(n)),
    "stream.shuffle": (0, lambda ds, n: ds.to_iterable_dataset().shuffle(buffer_size=n)),
    "stream.shard": (2, lambda ds, n: ds.to_iterable_dataset(num_shards=2).shard(2, n)),
    "stream.set_epoch": (-1, lambda ds, n: ds.to_iterable_dataset().set_epoch(n)),
    "rank": (2, lambda ds, n: split_dataset_by_node(ds, n, 2)),
    "negative rank": (-1, lambda ds, n: split_dataset_by_node(ds.to_iterable_dataset(), n, 2)),
    "world of none": (0, lambda ds, n: split_dataset_by_node(ds, 0, n)),
}


@pytest.mark.parametrize(("value", "call"), BELOW.values(), ids=BELOW)
def test_numbers_out_of_range_are_refused_at_the_call(value, call):
    """At the call, and not when rows are asked for, or by giving none, or never ending."""
    with pytest.raises(InvalidArgumentError, match=f"={value} can't be used"):
        call(Dataset.from_dict({"a": [1, 2]}), value)


@pytest.mark.parametrize("size", [None, 0, -1])
def test_batches_without_a_size_are_all_rows(size):
    """As documented for `map` and `filter`."""
    ds = Dataset.from_dict({"a": [1, 2, 3]})

    def sizes(batch):
        return {"n": [len(batch["a"])] * len(batch["a"])}

    assert ds.map(sizes, batched=True, batch_size=size)["n"][:] == [3, 3, 3]
    assert ds.map(sizes, batched=True, batch_size=size, num_proc=0)["n"][:] == [3, 3, 3]
    stream = ds.to_iterable_dataset().map(sizes, batched=True, batch_size=size)
    assert [row["n"] for row in stream] == [3, 3, 3]
    kept = ds.filter(lambda batch: [len(batch["a"]) == 3] * 3, batched=True, batch_size=size)
    assert kept["a"][:] == [1, 2, 3]
    wrong: Any
    for wrong in (True, 1.0, "1"):
        with pytest.raises(InvalidArgumentError, match="batch_size"):
            ds.map(sizes, batched=True, batch_size=wrong)


def test_numbers_far_too_large():
    ds = Dataset.from_dict({"a": [1, 2]})
    assert len(ds.skip(10**30)) == 0
    assert len(ds.take(10**30)) == 2
    assert ds.batch(10**30)["a"][:] == [[1, 2]]
    assert len(ds.select([]).repeat(10**30)) == 0
    with pytest.raises(InvalidArgumentError, match="num_times"):
        ds.repeat(10**30)


def test_a_damaged_arrow_file_is_an_error_and_no_crash(tmp_path):
    table = pa.table(
        {"s": ["some", "words", None, "é"] * 50, "l": [[1], [], None, [2, 3]] * 50, "n": range(200)}
    )
    write_arrow(tmp_path / "whole.arrow", table)
    Dataset.from_file(str(tmp_path / "whole.arrow")).save_to_disk(tmp_path / "saved")
    [part] = (tmp_path / "saved").glob("data-*.arrow")
    whole, wrong = part.read_bytes(), 0
    numbers = random.Random(0)
    for trial in range(300):
        damaged = bytearray(whole)
        for _ in range(numbers.choice([1, 4])):
            damaged[numbers.randrange(len(damaged))] = numbers.choice([0, 1, 127, 128, 255])
        if trial % 3 == 0:
            damaged = damaged[: numbers.randrange(len(damaged))]
        part.write_bytes(damaged)
        for read in (
            lambda: Dataset.from_file(str(part)),
            lambda: Dataset.load_from_disk(tmp_path / "saved"),
        ):
            try:
                ds = read()
                list(ds), ds[::-1], ds.select([0] if len(ds) else []).flatten_indices()
            except GristmillError:  # noqa: PERF203
                wrong += 1
    assert wrong > 100


@pytest.mark.parametrize(
    "open_it",
    [
        lambda path: Dataset.from_file(str(path)),
        lambda path: Dataset.from_file(str(path), in_memory=True),
        lambda path: Dataset.from_buffer(pa.py_buffer(path.read_bytes())),
        lambda path: IterableDataset.from_file(str(path)),
        lambda path: MemoryMappedTable.from_file(str(path)),
        lambda path: InMemoryTable.from_file(str(path)),
        lambda path: InMemoryTable.from_buffer(pa.py_buffer(path.read_bytes())),
        lambda path: Dataset.from_dict({"a": [1]}).map(lambda row: row, cache_file_name=str(path)),
        lambda path: Dataset.from_dict({"a": [1]}).filter(lambda row: True, cache_file_name=str(path)),
    ],
)
def test_offsets_that_point_outside_are_told(tmp_path, open_it):
    bad = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 2**30, 1, 3], np.int32)), pa.py_buffer(b"abc")]
    )
    path = tmp_path / "a.arrow"
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, pa.schema({"s": pa.string()})) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays([bad], ["s"]))
    with pytest.raises(FileFormatError):
        open_it(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda ds: ds.train_test_split(test_size=-1),
        lambda ds: ds.select([]).train_test_split(test_size=-1),
        lambda ds: ds.select([]).train_test_split(train_size=-(2**63)),
        lambda ds: ds.flatten_indices(features=3),
        lambda ds: ds.map(lambda row: row, features="a"),
        lambda ds: ds.unique(["a"]),
        lambda ds: ds.unique([]),
        lambda ds: ds.class_encode_column(None),
        lambda ds: ds.align_labels_with_mapping(None, "a"),
        lambda ds: ds.align_labels_with_mapping({"x": "y"}, "a"),
        lambda ds: ds.align_labels_with_mapping({"x": 1}, ["a"]),
        lambda ds: ds[0:2:0],
        lambda ds: ds["a":],
        lambda ds: ds.to_parquet("never", compression=3),
        lambda ds: ds.to_parquet("never", compression=["snappy"]),
        lambda ds: ds.to_csv("never", sep=None),
        lambda ds: ds.to_csv("never", sep="é"),
    ],
)
def test_more_of_the_same(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidArgumentError, ColumnNotFoundError)):
        call(Dataset.from_dict({"a": [1, 2]}))
    assert not list(tmp_path.iterdir())
