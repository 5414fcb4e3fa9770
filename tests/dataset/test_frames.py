"""Polars frames."""

import pytest

from gristmill.dataset import Column, Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features, Value

pl = pytest.importorskip("polars")


def test_round_trip():
    frame = pl.DataFrame({"n": [1, None], "s": ["x", None], "l": [[1], []]})
    ds = Dataset.from_polars(frame)
    assert ds.to_dict() == {"n": [1, None], "s": ["x", None], "l": [[1], []]}
    assert ds.to_polars().equals(frame)
    assert ds.select([1]).to_polars().equals(frame[1:])
    assert [part.height for part in ds.to_polars(batch_size=1, batched=True)] == [1, 1]
    assert ds.to_polars(schema_overrides={"n": pl.Int8}).schema["n"] == pl.Int8
    assert Dataset.from_polars(frame.lazy()).to_dict() == ds.to_dict()


def test_types():
    frame = pl.DataFrame({"c": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})
    assert Dataset.from_polars(frame)["c"][:] == ["a", "b", "a"]
    small = Dataset.from_polars(pl.DataFrame({"n": [1]}), features=Features({"n": Value("int8")}))
    assert small.features == {"n": Value("int8")}
    with pytest.raises(InvalidArgumentError):
        Dataset.from_polars([1])


def test_columns_of_frames_are_what_the_library_has():
    ds = Dataset.from_dict({"a": [1, 2, 3]})
    assert ds.with_format("pandas")["a"].iloc[1] == 2
    assert ds.with_format("arrow")["a"].to_pylist() == [1, 2, 3]
    assert isinstance(ds.with_format("numpy")["a"], Column)
