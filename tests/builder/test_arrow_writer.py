"""Files that code writes row by row."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import ClassLabel, Dataset, Features, Value
from gristmill.builder.arrow_writer import ArrowWriter, ParquetWriter
from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError

FEATURES = Features({"a": Value("int64"), "b": ClassLabel(names=["x", "y"])})


def test_rows_batches_and_tables_in_their_order(tmp_path):
    path = tmp_path / "a.arrow"
    with ArrowWriter(path=str(path), features=FEATURES, writer_batch_size=2) as writer:
        for number in range(3):
            writer.write({"a": number, "b": "y"})
        writer.write_batch({"a": [3, 4], "b": ["x", 1]})
        writer.write_table(pa.table({"a": [5], "b": [0]}))
        writer.write_row(pa.table({"a": [6], "b": [0]}))
        assert len(writer) == 7
        rows, size = writer.finalize()
    assert (rows, size > 0) == (7, True)
    data = Dataset.from_file(str(path))
    assert data["a"][:] == list(range(7))
    assert data["b"][:] == [1, 1, 1, 0, 1, 0, 0]
    assert data.features == FEATURES


def test_columns_grow_without_features(tmp_path):
    with ArrowWriter(path=tmp_path / "a.arrow", writer_batch_size=1) as writer:
        assert writer.features is None
        for row in ({"a": None}, {"a": 1}, {"a": 2.5, "b": "late"}):
            writer.write(row)
        writer.finalize()
    assert Dataset.from_file(str(tmp_path / "a.arrow"))[:] == {
        "a": [None, 1.0, 2.5],
        "b": [None, None, "late"],
    }


def test_parquet_and_streams(tmp_path):
    with ParquetWriter(path=tmp_path / "a.parquet", features=FEATURES) as writer:
        writer.write({"a": 1, "b": "x"})
        writer.finalize()
    assert pq.read_table(tmp_path / "a.parquet")["a"].to_pylist() == [1]
    assert b"ClassLabel" in pq.read_schema(tmp_path / "a.parquet").metadata[b"huggingface"]
    stream = io.BytesIO()
    with ArrowWriter(stream=stream, schema=pa.schema({"a": pa.int64()}), fingerprint="abc") as writer:
        writer.write({"a": 1})
        writer.finalize(close_stream=False)
    reader = pa.ipc.open_stream(stream.getvalue())
    assert reader.read_all()["a"].to_pylist() == [1]
    assert b'"fingerprint": "abc"' in reader.schema.metadata[b"huggingface"]


def test_nothing_appears_unless_it_is_finalized(tmp_path):
    with ArrowWriter(path=tmp_path / "a", features=FEATURES) as writer:
        writer.write({"a": 1, "b": "x"})
        writer.write({"a": "q", "b": "x"})
        with pytest.raises(CastError, match='row 1, column "a"'):
            writer.finalize()
    assert list(tmp_path.iterdir()) == []


def test_no_rows(tmp_path):
    with ArrowWriter(path=tmp_path / "a.arrow", features=FEATURES) as writer:
        assert writer.finalize() == (0, 0)
    assert Dataset.from_file(str(tmp_path / "a.arrow")).features == FEATURES


def test_one_target(tmp_path):
    with pytest.raises(InvalidArgumentError, match="either path= or stream="):
        ArrowWriter()
    with pytest.raises(InvalidArgumentError, match="either path= or stream="):
        ArrowWriter(path="a", stream=io.BytesIO())


def test_types_without_a_common_type(tmp_path):
    with ArrowWriter(path=tmp_path / "a.arrow") as writer:
        writer.write({"a": 1})
        writer.write({"a": ["x"]})
        writer.finalize()
    assert Dataset.from_file(str(tmp_path / "a.arrow"))["a"][:] == [1, ["x"]]
    with ArrowWriter(path=tmp_path / "b.arrow", on_mixed_types=None) as writer:
        writer.write({"a": 1})
        writer.write({"a": ["x"]})
        with pytest.raises(SchemaConflictError):
            writer.finalize()
