"""CSV."""

import csv
import gzip
import io
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    FileFormatError,
    GristmillError,
    InvalidArgumentError,
)
from gristmill.features import ClassLabel, Features, Value
from gristmill.formats import SourceFile, get_format
from tests.formats.conformance import ROWS, ReaderTests
from tests.shared import SHARED

FORMAT = get_format("csv")


def as_csv(rows: list[dict[str, Any]], **dialect: Any) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", **dialect)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class TestCsv(ReaderTests):
    format = "csv"
    options = {"block_bytes": 500}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text(as_csv(ROWS), "utf-8")


class TestCsvQuotedWithNewlines(ReaderTests):
    format = "csv"
    options = {"block_bytes": 500}  # noqa: RUF012
    rows = [{**row, "text": f'"{row["id"]}",\nline two'} for row in ROWS]  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text(as_csv(self.rows, quoting=csv.QUOTE_ALL), "utf-8")


class TestTabsInUtf16(ReaderTests):
    format = "csv"
    options = {"block_bytes": 500, "sep": "\t", "encoding": "utf-16"}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text(as_csv(ROWS, delimiter="\t"), "utf-16")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x"


def table(
    path: Path, text: str | bytes, options: Any = None, **arguments: Any
) -> tuple[list[Any], dict[str, list[Any]]]:
    """Gives the types and the columns."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    file = SourceFile(path, "f")
    batches = [batch for _, batch in FORMAT.read(file, options=options, **arguments)]
    schema = batches[0].schema if batches else FORMAT.infer_schema(file, options)
    read = pa.Table.from_batches(batches, schema)
    return [str(type_) for type_ in schema.types], read.to_pydict()


@pytest.mark.parametrize(
    ("cells", "type_", "values"),
    [
        (["1", "", "3"], "int64", [1, None, 3]),
        (["9007199254740993", "NA", "5"], "int64", [2**53 + 1, None, 5]),
        (["1", "2.5", "-3e10"], "double", [1.0, 2.5, -3e10]),
        (["1"] * 50 + ["A7"], "string", ["1"] * 50 + ["A7"]),
        (["1.0", "1.50", "x"], "string", ["1.0", "1.50", "x"]),
        (["007", "1"], "string", ["007", "1"]),
        (["0", "0.5", "-0.5", ".5", "5."], "double", [0, 0.5, -0.5, 0.5, 5.0]),
        (["+41791234567"], "string", ["+41791234567"]),
        (["0x1F"], "string", ["0x1F"]),
        (["18446744073709551615", "", "1"], "uint64", [2**64 - 1, None, 1]),
        (["1", "9007199254740993", " 9223372036854775808"], "uint64", [1, 2**53 + 1, 2**63]),
        (["1"] * 40 + ["9223372036854775808"], "uint64", [1] * 40 + [2**63]),
        (["-1", "0", "9223372036854775808"], "string", ["-1", "0", "9223372036854775808"]),
        (["9223372036854775808", "5", "-0"], "string", ["9223372036854775808", "5", "-0"]),
        (["18446744073709551615", "1.5"], "string", ["18446744073709551615", "1.5"]),
        (["18446744073709551616", "1"], "string", ["18446744073709551616", "1"]),
        (["-9223372036854775809", "1"], "string", ["-9223372036854775809", "1"]),
        (["18446744073709551615", "007"], "string", ["18446744073709551615", "007"]),
        (["9007199254740993", "0.5"], "string", ["9007199254740993", "0.5"]),
        (["True", "false", ""], "bool", [True, False, None]),
        (["True", "1"], "string", ["True", "1"]),
        ([" 5", "6 "], "int64", [5, 6]),
        ([" 5", "x "], "string", [" 5", "x "]),
        (["NA", '"NA"', '""', "x"], "string", [None, "NA", "", "x"]),
        (['"1"', '""', '"3"'], "int64", [1, None, 3]),
        (["2020-01-01", "2020-01-02"], "string", ["2020-01-01", "2020-01-02"]),
        (["inf", "-Infinity", "1"], "double", [math.inf, -math.inf, 1.0]),
        (["null", "None"], "null", [None, None]),
        (["½", "１"], "string", ["½", "１"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("block_bytes", [16, 10 << 20])
def test_a_column_is_the_narrowest_kind_that_takes_all_cells(path, cells, type_, values, block_bytes):
    text = "a,b\n" + "".join(f"{cell},x\n" for cell in cells)
    types, columns = table(path, text, {"block_bytes": block_bytes})
    assert (types[0], columns["a"]) == (type_, values)


class Semicolons(csv.excel):
    delimiter = ";"


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("a,b\r\n1,x\r\n", {}, {"a": [1], "b": ["x"]}),
        ("a,b\r1,x\r", {}, {"a": [1], "b": ["x"]}),
        ("\ufeffa\n1\n", {}, {"a": [1]}),
        ('a,b\n"x\ny",2\n', {}, {"a": ["x\ny"], "b": [2]}),
        ('"a\nb",c\n1,2\n', {}, {"a\nb": [1], "c": [2]}),
        ("a,a,,a.1\n1,2,3,4\n", {}, {"a": [1], "a.2": [2], "Unnamed: 2": [3], "a.1": [4]}),
        ("a\n\n1\n\n", {}, {"a": [1]}),
        ("a,b\n", {}, {"a": [], "b": []}),
        ("a,b", {}, {"a": [], "b": []}),
        ("", {}, {}),
        ("\n\n", {}, {}),
        ("1,2\n3,4\n", {"header": None}, {"0": [1, 3], "1": [2, 4]}),
        ("1,2\n", {"names": ["x", "y"]}, {"x": [1], "y": [2]}),
        ("1,2\n", {"column_names": ["x", "y"]}, {"x": [1], "y": [2]}),
        ("a,b\n1,2\n", {"names": ["x", "y"], "header": 0}, {"x": [1], "y": [2]}),
        ("title\n\na,b\n1,2\n", {"header": 1}, {"a": [1], "b": [2]}),
        ("#\n#\na\n1\n", {"skiprows": 2}, {"a": [1]}),
        ("a;b\n1,5;2.000\n", {"sep": ";", "decimal": ",", "thousands": "."}, {"a": [1.5], "b": [2000]}),
        ("a\tb\n1\t2\n", {"delimiter": "\t"}, {"a": [1], "b": [2]}),
        ("a,b\n'x,y',2\n", {"quotechar": "'"}, {"a": ["x,y"], "b": [2]}),
        ("a,b\nx\\,y,2\n", {"escapechar": "\\"}, {"a": ["x,y"], "b": [2]}),
        ('a,b\n"x,2\n', {"quoting": 3}, {"a": ['"x'], "b": [2]}),
        ('a,b\n5" pipe,2\n', {}, {"a": ['5" pipe'], "b": [2]}),
        ('a\n"x""y"\n', {}, {"a": ['x"y']}),
        ("a,b\n1,2\n1,2,3\n4\n5,6\n", {"on_bad_lines": "skip"}, {"a": [1, 5], "b": [2, 6]}),
        ("a,b,c\n1,2,3\n", {"usecols": ["c", "a"]}, {"a": [1], "c": [3]}),
        ("a,b\n1,2\n", {"usecols": [1]}, {"b": [2]}),
        ("a\n1\n2\n3\n", {"nrows": 2}, {"a": [1, 2]}),
        ("a\n-\nx\n", {"na_values": "-"}, {"a": [None, "x"]}),
        ("a\nNA\n", {"keep_default_na": False}, {"a": ["NA"]}),
        ("a\nNA\nx\n", {"na_filter": False}, {"a": ["NA", "x"]}),
        ("a,b\n1,1\n", {"dtype": {"a": str, "b": "float32"}}, {"a": ["1"], "b": [1.0]}),
        ("a\n1\n", {"dtype": str}, {"a": ["1"]}),
        ("a,b\nyes,0\nno,1\n", {"true_values": ["yes"], "false_values": ["no"]}, {"a": [True, False], "b": [0, 1]}),
        # What Arrow's parser does not know is rewritten for it.
        ("a b  c\n 1 2   3 \n", {"sep": r"\s+"}, {"a": [1], "b": [2], "c": [3]}),
        ("a||b\n1||\"x||y\"\n", {"sep": r"\|\|"}, {"a": [1], "b": ["x||y"]}),
        ("a§b\n1§2\n", {"sep": "§"}, {"a": [1], "b": [2]}),
        ("a, b\n1, \"x, y\"\n", {"skipinitialspace": True}, {"a": [1], "b": ["x, y"]}),
        ("# hi\na,b#c\n1,2 # x\n\n#3,4\n\"#\",5\n", {"comment": "#"}, {"a": ["1", "#"], "b": [2, 5]}),
        ("a,b;1,2;3,4;", {"lineterminator": ";"}, {"a": [1, 3], "b": [2, 4]}),
        ("a,b\n1,2\n3,4\ntotal,6\n", {"skipfooter": 1}, {"a": [1, 3], "b": [2, 4]}),
        ("a,b\n1,2\n3,4\n5,6\n", {"skiprows": [1]}, {"a": [3, 5], "b": [4, 6]}),
        ("a,b\n1,2\n3,4\n5,6\n", {"skiprows": lambda i: i % 2 == 1}, {"a": [3], "b": [4]}),
        ("a,b\n1,2\n\n3,4\n", {"skip_blank_lines": False}, {"a": [1, None, 3], "b": [2, None, 4]}),
        ("a\n1\n\n3\n", {"skip_blank_lines": False}, {"a": [1, None, 3]}),
        ("a,b\n1,2,\n3,4,\n", {"index_col": False}, {"a": [1, 3], "b": [2, 4]}),
        ("a,b\n1,2\n3\n4,5,6\n", {"on_bad_lines": lambda row: row[:2] if len(row) > 2 else None}, {"a": [1, 4], "b": [2, 5]}),
        ("a,b\n1,2\n3\n", {"on_bad_lines": lambda row: [*row, None]}, {"a": [1, 3], "b": [2, None]}),
        ("a,b\n1,2\n3\n", {"error_bad_lines": False}, {"a": [1], "b": [2]}),
        ('a,b\n1,"NA"\n2,NA\n', {"comment": "#"}, {"a": [1, 2], "b": ["NA", None]}),
        ("a\n1\n2\nx", {"nrows": 2, "comment": "#"}, {"a": [1, 2]}),
        ("t\na,b\n1,2\n", {"header": 1, "comment": "#"}, {"a": [1], "b": [2]}),
        # The rest of the documented options.
        ("a,b,c\n1,x,2\n", {"index_col": "a"}, {"b": ["x"], "c": [2], "a": [1]}),
        ("a,b,c\n1,x,2\n", {"index_col": [1, 0]}, {"c": [2], "b": ["x"], "a": [1]}),
        ("a,b\n1,x\n", {"usecols": lambda name: name == "b"}, {"b": ["x"]}),
        ("a,b\n-,-\nNA,x\n", {"na_values": {"a": ["-"]}}, {"a": [None, None], "b": ["-", "x"]}),
        ("a,b\n-,-\nNA,x\n", {"na_values": {"a": "-"}, "keep_default_na": False}, {"a": [None, "NA"], "b": ["-", "x"]}),
        ("a,b\n-999,1\n-999.0,2\n", {"na_values": [-999]}, {"a": [None, None], "b": [1, 2]}),
        ("a,b\n1,NA\n2,\n", {"converters": {"a": lambda s: int(s) * 2, 1: len}}, {"a": [2, 4], "b": [2, 0]}),
        ('a;b\n1;"x;y"\n', {"dialect": Semicolons}, {"a": [1], "b": ["x;y"]}),
        ("a\tb\n1\t2\n", {"dialect": "excel-tab"}, {"a": [1], "b": [2]}),
        ('"a","b"\n1,"x"\n2,"y"\n', {"quoting": 2}, {"a": [1.0, 2.0], "b": ["x", "y"]}),
        ('a,b\n1,"x ""y"\n', {"engine": "python", "memory_map": True, "float_precision": "high", "verbose": True}, {"a": [1], "b": ['x "y']}),
        ('a\n"x\\"y"\n', {"escapechar": "\\", "doublequote": False}, {"a": ['x"y']}),
        ("a\ncafé\n".encode("latin-1"), {"encoding": "latin-1"}, {"a": ["café"]}),
        (b"a\n\xff\n", {"encoding_errors": "replace"}, {"a": ["\ufffd"]}),
        (gzip.compress(b"a\n1\n", mtime=0), {}, {"a": [1]}),
    ],
)  # fmt: skip
def test_forms_and_options(path, text, options, columns):
    assert table(path, text, options)[1] == columns


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n1,2,3\n", "f, line 3: a row has 3 cells where there are 2 columns: '1,2,3'"),
        ('a,b\n"1\n2",2\n\n7\n', "f, line 5: a row has 1 cells"),
        ('a,b\n"1,2\n', "f, line 2"),
        (b"a\n1\n\xff\n", "f, line 3: not valid UTF-8 text"),
        (b"\xff\n1\n", "f, line 1: not valid UTF-8 text"),
        (gzip.compress(b"a\n1\n" * 1000, mtime=0)[:-20], "cut off"),
    ],
)
def test_damage_names_the_line(path, text, words):
    with pytest.raises(FileFormatError) as caught:
        table(path, text)
    assert words in str(caught.value)


@pytest.mark.parametrize("block_bytes", [*range(14, 26), 10 << 20])
def test_bytes_that_are_no_text_name_their_line_wherever_blocks_end(path, block_bytes):
    row = "é日🌾,1\n".encode()
    with pytest.raises(FileFormatError) as caught:
        table(
            path, b"a,b\n" + row * 20 + "é日".encode() + b"\xf0\x9f,1\n" + row, {"block_bytes": block_bytes}
        )
    assert "f, line 22: not valid UTF-8 text" in str(caught.value)
    good = table(path, b"a,b\n" + row * 20, {"block_bytes": block_bytes})[1]
    assert good == {"a": ["é日🌾"] * 20, "b": [1] * 20}


@pytest.mark.parametrize(
    "options",
    [{"sep": "||"}, {"sep": "\n"}, {"quotechar": "''"}, {"header": "first"}, {"header": -1}, {"skiprows": "x"},
     {"on_bad_lines": "ignore"}, {"prefix": "X"}, {"mangle_dupe_cols": False}, {"engine": "rust"}, {"header": [0, 1]},
     {"quoting": 9}, {"dialect": "nonsense"}, {"dialect": 5}, {"parse_dates": True}, {"converters": {"a": 5}}, {"skipfooter": -1},
     {"sep": "(("}, {"comment": "//"}, {"lineterminator": "ab"}, {"skiprows": [1.5]}, {"dtype": {"a": "nonsense"}}, {"names": ["only one"]}, {"encoding": "nonsense"}],
)  # fmt: skip
def test_options_that_cannot_be_used(path, options):
    with pytest.raises(InvalidArgumentError):
        table(path, "a,b\n1,2\n", options)


def test_unknown_column_in_usecols(path):
    with pytest.raises(ColumnNotFoundError, match='Did you mean "name"'):
        table(path, "name,b\n1,2\n", {"usecols": ["nam"]})


def test_record_longer_than_a_block(path):
    text = "a\n" + "1\n" * 100 + '"' + "z\n" * 5000 + '"\n' + "2\n"
    _, columns = table(path, text, {"block_bytes": 256})
    assert columns["a"] == ["1"] * 100 + ["z\n" * 5000, "2"]


def test_types_asked_for_keep_the_text_of_text_columns(path):
    features = Features(
        {
            "code": Value("string"),
            "l": ClassLabel(names=["neg", "pos"]),
            "d": Value("date32"),
            "p": Value("decimal128(5, 2)"),
        }
    )
    types, columns = table(
        path, "code,l,d,p\n1.50,pos,2020-01-02,1.10\n007,1,,\n", schema=features.arrow_schema
    )
    assert columns["code"] == ["1.50", "007"]
    assert columns["l"] == [1, 1]
    assert str(columns["d"][0]) == "2020-01-02"
    assert str(columns["p"][0]) == "1.10"
    assert types == ["string", "int64", "date32[day]", "decimal128(5, 2)"]
    with pytest.raises(CastError, match='f, row 1, column "a"'):
        table(path, "a\n1\n300\n", schema=pa.schema({"a": pa.int8()}))


cells = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.sampled_from(
    ["NA", "", "007", "1", "1.5", "true", '"', ",", "\r\n", " x", "null"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(cells, st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.floats(allow_nan=False)), min_size=1, max_size=8),
    st.sampled_from([64, 1 << 20]),
)  # fmt: skip
def test_what_is_written_reads_back(tmp_path_factory, rows, block_bytes):
    """Text columns come back to the letter, numbers exactly; with the schema asked for, in every case."""
    schema = pa.schema({"s": pa.string(), "i": pa.int64(), "f": pa.float64()})
    written = pa.Table.from_pylist([dict(zip("sif", row, strict=True)) for row in rows], schema)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    FORMAT.write(written.to_batches(), path, schema=schema)
    batches = FORMAT.read(SourceFile(path), schema=schema, options={"block_bytes": block_bytes})
    got = [row for _, batch in batches for row in batch.to_pylist()]
    assert got == written.to_pylist()
    with path.open(newline="", encoding="utf-8") as lines:
        assert [row["s"] for row in csv.DictReader(lines)] == [row[0] or "" for row in rows]


def test_writer_forms(tmp_path):
    columns = {"f": [3.0, math.nan], "b": [True, None], "n": [[1], None], "q": ['a"b', "NA"]}
    written = pa.table(columns)
    size = FORMAT.write(written.to_batches(), tmp_path / "x.csv", schema=written.schema, sep=";")
    text = (tmp_path / "x.csv").read_text()
    assert text == 'f;b;n;q\n3.0;True;[1];"a""b"\n;;;"NA"\n'
    assert size == len(text)
    FORMAT.write(
        pa.table({"a": [1, None]}).to_batches(), tmp_path / "y.csv", schema=pa.schema({"a": pa.int64()})
    )
    assert (tmp_path / "y.csv").read_text() == "a\n1\nNA\n"
    FORMAT.write([], tmp_path / "z.csv", schema=written.schema, header=False)
    assert (tmp_path / "z.csv").read_text() == ""
    with pytest.raises(CastError, match='column "x"'):
        FORMAT.write(
            pa.table({"x": [b"\xff"]}).to_batches(), tmp_path / "b", schema=pa.schema({"x": pa.binary()})
        )
    with pytest.raises(InvalidArgumentError):
        FORMAT.write([], tmp_path / "b", schema=written.schema, indx=True)


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
    rows = {
        file.name: count(file)
        for file in [p for p in [*REAL.glob("csv/**/*"), *REAL.glob("vega/*.csv")] if p.is_file()]
    }
    assert rows["leading_zeros.csv"] == 6
    assert rows["seattle-weather.csv"] == 1461
    assert sum(count >= 0 for count in rows.values()) > len(rows) / 2


def test_a_mark_of_byte_order_in_the_first_cell_is_text(tmp_path):
    (tmp_path / "plain.csv").write_bytes("s,i\n\ufeffa,1\n".encode())
    (tmp_path / "marked.csv").write_bytes("\ufeffs,i\n\ufeffa,1\n".encode())
    with gzip.open(tmp_path / "packed.csv.gz", "wb") as packed:
        packed.write("s,i\n\ufeffa,1\n".encode())
    for name in ("plain.csv", "marked.csv", "packed.csv.gz"):
        source = SourceFile(tmp_path / name, name)
        rows = [row for _, batch in FORMAT.read(source, options={}) for row in batch.to_pylist()]
        assert rows == [{"s": "\ufeffa", "i": 1}], name


def test_dates(path):
    types, columns = table(
        path,
        "d,e,z,n\n2020-01-02,03/02/2020 04,2020-01-02T03:04:05Z,\n2020-01-02 03:04,,2020-01-02 03:04:05+02:00,NA\n",
        {"parse_dates": ["d", 1, "z", "n"], "date_format": {"e": "%d/%m/%Y %H"}},
    )
    assert types == ["timestamp[us]", "timestamp[us]", "timestamp[us, tz=UTC]", "timestamp[us]"]
    assert [str(v) for v in columns["d"]] == ["2020-01-02 00:00:00", "2020-01-02 03:04:00"]
    assert [v and str(v) for v in columns["e"]] == ["2020-02-03 04:00:00", None]
    assert str(columns["z"][1]) == "2020-01-02 01:04:05+00:00"
    with pytest.raises(CastError, match=r'f, row 1, column "d": .*30 Feb'):
        table(path, "d\n2020-01-02\n30 Feb\n", {"parse_dates": ["d"]})


def test_converters_that_fail_or_differ(path):
    with pytest.raises(CastError, match=r'f, row 1, column "a": its converter fails on .x.: ValueError'):
        table(path, "a\n1\nx\n", {"converters": {"a": int}})
    types, columns = table(
        path,
        "a\n1\n2.5\n",
        {"converters": {"a": lambda s: float(s) if "." in s else int(s)}, "block_bytes": 16},
    )
    assert (types, columns) == (["double"], {"a": [1.0, 2.5]})
    typed = table(
        path, "a\n1\n", {"converters": {"a": lambda s: s + "!"}}, schema=pa.schema({"a": pa.large_string()})
    )
    assert typed == (["large_string"], {"a": ["1!"]})


def test_bad_lines_are_counted_and_told_once(path, caplog):
    with caplog.at_level("WARNING"):
        text = "a,b\n" + "1,2\n1,2,3\n4\n" * 10
        assert len(table(path, text, {"on_bad_lines": "warn", "block_bytes": 16})[1]["a"]) == 10
        assert table(path, text, {"on_bad_lines": "skip"})[1]["a"] == [1] * 10
    (told,) = caplog.records
    assert told.getMessage() == "f: 20 rows are left out; the first has 3 cells instead of 2: '1,2,3'"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a;b\n1;2\n\n#x\n1;2;3\n", {"sep": ";", "comment": "#"}, "f, line 5: a row has 3 cells where there are 2"),
        ("a,b\n1,'2\n", {"quotechar": "'", "comment": "#"}, "f, line 2: a quote does not end"),
        (b"a,b\n1,2\n\n\xff\n", {"skipinitialspace": True}, "f, line 4: not valid UTF-8"),
        ('"a\n', {}, "f, line 1: a quote does not end"),
    ],
)  # fmt: skip
def test_damage_names_the_line_in_any_dialect(path, text, options, words):
    with pytest.raises(FileFormatError) as caught:
        table(path, text, options)
    assert words in str(caught.value)


def test_tabs_by_the_name_of_the_file(tmp_path):
    content = b"a\tb,c\n1\t2\n"
    (tmp_path / "x").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    wanted = {"a": 1, "b,c": 2}
    for path, name, expected in [
        ("x", "d/X.TSV", wanted),
        ("packed", "d/X.TSV.gz", wanted),
        ("x", "x.csv", None),
    ]:
        file = SourceFile(tmp_path / path, name)
        if expected is None:
            with pytest.raises(FileFormatError, match="1 cells where there are 2"):
                list(FORMAT.read(file))
        else:
            assert [row for _, batch in FORMAT.read(file) for row in batch.to_pylist()] == [expected]


@pytest.mark.parametrize("block_bytes", [3, 1 << 20])
def test_minus_zero_is_whole_among_integers_and_has_its_sign_among_floats(path, block_bytes):
    for cells, expected in [(["-0", "0", "7"], "[0, 0, 7]"), (["-0", "0", "0.5"], "[-0.0, 0.0, 0.5]")]:
        text = "a,b\n" + "".join(f"{cell},x\n" for cell in cells)
        assert str(table(path, text, {"block_bytes": block_bytes})[1]["a"]) == expected
        assert str(table(path, text, {"block_bytes": block_bytes, "escapechar": "!"})[1]["a"]) == expected
        wide = ",".join("abcdefghi") + "\n" + "".join(",".join([cell] * 9) + "\n" for cell in cells)
        assert str(table(path, wide, {"block_bytes": block_bytes})[1]["i"]) == expected


def test_a_field_of_100_megabytes(path):
    field = "x" * 50_000_000 + "\n" + '""' * 5 + "y" * 50_000_000
    path.write_text(f'a,b\n1,"{field}"\n2,z\n')
    got = [cell for _, batch in FORMAT.read(SourceFile(path)) for cell in batch["b"]]
    assert len(got[0].as_py()) == 100_000_006
    assert got[1].as_py() == "z"


@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.lists(st.lists(cells.filter(lambda cell: cell is not None), min_size=2, max_size=2), min_size=1, max_size=6),
    st.sampled_from([";", "|", "§", "\t"]), st.sampled_from(["'", "´"]), st.booleans(), st.sampled_from([None, "#"]),
)  # fmt: skip
def test_every_dialect_gives_its_cells(tmp_path_factory, rows, sep, quote, doubled, comment):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(
            out, delimiter=sep, quotechar=quote, doublequote=doubled, escapechar="^", quoting=csv.QUOTE_ALL
        )
        writer.writerows([["a", "b"], *rows])
    options = {"sep": sep, "quotechar": quote, "doublequote": doubled, "escapechar": "^", "comment": comment}
    schema = pa.schema({"a": pa.string(), "b": pa.string()})
    batches = [batch for _, batch in FORMAT.read(SourceFile(path), options=options, schema=schema)]
    assert [list(row.values()) for batch in batches for row in batch.to_pylist()] == rows


@pytest.mark.parametrize("options", [{}, {"comment": "#"}, {"sep": ";", "skipinitialspace": True}])
def test_positions_lead_back_in_every_dialect(path, options):
    sep = options.get("sep", ",")
    text = f"a{sep}b\n" + "".join(f"{i}{sep}x{i}\n" for i in range(200))
    path.write_text(text)
    options = {**options, "block_bytes": 100}
    for position, _ in FORMAT.read(SourceFile(path), options=options):
        rest = [
            row["a"]
            for _, batch in FORMAT.read(SourceFile(path), options=options, start=position)
            for row in batch.to_pylist()
        ]
        assert rest == list(range(position.row, 200))


odd_cells = st.sampled_from(
    ["", '""', "NA", "1", "-1", " 2", "007", "+5", "0x1F", "0", "-0", "0.5", "-0.5", "1.5", "1e3", "9007199254740993", "inf",
     "9223372036854775807", "9223372036854775808", "true", "False", "x", '"3"', '"1,5"', '"a\nb"', '5" pipe', '""""', "é", "0:30", "-01"]
)  # fmt: skip


