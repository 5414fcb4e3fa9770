"""The law of values: written in any format and loaded with the features they had, they are equal, or they were refused."""

import base64
import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.types as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Dataset, Features, load_from_disk
from gristmill.errors import CastError, DatasetGenerationError

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400


def moments(unit: str) -> Any:
    # What Python holds in any zone, and int64 in nanoseconds.
    low, high = (-9 * 10**9, 9 * 10**9) if unit == "ns" else (-62_135_500_000, 253_402_200_000)
    return st.integers(low * UNITS[unit], high * UNITS[unit]) | st.integers(low, high).map(
        UNITS[unit].__mul__
    )


def spans(unit: str) -> Any:
    # Seconds that a float holds to the last place, within what Python's timedelta takes.
    most = min(2**52 - 1, 10**13 * UNITS[unit])
    return st.integers(-most, most) | st.integers(-9, 9).map(UNITS[unit].__mul__)


def times(unit: str) -> Any:
    return st.integers(0, DAY * UNITS[unit] - 1) | st.integers(0, DAY - 1).map(UNITS[unit].__mul__)


def decimals(places: int, scale: int) -> Any:
    return st.integers(-(10**places) + 1, 10**places - 1).map(
        # `scaleb` would round to the 28 digits of the context.
        lambda number: Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))
    )


def floats(width: Literal[16, 32, 64]) -> Any:
    return st.floats(width=width, allow_nan=False, allow_infinity=False)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
ZONES = [None, "UTC", "Europe/Paris", "America/New_York", "+05:45"]
VALUES: dict[pa.DataType, Any] = {
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    **{pa.time32(unit): times(unit) for unit in ("s", "ms")},
    **{pa.time64(unit): times(unit) for unit in ("us", "ns")},
    **{pa.timestamp(unit, zone): moments(unit) for unit in UNITS for zone in ZONES},
    **{pa.duration(unit): spans(unit) for unit in UNITS},
    pa.bool_(): st.booleans(),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int8(): st.integers(-128, 127),
    **{kind: floats(kind.bit_width) for kind in (pa.float16(), pa.float32(), pa.float64())},
    pa.decimal128(9, 3): decimals(9, 3),
    pa.decimal128(38, 10): decimals(38, 10),
    pa.decimal128(5, -2): decimals(5, -2),
    pa.decimal256(76, 20): decimals(76, 20),
    pa.binary(): TEXT.map(str.encode),
    pa.large_binary(): TEXT.map(str.encode),
    pa.string(): TEXT,
}


def array_of(values: list[Any], type_: pa.DataType) -> pa.Array:
    if not pt.is_temporal(type_) or pt.is_date(type_):
        return pa.array(values, type_)
    return pa.array(values, pa.int32() if type_.bit_width == 32 else pa.int64()).cast(type_)


@st.composite
def tables(draw: Any) -> pa.Table:
    rows = draw(st.integers(1, 6))
    columns = {"row": pa.array(range(rows))}
    for number, type_ in enumerate(draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))):
        cells = draw(st.lists(st.none() | VALUES[type_], min_size=rows, max_size=rows))
        columns[f"c{number}"] = array_of(cells, type_)
    return pa.table(columns)


def through_json(ds: Dataset, folder: Path) -> Dataset:
    ds.to_json(folder / "a.jsonl")
    return Dataset.from_json(str(folder / "a.jsonl"), features=ds.features, cache_dir=str(folder))


def through_csv(ds: Dataset, folder: Path) -> Dataset:
    ds.to_csv(folder / "a.csv")
    return Dataset.from_csv(str(folder / "a.csv"), features=ds.features, cache_dir=str(folder))


def through_parquet(ds: Dataset, folder: Path) -> Dataset:
    ds.to_parquet(folder / "a.parquet")
    return Dataset.from_parquet(str(folder / "a.parquet"), features=ds.features, cache_dir=str(folder))


def through_sql(ds: Dataset, folder: Path) -> Dataset:
    uri = f"sqlite:///{folder / 'a.db'}"
    ds.to_sql("t", uri)
    return Dataset.from_sql("t", uri, features=ds.features, cache_dir=str(folder))


def through_disk(ds: Dataset, folder: Path) -> Dataset:
    ds.save_to_disk(folder / "saved")
    saved: Any = load_from_disk(folder / "saved")
    return saved


WAYS: dict[str, Callable[[Dataset, Path], Dataset]] = {
    "json": through_json,
    "csv": through_csv,
    "parquet": through_parquet,
    "sql": through_sql,
    "disk": through_disk,
}


