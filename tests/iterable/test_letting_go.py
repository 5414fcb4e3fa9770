"""A reading that was left holds no file, thread or process, however it was left; and the process ends."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# Run in a process of its own, where every open file is one that a scenario opened. Each function leaves a reading in
# its own way.
PROGRAM = """
import gc, json, os, signal, sys, threading
from gristmill import Dataset, IterableDataset, concatenate_datasets, interleave_datasets, load_dataset
from gristmill.engine.starting import end_server

T = sys.argv[1]
closed = []

def parquet(): return IterableDataset.from_parquet(T + "/p*.parquet")
def lines(): return IterableDataset.from_json(T + "/l*.jsonl", chunksize=64)
def bad(row): raise ValueError("no")
async def later(row): return row
async def bad_later(row): raise ValueError("no")

def first(stream):
    for _ in stream:
        break

def interrupted(row):
    if row["a"] == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return row

def generate():
    try:
        for n in range(100):
            yield {"a": n}
    finally:
        closed.append(1)

def failing(action):
    try:
        action()
    except (ValueError, KeyboardInterrupt):
        return
    raise AssertionError("no error")

SCENARIOS = {
    "parquet": lambda: first(parquet()),
    "rows of a batch": lambda: first(parquet().iter(3)),
    "json": lambda: first(lines()),
    "csv": lambda: first(IterableDataset.from_csv(T + "/c.csv")),
    "text": lambda: first(IterableDataset.from_text(T + "/c.csv")),
    "shuffle": lambda: first(parquet().shuffle(seed=1, buffer_size=5)),
    "interleave": lambda: first(interleave_datasets([parquet(), lines()])),
    "concatenate": lambda: first(concatenate_datasets([parquet(), lines()])),
    "coroutines": lambda: first(parquet().map(later)),
    "generator": lambda: first(IterableDataset.from_generator(generate).shuffle(buffer_size=5).batch(2)),
    "error": lambda: failing(lambda: list(parquet().map(bad))),
    "error of a coroutine": lambda: failing(lambda: list(parquet().map(bad_later))),
    "error while writing": lambda: failing(lambda: parquet().map(bad).to_parquet(T + "/out.parquet")),
    "error in a worker": lambda: failing(lambda: Dataset.from_dict({"a": [1, 2]}).map(bad, num_proc=2)),
    "interrupt": lambda: failing(lambda: list(parquet().map(interrupted))),
    "interrupt of a table": lambda: failing(lambda: Dataset.from_dict({"a": list(range(9))}).map(interrupted)),
    "prepared": lambda: first(load_dataset("parquet", data_files=T + "/p*.parquet", split="train", cache_dir=T + "/c")),
}

def held():
    files = []
    for number in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass
    with open("/proc/self/maps") as maps:
        files += [line.split()[-1] for line in maps if T in line]
    return sorted(file for file in files if T in file or file.startswith("socket:"))

for name, scenario in SCENARIOS.items():
    scenario()
    end_server()  # which starts workers, and is there for the next call as well
    gc.collect()
    threads = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        print(json.dumps([name, held(), threads, children.read().split()]))
print(json.dumps(["generators closed", [] if closed else ["none"], [], []]))

# Some are held until the end.
kept = [iter(parquet()), iter(lines().shuffle(seed=1, buffer_size=5)), iter(IterableDataset.from_generator(generate))]
for one in kept:
    next(one)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are looked up in /proc")
def test_nothing_is_held(tmp_path: Path) -> None:
    for number in range(3):
        rows = pa.table({"a": range(number * 10, number * 10 + 10)})
        pq.write_table(rows, tmp_path / f"p{number}.parquet", row_group_size=4)
        (tmp_path / f"l{number}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows.to_pylist())
        )
    (tmp_path / "c.csv").write_text("a\n" + "1\n" * 30)
    program = [sys.executable, "-X", "dev", "-c", PROGRAM, str(tmp_path)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "ResourceWarning" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == 18
    assert [one for one in found if any(one[1:])] == []
    assert not (tmp_path / "out.parquet").exists()
