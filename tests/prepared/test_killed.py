"""A build that is killed at random moments, in each format, by one worker and by two: whole or absent, the same bytes."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.prepared import write_group
from gristmill.prepared.local import local_file
from gristmill.prepared.prepare import is_prepared, prepare
from gristmill.prepared.source import SplitSource
from tests.processes import Forks

POINTS = int(os.environ.get("GRISTMILL_KILL_POINTS", "4"))
"""Kills for each format and number of workers; 8 times as many in all. The environment can ask for more."""
SCRIPT = """
from pathlib import Path
from gristmill.prepared import write_group
from gristmill.prepared.local import local_file
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import SplitSource
import gristmill.formats.parquet, gristmill.formats.csv, gristmill.formats.json, gristmill.formats.text
write_group.GROUP_BYTES = 50_000
def run(format, workers, cache, *paths):
    files = tuple(local_file(Path(p), Path(p).name) for p in paths)
    source = SplitSource("poems", "p", "p", None, "default", "train", format, files)
    prepare(source, Path(cache), num_proc=int(workers))
"""
ROWS = 20_000


def write(path: Path, format: str, first: int) -> None:
    rows = range(first, first + ROWS)
    if format == "parquet":
        pq.write_table(pa.table({"a": list(rows), "b": ["text"] * ROWS}), path, row_group_size=5_000)
    elif format == "json":
        path.write_text("".join(json.dumps({"a": row, "b": "text"}) + "\n" for row in rows))
    elif format == "csv":
        path.write_text("a,b\n" + "".join(f"{row},text\n" for row in rows))
    else:
        path.write_text("".join(f"{row}\n" for row in rows))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("format", ["csv", "json", "parquet", "text"])
def test_killed_at_any_moment_it_is_whole_or_absent(tmp_path, monkeypatch, format, workers):
    cache, paths = tmp_path / "cache", [tmp_path / f"{number}.data" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, format, number * ROWS)
    files = tuple(local_file(path, path.name) for path in paths)
    source = SplitSource("poems", "p", "p", None, "default", "train", format, files)
    monkeypatch.setattr(write_group, "GROUP_BYTES", 50_000)
    chance, endings = random.Random(f"{format} {workers}"), set()
    with Forks(SCRIPT) as forks:
        forks.start(format, workers, cache, *paths)
        assert forks.end() == 0
        started = time.monotonic()
        whole = prepare(source, cache, force=True, num_proc=workers)
        took = time.monotonic() - started
        expected = contents(whole)
        assert len(expected) > 3
        for point in range(POINTS):
            shutil.rmtree(whole)
            pid = forks.start(format, workers, cache, *paths)
            # One of them at once, so that there is one which does not come too late on any machine.
            time.sleep(chance.random() * took * 1.2 if point else 0)
            endings.add(forks.kill(pid))
            assert not is_prepared(whole) or contents(whole) == expected
            forks.start(format, workers, cache, *paths)
            assert forks.end() == 0
            assert contents(whole) == expected
            assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    assert -signal.SIGKILL in endings