def expected(table: pa.Table, way: str) -> pa.Table:
    """JSON has no bytes: the text that stands for them is what is read."""
    if way != "json":
        return table
    for number, field in enumerate(table.schema):
        if field.type in (pa.binary(), pa.large_binary()):
            cells = [
                None if cell is None else base64.b64encode(cell) for cell in table.column(number).to_pylist()
            ]
            table = table.set_column(number, field, pa.array(cells, field.type))
    return table


def kept_by_sqlite(table: pa.Table) -> bool:
    for column in table.columns:
        if column.type == pa.uint64() and any((value or 0) >= 2**63 for value in column.to_pylist()):
            return False
        finest = column.type == pa.time64("ns") or (pt.is_timestamp(column.type) and column.type.unit == "ns")
        if finest and any((value or 0) % 1000 for value in column.cast(pa.int64()).to_pylist()):
            return False
    return True


@pytest.mark.parametrize("way", WAYS)
def test_values_come_back_equal_or_are_refused_when_written(way: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    @settings(max_examples=25)
    @given(tables())
    def law(table: pa.Table) -> None:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        ds = Dataset(table)
        if way == "sql" and not kept_by_sqlite(table):
            with pytest.raises(CastError, match=r'row \d+, column "c\d"'):
                WAYS[way](ds, folder)
            return
        scales = [kind.scale for kind in table.schema.types if pt.is_decimal(kind)]
        if way == "parquet" and any(scale < 0 for scale in scales):
            with pytest.raises(CastError, match=r'column "c\d": Parquet can.t hold'):
                WAYS[way](ds, folder)
            return
        back = WAYS[way](ds, folder)
        assert back.features == ds.features
        want = expected(table, way)
        for name in want.column_names:
            assert back.data.table[name].combine_chunks().equals(want[name].combine_chunks()), name

    law()


@pytest.mark.parametrize("shape", ["plain", "lists"])
@pytest.mark.parametrize("way", ["json", "csv", "parquet", "disk"])
def test_nanoseconds_of_a_time_of_day_are_kept(way: str, shape: str, tmp_path: Path) -> None:
    array = pa.array([1_234_567_890_123, 1_000, None, 0], pa.time64("ns"))
    if shape == "lists":
        array = pa.ListArray.from_arrays(pa.array([0, 2, 2, 4], pa.int32()), array)
    ds = Dataset(pa.table({"row": range(len(array)), "t": array}))
    if way == "csv" and shape == "lists":
        ds.to_csv(tmp_path / "a.csv")
        lines = (tmp_path / "a.csv").read_text().splitlines()
        assert lines[1] == '0,"[""00:20:34.567890123"",""00:00:00.000001""]"'
        return
    assert WAYS[way](ds, tmp_path).data.table["t"].combine_chunks().equals(array)


def test_seconds_are_the_nearest_float_and_csv_keeps_all_digits(tmp_path: Path) -> None:
    array = pa.array([1, -1, 1_500_000_000, None, 2**60 + 1], pa.duration("ns"))
    ds = Dataset(pa.table({"row": range(5), "d": array}))
    ds.select(range(4)).to_json(tmp_path / "b.jsonl")
    assert [line.partition('"d":')[2] for line in (tmp_path / "b.jsonl").read_text().splitlines()] == [
        "1e-09}", "-1e-09}", "1.5}", "null}",
    ]  # fmt: skip
    assert through_csv(ds, tmp_path).data.table["d"].combine_chunks().equals(array)
    assert (tmp_path / "a.csv").read_text().splitlines()[-1] == "4,1152921504.606846977"
    with pytest.raises(DatasetGenerationError, match=r'row 4, column "d".*float does not hold') as caught:
        through_json(ds, tmp_path)
    assert "1152921504.606847" in str(caught.value)


def test_bytes_in_json_are_base64_text_that_is_decoded_by_hand(tmp_path: Path) -> None:
    ds = Dataset.from_dict(
        {"b": [b"\xff\x00", None, b"abc"]}, features=Features.from_arrow_schema(pa.schema({"b": pa.binary()}))
    )
    back = through_json(ds, tmp_path)
    assert back["b"][:] == [b"/wA=", None, b"YWJj"]
    decoded = back.map(lambda row: {"b": row["b"] and base64.b64decode(row["b"])})
    assert decoded.data.table["b"].to_pylist() == [b"\xff\x00", None, b"abc"]


def test_a_zone_of_old_times_has_seconds(tmp_path: Path) -> None:
    array = pa.array([-(9 * 10**15), 0, None], pa.timestamp("us", "Europe/Paris"))
    ds = Dataset(pa.table({"row": range(3), "t": array}))
    for way in ("json", "csv", "sql"):
        assert WAYS[way](ds, tmp_path).data.table["t"].combine_chunks().equals(array)
    assert (
        dt.datetime.fromisoformat("1684-10-19T08:09:21+00:09:21").isoformat()
        in (tmp_path / "a.csv").read_text()
    )
