"""Exports that end early, by a value that can't be written or by the system: the old files, or whole new ones."""

import csv
import json
import random
import signal
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import Dataset
from gristmill.errors import GristmillError
from tests.processes import Forks

SCRIPT = """
from gristmill import Dataset
def run(folder, format, number):
    Dataset.from_dict({"n": [int(number)] * 30_000, "t": ["text"] * 30_000}).to_FORMAT(folder + "/a." + format, num_shards=3)
"""
FORMATS = pytest.mark.parametrize("format", ["parquet", "json", "csv"])


@FORMATS
@pytest.mark.parametrize("files", [None, 3])
def test_a_value_that_can_not_be_written_leaves_the_old_files(tmp_path, format, files):
    options = {} if files is None else {"num_shards": files}
    # Found where it is written, in the last of the files: nanoseconds beyond 64 bits, and a day after the year 9999.
    late, kind = (
        (pa.array([0] * 9_999 + [2**62]), pa.timestamp("s"))
        if format == "parquet"
        else (pa.array([0] * 9_999 + [10**16]), pa.timestamp("ms"))
    )
    good = Dataset.from_dict({"n": list(range(20))})
    getattr(good, f"to_{format}")(tmp_path / f"a.{format}", **options)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    bad = Dataset(pa.table({"n": late.cast(kind)}))
    for more in ({}, {"num_proc": 2}) if files else ({},):
        with pytest.raises(GristmillError, match=r"row 9999"):
            getattr(bad, f"to_{format}")(tmp_path / f"a.{format}", **options, **more)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def numbers(path, format):
    """Gives the numbers in a file that can be read to its end."""
    if format == "parquet":
        return set(pq.read_table(path)["n"].to_pylist())
    if format == "json":
        rows = [json.loads(line)["n"] for line in path.read_text().splitlines()]
    else:
        with path.open(newline="") as file:
            rows = [int(row["n"]) for row in csv.DictReader(file)]
    assert len(rows) == 10_000
    return set(rows)


@FORMATS
def test_killed_at_any_moment_each_file_is_whole(tmp_path, format):
    chance, folder = random.Random(format), tmp_path / "out"
    folder.mkdir()
    names = [f"a-{number:05}-of-00003.{format}" for number in range(3)]
    endings = set()
    with Forks(SCRIPT.replace("FORMAT", format)) as forks:
        forks.start(folder, format, 0)
        assert forks.end() == 0
        started = time.monotonic()
        forks.start(folder, format, 0)
        assert forks.end() == 0
        took = time.monotonic() - started
        held = {name: {0} for name in names}
        for point in range(1, 9):
            pid = forks.start(folder, format, point)
            time.sleep(chance.random() * took * 1.1)
            endings.add(forks.kill(pid))
            for name in names:
                found = numbers(folder / name, format)
                assert found in (held[name], {point})
                held[name] = found
        forks.start(folder, format, 99)
        assert forks.end() == 0
    assert -signal.SIGKILL in endings
    assert all(numbers(folder / name, format) == {99} for name in names)
    assert sorted(path.name for path in folder.iterdir()) == names
