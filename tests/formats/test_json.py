"""JSON."""

import contextlib
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import (
    CastError,
    FileFormatError,
    GristmillError,
    InvalidArgumentError,
    SchemaConflictError,
)
from gristmill.features import ClassLabel, Features, Json, Value
from gristmill.features.encode import decoded_values
from gristmill.formats import SourceFile, get_format, json_document
from tests.formats.conformance import ROWS, ReaderTests
from tests.shared import SHARED

FORMAT = get_format("json")


class TestLines(ReaderTests):
    format = "json"
    options = {"chunksize": 500}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


class TestLinesInLatin1(ReaderTests):
    format = "json"
    options = {"chunksize": 500, "encoding": "latin-1"}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), "latin-1")


class TestCompressedLines(TestLines):
    def make(self, path: Path) -> None:
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))


class TestOneArray(ReaderTests):
    format = "json"
    options = {"chunksize": 500}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text(json.dumps(ROWS, indent=1))


class TestField(ReaderTests):
    format = "json"
    options = {"chunksize": 500, "field": "data"}  # noqa: RUF012
    empty = None

    def make(self, path: Path) -> None:
        path.write_text(json.dumps({"about": [1], "data": ROWS}))


def read(path: Path, text: str | bytes, **arguments: Any) -> list[dict[str, Any]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    batches = [batch for _, batch in FORMAT.read(SourceFile(path, "f"), **arguments)]
    return [row for batch in batches for row in decoded_values(batch.to_struct_array())]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": 1}\n\n  \n{"a": 2}{"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
        ('\ufeff{"a": 1}\r\n{"a": 2}\r{"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
        ('{\n "a": [1,\n2]\n}\n{"a": []}', [{"a": [1, 2]}, {"a": []}]),
        ('[{"a": "x"}\n,\n{"a": "y\\n"}]', [{"a": "x"}, {"a": "y\n"}]),
        ('["a", "b"]', [{"text": "a"}, {"text": "b"}]),
        ("[]", []),
        ("", []),
        (" \n ", []),
        ('{"a": "x\u2028y"}', [{"a": "x\u2028y"}]),
        ('{"when": "2023-10-14T00:00:00", "l": ["2020-01-01"]}', [{"when": "2023-10-14T00:00:00", "l": ["2020-01-01"]}]),
        ('{"a": null}\n{"a": "x", "b": {"c": 1}}\n{"b": {"d": 2.5}}',
         [{"a": None, "b": None}, {"a": "x", "b": {"c": 1, "d": None}}, {"a": None, "b": {"c": None, "d": 2.5}}]),
        ('{"a": 1}\n{"a": 2.5}', [{"a": 1.0}, {"a": 2.5}]),
        ('{"a": [null, null]}\n{"a": []}', [{"a": [None, None]}, {"a": []}]),
        ('{"a": 18446744073709551615}\n{"a": 1}', [{"a": 2**64 - 1}, {"a": 1}]),
        ('{"a": 1e300}\n{"a": 123456789012345678901234567890.5}', [{"a": 1e300}, {"a": 123456789012345678901234567890.5}]),
        ('{}\n{"a": 1}', [{"a": None}, {"a": 1}]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunksize", [7, 10 << 20])
def test_shapes_and_types_whatever_the_block_size(path, text, rows, chunksize):
    assert read(path, text, options={"chunksize": chunksize}) == rows


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ('{"a": 1}\n{"a": 2}\n{"a": "x"}', SchemaConflictError, 'f, row 2, column "a": the type changes from int64 to string'),
        ('{"a": [{"b": true}]}\n{"a": [{"b": 1}]}', SchemaConflictError, 'f, row 1, column "a[].b"'),
        ('{"a": 1}\n{"a": 2,}', FileFormatError, "f, line 2, row 1: not valid JSON"),
        ('{"a": 1}\ngarbage', FileFormatError, "line 2"),
        ("garbage", FileFormatError, "begins with 'garbage'"),
        ('[{"a": 1}, {"a": 2}', FileFormatError, "the array does not end"),
        ('[{"a": 1}\n{"a": 2}]', FileFormatError, "line 2, row 1"),
        ('[{"a": 1},]', FileFormatError, "not valid JSON"),
        ('{"a": 1, "a": 2}', FileFormatError, 'the key "a" stands twice'),
        ('{"a": 1}\n{"a": 18446744073709551616}', CastError, "f, row 1"),
        ('{"a": -1}\n{"a": 18446744073709551615}', CastError, "f, row"),
        ('{"a": 9007199254740993}\n{"a": 0.5}', CastError, "9007199254740993"),
        ('{"a": 1e999}', FileFormatError, "too large for a float"),
        ('{"a": "\\ud800"}', CastError, "f, row 0"),
        ('{"a": "x"}\n[1]', FileFormatError, "a row must be a JSON object"),
        (b'{"a": 1}\n{"b": "\xff"}', FileFormatError, "f, line 2: not valid UTF-8 text"),
        (b'[{"a": 1},\n{"b": "\xff"}]', FileFormatError, "f, line 2: not valid UTF-8 text"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, FileFormatError, "nested too deep"),
        ("[" * 100_000, FileFormatError, "nested too deep"),
        (gzip.compress(b'{"a": 1}\n' * 1000, mtime=0)[:-20], FileFormatError, "cut off"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(path, text, error, words):
    with pytest.raises(error) as caught:
        read(path, text, options={"on_mixed_types": None})
    assert words in str(caught.value)


def test_conflict_between_blocks_names_the_row(path):
    text = "".join(json.dumps({"a": "x" if i == 73 else i}) + "\n" for i in range(100))
    for chunksize in (64, 10 << 20):
        with pytest.raises(SchemaConflictError, match=r'f, row 73, column "a".*Json'):
            read(path, text, options={"chunksize": chunksize, "on_mixed_types": None})


@pytest.mark.parametrize(
    "values",
    [
        [1, "a", {"k": [1, "z"]}, None, [], "2020-01-01", "1", True, 2.5, 2**70],
        [[1], ["a", None], None, [[2]]],
        [{"a": 1, "b": None}, {"a": "x"}, {"a": [{}]}],
        [-1, 2**64 - 1],
        [2**53 + 1, 0.5],
    ],
)
@pytest.mark.parametrize("chunksize", [7, 10 << 20])
def test_mixed_values_stay_what_they_are(path, values, chunksize):
    text = "".join(json.dumps({"n": i, "v": value}) + "\n" for i, value in enumerate(values))
    rows = read(path, text, options={"chunksize": chunksize})
    assert [row["n"] for row in rows] == list(range(len(values)))
    assert json.dumps([_bare(row["v"]) for row in rows]) == json.dumps([_bare(value) for value in values])
    asked = Features({"n": Value("int64"), "v": Json()}).arrow_schema
    exact = read(path, text, options={"chunksize": chunksize, "on_mixed_types": None}, schema=asked)
    assert json.dumps([row["v"] for row in exact]) == json.dumps(values)


def test_field(path):
    assert read(path, '{"data": {"a": [1, 2], "b": ["x", null]}}', options={"field": "data"}) == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
    ]
    assert read(path, '{"data": {"a": 1}}', options={"field": "data"}) == [{"a": 1}]
    with pytest.raises(FileFormatError, match=r'no field "dat"\. Did you mean "data"'):
        read(path, '{"data": []}', options={"field": "dat"})
    with pytest.raises(FileFormatError, match="neither a list nor an object"):
        read(path, '{"data": 3}', options={"field": "data"})
    with pytest.raises(FileFormatError, match="differ in length"):
        read(path, '{"data": {"a": [1], "b": []}}', options={"field": "data"})


def test_types_asked_for(path):
    features = Features({"a": ClassLabel(names=["neg", "pos"]), "t": Value("timestamp[s]")})
    rows = read(path, '{"a": "pos", "t": "2020-01-01"}\n{"a": -1}', schema=features.arrow_schema)
    assert [row["a"] for row in rows] == [1, -1]
    assert rows[0]["t"].year == 2020
    with pytest.raises(CastError, match='f, row 1, column "a"'):
        read(path, '{"a": "pos"}\n{"a": "poz"}', schema=features.arrow_schema)


def test_encoding_options(path):
    assert read(path, '{"a": "é"}'.encode("utf-16"), options={"encoding": "utf-16"}) == [{"a": "é"}]
    assert read(path, b'{"a": "\xff"}', options={"encoding_errors": "replace"}) == [{"a": "\ufffd"}]
    with pytest.raises(InvalidArgumentError, match="encoding="):
        read(path, "", options={"encoding": "nonsense"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.sampled_from(["2020-01-01", "1e5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("xyz"), json_values, max_size=2), max_size=6),
    st.sampled_from([1, 40, 1 << 20]),
    st.sampled_from([None, "use_json"]),
)
def test_rows_come_back_exactly_or_not_at_all(tmp_path_factory, rows, chunksize, mixed):
    """The law of this reader: every value as Python reads it, or an error; block size and shape change nothing."""
    path = tmp_path_factory.mktemp("json") / "x"
    options = {"chunksize": chunksize, "on_mixed_types": mixed}
    results: list[list[dict[str, Any]]] = []
    for text in ("".join(json.dumps(row) + "\n" for row in rows), json.dumps(rows)):
        with contextlib.suppress(GristmillError):
            results.append([_bare(row) for row in read(path, text, options=options)])
    assert len(results) in (0, 2)
    for got in results:
        if any(rows):
            assert json.dumps(got) == json.dumps(_like([_bare(row) for row in rows], got))


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in sorted(value.items()) if item is not None}
    return value


def _like(value: Any, other: Any) -> Any:
    """Makes integers floats where the other side has floats: the one change that widening makes."""
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        return [_like(a, b) for a, b in zip(value, other, strict=True)]
    if isinstance(value, dict) and isinstance(other, dict) and value.keys() == other.keys():
        return {key: _like(value[key], other[key]) for key in value}
    if isinstance(value, int) and isinstance(other, float) and not isinstance(value, bool):
        return float(value) if int(float(value)) == value else value
    return value


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.json.bz2", "x.json.xz", "x.json.zst"])
@pytest.mark.parametrize("lines", [True, False])
def test_what_is_written_reads_back(tmp_path, name, lines):
    table = pa.table(
        {
            "i": [2**53 + 1, None, -5],
            "f": [0.1 + 0.2, 1e-12, 123456789.123456789],
            "s": ["é\u2028\n", '"', None],
            "n": [{"a": [1, 2]}, {"a": None}, None],
        }
    )
    FORMAT.write(table.to_batches(1), tmp_path / name, schema=table.schema, lines=lines)
    batches = FORMAT.read(SourceFile(tmp_path / name))
    assert [row for _, batch in batches for row in batch.to_pylist()] == table.to_pylist()


def test_writer_forms(tmp_path):
    table = pa.table({"a": [math.nan, 1.0, math.inf], "b": pa.array([b"\xff", None, b"a"])})
    size = FORMAT.write(table.to_batches(), tmp_path / "x.jsonl", schema=table.schema)
    text = (tmp_path / "x.jsonl").read_text()
    assert text == '{"a":null,"b":"/w=="}\n{"a":1.0,"b":null}\n{"a":null,"b":"YQ=="}\n'
    assert size == len(text)
    FORMAT.write([], tmp_path / "x.json", schema=table.schema, lines=False)
    assert json.loads((tmp_path / "x.json").read_text()) == []
    FORMAT.write(
        pa.table({"a": ["é"]}).to_batches(),
        tmp_path / "u",
        schema=pa.schema({"a": pa.string()}),
        force_ascii=False,
    )
    assert (tmp_path / "u").read_text("utf-8") == '{"a":"é"}\n'
    for wrong in ({"orient": "table"}, {"nonsense": 1}, {"compression": "rar"}):
        with pytest.raises(InvalidArgumentError):
            FORMAT.write([], tmp_path / "y", schema=table.schema, **wrong)


REAL = SHARED / "tabular"


def count(file: Path) -> int:
    """Gives the number of rows, -1 for one of our errors."""
    try:
        return sum(batch.num_rows for _, batch in FORMAT.read(SourceFile(file)))
    except GristmillError:
        return -1


def test_real_odd_files_end_in_rows_or_our_error():
    if not REAL.exists():
        pytest.skip("the collection of odd files is not here")
    files = [p for p in [*REAL.glob("json/**/*"), *REAL.glob("vega/*.json")] if p.is_file()]
    rows = {file.name: count(file) for file in files}
    assert rows["example_rn.ndjson.gz"] == 5
    assert rows["multiple_objects_per_line.ndjson"] == 5
    assert sum(count >= 0 for count in rows.values()) > len(rows) / 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_marks_of_byte_order_say_the_encoding(path, encoding):
    text = '{"a": "é"}\n{"a": "日"}\n'.encode(encoding)
    assert read(path, text) == [{"a": "é"}, {"a": "日"}]


@pytest.mark.parametrize(("errors", "text"), [("ignore", "x"), ("replace", "x\ufffd")])
def test_half_a_surrogate_pair_is_an_error_that_can_be_mended(path, errors, text):
    lines = rb'{"a": "x\ud800"}' b"\n" rb'{"a": "\ud83c\udf3e \\ud800"}'
    with pytest.raises(CastError, match=r'f, row 0, column "a".*surrogates'):
        read(path, lines)
    expected = [{"a": text}, {"a": "🌾 \\ud800"}]
    assert read(path, lines, options={"encoding_errors": errors}) == expected


def test_nesting_is_bounded(path):
    [row] = read(path, '{"a":' + "[" * 60 + "1" + "]" * 60 + "}")
    value = row["a"]
    for _ in range(60):
        [value] = value
    assert value == 1
    for levels in (70, 500, 100_000):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            with pytest.raises(FileFormatError, match=r"f, .*nested too deep"):
                read(path, '{"a":' + opening * levels + "1" + closing * levels + "}")


@pytest.mark.parametrize(
    "options",
    [
        {"chunksize": 0},
        {"block_size": "9"},
        {"encoding": 8},
        {"encoding_errors": 1},
        {"field": 0},
        {"on_mixed_types": "x"},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(InvalidArgumentError, match=next(iter(options))):
        FORMAT.parse_options(options)


ODD_ARRAYS = ['[{"a":1} {"a":2}]', '[{"a":1},,{"a":2}]', '[,{"a":1}]', '[{"a":1},]', '[{"a":[1}]}', '[{"a":1}', "[", '[{"a":1}]x',
              '[{"a":"x]}', '[{"a":1},\n{"a":tru}]', '[{"a":1}},{"a":1}]', '[{"a":1};{"a":2}]', '[{"a":"\n"}]']  # fmt: skip


@pytest.mark.parametrize("text", ODD_ARRAYS)
@pytest.mark.parametrize("chunksize", [3, 1 << 20])
def test_arrays_that_are_none_are_errors_with_a_line(path, text, chunksize):
    with pytest.raises(FileFormatError, match=r"f, line \d+"):
        read(path, text, options={"chunksize": chunksize})


def test_errors_in_arrays_name_the_line_of_the_file(path):
    text = '[\n{"a": 1},\n{\n"a": [\n2]},\n\n{"a": tru},\n{"a": 3}]'
    with pytest.raises(FileFormatError, match=r"f, line 7, row 2: not valid JSON"):
        read(path, text)
    with pytest.raises(FileFormatError, match=r'f, line 6, row 2: the key "a" stands twice'):
        read(path, '[\n{"a": 1},\n{\n"a": 2}\n,\n{"a": 1, "a": 2}]')


pieces = st.lists(st.sampled_from(['{"a":1}', '{"a":[{"b":"]},{"}]}', '{"a":"\\\\"}', '{"a":"\\""}', '"x"', "7", "[]", ",", ", ", " ,\n",
                                   "]", "[", "\n", "{}", '{"c":"日本"}', "\\", '"', "{", "}"]), max_size=9)  # fmt: skip


@settings(max_examples=150)
@given(pieces, st.sampled_from([1, 5, 1 << 20]))
def test_arrays_are_read_as_python_reads_them_or_refused(tmp_path_factory, pieces, chunksize):
    text = "[" + "".join(pieces)
    path = tmp_path_factory.mktemp("json") / "x"
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    try:
        got = read(path, text, options={"chunksize": chunksize})
    except GristmillError:
        assert expected is None
        return
    if expected is not None:
        rows = [row if isinstance(row, dict) else {"text": row} for row in expected]
        if any(rows):  # rows without columns are none
            assert [_bare(row) for row in got] == [_bare(row) for row in rows]


@pytest.mark.parametrize("chunksize", [10, 1000])
def test_arrays_with_long_items_are_read_value_by_value(path, monkeypatch, chunksize):
    monkeypatch.setattr(json_document, "_LONGEST", 100)
    rows = [{"a": "x" * 50 * (i % 7), "b": i} for i in range(60)]
    assert read(path, json.dumps(rows, indent=1), options={"chunksize": chunksize}) == rows
