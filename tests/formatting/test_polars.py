"""Polars frames share Arrow's memory."""

import re
from typing import Any

import pytest

from gristmill import Dataset, Features, Value
from gristmill.errors import DataError

pl = pytest.importorskip("polars", reason="polars is not installed")


def test_frames_and_series():
    rows: dict[str, list[Any]] = {
        "i": [1, 2, 3],
        "s": ["x", None, "z"],
        "l": [[1], [], None],
        "d": [{"x": 1}] * 3,
    }
    ds = Dataset.from_dict(rows).with_format("polars")
    assert ds[:].equals(pl.DataFrame(rows))
    assert ds[1].equals(
        pl.DataFrame({name: values[1:2] for name, values in rows.items()}, schema=ds[:].schema)
    )
    assert [row["i"].to_list() for row in ds] == [[1], [2], [3]]
    assert [row.shape for row in ds.__getitems__([0, 2])] == [(1, 4), (1, 4)]
    assert isinstance(ds["s"][:], pl.Series)
    assert ds["s"][:].name == "s"
    assert ds["i"][0] == 1
    assert ds.with_format("pl", columns=["i"])[:].columns == ["i"]
    assert [frame.height for frame in ds.iter(2)] == [2, 1]


def test_map_takes_and_gives_frames():
    ds = Dataset.from_dict({"i": [1, 2, 3]}).with_format("polars")
    doubled = ds.map(lambda frame: frame.with_columns(j=pl.col("i") * 2), batched=True)
    assert doubled.with_format(None)[:] == {"i": [1, 2, 3], "j": [2, 4, 6]}


@pytest.mark.parametrize("dtype", ["decimal256(76, 2)", "timestamp[us, tz=+05:30]"])
def test_what_polars_can_not_hold_is_named(dtype):
    ds = Dataset.from_dict({"x": [None]}, features=Features({"x": Value(dtype)})).with_format("polars")
    for read in (lambda: ds[:], lambda: ds[0], lambda: ds["x"][:]):
        with pytest.raises(DataError, match=re.escape(dtype.partition("(")[0])):
            read()
