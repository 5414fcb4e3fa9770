"""Rows from and to databases."""

import sqlite3

import pytest

from gristmill.dataset import Dataset
from gristmill.errors import FileError, InvalidArgumentError, MissingDependencyError
from gristmill.features import Features, Value
from gristmill.optional import installed


@pytest.fixture
def con():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@pytest.fixture
def ds():
    return Dataset.from_dict({"n": [1, None, 2**53 + 1], "s": ["x", "y", None], "f": [0.5, None, 2.0]})


def test_round_trip(ds, con):
    assert ds.to_sql("rows", con, batch_size=2) == 3
    assert Dataset.from_sql("rows", con).to_dict() == ds.to_dict()
    assert Dataset.from_sql("SELECT s FROM rows WHERE n > ?", con, params=(1,))["s"][:] == [None]
    assert Dataset.from_sql("rows", con, columns=["s", "n"], chunksize=1).column_names == ["s", "n"]
    typed = Dataset.from_sql(
        "SELECT n FROM rows", con, features=Features({"n": Value("string")}), keep_in_memory=True
    )
    assert typed["n"][:] == ["1", None, str(2**53 + 1)]


def test_uris(ds, tmp_path):
    uri = f"sqlite:///{tmp_path / 'rows.db'}"
    ds.to_sql("rows", uri)
    assert Dataset.from_sql("SELECT * FROM rows", uri).to_dict() == ds.to_dict()
    if not installed("sqlalchemy"):
        with pytest.raises(MissingDependencyError, match="sqlalchemy"):
            Dataset.from_sql("rows", "postgresql://localhost/x")


def test_tables_that_exist(ds, con):
    ds.to_sql("rows", con)
    with pytest.raises(InvalidArgumentError, match="rows"):
        ds.to_sql("rows", con)
    assert ds.to_sql("rows", con, if_exists="append") == 3
    assert len(Dataset.from_sql("rows", con)) == 6
    ds.select([0]).to_sql("rows", con, if_exists="replace", index=True)
    assert Dataset.from_sql("rows", con)["index"][:] == [0]


def test_no_rows(ds, con):
    assert ds.select([]).to_sql("rows", con) == 0
    back = Dataset.from_sql("rows", con)
    assert (len(back), back.column_names) == (0, ["n", "s", "f"])


def test_late_text_and_rows_on_disk(con, monkeypatch):
    from gristmill.engine import growing

    con.execute("CREATE TABLE t (a)")
    con.executemany("INSERT INTO t VALUES (?)", [(None,)] * 5 + [("x",)])
    monkeypatch.setattr(growing, "_IN_MEMORY", 5)
    ds = Dataset.from_sql("SELECT a FROM t", con, chunksize=2)
    assert ds["a"][:] == [None] * 5 + ["x"]
    assert len(ds.cache_files) == 1


def test_mistakes(ds, con):
    with pytest.raises(FileError, match="database"):
        Dataset.from_sql("SELECT * FROM nothing", con)
    with pytest.raises(InvalidArgumentError, match="two columns"):
        Dataset.from_sql("SELECT 1 AS a, 2 AS a", con)
    with pytest.raises(InvalidArgumentError, match="from_sql has no option"):
        Dataset.from_sql("SELECT 1", con, nonsense="a")
    with pytest.raises(InvalidArgumentError, match="columns="):
        Dataset.from_sql("SELECT 1 AS a", con, columns=["a"])
    with pytest.raises(InvalidArgumentError, match="nested"):
        Dataset.from_dict({"l": [[1]]}).to_sql("rows", con)