@settings(max_examples=150)
@given(
    st.lists(st.tuples(odd_cells, odd_cells, odd_cells), min_size=1, max_size=12),
    st.sampled_from([3, 12, 40, 1 << 20]),
)
def test_blocks_parsed_at_once_give_what_rows_one_after_another_give(tmp_path_factory, rows, block_bytes):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    text = "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    path.write_text(text, "utf-8")
    outcomes: list[Any] = []
    for cuts in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not cuts:
                patch.setattr("gristmill.formats.csv_pieces._can_be_cut", lambda options: False)
            # A key of its own, so that nothing is remembered of the other way.
            options = {"block_bytes": block_bytes, "chunksize": 5 + cuts}
            try:
                outcomes.append(table(path, text, options))
            except GristmillError as error:
                outcomes.append(type(error))
    assert str(outcomes[0]) == str(outcomes[1])


@pytest.mark.parametrize("compress", [False, True])
def test_reading_goes_on_at_a_position_without_what_is_before(path, compress):
    text = "a,b\n" + "".join(f'{i},"x\n{i}"\n' for i in range(5000))
    path.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
    options = {"block_bytes": 4000}
    places = [position for position, _ in FORMAT.read(SourceFile(path), options=options)]
    assert [place.offset for place in places] == sorted({place.offset for place in places})
    last = places[-1]
    assert last.offset > 40_000
    (rest,) = FORMAT.read(SourceFile(path), options=options, start=last)
    assert rest[1]["a"].to_pylist() == list(range(last.row, 5000))
    if not compress:
        # What is before is not read: it may be anything.
        path.write_bytes(b"a,b\n" + b"\xff" * (last.offset - 4) + text.encode()[last.offset :])
        schema = pa.schema({"a": pa.int64(), "b": pa.string()})
        assert next(FORMAT.read(SourceFile(path), options=options, schema=schema, start=last))[1].num_rows > 0


