"""The law of writers and readers together: what is written is read back equal, whole and from every position."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats import SourceFile, get_format

TEXT = st.text(max_size=8)
VALUES: dict[Any, Any] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.string(): TEXT,
    pa.bool_(): st.booleans(),
    pa.list_(pa.int64()): st.lists(st.integers(-9, 9), max_size=3),
    pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}): st.fixed_dictionaries(
        {"a": st.none() | st.integers(0, 9), "b": st.none() | st.lists(st.none() | TEXT, max_size=2)}
    ),
}
OF_PARQUET: dict[Any, Any] = {
    pa.uint8(): st.integers(0, 255),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float16(): st.floats(width=16, allow_nan=False),
    pa.large_string(): TEXT,
    pa.binary(): st.binary(max_size=5),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.timezone.utc)),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.duration("us"): st.timedeltas(dt.timedelta(-9), dt.timedelta(9)),
    pa.decimal128(10, 2): st.integers(-(10**9), 10**9).map(lambda value: Decimal(value) / 100),
    pa.null(): st.none(),
}
TYPES = {"parquet": {**VALUES, **OF_PARQUET}, "json": VALUES, "csv": dict(list(VALUES.items())[:4])}
OPTIONS: dict[str, dict[str, Any]] = {
    "parquet": {"batch_size": 7},
    "json": {"chunksize": 64},
    "csv": {},
}
ENDINGS = {
    "parquet": [".parquet"],
    "json": [".jsonl", ".jsonl.gz", ".json.zst", ".json.lz4", ".json.bz2", ".json.xz"],
    "csv": [".csv", ".csv.gz"],
}


@st.composite
def tables(draw: Any, format: str) -> pa.Table:
    types = draw(st.lists(st.sampled_from(list(TYPES[format])), min_size=1, max_size=4))
    rows = draw(st.integers(0, 30))
    columns = {}
    for number, type_ in enumerate(types):
        values = TYPES[format][type_]
        # In a file of one column an empty cell would be a blank line.
        null = st.none() if format != "csv" or len(types) > 1 else st.nothing()
        cells = draw(st.lists(null | values, min_size=rows, max_size=rows))
        if format == "csv" and type_ == pa.string():
            cells = [None if cell is None else f"x{cell}".replace("\0", "") for cell in cells]
        columns[f"c{number}"] = pa.array(cells, type_)
    return pa.table(columns)


@pytest.mark.parametrize("format", TYPES)
def test_what_is_written_is_read_back_equal_whole_and_from_every_position(format, tmp_path):
    reader = get_format(format)

    @settings(max_examples=40)
    @given(st.data())
    def law(data: Any) -> None:
        table = data.draw(tables(format))
        path = tmp_path / f"x{data.draw(st.sampled_from(ENDINGS[format]))}"
        more: dict[str, Any] = {"row_group_bytes": 200} if format == "parquet" else {}
        if format == "json":
            more = {"lines": data.draw(st.booleans()), "force_ascii": data.draw(st.booleans())}
        reader.write(table.to_batches(data.draw(st.integers(1, 40))), path, schema=table.schema, **more)
        file = SourceFile(path)
        batches = list(reader.read(file, options=OPTIONS[format], schema=table.schema))
        assert pa.Table.from_batches([b for _, b in batches], table.schema).to_pylist() == table.to_pylist()
        for position, _ in batches[:: max(1, len(batches) // 3)]:
            rest = reader.read(file, options=OPTIONS[format], schema=table.schema, start=position)
            read = pa.Table.from_batches([batch for _, batch in rest], table.schema)
            assert read.to_pylist() == table.slice(position.row).to_pylist()

    law()


def test_floats_that_are_no_numbers_survive_where_the_format_has_them(tmp_path):
    table = pa.table({"a": [math.nan, math.inf, -math.inf, None, -0.0]})
    for format, expected in (("parquet", table), ("json", pa.table({"a": [None, None, None, None, -0.0]}))):
        path = tmp_path / format
        get_format(format).write(table.to_batches(), path, schema=table.schema)
        [(_, batch)] = get_format(format).read(SourceFile(path), schema=table.schema)
        assert repr(batch.to_pylist()) == repr(expected.to_pylist())
