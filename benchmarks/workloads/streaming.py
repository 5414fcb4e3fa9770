"""Streams of twenty Parquet files on this machine: rows, batches, chains, going on where a reading was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import Case, workload
from data import WORDS

SHARDS, ROWS = 20, 15_000


def shards(case: Case) -> list[str]:
    """Writes the files, once."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = case.data / f"stream-{case.scale}"
    rows = case.count(ROWS)
    if not (folder / "whole").exists():
        folder.mkdir(exist_ok=True)
        words = WORDS[:20]
        for number in range(SHARDS):
            draws = np.random.default_rng(number)
            texts = [" ".join(words[w] for w in row) for row in draws.integers(0, len(words), (rows, 12))]
            table = pa.table(
                {
                    "id": np.arange(number * rows, number * rows + rows),
                    "score": draws.random(rows),
                    "label": draws.integers(0, 5, rows),
                    "text": texts,
                }
            )
            pq.write_table(table, folder / f"part-{number:02}.parquet", row_group_size=max(10, rows // 5))
        (folder / "whole").touch()
    return sorted(map(str, folder.glob("part-*.parquet")))


def stream(case: Case) -> Any:
    """The files as the library's stream."""
    return case.lib.load_dataset("parquet", data_files=shards(case), split="train", streaming=True)


def batches(case: Case) -> Iterator[Any]:
    """The same as pyarrow reads them."""
    import pyarrow.parquet as pq

    for path in shards(case):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(1000)


@workload
def stream_rows(case: Case) -> Any:
    ds = stream(case)
    total = 0
    with case.timed():
        for row in ds:
            total += row["id"]
    return total


@stream_rows.limited
def _(case: Case) -> Any:
    total = 0
    with case.timed():
        for batch in batches(case):
            columns = [column.to_pylist() for column in batch.columns]
            names = batch.schema.names
            for values in zip(*columns, strict=True):
                total += dict(zip(names, values, strict=True))["id"]
    return total


@workload
def stream_arrow(case: Case) -> Any:
    ds = stream(case).with_format("arrow")
    rows = 0
    with case.timed():
        for batch in ds.iter(1000):
            rows += batch.num_rows
    return rows


@stream_arrow.limited
def _(case: Case) -> Any:
    rows = 0
    with case.timed():
        for batch in batches(case):
            rows += batch.num_rows
    return rows


@workload
def stream_numpy(case: Case) -> Any:
    ds = stream(case).select_columns(["id", "score", "label"]).with_format("numpy")
    total = 0.0
    with case.timed():
        for batch in ds.iter(1000):
            total += float(batch["id"].sum())
    return total


@workload
def stream_chain(case: Case) -> Any:
    ds = stream(case).map(lambda row: {"size": len(row["text"])}).filter(lambda row: row["label"] > 0)
    ds = ds.shuffle(seed=1, buffer_size=10_000)
    total = 0
    with case.timed():
        for row in ds:
            total += row["size"]
    return total


@workload
def stream_skip(case: Case) -> Any:
    ds = stream(case)
    rows = case.count(ROWS) * SHARDS
    with case.timed():
        found = [row["id"] for row in ds.skip(rows * 9 // 10).take(1000)]
    return found


@workload
def stream_resume(case: Case) -> Any:
    ds = stream(case)
    wanted = case.count(ROWS) * SHARDS * 9 // 10
    reading = iter(ds)
    for _ in range(wanted):
        next(reading)
    state = ds.state_dict()
    again = stream(case)
    with case.timed():
        again.load_state_dict(state)
        found = next(iter(again))["id"]
    return found


def loaded(case: Case, workers: int) -> Any:
    """Reads through PyTorch's loader."""
    from torch.utils.data import DataLoader

    ds = stream(case).select_columns(["id", "score"]).with_format("torch")
    total = 0
    with case.timed():
        for batch in DataLoader(ds, batch_size=256, num_workers=workers):
            total += int(batch["id"].sum())
    return total


@workload(needs="torch")
def stream_torch(case: Case) -> Any:
    return loaded(case, 0)


@workload(needs="torch")
def stream_torch_2(case: Case) -> Any:
    return loaded(case, 2)
