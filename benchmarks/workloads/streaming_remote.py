"""Streams of 20 Parquet shards on a Hub whose every answer takes 20 ms."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from case import Case, workload

_LATENCY = 20
_HUB = Path(__file__).parent.parent / "slow_hub.py"


@contextlib.contextmanager
def slow_hub(case: Case) -> Iterator[None]:
    """Puts the shards on a Hub of their own; the library is imported when that is known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = case.folder / "served/datasets/bench/shards/data"
    folder.mkdir(parents=True)
    few = case.folder / "served/datasets/bench/few"
    few.mkdir()
    pq.write_table(pa.table({"id": [1]}), few / "train.parquet")
    for path in sorted((case.data / "shards").glob("*.parquet")):
        shutil.copyfile(path, folder / f"train-{path.name}")
    command = [os.environ.get("GRISTMILL_PYTHON", sys.executable), str(_HUB)]
    server = subprocess.Popen(
        [*command, str(case.folder / "served"), str(_LATENCY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin
    assert server.stdout
    try:
        os.environ.update(
            HF_ENDPOINT=server.stdout.readline().strip(), HF_HUB_OFFLINE="0", HF_DATASETS_OFFLINE="0"
        )
        # What is imported with the first rows from a Hub is there before.
        next(iter(case.lib.load_dataset("bench/few", split="train", streaming=True).with_format("numpy")))
        yield
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait()


def stream(case: Case, **options: Any) -> Any:
    return case.lib.load_dataset("bench/shards", split="train", streaming=True, **options)


@workload(cold=True)
def stream_remote_rows(case: Case) -> Any:
    with slow_hub(case), case.timed():
        rows, first, last = 0, None, None
        for last in stream(case):
            first = last if first is None else first
            rows += 1
    return rows, first, last


@workload(cold=True)
def stream_remote_column(case: Case) -> Any:
    with slow_hub(case), case.timed():
        rows = 0
        for batch in stream(case, columns=["id"]).with_format("numpy").iter(1000):
            rows += len(batch["id"])
    return rows


@workload(cold=True)
def stream_remote_first(case: Case) -> Any:
    with slow_hub(case), case.timed():
        return next(iter(stream(case)))


@workload(cold=True)
def stream_remote_numpy(case: Case) -> Any:
    with slow_hub(case), case.timed():
        total = 0.0
        for batch in stream(case).with_format("numpy").iter(1000):
            total += float(batch["score"].sum())
    return round(total, 6)


@workload(cold=True)
def stream_remote_skip(case: Case) -> Any:
    """A thousand rows at nine tenths."""
    import pyarrow.parquet as pq

    with slow_hub(case):
        ds = stream(case)
        rows = sum(pq.read_metadata(path).num_rows for path in (case.data / "shards").glob("*.parquet"))
        with case.timed():
            return [row["id"] for row in ds.skip(rows * 9 // 10).take(1000)]


@workload(cold=True)
def stream_remote_resume(case: Case) -> Any:
    """The next row of a reading that was left at nine tenths."""
    with slow_hub(case):
        ds, rows = stream(case), case.count(15_000) * 18
        for number, _ in enumerate(ds, 1):
            if number == rows:
                state = ds.state_dict()
                break
        again = stream(case)
        with case.timed():
            again.load_state_dict(state)
            return next(iter(again))


def loaded(case: Case, workers: int) -> Any:
    """Reads through PyTorch's loader."""
    from torch.utils.data import DataLoader

    with slow_hub(case):
        ds = stream(case).select_columns(["id", "score"]).with_format("torch")
        total = 0
        with case.timed():
            for batch in DataLoader(ds, batch_size=256, num_workers=workers):
                total += int(batch["id"].sum())
        return total


@workload(cold=True, needs="torch")
def stream_remote_torch(case: Case) -> Any:
    return loaded(case, 0)


@workload(cold=True, needs="torch")
def stream_remote_torch_2(case: Case) -> Any:
    return loaded(case, 2)
