"""Streams read to their end."""

import sqlite3

import pytest

from gristmill.dataset import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.features import ClassLabel, Features, Value
from gristmill.iterable import IterableDataset

ROWS = {"a": list(range(25)), "t": [f"t{n}" for n in range(25)]}


def known():
    return IterableDataset.from_dict(ROWS, num_shards=3)


def unknown():
    return known().map(lambda row: {"b": row["a"] if row["a"] < 20 else row["a"] + 0.5})


WIDENED = [float(n) if n < 20 else n + 0.5 for n in range(25)]


def test_objects():
    assert known().to_dict() == ROWS
    assert known().to_list() == Dataset.from_dict(ROWS).to_list()
    assert [len(batch["a"]) for batch in known().to_dict(batch_size=10, batched=True)] == [10, 10, 5]
    assert unknown().to_dict()["b"] == WIDENED
    assert known().filter(lambda row: False).to_dict() == {"a": [], "t": []}
    assert unknown().filter(lambda row: False).to_dict() == {}
    assert known().with_format("numpy").to_list()[0] == {"a": 0, "t": "t0"}
    with pytest.raises(InvalidArgumentError, match="batch_size"):
        known().to_dict(batch_size=-1, batched=True)


def test_frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    assert known().to_pandas().equals(pandas.DataFrame(ROWS))
    assert [len(frame) for frame in known().to_pandas(batch_size=20, batched=True)] == [20, 5]
    assert known().to_polars().equals(polars.DataFrame(ROWS))
    assert sum(len(frame) for frame in known().to_polars(batch_size=7, batched=True)) == 25
    assert IterableDataset.from_polars(polars.DataFrame(ROWS)).to_dict() == ROWS
    assert IterableDataset.from_pandas(pandas.DataFrame(ROWS), num_shards=2).num_shards == 2


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_files(tmp_path, ending, batch_size):
    for make, values in ((known, {}), (unknown, {"b": WIDENED})):
        path = tmp_path / f"{make.__name__}.{ending}"
        size = getattr(make(), f"to_{ending}")(path, batch_size)
        assert path.stat().st_size == size
        back = getattr(Dataset, f"from_{ending}")(str(path), cache_dir=str(tmp_path / "cache"))
        assert back.to_dict() == {**ROWS, **values}


def test_features_are_kept(tmp_path):
    features = Features({"c": ClassLabel(names=["x", "y"]), "n": Value("int8")})
    stream = IterableDataset.from_dict({"c": [0, 1], "n": [1, 2]}, features)
    stream.map(lambda row: {"m": row["n"]}).to_parquet(tmp_path / "m.parquet")
    back = IterableDataset.from_parquet(str(tmp_path / "m.parquet"))
    assert back.features == Features({**features, "m": Value("int64")})
    stream.filter(lambda row: False).to_parquet(tmp_path / "none.parquet")
    none = IterableDataset.from_parquet(str(tmp_path / "none.parquet"))
    assert (none.features, list(none)) == (features, [])


def test_a_failed_export_leaves_nothing(tmp_path):
    def fail(row):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        known().map(fail).to_json(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_database(tmp_path):
    uri = f"sqlite:///{tmp_path / 'rows.db'}"
    assert unknown().to_sql("rows", uri, batch_size=10) == 25
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        assert connection.execute("SELECT SUM(b) FROM rows").fetchone() == (sum(WIDENED),)
    connection.close()
