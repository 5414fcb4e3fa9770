"""Rows of databases, read and written."""

import datetime as dt
import decimal
import os
import sqlite3
import subprocess
import sys
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dataset import Dataset
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    DatabaseError,
    InvalidArgumentError,
    SchemaConflictError,
)
from gristmill.features import Features, Json, Value
from gristmill.formats.sql import SqlOptions, infer_query_schema, query_key, read_query
from gristmill.formats.sql_types import declared
from gristmill.optional import installed
from tests.postgres import postgres

UTC = dt.timezone.utc


@pytest.fixture
def con():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def server():
    with postgres() as uri:
        yield uri


FEATURES = Features(
    {
        "i": Value("int64"), "small": Value("int16"), "f": Value("float64"), "b": Value("bool"), "s": Value("string"),
        "raw": Value("binary"), "d": Value("date32"), "t": Value("timestamp[us]"), "z": Value("timestamp[us, tz=UTC]"),
        "n": Value("decimal128(20, 4)"), "clock": Value("time64[us]"), "j": Json(),
    }
)  # fmt: skip
ROWS = [
    {
        "i": 2**63 - 1, "small": -5, "f": 0.1, "b": True, "s": "it's \"quoted\" é 🌾\n", "raw": b"\x00\xff", "d": dt.date(2020, 2, 29),
        "t": dt.datetime.fromisoformat("2020-01-02 03:04:05.678901"), "z": dt.datetime(2020, 1, 2, 3, 4, 5, 1, UTC),
        "n": decimal.Decimal("1234567890123456.7891"), "clock": dt.time(1, 2, 3, 4), "j": {"a": [1, None, "x"], "b": {}},
    },
    dict.fromkeys(FEATURES),
]  # fmt: skip


def test_postgres_keeps_every_type(server):
    ds = Dataset.from_list(ROWS, features=FEATURES)
    assert ds.to_sql("All_Types", server) == 2
    back = Dataset.from_sql("All_Types", server)
    assert back[:] == ds[:]
    # PostgreSQL has one kind of integer in an answer, as far as a dataset is concerned.
    assert back.features == Features({**FEATURES, "small": Value("int64")})
    # A column of nulls has the type the database says, and so has an answer without rows.
    nulls = Dataset.from_sql('SELECT * FROM "All_Types" WHERE i IS NULL', server)
    assert (nulls.features, len(nulls)) == (back.features, 1)
    none = Dataset.from_sql('SELECT * FROM "All_Types" WHERE false', server)
    assert (none.features, len(none)) == (back.features, 0)


def test_postgres_types_of_its_own(server):
    query = """SELECT ARRAY[1, NULL, 3] AS ints, ARRAY['a'] AS texts, '5 days'::interval AS span, '[1, "x"]'::json AS j,
        '00000000-0000-0000-0000-00000000000a'::uuid AS u, 1.50::numeric AS n, 'x'::char(3) AS c, true AS b,
        '2020-06-01 12:00:00+02'::timestamptz AS z, 100 % 7 AS modulo, '%s :x' AS marks"""
    (row,) = Dataset.from_sql(query, server)
    assert row == {
        "ints": [1, None, 3], "texts": ["a"], "span": dt.timedelta(days=5), "j": [1, "x"], "u": str(uuid.UUID(int=10)),
        "n": decimal.Decimal("1.50"), "c": "x  ", "b": True, "z": dt.datetime(2020, 6, 1, 10, tzinfo=UTC), "modulo": 2,
        "marks": "%s :x",
    }  # fmt: skip


