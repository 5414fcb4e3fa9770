"""Parquet."""

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gristmill.errors import CastError, FileFormatError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.formats import Position, SourceFile, get_format
from tests.formats.conformance import ROWS, ReaderTests

FORMAT = get_format("parquet")


class TestParquetReader(ReaderTests):
    format = "parquet"
    options = {"batch_size": 7}  # noqa: RUF012  # a constant of the test class
    empty = None

    def make(self, path: Path) -> None:
        pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=30)


def rows(path: Path, **arguments: Any) -> list[dict[str, Any]]:
    return [row for _, batch in FORMAT.read(SourceFile(path), **arguments) for row in batch.to_pylist()]


def test_position_inside_a_row_group_goes_on_there(tmp_path):
    pq.write_table(pa.table({"a": range(10)}), tmp_path / "x", row_group_size=6)
    got = list(FORMAT.read(SourceFile(tmp_path / "x"), start=Position(row=4, group=0)))
    assert got[0][0] == Position(row=4, group=0)
    assert [value for _, batch in got for value in batch["a"].to_pylist()] == [4, 5, 6, 7, 8, 9]


def test_features_survive_the_file(tmp_path):
    features = Features({"l": ClassLabel(names=["a", "b"]), "n": {"x": List(Value("int8"), length=2)}})
    table = pa.table(
        {"l": [1], "n": pa.array([{"x": [1, 2]}], features["n"] and features.type.field(1).type)}
    )
    table = table.cast(features.arrow_schema)
    FORMAT.write(table.to_batches(), tmp_path / "x.parquet", schema=table.schema)
    assert Features.from_arrow_schema(FORMAT.infer_schema(SourceFile(tmp_path / "x.parquet"))) == features
    assert rows(tmp_path / "x.parquet") == [{"l": 1, "n": {"x": [1, 2]}}]


def test_row_groups_that_cannot_match_are_not_read(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": range(40)}), tmp_path / "x", row_group_size=10)
    read: list[int] = []
    real = pq.ParquetFile.iter_batches

    def spy(self: Any, *args: Any, **kwargs: Any) -> Any:
        read.extend(kwargs["row_groups"])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    assert [row["a"] for row in rows(tmp_path / "x", filters=pc.field("a") > 33)] == [34, 35, 36, 37, 38, 39]
    assert read == [3]


def test_filters_with_or(tmp_path):
    pq.write_table(pa.table({"a": range(5), "b": list("abcde")}), tmp_path / "x")
    assert rows(tmp_path / "x", filters=[[("a", "<", 1)], [("b", "==", "e")]], columns=["b"]) == [
        {"b": "a"},
        {"b": "e"},
    ]
    with pytest.raises(InvalidArgumentError, match="can't be used"):
        rows(tmp_path / "x", filters=[("b", ">", 1)])
    with pytest.raises(InvalidArgumentError, match="filters="):
        rows(tmp_path / "x", filters="a > 1")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"abcd", None], pa.binary(4)),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        pa.array([{"a": [None, {"b": "x"}]}, None]),
    ],
)  # fmt: skip
def test_every_type_has_a_feature_and_reads_through_it(tmp_path, column):
    other = pa.array([1, 2])
    pq.write_table(pa.table({"x": column, "y": other}), tmp_path / "x")
    schema = Features.from_arrow_schema(FORMAT.infer_schema(SourceFile(tmp_path / "x"))).arrow_schema
    values = [row["x"] for row in rows(tmp_path / "x", schema=schema)]
    expected = column.to_pylist()
    if pa.types.is_map(column.type):
        expected = [[{"key": "k", "value": 1}], None]
    assert values == expected


def test_column_names_with_dots_are_columns(tmp_path):
    table = pa.table({"a": [{"b": 1}], "a.b": [2]})
    pq.write_table(table, tmp_path / "x")
    assert rows(tmp_path / "x", columns=["a"]) == [{"a": {"b": 1}}]
    assert rows(tmp_path / "x", columns=["a.b"]) == [{"a.b": 2}]


