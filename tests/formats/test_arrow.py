"""Arrow IPC files and streams."""

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import FileFormatError, GristmillError, InvalidArgumentError
from gristmill.features import Features
from gristmill.formats import Position, SourceFile, get_format
from gristmill.formats.arrow import is_mappable
from tests.formats.conformance import ROWS, ReaderTests
from tests.shared import SHARED

FORMAT: Any = get_format("arrow")
REAL = SHARED / "arrow"
SCHEMA = pa.schema({"id": pa.int64(), "text": pa.string(), "score": pa.float64()})


def as_arrow(table: pa.Table, form: str = "file", rows: int = 1 << 20, **options: Any) -> bytes:
    out = io.BytesIO()
    made = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with made(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return out.getvalue()


class TestFile(ReaderTests):
    format = "arrow"
    empty = None

    def make(self, path: Path) -> None:
        path.write_bytes(as_arrow(pa.Table.from_pylist(ROWS, SCHEMA), rows=30))


class TestStreamCompressedTwice(ReaderTests):
    format = "arrow"
    empty = None

    def make(self, path: Path) -> None:
        data = as_arrow(pa.Table.from_pylist(ROWS, SCHEMA), "stream", rows=30, compression="lz4")
        path.write_bytes(gzip.compress(data, mtime=0))


class TestFileInGzip(ReaderTests):
    format = "arrow"
    empty = None

    def make(self, path: Path) -> None:
        data = as_arrow(pa.Table.from_pylist(ROWS, SCHEMA), rows=30, compression="zstd")
        path.write_bytes(gzip.compress(data, mtime=0))


class TestDictionaries(ReaderTests):
    format = "arrow"
    empty = None

    def make(self, path: Path) -> None:
        table = pa.Table.from_pylist(ROWS, SCHEMA)
        table = table.set_column(1, "text", table["text"].dictionary_encode())
        path.write_bytes(as_arrow(table, "stream", rows=30))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.arrow"


def read(path: Path, **arguments: Any) -> pa.Table:
    batches = [batch for _, batch in FORMAT.read(SourceFile(path, "f"), **arguments)]
    return pa.Table.from_batches(batches, FORMAT.infer_schema(SourceFile(path, "f")))


def test_large_batches_come_in_slices_that_positions_lead_back_to(path, monkeypatch):
    monkeypatch.setattr("gristmill.formats.arrow.BATCH_BYTES", 1000)
    table = pa.table({"a": range(1000)})
    path.write_bytes(as_arrow(table, rows=400))
    pieces = list(FORMAT.read(SourceFile(path)))
    assert {at.group for at, _ in pieces} == {0, 1, 2}
    assert len(pieces) > 6
    for at, _ in pieces:
        rest = [v for _, batch in FORMAT.read(SourceFile(path), start=at) for v in batch["a"].to_pylist()]
        assert rest == list(range(at.row, 1000))


def test_feather(path):
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    for compression in ("lz4", "zstd", "uncompressed"):
        pyarrow.feather.write_feather(table, path, compression=compression)
        assert read(path).equals(table)
        assert is_mappable(path) == (compression == "uncompressed")
    path.write_bytes(b"FEA1" + bytes(100))
    with pytest.raises(FileFormatError, match=r"f: a Feather file of version 1.*version 2 is read"):
        read(path)


def test_what_the_file_says_of_its_columns_is_kept(path):
    from gristmill.features import ClassLabel

    features = Features({"l": ClassLabel(names=["a", "b"])})
    table = pa.table({"l": [1, 0]}, schema=features.arrow_schema)
    path.write_bytes(as_arrow(table))
    assert Features.from_arrow_schema(read(path).schema) == features


@pytest.mark.parametrize("compress", [False, True])
def test_a_stream_cut_between_batches_is_noticed(path, compress):
    data = as_arrow(pa.table({"a": range(10)}), "stream", rows=5)[:-8]
    path.write_bytes(gzip.compress(data) if compress else data)
    with pytest.raises(FileFormatError, match="f: an Arrow stream that is cut off"):
        read(path)


def test_two_columns_of_one_name(path):
    path.write_bytes(as_arrow(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])))
    with pytest.raises(FileFormatError, match='f, column "a": two columns'):
        read(path)


def test_what_can_be_used_in_place(path):
    plain = pa.table({"a": [1, 2], "s": ["x", None], "l": [[1], []]})
    for data, expected in [
        (as_arrow(plain), True),
        (as_arrow(plain, "stream"), True),
        (as_arrow(plain, "stream")[:-8], False),
        (as_arrow(plain, compression="zstd"), False),
        (gzip.compress(as_arrow(plain)), False),
        (as_arrow(pa.table({"a": pa.array(["x"]).dictionary_encode()})), False),
        (as_arrow(pa.table({"a": pa.array(["x"], pa.string_view())})), True),
        (b"nothing of the kind", False),
        (b"", False),
    ]:
        path.write_bytes(data)
        assert is_mappable(path) == expected, data[:20]


