"""Rows of a real MariaDB, read and written; skipped where there is no server or no driver for it."""

import datetime as dt
import decimal

import pytest

from gristmill import load_dataset
from gristmill.dataset import Dataset
from gristmill.errors import DatabaseError, InvalidArgumentError
from gristmill.features import Features, Json, Value
from tests.formats.test_sql import FEATURES, ROWS
from tests.mariadb import mariadb


@pytest.fixture(scope="module")
def server():
    with mariadb() as uri:
        yield uri


@pytest.fixture
def engine(server):
    import sqlalchemy

    made = sqlalchemy.create_engine(server)
    yield made
    made.dispose()


def tables(engine):
    import sqlalchemy

    return sorted(sqlalchemy.inspect(engine).get_table_names())


def test_values_come_back(server):
    ds = Dataset.from_list(ROWS, features=FEATURES)
    assert ds.to_sql("All_Types", server) == 2
    back = Dataset.from_sql("All_Types", server)
    first = {
        **ROWS[0],
        "z": dt.datetime.fromisoformat("2020-01-02 03:04:05.000001"),  # kept in UTC; MySQL knows no zones
        "clock": dt.timedelta(hours=1, minutes=2, seconds=3, microseconds=4),  # TIME is a span of time there
        "j": '{"a": [1, null, "x"], "b": {}}',  # JSON is text
    }
    assert back[0] == first
    assert back[1] == dict.fromkeys(FEATURES)
    changed = {"small": "int64", "b": "int64", "z": "timestamp[us]", "clock": "duration[us]", "j": "string"}
    assert back.features == Features({**FEATURES, **{name: Value(kind) for name, kind in changed.items()}})
    nothing = Dataset.from_sql("SELECT * FROM All_Types WHERE false", server)
    assert len(nothing) == 0
    for name in ("small", "b", "f", "d", "t", "z", "clock"):
        assert nothing.features[name] == back.features[name]


def test_large_values_zones_and_spans(server):
    features = Features(
        {"s": Value("string"), "raw": Value("binary"), "z": Value("timestamp[us, tz=Europe/Berlin]"), "span": Value("duration[us]")}
    )  # fmt: skip
    span = dt.timedelta(hours=-30, microseconds=5)
    row = {
        "s": "é" * 100_000,
        "raw": b"\x00" * 100_000,
        "z": dt.datetime(2020, 6, 1, 12, tzinfo=dt.timezone.utc),
        "span": span,
    }
    assert Dataset.from_list([row], features=features).to_sql("large", server) == 1
    assert Dataset.from_sql("large", server)[0] == {
        **row,
        "z": dt.datetime.fromisoformat("2020-06-01 12:00:00"),
    }


def test_types_of_its_own(engine, server):
    with engine.begin() as connection:
        connection.exec_driver_sql(
            """CREATE TABLE own (small TINYINT(1), u BIGINT UNSIGNED, y YEAR, en ENUM('a','b'), se SET('a','b'), bi BIT(8),
            tx LONGTEXT, bl BLOB, ti TIME(3), de DECIMAL(30,10), ts TIMESTAMP(6) NULL, fl FLOAT, da DATE)"""
        )
        connection.exec_driver_sql(
            """INSERT INTO own VALUES (1, 18446744073709551615, 2024, 'b', 'a,b', b'101', 'héllo 🌾', x'00ff', '-30:00:01.5',
            12345678901234567890.0123456789, '2020-01-02 03:04:05.678901', 1.5, '2020-02-29')"""
        )
    assert Dataset.from_sql("own", server)[0] == {
        "small": 1, "u": 2**64 - 1, "y": 2024, "en": "b", "se": "a,b", "bi": b"\x05", "tx": "héllo 🌾", "bl": b"\x00\xff",
        "ti": dt.timedelta(hours=-30, seconds=-1.5), "de": decimal.Decimal("12345678901234567890.0123456789"),
        "ts": dt.datetime.fromisoformat("2020-01-02 03:04:05.678901"), "fl": 1.5, "da": dt.date(2020, 2, 29),
    }  # fmt: skip


def test_names_queries_and_parameters(engine, server, tmp_path):
    ds = Dataset.from_dict({"n": [1, 2, 3], "s": ["a", None, "50% :x"]})
    name = "x`; DROP TABLE students; -- 100%"
    assert ds.to_sql(name, engine, batch_size=2) == 3
    assert name in tables(engine)
    with pytest.raises(InvalidArgumentError, match="exists"):
        ds.to_sql(name, server)
    ds.to_sql("t", server, index=True, index_label="row")
    ds.to_sql("t", server, if_exists="append", index=True, index_label="row")
    assert Dataset.from_sql("t", server)["row"][:] == [0, 1, 2, 0, 1, 2]
    assert Dataset.from_sql("test.t", server, columns=["s", "n"])[0] == {"s": "a", "n": 1}
    assert Dataset.from_sql("SELECT DISTINCT n FROM t WHERE n > :least", server, params={"least": 2})["n"][
        :
    ] == [3]
    assert Dataset.from_sql("SELECT DISTINCT n FROM t WHERE n > %s", server, params=[2])["n"][:] == [3]
    loaded = load_dataset(
        "sql", sql="SELECT n, s FROM t WHERE `row` = 2", con=server, split="train", cache_dir=str(tmp_path)
    )
    assert loaded["s"][:] == ["50% :x", "50% :x"]


def test_all_rows_or_none_and_what_was_there_stays(engine, server):
    import sqlalchemy

    before = tables(engine)
    odd = Dataset.from_dict({"n": [1, 2**40]})
    small = {"n": sqlalchemy.SmallInteger}
    with pytest.raises(DatabaseError, match="can't take the table"):
        odd.to_sql("half", server, batch_size=1, dtype=small)
    assert tables(engine) == before
    good = Dataset.from_dict({"n": [7]})
    good.to_sql("kept", server)
    good.to_sql("kept", server, if_exists="replace", dtype=small)
    for way in ("replace", "append"):
        with pytest.raises(DatabaseError, match="can't take the table"):
            odd.to_sql("kept", server, if_exists=way, batch_size=1, dtype=small)
        assert Dataset.from_sql("kept", server)["n"][:] == [7]
    assert good.to_sql("kept", server, if_exists="replace", index=True) == 1
    assert Dataset.from_sql("kept", server)[:] == {"index": [0], "n": [7]}
    assert tables(engine) == sorted([*before, "kept"])


def test_mistakes_say_what_was_asked(server):
    with pytest.raises(DatabaseError, match="nowhere"):
        Dataset.from_sql("nowhere", server)


def test_json_columns_can_be_made_of_text(server):
    text = Dataset.from_sql("""SELECT '{"a": [1, null]}' AS j""", server)
    assert text.features == Features({"j": Value("string")})
    import json

    parsed = text.map(lambda row: {"j": json.loads(row["j"])}, features=Features({"j": Json()}))
    assert parsed[0] == {"j": {"a": [1, None]}}