def test_batches_are_bounded_by_bytes(tmp_path):
    pq.write_table(pa.table({"a": ["x" * 1_000_000 + str(i) for i in range(40)]}), tmp_path / "x")
    sizes = [batch.nbytes for _, batch in FORMAT.read(SourceFile(tmp_path / "x"))]
    assert len(sizes) > 1
    assert max(sizes) < 20_000_000


def test_bad_files_can_be_left_out(tmp_path, caplog):
    (tmp_path / "x").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(FileFormatError, match="x: can't be read as Parquet"):
        rows(tmp_path / "x")
    assert rows(tmp_path / "x", options={"on_bad_files": "skip"}) == []
    assert rows(tmp_path / "x", options={"on_bad_files": "warn"}) == []
    with pytest.raises(InvalidArgumentError):
        rows(tmp_path / "x", options={"on_bad_files": "ignore"})


def test_two_columns_of_one_name_are_an_error(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "x")
    with pytest.raises(FileFormatError, match='column "a": two columns have this name'):
        rows(tmp_path / "x")


def test_text_that_is_not_utf8_is_found(tmp_path):
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    pq.write_table(pa.table({"a": text}), tmp_path / "x")
    with pytest.raises(FileFormatError, match="UTF8"):
        rows(tmp_path / "x")


def test_writer_cuts_and_joins_row_groups(tmp_path):
    table = pa.table({"a": pa.array(range(1000), pa.int64())})
    size = FORMAT.write(table.to_batches(10), tmp_path / "x", schema=table.schema, row_group_bytes=2000)
    meta = pq.read_metadata(tmp_path / "x")
    assert size == (tmp_path / "x").stat().st_size
    assert pq.read_table(tmp_path / "x")["a"].to_pylist() == list(range(1000))
    assert 4 <= meta.num_row_groups <= 6
    FORMAT.write(table.to_batches(), tmp_path / "y", schema=table.schema, batch_size=400)
    assert [pq.read_metadata(tmp_path / "y").row_group(i).num_rows for i in range(3)] == [400, 400, 200]


def test_writer_to_a_file_object_and_with_no_rows():
    out = io.BytesIO()
    assert FORMAT.write([], out, schema=pa.schema({"a": pa.int8()})) == len(out.getvalue())
    assert pq.read_table(io.BytesIO(out.getvalue())).schema.names == ["a"]
    with pytest.raises(InvalidArgumentError, match="nonsense"):
        FORMAT.write([], io.BytesIO(), schema=pa.schema({"a": pa.int8()}), nonsense=1)


def test_struct_without_fields_cannot_be_written(tmp_path):
    with pytest.raises(CastError, match="'x'"):
        FORMAT.write([], tmp_path / "x", schema=pa.schema({"x": pa.struct([])}))
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_nothing(tmp_path):
    def broken() -> Any:
        yield pa.record_batch({"a": [1]})
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        FORMAT.write(broken(), tmp_path / "x", schema=pa.schema({"a": pa.int64()}))
    assert list(tmp_path.iterdir()) == []


REAL = Path("/work/shared/data/parquet")
SCRIPT = """
import sys, resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from gristmill.errors import GristmillError
from gristmill.formats import SourceFile, get_format
for path in sys.stdin.read().split():
    try:
        rows = sum(batch.num_rows for _, batch in get_format("parquet").read(SourceFile(path)))
    except GristmillError as error:
        rows = -1
    print(path, rows, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bad", "encrypted", "good"])
def test_real_odd_files_end_in_rows_or_our_error(kind):
    index = REAL / kind / "index.tsv"
    if not index.exists():
        pytest.skip("the collection of odd files is not here")
    with index.open() as lines:
        listed = {
            str(REAL / row["path"]): row
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        }
    # A file that crashed the process would take down all after it: the answer would be missing.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(listed),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    answers = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert set(answers) == set(listed), done.stderr[-2000:]
    if kind == "good":
        wrong = [p for p, row in listed.items() if row["read"] == "ok" and answers[p] != row["rows"]]
        assert len(wrong) <= 2, wrong  # two whose footers disagree with themselves
