"""Async functions in `map` and `filter`, and what `map` takes back."""

import asyncio
import functools
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gristmill.calling.awaiting import is_async, run_together
from gristmill.dataset import Dataset


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": range(50)})


async def double(row):
    await asyncio.sleep(0.02)
    return {"b": row["a"] * 2}


async def double_all(batch, indices):
    await asyncio.sleep(0)
    return {"b": [value * 2 for value in batch["a"]], "i": indices}


def test_rows_wait_together(ds):
    start = time.perf_counter()
    assert ds.map(double)["b"][:] == list(range(0, 100, 2))
    assert time.perf_counter() - start < 0.9, "one after another they would take a second"


def test_batches_filters_and_workers(ds):
    assert ds.map(double_all, batched=True, batch_size=7, with_indices=True)["i"][:] == list(range(50))
    assert ds.map(double, num_proc=2)["b"][:] == list(range(0, 100, 2))

    async def large(row):
        return row["a"] > 40

    assert ds.filter(large)["a"][:] == list(range(41, 50))


def test_a_failure_names_the_row(ds):
    async def fail(row):
        if row["a"] == 7:
            raise LookupError("seven")
        return {"b": 1}

    with pytest.raises(LookupError, match="row 7"):
        ds.map(fail)

    async def fail_all(batch):
        raise LookupError("all")

    with pytest.raises(LookupError, match="all"):
        ds.map(fail_all, batched=True)


def test_inside_a_running_loop(ds):
    async def main():
        return ds.map(double)["b"][3]

    assert asyncio.run(main()) == 6
    assert run_together([]) == []


def test_what_is_async():
    class Called:
        async def __call__(self, row):
            return row

    assert [is_async(f) for f in (double, functools.partial(double), Called(), len)] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "made",
    [
        lambda values: {"k": np.array(values)},
        lambda values: {"k": pa.array(values)},
        lambda values: pd.DataFrame({"k": values}),
        lambda values: pa.table({"k": values}),
        lambda values: pa.RecordBatch.from_pydict({"k": values}),
    ],
)
def test_kinds_of_answers(ds, made):
    mapped = ds.map(lambda batch: made(list(batch["a"])), batched=True, batch_size=20)
    assert mapped["k"][:] == list(range(50))


def test_columns_that_come_back_as_they_were_are_not_written(tmp_path):
    Dataset.from_dict({"a": range(3000), "s": ["text"] * 3000, "l": [[1]] * 3000}).save_to_disk(
        tmp_path / "d"
    )
    ds = Dataset.load_from_disk(tmp_path / "d")
    mapped = ds.map(lambda row: {**row, "n": 1})
    assert mapped.column_names == ["a", "s", "l", "n"]
    # A list could have been changed in place, which no identity tells.
    assert mapped._view.parts[-1].table.column_names == ["l", "n"]
    assert mapped[2999] == {"a": 2999, "s": "text", "l": [1], "n": 1}

    late = ds.map(lambda row: {**row, "a": row["a"] if row["a"] < 2000 else -1})
    assert late["a"][1998:2002] == [1998, 1999, -1, -1]

    def append(row):
        row["l"].append(2)
        return {**row}

    assert ds.map(append)["l"][0] == [1, 2]
    assert ds.map(lambda row: {**row}, num_proc=2).to_dict() == ds.to_dict()
    assert ds.map(lambda row: {**row}, remove_columns=["s"]).select_columns(["s"])[0] == {"s": "text"}
    assert ds.with_format("numpy").map(lambda row: {**row, "n": 1})["a"][2999] == 2999


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit])
def test_what_ends_more_than_a_call_is_no_answer(kind):
    async def end(row):
        if row["a"] == 1:
            raise kind
        return {"b": 1}

    async def end_all(batch):
        raise kind

    ds = Dataset.from_dict({"a": [0, 1]})
    with pytest.raises(kind):
        ds.map(end)
    with pytest.raises(kind):
        ds.map(end_all, batched=True)
