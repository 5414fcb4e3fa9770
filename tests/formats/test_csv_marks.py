"""Lines by Arrow's writer: the same bytes as lines that are joined here, and quotes in the right cells."""

from __future__ import annotations

import datetime as dt
import io
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats import csv_marks, csv_write

_CLEAN = st.sampled_from(["plain", "two words", "é", "日本", "😀", "z" * 300, "\x01"])
_ODD = st.text(st.sampled_from('ab ,;"\n\r\té日\\\x0c'), max_size=5) | st.sampled_from(
    ["NA", "", "nan", "#N/A"]
)
_FLOATS = st.floats() | st.integers(-5, 5).map(float) | st.sampled_from([1e9, 1e16, 1e22, 5e-324, -0.0])
_COLUMNS = [
    (pa.string(), _CLEAN),
    (pa.string(), _ODD),
    (pa.large_string(), _CLEAN | _ODD),
    (pa.binary(), _CLEAN.map(str.encode)),
    (pa.dictionary(pa.int8(), pa.string()), _CLEAN | _ODD),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint8(), st.integers(0, 255)),
    (pa.float64(), _FLOATS),
    (pa.float64(), st.floats(0.01, 0.99)),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.decimal128(9, 2), st.decimals(-1000, 1000, places=2)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes(dt.datetime(1900, 1, 1))),  # noqa: DTZ001
    (pa.list_(pa.string()), st.lists(_ODD, max_size=2)),
    (pa.null(), st.none()),
]


@st.composite
def batches(draw):
    rows = draw(st.integers(1, 12))
    columns = []
    for type_, values in draw(st.lists(st.sampled_from(_COLUMNS), min_size=1, max_size=4)):
        before = draw(st.integers(0, 10))
        chosen = values | st.none() if draw(st.booleans()) else values
        given_ = draw(st.lists(chosen, min_size=rows + before, max_size=rows + before))
        columns.append(pa.array(given_, type_).slice(before))
    return pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])


def written(batch, **options):
    out = io.BytesIO()
    csv_write.write_csv([batch], out, batch.schema, **options)
    return out.getvalue()


def joined(batch, **options):
    with mock.patch.object(csv_write, "can_be_marked", return_value=False):
        return written(batch, **options)


@settings(deadline=None)
@given(
    batches(),
    st.sampled_from([{}, {"sep": ";"}, {"sep": "\t", "escapechar": "\\"}, {"na_rep": "-"}, {"index": True}, {"header": False}]),
    st.integers(1, 4),
)  # fmt: skip
def test_marked_lines_are_the_joined_ones(batch, options, rows):
    with mock.patch.multiple(csv_marks, _ROWS=rows, _FEW=0):
        assert written(batch, **options) == joined(batch, **options)


def few_odd(texts, rows=200):
    """Makes a column of plain texts with some others, a few rows apart; the first is in row 1."""
    values = [f"plain {i}" for i in range(rows)]
    values[1 : 1 + 60 * len(texts) : 60] = texts
    return values


@pytest.mark.parametrize("rows", [7, 4096])
def test_cells_that_need_quotes_get_them(rows):
    first, second = few_odd(["a,b", "", 'q"t']), few_odd([None, "NA", " x"])
    batch = pa.record_batch({"s": first, "n": pa.array(range(200)), "t": second})
    lines = [f"{a},{i},{b}" for i, (a, b) in enumerate(zip(first, second, strict=True))]
    lines[1], lines[61], lines[121] = '"a,b",1,', '"",61,"NA"', '"q""t",121," x"'
    with (
        mock.patch.multiple(csv_marks, _ROWS=rows, _FEW=20),
        mock.patch.object(csv_write, "_joined", side_effect=AssertionError("joined")),
    ):
        assert written(batch).decode().split("\n") == ["s,n,t", *lines, ""]


def test_many_cells_that_need_quotes_are_joined():
    batch = pa.record_batch({"s": ["a,b", "c"] * 3})
    with mock.patch.object(csv_write, "_joined", side_effect=csv_write._joined) as join:
        assert written(batch) == b's\n"a,b"\nc\n"a,b"\nc\n"a,b"\nc\n'
    assert join.call_count == 1


def test_bytes_that_are_no_text_do_not_take_the_place_of_marks():
    odd = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xffx")]
    )
    batch = pa.record_batch({"s": odd, "t": [",", "y"]})
    with mock.patch.object(csv_marks, "_FEW", 0):
        assert written(batch) == b's,t\n"\xff\xff",","\nx,y\n'


def test_an_error_of_the_file_stays_what_it_is():
    class Full(io.BytesIO):
        def write(self, data):
            if bytes(data).startswith(b"1"):
                raise OSError(28, "No space left on device")
            return len(data)

    batch = pa.record_batch({"i": [1, 2]})
    with pytest.raises(OSError, match="No space left") as caught:
        csv_write.write_csv([batch], Full(), batch.schema)
    assert caught.value.errno == 28
