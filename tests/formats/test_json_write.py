"""Writing JSON by columns gives the bytes that writing row by row does."""

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.json_write import encoder, json_rows


def by_rows(table: Any, force_ascii: bool = True, end: str = "\n") -> bytes:
    encode = encoder(force_ascii)
    return "".join(encode(row) + end for row in table.to_pylist()).encode()


def by_columns(table: Any, force_ascii: bool = True, end: str = "\n") -> bytes:
    return b"".join(json_rows([table], force_ascii, end))


floats = st.floats() | st.sampled_from(
    [0.0, -0.0, 1e15, 1e16, 1e9, 999999999.5, 1e10, 1e-3, 9.999e-4, 1e-4, 1e-5, 1e22, 5e-324, 0.1 + 0.2]
)
texts = st.text() | st.sampled_from(
    ['"', "\\", "\x7f", "\n", "é", "\u2028", "\U0001f600", "", "plain ~ text"]
)


def columns(rows: int) -> Any:
    def of(values: Any, kind: Any) -> Any:
        made = st.lists(st.none() | values, min_size=rows, max_size=rows)
        return made.map(lambda found: pa.array(found, kind))

    i64 = st.integers(-(2**63), 2**63 - 1)
    struct = st.fixed_dictionaries({"x": st.none() | i64, 'o"d': st.none() | texts})
    kinds = [
        of(i64, pa.int64()),
        of(st.integers(0, 2**64 - 1), pa.uint64()),
        of(floats, pa.float64()),
        of(st.floats(width=32), pa.float32()),
        of(st.booleans(), pa.bool_()),
        of(texts, pa.string()),
        of(texts, pa.large_string()),
        of(texts, pa.dictionary(pa.int32(), pa.string())),
        of(st.none(), pa.null()),
        of(st.binary(), pa.binary()),
        of(st.dates(), pa.date32()),
        of(st.integers(-(10**15), 10**15), pa.timestamp("us")),
        of(st.decimals(-1000, 1000, places=3), pa.decimal128(10, 3)),
        of(st.lists(st.none() | floats), pa.list_(pa.float64())),
        of(st.lists(st.none() | st.lists(st.none() | texts)), pa.large_list(pa.list_(pa.string()))),
        of(st.lists(i64, min_size=2, max_size=2), pa.list_(pa.int64(), 2)),
        of(struct, pa.struct({"x": pa.int64(), 'o"d': pa.string()})),
        of(st.lists(st.none() | struct), pa.list_(pa.struct({"x": pa.int64(), 'o"d': pa.string()}))),
        of(st.dictionaries(texts, i64, max_size=2).map(lambda d: list(d.items())), pa.map_(pa.string(), pa.int64())),
    ]  # fmt: skip
    return st.one_of(kinds)


@st.composite
def tables(draw: Any) -> Any:
    rows = draw(st.integers(0, 12))
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    table = pa.table([draw(columns(rows)) for _ in names], names=names)
    start = draw(st.integers(0, rows))
    return table.slice(start, draw(st.integers(0, rows - start)))


@settings(deadline=None)
@given(tables(), st.booleans(), st.sampled_from(["\n", ",\n"]))
def test_columns_write_the_bytes_that_rows_do(table, force_ascii, end):
    assert by_columns(table, force_ascii, end) == by_rows(table, force_ascii, end)


@settings(deadline=None)
@given(st.lists(floats))
def test_floats_are_written_as_python_writes_them(values):
    written = [json.loads(line)["x"] for line in by_columns(pa.table({"x": values})).splitlines()]
    expected = [value if math.isfinite(value) else None for value in values]
    assert list(map(repr, written)) == list(map(repr, expected))


def test_floats_of_every_size():
    values = np.random.default_rng(3).integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64)
    spread = np.random.default_rng(4).normal(size=50_000) * 10.0 ** np.random.default_rng(5).integers(
        -8, 18, 50_000
    )
    for array in (values, spread, np.round(spread, 2), np.trunc(spread)):
        table = pa.table({"x": pa.array(array)})
        assert by_columns(table) == by_rows(table)


def test_written_forms():
    table = pa.table(
        {
            "n": [1, None],
            "f": [1.0, math.nan],
            "s": ['a"\\\n', None],
            "é": [[1, None], None],
            "d": pa.array([{"a": "é", "b": None}, None]),
            "t": [dt.date(2020, 1, 2), None],
            "x": [Decimal("1.50"), None],
        }
    )
    assert by_columns(table).decode().splitlines() == [
        r'{"n":1,"f":1.0,"s":"a\"\\\n","\u00e9":[1,null],"d":{"a":"\u00e9","b":null},"t":"2020-01-02","x":"1.50"}',
        r'{"n":null,"f":null,"s":null,"\u00e9":null,"d":null,"t":null,"x":null}',
    ]
    assert '"d":{"a":"é"' in by_columns(table, force_ascii=False).decode()


def test_values_under_nulls_are_not_written():
    hidden = pa.array(['"', "b", '"'], pa.string())
    text = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x02"), *hidden.buffers()[1:]])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3]), mask=pa.array([True, False])
    )
    assert by_columns(pa.table({"t": text})) == b'{"t":null}\n{"t":"b"}\n{"t":null}\n'
    assert by_columns(pa.table({"l": lists})) == b'{"l":null}\n{"l":[3]}\n'


@pytest.mark.parametrize("rows", [9_999, 10_000, 20_001])
def test_large_batches_are_cut(rows):
    table = pa.table({"i": range(rows), "s": [f"é{i}" if i % 3 else "plain" for i in range(rows)]})
    pieces = list(json_rows(table.to_batches()))
    assert len(pieces) == -(-rows // 10_000)
    assert b"".join(pieces) == by_rows(table)


def test_rows_without_columns():
    assert by_columns(pa.table({"a": [1, 2]}).select([])) == b"{}\n{}\n"
