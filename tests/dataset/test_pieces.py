"""Pieces: how many files a transform leaves, and that their number changes nothing."""

import pyarrow as pa
import pytest

from gristmill import Value
from gristmill.dataset import Dataset, pieces

ROWS = 60_000


@pytest.fixture
def numbers(tmp_path):
    from gristmill.table.arrow_file import write_arrow

    write_arrow(tmp_path / "numbers.arrow", pa.table({"a": range(ROWS)}))
    return Dataset.from_file(str(tmp_path / "numbers.arrow"))


@pytest.mark.parametrize(("seconds", "files"), [(0.0, 16), (1e6, 2)])
def test_fast_work_leaves_few_files(numbers, tmp_path, monkeypatch, seconds, files):
    monkeypatch.setattr(pieces, "_SECONDS_A_PIECE", seconds)
    kept = numbers.filter(lambda row: row["a"] % 3 == 0)
    assert kept[:]["a"] == list(range(0, ROWS, 3))
    assert len(list(tmp_path.glob("cache-*.arrow"))) == files


def test_what_an_interrupted_run_finished_is_used(numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_SECONDS_A_PIECE", 0.0)
    stop = tmp_path / "stop"
    stop.touch()

    def double(row):
        if row["a"] == 40_000 and stop.exists():
            raise ValueError(row)
        return {"b": row["a"] * 2}

    with pytest.raises(Exception, match="40000"):
        numbers.map(double)
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cache-*.arrow")}
    assert 5 < len(finished) < 16
    stop.unlink()
    monkeypatch.setattr(pieces, "_SECONDS_A_PIECE", 1e6)
    assert numbers.map(double)[:]["b"] == list(range(0, 2 * ROWS, 2))
    assert all(path.stat().st_mtime_ns == changed for path, changed in finished.items())


@pytest.mark.parametrize(("quick", "files"), [(1 << 30, 1), (0, 16)])
def test_little_data_without_a_function_is_one_file(numbers, tmp_path, monkeypatch, quick, files):
    monkeypatch.setattr(pieces, "_SECONDS_A_PIECE", 0.0)
    monkeypatch.setattr(pieces, "_QUICK_BYTES", quick)
    made = numbers.cast_column("a", Value("float64"))
    assert made[-1] == {"a": float(ROWS - 1)}
    assert len(list(tmp_path.glob("cache-*.arrow"))) == files
    again = numbers.cast_column("a", Value("float64"))
    assert again.cache_files == made.cache_files