def test_postgres_tables_engines_and_mistakes(server):
    import sqlalchemy

    ds = Dataset.from_dict({"n": [1, 2, 3], "s": ["a", None, "c"]})
    name = 'x"; DROP TABLE students; --'
    engine = sqlalchemy.create_engine(server)
    assert ds.to_sql(name, engine, batch_size=2) == 3
    counted = 'SELECT count(*) AS n FROM "x""; DROP TABLE students; --"'
    assert Dataset.from_sql(counted, engine)[0] == {"n": 3}
    with pytest.raises(InvalidArgumentError, match="exists"):
        ds.to_sql(name, engine)
    ds.to_sql("t", server)
    ds.to_sql("t", server, if_exists="append")
    ds.to_sql(
        "t", server, if_exists="replace", index=True, index_label="row", dtype={"n": sqlalchemy.SmallInteger}
    )
    assert Dataset.from_sql("t", server)["row"][:] == [0, 1, 2]
    assert Dataset.from_sql("public.t", server, columns=["s", "n"]).column_names == ["s", "n"]
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA other")
        # Inside the caller's transaction, which rolls it back.
        Dataset.from_dict({"a": [1]}).to_sql("u", connection, schema="other")
        assert len(Dataset.from_sql("other.u", connection)) == 1
    t = sqlalchemy.table("t", sqlalchemy.column("n"))
    assert Dataset.from_sql(sqlalchemy.select(t).where(t.c.n > 1), engine)["n"][:] == [2, 3]
    assert Dataset.from_sql("SELECT n FROM t WHERE n > :least", server, params={"least": 2})["n"][:] == [3]
    assert Dataset.from_sql("SELECT n FROM t WHERE n > %s", server, params=[2])["n"][:] == [3]
    # All rows or none.
    odd = Dataset.from_dict({"n": [1, 2**40]})
    with pytest.raises(DatabaseError, match=r"postgresql\+psycopg\) can't take the table"):
        odd.to_sql("half", server, batch_size=1, dtype={"n": sqlalchemy.SmallInteger})
    with pytest.raises(
        DatabaseError, match=r'relation "half" does not exist.*It was asked: SELECT \* FROM "half"'
    ):
        Dataset.from_sql("half", server)
    engine.dispose()


MEMORY = """
import resource, sys
from gristmill.formats.sql import SqlOptions, read_query
import pyarrow as pa
schema = pa.schema({"n": pa.int64(), "s": pa.string()})
query = "SELECT n, repeat('x', 1000) AS s FROM generate_series(1, %s) AS t(n)"
def peak(rows):
    total = sum(b.num_rows for _, b in read_query(SqlOptions(query % rows, sys.argv[1], chunksize=1000), schema=schema))
    assert total == rows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = peak(2000)
assert peak(100_000) < first + 40_000, "100 MB of rows take more than 40 MB"
"""


def test_many_rows_pass_through_little_memory(server):
    subprocess.run([sys.executable, "-c", MEMORY, server], check=True, env=os.environ, timeout=100)


@pytest.mark.parametrize("chunksize", [1, 7, 100])
def test_positions_give_exactly_the_rest(con, chunksize):
    con.execute("CREATE TABLE t (n, s)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(i, None if i < 30 else f"x{i}") for i in range(50)])
    options = SqlOptions("SELECT * FROM t ORDER BY n", con, chunksize=chunksize)
    assert infer_query_schema(options) == pa.schema({"n": pa.int64(), "s": pa.string()})
    batches = list(read_query(options))
    assert {batch.schema for _, batch in batches} == {batches[0][1].schema}
    for position, _ in batches:
        rest = [n for _, batch in read_query(options, start=position) for n in batch["n"].to_pylist()]
        assert rest == list(range(position.row, 50))


values: dict[str, Any] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "string": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    "binary": st.binary(max_size=6),
}


@settings(max_examples=60)
@given(st.data(), st.sampled_from([None, *values]), st.integers(1, 4))
def test_what_is_written_reads_back(data, first, batch_size):
    kinds = [first or "int64", *data.draw(st.lists(st.sampled_from([*values]), max_size=3))]
    rows = data.draw(st.integers(0, 6))
    columns = {
        f"c{i}": data.draw(st.lists(st.none() | values[kind], min_size=rows, max_size=rows))
        for i, kind in enumerate(kinds)
    }
    features = Features({f"c{i}": Value(kind) for i, kind in enumerate(kinds)})
    con = sqlite3.connect(":memory:")
    ds = Dataset.from_dict(columns, features=features)
    ds.to_sql("t", con, batch_size=batch_size)
    assert Dataset.from_sql("t", con, features=features).to_dict() == columns
    con.close()


def test_sqlite_has_text_where_it_has_no_type(con):
    Dataset.from_list(ROWS, features=FEATURES).to_sql("t", con)
    row = Dataset.from_sql("t", con, parse_dates=["t"])[0]
    assert row["b"] == 1
    assert row["n"] == "1234567890123456.7891"
    assert row["t"] == ROWS[0]["t"]
    assert row["z"] == "2020-01-02 03:04:05.000001+00:00"
    assert row["j"] == '{"a":[1,null,"x"],"b":{}}'
    with pytest.raises(CastError, match="microsecond"):
        Dataset.from_dict({"t": pa.array([1], pa.timestamp("ns"))}).to_sql("ns", con)
    with pytest.raises(DatabaseError, match="no such table"):
        Dataset.from_sql("ns", con)


