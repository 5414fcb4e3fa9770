"""`load_dataset(streaming=True)`."""

import json

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import IterableDataset, IterableDatasetDict, load_dataset
from gristmill.dataset import Dataset
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError, SplitNotFoundError


@pytest.fixture
def folder(tmp_path):
    for split, first in (("train", 0), ("test", 100)):
        for number in range(2):
            rows = Dataset.from_dict({"a": range(first + number * 5, first + number * 5 + 5)})
            rows.to_parquet(tmp_path / "data" / f"{split}-{number}.parquet")
    return tmp_path / "data"


def test_shapes(folder, tmp_path):
    streams = load_dataset(str(folder), streaming=True, cache_dir=tmp_path / "cache")
    assert isinstance(streams, IterableDatasetDict)
    assert list(streams) == ["train", "test"]
    assert streams.column_names == {"train": ["a"], "test": ["a"]}
    assert [row["a"] for row in streams["test"]] == list(range(100, 110))
    assert not (tmp_path / "cache").exists(), "nothing is prepared"
    train, test = load_dataset(str(folder), split=["train", "test"], streaming=True)
    assert isinstance(train, IterableDataset)
    assert (train.split, train.num_shards, next(iter(test))) == ("train", 2, {"a": 100})
    with pytest.raises(SplitNotFoundError):
        load_dataset(str(folder), split="dev", streaming=True)


@pytest.mark.parametrize(
    ("split", "rows"),
    [
        ("train[:3]", [0, 1, 2]),
        ("train[4:6]+test[:1]", [4, 5, 100]),
        ("train[-2:]", [8, 9]),
        ("train[50%:60%]", [5]),
        ("train[7:3]", []),
        ("train[-3:-5]", []),
        ("train[-1:3]", []),
        ("train[8:99]+train[7:3]", [8, 9]),
    ],
)
def test_slices(folder, split, rows):
    assert [row["a"] for row in load_dataset(str(folder), split=split, streaming=True)] == rows


@pytest.mark.parametrize("split", ["train[3:3]", "train[10:]", "train[:0]", "train[:-10]"])
def test_slices_that_mean_no_rows(folder, split):
    for streaming in (False, True):
        with pytest.raises(InvalidArgumentError, match=r"at least one row; train has 10 rows\."):
            load_dataset(str(folder), split=split, streaming=streaming)


def test_slices_from_the_end_need_a_known_length(tmp_path):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"a": n}) + "\n" for n in range(6)))
    rows = str(tmp_path / "rows.jsonl")
    four = load_dataset("json", data_files=rows, streaming=True, split="train[4:]")
    assert list(four) == [{"a": 4}, {"a": 5}]
    with pytest.raises(InvalidArgumentError, match=r"train\[-2:\]"):
        load_dataset("json", data_files=rows, streaming=True, split="train[-2:]")


def test_a_column_that_is_not_there(folder, tmp_path):
    with pytest.raises(ColumnNotFoundError, match='no column "b"'):
        load_dataset(str(folder), columns=["b"], split="train", streaming=True)
    # Of a file that is far away, or whose text is still to be read, it is known with the first rows.
    fsspec.filesystem("memory").pipe("/columns/a.parquet", (folder / "test-0.parquet").read_bytes())
    far = load_dataset("memory://columns/a.parquet", columns=["b"], split="train", streaming=True)
    with pytest.raises(ColumnNotFoundError, match=r'no column "b"\. There are: a\.'):
        next(iter(far))
    (tmp_path / "a.csv").write_text("text,stars\ngood,5\n")
    for columns in (["txt"], ["text", "txt"]):
        rows = load_dataset(str(tmp_path / "a.csv"), columns=columns, split="train", streaming=True)
        with pytest.raises(ColumnNotFoundError, match=r'a\.csv: there is no column "txt"\. Did you mean'):
            next(iter(rows))


def test_types_of_remote_parquet_are_those_of_features(tmp_path):
    table = pa.table(
        {
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "d": pa.array(["x", None, "x"]).dictionary_encode(),
            "u": pa.array([b"0123456789abcdef", None, b"fedcba9876543210"], pa.uuid()),
            "l": pa.array([[1], [], [2]], pa.list_(pa.field("element", pa.int32(), nullable=False))),
        }
    )
    pq.write_table(table, tmp_path / "types.parquet")
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "types.parquet"), "/types/types.parquet")
    try:
        remote = load_dataset(
            "parquet", data_files="memory://types/types.parquet", split="train", streaming=True
        )
        local = load_dataset(
            "parquet", data_files=str(tmp_path / "types.parquet"), split="train", streaming=True
        )
        assert list(remote) == list(local)
        assert next(iter(remote))["m"] == [{"key": "k", "value": 1}]
        assert next(iter(remote))["u"] == b"0123456789abcdef"
        tables = [next(iter(stream.with_format("arrow").iter(3))) for stream in (remote, local)]
        assert tables[0].schema.types == tables[1].schema.types
    finally:
        memory.rm("/types", recursive=True)
