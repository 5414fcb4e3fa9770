"""Parquet."""

import errno
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.errors import (
    CastError,
    DatasetGenerationError,
    DiskFullError,
    FileFormatError,
    InvalidArgumentError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.formats import Position, SourceFile, get_format
from gristmill.formats.base import columns_needed
from gristmill.formats.parquet_groups import RowGroups
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


def test_expressions_tell_the_columns_they_look_at():
    schema = pa.schema(
        {"a": pa.int64(), "s": pa.struct({"x": pa.int64()}), "s.x": pa.string(), "b": pa.int8()}
    )
    wanted = (pc.field("s", "x") > 2) | pc.field("s.x").isin(["x"])
    assert columns_needed(["b"], wanted, schema) == ["b", "s", "s.x"]
    assert columns_needed(["a"], pc.field("a").is_null(), schema) == ["a"]
    # What does not fit the columns is told where rows are filtered.
    assert columns_needed(["a"], pc.field("no") > 1, schema) is None
    assert columns_needed(["a"], pc.field("a") > "x", schema) in (None, ["a"])
    assert columns_needed(["a"], pc.field("b") > 1) is None


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


def test_small_row_groups_are_decoded_together(tmp_path):
    pq.write_table(pa.table({"a": range(30)}), tmp_path / "x", row_group_size=5)
    got = [
        (at.row, at.group, batch["a"].to_pylist()) for at, batch in FORMAT.read(SourceFile(tmp_path / "x"))
    ]
    assert got == [
        (0, 0, list(range(5))),
        (5, 1, list(range(5, 30))),
    ]  # the first one alone, to be there soon
    there = replace(SourceFile(tmp_path / "x"), stop=4)
    cut = FORMAT.read(there, start=Position(12, group=2))
    assert [(at.row, at.group, batch["a"].to_pylist()) for at, batch in cut] == [
        (12, 2, [12, 13, 14]),
        (15, 3, list(range(15, 20))),
    ]


def test_rows_before_a_damaged_row_group_come(tmp_path):
    texts = [f"text {row:02}" for row in range(30)]
    file = tmp_path / "x.parquet"
    pq.write_table(
        pa.table({"a": texts}), file, row_group_size=5, use_dictionary=False, compression="none",
        write_statistics=False,
    )  # fmt: skip
    data = file.read_bytes()
    file.write_bytes(data.replace(b"text 22", b"t\xff\xfft 22"))
    reading = FORMAT.read(SourceFile(file))
    came = [text for _, batch in itertools.islice(reading, 4) for text in batch["a"].to_pylist()]
    assert came == texts[:20]
    with pytest.raises(FileFormatError, match='column "a"'):
        next(reading)


def test_row_groups_with_other_rows_than_the_footer_says_are_refused(tmp_path):
    file = tmp_path / "x"
    pq.write_table(pa.table({"a": range(30)}), file, row_group_size=10)
    whole = pq.ParquetFile(file)

    class Lying:
        metadata = whole.metadata
        schema_arrow = whole.schema_arrow

        def iter_batches(self, rows, row_groups, columns, use_threads):
            yield from whole.iter_batches(
                rows, row_groups=row_groups[:1], columns=columns, use_threads=use_threads
            )

    reader = RowGroups(Lying(), [10, 10, 10], pa.schema({"a": pa.int64()}), SourceFile(file))
    with pytest.raises(FileFormatError, match="row groups 1 to 2 hold 10 rows where the footer says 20"):
        list(reader.read(range(1, 3)))


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


def test_pages_are_cut_by_content_and_indexed(tmp_path):
    table = pa.table({"a": range(1000), "text": [f"{i:040}" for i in range(1000)], "label": ["x"] * 1000})
    FORMAT.write(table.to_batches(), tmp_path / "x", schema=table.schema)
    meta = pq.read_metadata(tmp_path / "x")
    assert json.loads(meta.metadata[b"content_defined_chunking"])["norm_level"] == 0
    columns = [meta.row_group(0).column(i) for i in range(3)]
    assert all(column.has_column_index and column.has_offset_index for column in columns)
    # A dictionary of texts that never repeat would be built for nothing.
    assert [column.has_dictionary_page for column in columns] == [True, False, True]
    FORMAT.write(
        table.to_batches(),
        tmp_path / "y",
        schema=table.schema,
        use_content_defined_chunking=False,
        write_page_index=False,
        use_dictionary=False,
    )
    meta = pq.read_metadata(tmp_path / "y")
    assert b"content_defined_chunking" not in meta.metadata
    assert not meta.row_group(0).column(0).has_offset_index
    assert pq.read_table(tmp_path / "x").equals(pq.read_table(tmp_path / "y"))


def test_scan_options_are_passed_on(tmp_path):
    pq.write_table(pa.table({"a": ["x" * 1000]}), tmp_path / "x")
    tight = ds.ParquetFragmentScanOptions(thrift_string_size_limit=10)
    with pytest.raises(FileFormatError, match="x: can't be read as Parquet"):
        list(FORMAT.read(SourceFile(tmp_path / "x", "x"), options={"fragment_scan_options": tight}))
    wide = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=4096, pre_buffer=True)
    [(_, batch)] = FORMAT.read(SourceFile(tmp_path / "x"), options={"fragment_scan_options": wide})
    assert batch.num_rows == 1
    with pytest.raises(InvalidArgumentError, match="ParquetFragmentScanOptions"):
        FORMAT.parse_options({"fragment_scan_options": 1})