def test_options(con):
    con.execute("CREATE TABLE t (a, b, c)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", [(86400, "01/02/2020", "x"), (None, None, "y")])
    ds = Dataset.from_sql(
        "t", con, index_col="a", parse_dates={"a": "s", "b": "%d/%m/%Y"}, coerce_float=False
    )
    assert ds.column_names == ["b", "c", "a"]
    assert ds[0] == {
        "b": dt.datetime.fromisoformat("2020-02-01"), "c": "x", "a": dt.datetime.fromisoformat("1970-01-02"),
    }  # fmt: skip
    with pytest.raises(CastError, match='column "c"'):
        Dataset.from_sql("t", con, parse_dates=["c"])
    with pytest.raises(ColumnNotFoundError):
        Dataset.from_sql("t", con, parse_dates=["zzz"])
    with pytest.raises(InvalidArgumentError, match="index_col"):
        Dataset.from_sql("t", con, index_col=["zzz"])
    mistake: Any
    for mistake in ({"chunksize": 0}, {"nonsense": 1}):
        with pytest.raises(InvalidArgumentError):
            Dataset.from_sql("t", con, **mistake)
    for sql, place in [(5, con), ("t", 5), (None, con), ("t", "no uri at all")]:
        with pytest.raises(InvalidArgumentError):
            Dataset.from_sql(sql, place)
    for wrong in ({"method": print}, {"if_exists": "maybe"}, {"nonsense": 1}, {"batch_size": -1}):
        with pytest.raises(InvalidArgumentError):
            ds.to_sql("u", con, **wrong)


def test_names_are_quoted(con):
    name = 'a"; DROP TABLE keep; --'
    con.execute("CREATE TABLE keep (n)")
    ds = Dataset.from_dict({'c"1': [1], "select": ["x"]})
    for table in (name.replace(" ", ""), "a.b"):
        ds.to_sql(table, con)
    assert Dataset.from_sql(name.replace(" ", ""), con, columns=['c"1'])[0] == {'c"1': 1}
    assert Dataset.from_sql("main.keep", con).column_names == ["n"]


def test_errors_name_the_query_and_the_driver_and_no_password(con):
    with pytest.raises(
        DatabaseError,
        match=r"The database \(sqlite3\) can't answer: no such column: zzz. It was asked: SELECT zzz",
    ):
        Dataset.from_sql("SELECT\n zzz", con)
    con.execute("CREATE TABLE t (a)")
    con.executemany("INSERT INTO t VALUES (?)", [(1,), ("x",)])
    with pytest.raises(SchemaConflictError, match='column "a"'):
        Dataset.from_sql("t", con)
    if installed("psycopg"):
        with pytest.raises(DatabaseError) as caught:
            Dataset.from_sql("t", "postgresql+psycopg://me:s3cret@127.0.0.1:1/x")
        assert "s3cret" not in str(caught.value)
        assert "postgresql" in str(caught.value)


def test_the_same_question_has_the_same_key():
    base: dict[str, Any] = {"sql": "SELECT 1", "con": "sqlite:///x"}
    keys = {
        query_key(SqlOptions(**{**base, **more}))
        for more in ({}, {"params": [1]}, {"con": "sqlite:///y"}, {"sql": "SELECT 2"}, {"parse_dates": ["a"]})
    }
    assert len(keys) == 5


def test_declared_types_of_mysql():
    assert declared(("a", 12), "mysql").feature == Value("timestamp[us]")
    json_column = declared(("a", 245), "mysql")
    assert json_column.prepare is not None
    assert json_column.prepare('{"a": 1}') == {"a": 1}
    assert declared(("a", 8), "mysql").feature is None


def test_arrow_drivers(tmp_path):
    if not installed("adbc_driver_sqlite"):
        pytest.skip("adbc-driver-sqlite is not installed")
    import adbc_driver_sqlite.dbapi as adbc

    ds = Dataset.from_dict({"n": [1, None], "s": ["x", "y"]})
    with adbc.connect(str(tmp_path / "x.db")) as connection:
        assert ds.to_sql("t", connection) == 2
        assert Dataset.from_sql("t", connection).to_dict() == ds.to_dict()
        assert ds.to_sql("t", connection, if_exists="append") == 2
        assert len(Dataset.from_sql("SELECT * FROM t WHERE n = ?", connection, params=(1,))) == 2
        with pytest.raises(DatabaseError, match="adbc"):
            Dataset.from_sql("nothing", connection)
