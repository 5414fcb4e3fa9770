"""Values that Python, JSON, CSV, pandas or Parquet can't hold: an error names row and column; the others stay what they are."""

import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import Dataset
from gristmill.errors import CastError, DataError

FAR = {
    "microseconds": pa.array([0, None, 2**62], pa.timestamp("us")),
    "seconds": pa.array([0, None, 2**62], pa.timestamp("s")),
    "zone": pa.array([0, None, 2**62], pa.timestamp("us", "Europe/Paris")),
    "edge of a zone": pa.array([0, None, 253402300799000000], pa.timestamp("us", "Asia/Tokyo")),
    "late day": pa.array([0, None, 2**31 - 1], pa.date32()),
    "early day": pa.array([0, None, -(10**6)], pa.date32()),
    "long": pa.array([0, None, 2**62], pa.duration("s")),
}
UNKNOWN_ZONE = pa.array([None, None, 0], pa.timestamp("us", "Mars/Base"))
SHAPES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "plain": lambda array: array,
    "lists": lambda array: pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), array),
    "structs": lambda array: pa.StructArray.from_arrays([array], ["x"]),
}
READERS: dict[str, Callable[[Dataset], Any]] = {
    "row": lambda ds: ds[2],
    "rows": list,
    "batch": lambda ds: ds[:],
    "chosen": lambda ds: ds.select([1, 0, 2])[:],
    "column": lambda ds: ds["c"][:],
    "to_dict": lambda ds: ds.to_dict(),
    "to_list": lambda ds: ds.to_list(),
    "to_json": lambda ds: ds.to_json(io.BytesIO()),
    "to_csv": lambda ds: ds.to_csv(io.BytesIO()),
    "stream to_json": lambda ds: ds.to_iterable_dataset(1).to_json(io.BytesIO()),
    "stream to_csv": lambda ds: ds.to_iterable_dataset(1).to_csv(io.BytesIO()),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [*FAR, "unknown zone"])
@pytest.mark.parametrize("reader", READERS)
def test_what_python_cannot_hold_is_named(reader: str, kind: str, shape: str) -> None:
    array = UNKNOWN_ZONE if kind == "unknown zone" else FAR[kind]
    ds = Dataset(pa.table({"n": [1, 2, 3], "c": SHAPES[shape](array)}))
    with pytest.raises(DataError, match=r'row 2, column "c": .*can\'t be a value of Python'):
        READERS[reader](ds)


def test_the_rows_before_are_counted_over_blocks() -> None:
    far = pa.array([0] * 25_000 + [2**62], pa.timestamp("us"))
    for write in (Dataset(pa.table({"c": far})).to_json, Dataset(pa.table({"c": far})).to_csv):
        with pytest.raises(DataError, match=r'row 25000, column "c": 4611686018427387904 of type'):
            write(io.BytesIO())


def test_pandas_and_numpy_name_what_they_cannot_hold() -> None:
    zone = Dataset(pa.table({"c": UNKNOWN_ZONE}))
    with pytest.raises(DataError, match=r'column "c": .*of pandas \(this machine does not know'):
        zone.to_pandas()
    with pytest.raises(DataError, match=r'column "c": .*of pandas'):
        Dataset(pa.table({"c": SHAPES["structs"](UNKNOWN_ZONE)})).with_format("pandas")[:]
    fine = Dataset(pa.table({"c": pa.array([0, 1], pa.time64("ns"))}))
    with pytest.raises(
        DataError, match=r'row 1, column "c": 1 of type time64\[ns\] can\'t be a value of numpy'
    ):
        fine.with_format("numpy")[:]


def test_databases_name_row_and_column(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'a.db'}"
    with pytest.raises(DataError, match=r'row 2, column "c": .*of a database'):
        Dataset(pa.table({"c": FAR["microseconds"]})).to_sql("t", uri)
    with pytest.raises(CastError, match=r'row 1, column "c": databases keep times to the microsecond'):
        Dataset(pa.table({"c": pa.array([1000, 1], pa.timestamp("ns"))})).to_sql("t", uri)


def test_bytes_that_are_no_text_name_their_row() -> None:
    with pytest.raises(CastError, match=r'row 1, column "b"'):
        Dataset.from_dict({"b": [b"text", b"\xff"]}).to_csv(io.BytesIO())


@pytest.mark.parametrize(
    ("array", "options"),
    [
        (pa.array([0, 2**62], pa.timestamp("s")), {}),
        (pa.array([[0], [2**62]], pa.list_(pa.timestamp("s"))), {}),
        (pa.array([0, 1], pa.timestamp("us")), {"coerce_timestamps": "ms"}),
        (pa.array([0, 1], pa.timestamp("ns")), {"version": "1.0"}),
    ],
)
def test_times_that_parquet_cannot_hold_do_not_end_the_process(
    array: pa.Array, options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r'row 1, column "c": .*of Parquet'):
        Dataset(pa.table({"c": array})).to_parquet(tmp_path / "a.parquet", **options)
    assert not list(tmp_path.iterdir())


def test_seconds_within_reach_are_written(tmp_path: Path) -> None:
    seconds = pa.array([0, None, 10**10], pa.timestamp("s"))
    Dataset(pa.table({"c": seconds})).to_parquet(tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet")["c"].cast(pa.timestamp("s")).combine_chunks() == seconds


NANOSECONDS = {
    "timestamp": pa.array([1500, None, 7], pa.timestamp("ns")),
    "zone": pa.array([1500, None, 7], pa.timestamp("ns", "UTC")),
    "duration": pa.array([1500, None, 7], pa.duration("ns")),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", NANOSECONDS)
def test_map_keeps_nanoseconds(kind: str, shape: str) -> None:
    array = SHAPES[shape](NANOSECONDS[kind])
    ds = Dataset(pa.table({"c": array}))
    mapped = ds.map(lambda row: {"c": row["c"], "d": row["c"]})
    assert mapped.data.column("c").combine_chunks() == mapped.data.column("d").combine_chunks() == array


def test_times_of_pandas_keep_what_they_hold() -> None:
    made = Dataset.from_dict(
        {
            "fine": [dt.datetime(2020, 1, 1), pd.Timestamp(1500)],  # noqa: DTZ001
            "plain": [pd.Timestamp(2000), pd.NaT],
            "span": [dt.timedelta(1), pd.Timedelta(1500, "ns")],
        }
    )
    types = [pa.timestamp("ns"), pa.timestamp("us"), pa.duration("ns")]
    assert made.data.schema.types == types
    assert made["fine"][1] == pd.Timestamp(1500)
    assert made["span"][1] == pd.Timedelta(1500, "ns")


def test_masked_values_are_none() -> None:
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    ds = Dataset.from_dict({"array": masked, "list": list(masked), "lists": [masked, masked, None]})
    mixed = Dataset.from_dict({"a": [masked, [4]], "b": [masked.reshape(3, 1), masked.reshape(3, 1)]})
    assert ds["array"] == ds["list"] == [1, None, 3]
    assert ds["lists"] == [[1, None, 3], [1, None, 3], None]
    assert mixed[0] == {"a": [1, None, 3], "b": [[1], [None], [3]]}
    assert Dataset.from_dict({"a": [0, 1]}).map(lambda row: {"b": masked[row["a"]]})["b"] == [1, None]