def test_values_that_a_type_does_not_allow_name_their_column(tmp_path):
    odd = pa.array([b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"good": ["a"], "odd": odd}), tmp_path / "x")
    with pytest.raises(
        FileFormatError, match=r'x, column "odd": holds a value that its type string does not'
    ):
        list(FORMAT.read(SourceFile(tmp_path / "x", "x")))


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 0}, {"batch_size": "9"}, {"columns": "a"}, {"columns": [1]}, {"on_bad_files": "x"}],
)
def test_options_are_checked(options):
    with pytest.raises(InvalidArgumentError, match=next(iter(options))):
        FORMAT.parse_options(options)


def test_files_of_other_columns_widen_or_are_named(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [1.5], "c": [[1]]}), tmp_path / "2.parquet")
    (tmp_path / "3.parquet").write_bytes(b"PAR1 is no file PAR1")
    files = [str(tmp_path / f"{i}.parquet") for i in (1, 2, 3)]
    for action in ("warn", "skip"):
        loaded = gristmill.Dataset.from_parquet(files, cache_dir=str(tmp_path), on_bad_files=action)
        assert loaded.to_list() == [{"a": 1.0, "b": "x", "c": None}, {"a": 1.5, "b": None, "c": [1]}]
    with pytest.raises(DatasetGenerationError, match=r"3\.parquet: can't be read as Parquet"):
        gristmill.Dataset.from_parquet(files, cache_dir=str(tmp_path))
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(DatasetGenerationError, match=r'3\.parquet, column "a".*from double to string'):
        gristmill.Dataset.from_parquet(files, cache_dir=str(tmp_path))


SMALL = Path(__file__).parent.parent / "data" / "parquet"


@pytest.mark.parametrize("path", sorted((SMALL / "bad").iterdir()), ids=lambda path: path.name)
def test_damaged_and_encrypted_files_are_named(path):
    with pytest.raises(FileFormatError, match=path.name):
        list(FORMAT.read(SourceFile(path)))


@pytest.mark.parametrize("path", sorted((SMALL / "good").iterdir()), ids=lambda path: path.name)
def test_files_of_odd_writers_equal_what_pyarrow_reads(path):
    whole = pq.ParquetFile(path).read()
    batches = [batch for _, batch in FORMAT.read(SourceFile(path))]
    mine = pa.Table.from_batches(batches)
    assert mine.schema == whole.schema
    assert repr(mine.to_pylist()) == repr(whole.to_pylist())  # NaN is equal to nothing, its text is


def test_a_full_disk_in_the_middle_of_a_column_is_an_error():
    # pyarrow itself would end the process.
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 100_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    many = gristmill.Dataset.from_dict({"a": range(300_000), "s": [str(i) * 3 for i in range(300_000)]})
    with pytest.raises(DiskFullError):
        many.to_parquet(Full())
