"""`load_dataset("sql", ...)`."""

import sqlite3

import pytest
from gristmill.packaged_modules.sql.sql import Sql, SqlConfig

from gristmill import load_dataset
from gristmill.errors import DatabaseError, InvalidArgumentError


def test_rows_are_asked_for_each_time_and_the_same_rows_are_the_same_dataset(tmp_path):
    uri = f"sqlite:///{tmp_path / 'x.db'}"
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE t (a, b)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"x{i}") for i in range(10)])
    connection.commit()
    cache = str(tmp_path / "cache")
    first = load_dataset("sql", sql="SELECT * FROM t ORDER BY a", con=uri, split="train", cache_dir=cache)
    again = load_dataset("sql", sql="SELECT * FROM t ORDER BY a", con=uri, split="train", cache_dir=cache)
    assert first[:] == {"a": list(range(10)), "b": [f"x{i}" for i in range(10)]}
    assert (again._fingerprint, again.cache_files) == (first._fingerprint, first.cache_files)
    part = load_dataset("sql", sql="t", con=uri, columns=["b"], split="train[:20%]", cache_dir=cache)
    assert part.to_dict() == {"b": ["x0", "x1"]}
    connection.execute("DELETE FROM t WHERE a > 0")
    connection.commit()
    connection.close()
    fewer = load_dataset("sql", sql="t", con=uri, cache_dir=cache)
    assert fewer["train"]["a"][:] == [0]
    assert len(first) == 10
    with pytest.raises(InvalidArgumentError, match="sql= is needed"):
        load_dataset("sql", con=uri, cache_dir=cache)
    with pytest.raises(DatabaseError, match="no such table"):
        load_dataset("sql", sql="nothing", con=uri, cache_dir=cache)


def test_the_builder_of_a_query(tmp_path):
    uri = f"sqlite:///{tmp_path / 'x.db'}"
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (None, "y")])
    connection.close()
    builder = Sql(sql="SELECT a, b FROM t", con=uri, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    assert builder.as_dataset("train").to_list() == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    config = SqlConfig(sql="t", con=uri, columns=["a"])
    assert config.pd_read_sql_kwargs["columns"] == ["a"]
    other = SqlConfig(sql="t", con=uri, columns=["b"])
    assert config.create_config_id({"columns": ["a"]}) != other.create_config_id({"columns": ["a"]})
    assert "x.db" not in config.create_config_id({"con": uri})
    with pytest.raises(InvalidArgumentError, match="con="):
        SqlConfig(sql="t")