def test_writer(path):
    table = pa.table({"a": [1, 2]})
    options: dict[str, Any]
    for options in ({}, {"form": "stream"}, {"compression": "lz4"}):
        size = FORMAT.write(table.to_batches(), path, schema=table.schema, **options)
        assert size == path.stat().st_size
        assert read(path).equals(table)
    out = io.BytesIO()
    FORMAT.write([], out, schema=table.schema)
    assert pa.ipc.open_file(out.getvalue()).read_all().num_rows == 0
    for options in ({"form": "tape"}, {"compression": "gzip"}, {"index": False}):
        with pytest.raises(InvalidArgumentError):
            FORMAT.write([], path, schema=table.schema, **options)


values = {
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.large_string(): st.text(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.timestamp("us", "UTC"): st.integers(0, 2**50),
    pa.decimal128(9, 2): st.decimals(-1000, 1000, places=2),
    pa.list_(pa.int8()): st.lists(st.integers(-128, 127), max_size=3),
    pa.struct({"x": pa.bool_()}): st.fixed_dictionaries({"x": st.booleans()}),
}


@st.composite
def tables(draw: Any) -> pa.Table:
    rows = draw(st.integers(0, 12))
    types = draw(st.lists(st.sampled_from([*values]), min_size=1, max_size=4))
    columns = [draw(st.lists(st.none() | values[t], min_size=rows, max_size=rows)) for t in types]
    arrays = [
        pa.array(column, pa.int64()).cast(t) if pa.types.is_timestamp(t) else pa.array(column, t)
        for column, t in zip(columns, types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


@settings(max_examples=60)
@given(
    tables(), st.sampled_from(["file", "stream"]), st.sampled_from([None, "lz4", "zstd"]), st.integers(1, 5)
)
def test_what_is_written_reads_back(tmp_path_factory, table, form, compression, rows):
    path = tmp_path_factory.mktemp("arrow") / "x.arrow"
    batches = table.to_batches(max_chunksize=rows)
    FORMAT.write(batches, path, schema=table.schema, form=form, compression=compression)
    assert read(path).equals(table)
    for position, _ in FORMAT.read(SourceFile(path)):
        rest = [
            row for _, batch in FORMAT.read(SourceFile(path), start=position) for row in batch.to_pylist()
        ]
        assert rest == table.to_pylist()[position.row :]


@pytest.mark.skipif(not REAL.exists(), reason="the collection of Arrow files is not here")
def test_files_of_every_type_and_age_load_as_arrow_reads_them():
    refused = {}
    for file in sorted([*REAL.glob("ipc/*/*.arrow_file"), *REAL.glob("ipc/*/*.stream")]):
        reader: Any = pa.ipc.open_file if file.suffix == ".arrow_file" else pa.ipc.open_stream
        try:
            got = read(file)
        except GristmillError as error:
            refused[file.name] = str(error)
            continue
        whole = reader(pa.OSFile(str(file))).read_all()
        assert got.column_names == whole.column_names
        for name in whole.column_names:
            column = whole[name]
            if isinstance(column.type, pa.BaseExtensionType | pa.MapType | pa.UnionType):
                assert len(got[name]) == len(column)
            elif file.stem == "generated_list_view":  # which Arrow itself does not cast rightly
                assert got[name].to_pylist() == column.to_pylist()
            else:
                type_ = got[name].type
                values = pa.chunked_array([decoded(chunk).cast(type_) for chunk in column.chunks], type_)
                assert got[name].equals(values), (file, name)
    assert {name.partition(".")[0] for name in refused} == {
        "generated_duplicate_fieldnames",
        "generated_union",
    }
    assert 'row 5, column "dense_1"' in refused["generated_union.stream"]  # bytes that JSON has not


def decoded(array: Any) -> Any:
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary_decode()
    if isinstance(array, pa.RunEndEncodedArray):
        return pa.compute.run_end_decode(array)
    return array


def test_unions_become_json(path):
    column = pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()),
        pa.array([0, 0, 1], pa.int32()),
        [pa.array([1, None]), pa.array(["x"])],
    )
    path.write_bytes(as_arrow(pa.table({"u": column})))
    assert read(path)["u"].combine_chunks().storage.to_pylist() == ["1", '"x"', None]


HOSTILE = """
import sys, resource
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from gristmill.errors import GristmillError
from gristmill.formats import SourceFile, get_format
from gristmill.formats.arrow import is_mappable
for name in sys.argv[1:]:
    print(name, flush=True)
    is_mappable(Path(name))
    try:
        rows = [batch.to_pylist() for _, batch in get_format("arrow").read(SourceFile(Path(name)))]
    except GristmillError as error:
        assert name in str(error), str(error)
"""


@pytest.mark.skipif(not REAL.exists(), reason="the collection of Arrow files is not here")
def test_hostile_files_end_in_rows_or_our_error():
    files = [str(path) for path in sorted(REAL.glob("ipc_bad/*/*"))]
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, *files], check=False, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-1000:])
    assert len(done.stdout.splitlines()) == len(files) > 90


def test_position_is_plain():
    assert Position(5, 2, 1) == Position(row=5, offset=2, group=1)
