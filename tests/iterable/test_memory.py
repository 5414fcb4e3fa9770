"""Memory stays flat however long a stream is: a process that may not use more reads many times as much."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.dataset.test_memory import ENVIRONMENT

ROOM = 60 << 20
"""What a process may use beyond what it has used for a short stream, in bytes."""

# GRISTMILL_STREAMED=5000000000 streams as much of Parquet (by repeating the files) and tells what the process used.
SCRIPT = """
    import json
    import os
    import resource
    import sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from gristmill import IterableDataset, interleave_datasets
    from gristmill.errors import DataError

    folder, room, wanted = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    texts = [f"{n:05}" * 200 for n in range(1000)]

    def write(name, size):
        for number in range(12):
            table = pa.table({"n": np.arange(size), "t": [texts[n % 1000] for n in range(size)]})
            pq.write_table(table, folder / f"{name}-{number}.parquet", row_group_size=2500, compression="zstd")
        rows = [json.dumps({"n": n, "t": texts[n % 1000]}) for n in range(size)]
        with open(folder / f"{name}.jsonl", "w") as lines, open(folder / f"{name}.csv", "w") as cells:
            cells.write("n,t\\n")
            for _ in range(12):
                lines.writelines(f"{row}\\n" for row in rows)
                cells.writelines(f"{n},{texts[n % 1000]}\\n" for n in range(size))

    def generate(rows):
        for n in range(rows):
            yield {"n": n, "t": f"{n:05}" * 200}

    def streams(name, rows):
        parquet = IterableDataset.from_parquet(str(folder / f"{name}-*.parquet"))
        yield parquet
        yield parquet.with_format("numpy").map(lambda b: {"m": b["n"] + 1}, batched=True).filter(lambda b: b["m"] % 2 == 0, batched=True)
        yield parquet.map(lambda row: {"u": row["t"] + "x"}).shuffle(seed=1, buffer_size=1000)
        yield parquet.batch(10).skip(1)
        yield interleave_datasets([parquet, parquet.select_columns(["t"])], seed=1, probabilities=[0.5, 0.5])
        yield IterableDataset.from_json(str(folder / f"{name}.jsonl"), chunksize=1 << 20)
        yield IterableDataset.from_csv(str(folder / f"{name}.csv"), block_bytes=1 << 20)
        yield IterableDataset.from_generator(generate, gen_kwargs={"rows": rows})

    def read(stream):
        reading = iter(stream)
        for number, _ in enumerate(reading):
            if number % 20_000 == 0:
                stream.state_dict()

    write("short", 2500)
    write("long", 15_000)
    for stream in streams("short", 30_000):
        read(stream)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resource.setrlimit(resource.RLIMIT_DATA, (int(status["VmData"].split()[0]) * 1024 + room,) * 2)
    for number, stream in enumerate(streams("long", 180_000)):
        print(number, flush=True)
        read(stream)
    if wanted:
        (folder / "long.csv").unlink()
        (folder / "long.jsonl").unlink()
        stream = IterableDataset.from_parquet(str(folder / "long-*.parquet")).shuffle(seed=1).repeat(None)
        size, seen = 0, set()
        for batch in stream.with_format("arrow").iter(1000):
            size += batch.nbytes
            if size // (wanted // 10) not in seen:
                seen.add(size // (wanted // 10))
                lines = Path("/proc/self/status").read_text().splitlines()
                print(size, *[line for line in lines if line.startswith(("VmRSS", "RssAnon"))], flush=True)
            if size > wanted:
                break
    try:
        IterableDataset.from_parquet(str(folder / "long-*.parquet")).to_pandas()
    except (MemoryError, DataError) as error:
        print("too much" if isinstance(error, MemoryError) or "needs more memory" in str(error) else error)
    print("done")
"""


def run(folder):
    wanted = os.environ.get("GRISTMILL_STREAMED", "0")
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder), str(ROOM), wanted]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_streams_of_many_times_the_memory_there_is(tmp_path):
    ended = run(tmp_path)
    # What all streams went through is too little for one of them at once.
    assert ended.stdout.endswith("too much\ndone\n"), ended.stdout + ended.stderr
