"""Rows are read, computed and written in blocks: what is in memory does not grow with their number."""

import os
import subprocess
import sys
import textwrap

import pytest

ROOM = 60 << 20
"""What a process may use beyond what it has used for a dataset of one block, in bytes."""
ROWS = 120_000
"""Rows of the large dataset, of 5 kB each: ten times the room."""

# What is mapped from a file counts to no process: the system takes it back when it needs room. So what is limited is
# the memory of the process's own (RLIMIT_DATA), not its address space. Memory that is freed is given back at once
# (MALLOC_...), so that what counts is what is in use.
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "262144",
    "MALLOC_TRIM_THRESHOLD_": "262144",
}

SCRIPT = """
    import resource
    import shutil
    import sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from gristmill import Dataset, Value, config, disable_progress_bars
    from gristmill.table.arrow_file import ArrowFileWriter

    disable_progress_bars()
    config.IN_MEMORY_MAX_SIZE = 0
    folder, rows, room = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    out = folder / "out"

    def write(path, rows):
        texts = pa.array([f"{i:05d}" * 1000 for i in range(2_000)])
        with ArrowFileWriter(path, pa.schema({"text": pa.string(), "n": pa.int64()})) as writer:
            for start in range(0, rows, 2_000):
                numbers = pa.array(np.random.default_rng(start).permutation(2_000) + start)
                writer.write_batch(pa.RecordBatch.from_arrays([texts, numbers], ["text", "n"]))
        return Dataset.from_file(str(path))

    def iterate(ds):
        total = sum(row["n"] for row in ds)
        assert total == sum(sum(batch["n"]) for batch in ds.iter(500))
        assert total == sum(int(batch["n"].sum()) for batch in ds.with_format("numpy").iter(500))

    def from_generator(ds):
        return Dataset.from_generator(lambda: ({"text": "x" * 5000, "n": i} for i in range(len(ds))), cache_dir=str(out))

    work = {
        "iterate": iterate,
        "map rows": lambda ds: ds.map(lambda row: {"text": row["text"] + "!"}, cache_file_name=str(out / "1.arrow")),
        "map batches": lambda ds: ds.map(
            lambda b: {"text": b["text"] * 2, "n": b["n"] * 2}, batched=True, cache_file_name=str(out / "2.arrow")
        ),
        "filter": lambda ds: ds.filter(lambda row: row["n"] % 2, cache_file_name=str(out / "3.arrow")),
        "sort": lambda ds: ds.sort("n", reverse=True).flatten_indices(cache_file_name=str(out / "4.arrow")),
        "shuffle": lambda ds: iterate(ds.shuffle(seed=1)),
        "parquet": lambda ds: ds.to_parquet(out / "a.parquet"),
        "csv": lambda ds: ds.to_csv(out / "a.csv"),
        "json": lambda ds: ds.to_json(out / "a.json"),
        "save": lambda ds: ds.save_to_disk(out / "saved"),
        "generator": from_generator,
    }
    small, large = write(folder / "small.arrow", 6_000), write(folder / "large.arrow", rows)

    def run(ds):
        for name, do in work.items():
            print(name, len(ds), flush=True)
            out.mkdir()
            do(ds)
            shutil.rmtree(out)

    run(small)  # imports, threads and buffers of one block are there from now on
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resource.setrlimit(resource.RLIMIT_DATA, (int(status["VmData"].split()[0]) * 1024 + room,) * 2)
    run(large)
    try:
        large[:]
    except MemoryError:
        print("too much")
    print("done")
"""


def run(folder):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder), str(ROWS), str(ROOM)]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_times_the_memory_there_is(tmp_path):
    ended = run(tmp_path)
    # The limit that all of it kept to is one: the rows at once are too much for it.
    assert ended.stdout.endswith("too much\ndone\n"), ended.stdout + ended.stderr