def test_rows_end_outside_quotes_however_many_lines_cells_have():
    from gristmill.formats.csv_blocks import end_of_rows

    data = b'1,2\n"","a\nb","a\n'
    assert end_of_rows(data, ",", '"') == 4
    assert end_of_rows(data[4:], ",", '"') == 0


LARGE = ["-1", "-0", "9007199254740993", "-9007199254740993", "9223372036854775808", "18446744073709551616"]


@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(st.none(), odd_cells, st.sampled_from(["1", "2.5", "True", "t0"]), st.sampled_from(LARGE)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 6),
    st.integers(1, 70),
)
def test_the_kind_of_a_column_is_the_widest_of_its_cells_however_they_are_cut(cells, cut, times):
    from gristmill.formats.csv_options import CsvOptions
    from gristmill.formats.csv_settle import convert, kind_of, settled, wider

    options = CsvOptions()
    column = pa.array([cell for cell in cells for _ in range(times)], pa.string())
    expected = "null"
    for cell in cells:
        expected = wider(expected, kind_of(pa.array([cell], pa.string()), options))
    kind, values = settled(column, options)
    assert kind == expected
    if values is not None:
        assert values.equals(convert(column, kind, options))
    before, _ = settled(column.slice(0, cut), options)
    after, _ = settled(column.slice(cut), options, before)
    assert wider(before, after) == expected
