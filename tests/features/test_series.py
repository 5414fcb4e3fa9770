"""Columns that come as a series of pandas."""

from typing import Any

import numpy as np
import pytest

from gristmill import Dataset
from gristmill.features import Features, Json, Value
from gristmill.features.build import array_from_values

pd = pytest.importorskip("pandas")
LARGE = 2**62 + 1


@pytest.mark.parametrize(
    ("series", "dtype", "values"),
    [
        (pd.Series(["a", None]), "string", ["a", None]),
        (pd.Series(["a", None], dtype=object), "string", ["a", None]),
        (pd.Series(["a", float("nan")], dtype=object), "string", ["a", None]),
        (pd.Series(["a", None], dtype="category"), "string", ["a", None]),
        (pd.Series([LARGE, None], dtype="Int64"), "int64", [LARGE, None]),
        (pd.Series([LARGE, None], dtype="int64[pyarrow]"), "int64", [LARGE, None]),
        (pd.Series([True, None], dtype="boolean"), "bool", [True, None]),
        (pd.Series([1, 2], index=[7, 8]), "int64", [1, 2]),
        (pd.Index([1, 2]), "int64", [1, 2]),
        (pd.array(["a", None]), "string", ["a", None]),
        (pd.Series([{"k": 1}, None]), None, [{"k": 1}, None]),
        (pd.Series([], dtype="str"), "string", []),
    ],
    ids=str,
)
def test_what_is_missing_is_none_and_types_stay(series, dtype, values):
    rows = Dataset.from_dict({"i": list(range(len(values)))})
    made = [
        Dataset.from_dict({"a": series}),
        rows.add_column("a", series).select_columns("a"),
        rows.map(lambda batch: {"a": series}, batched=True, remove_columns="i") if values else None,
    ]
    for ds in made:
        if ds is not None:
            assert ds["a"] == values
            assert dtype is None or ds.features == {"a": Value(dtype)}
    as_json = Dataset.from_dict({"a": series}, features=Features({"a": Json()}))
    assert as_json["a"] == values


def _first_changed(values: Any) -> Any:
    values[(0,) * getattr(values, "ndim", 1)] = values[(-1,) * getattr(values, "ndim", 1)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(3),
        lambda: np.arange(4).reshape(2, 2),
        lambda: np.arange(6)[::2],
        lambda: np.array(["2020-01-01", "2021-01-01"], "M8[us]"),
        lambda: np.array([True, False]),
        lambda: pd.Series([1.5, 2.5]).to_numpy(copy=True),
    ],
)
def test_what_is_changed_in_place_later_is_not_changed_in_the_column(make):
    values = make()
    array = array_from_values(values)
    before = array.to_pylist()
    _first_changed(values)
    assert array.to_pylist() == before


def test_series_can_be_changed_later():
    for series in (pd.Series([1, 2]), pd.Series([1, None], dtype="Int64"), pd.Series(["a", "b"])):
        ds = Dataset.from_dict({"a": series})
        before = ds["a"][:]
        series.iloc[0] = series.iloc[1]
        assert ds["a"] == before


def test_a_function_may_fill_one_array_anew_for_each_batch():
    filled = np.zeros(2, np.int64)

    def fill(batch: dict[str, list[int]]) -> dict[str, Any]:
        filled[:] = batch["a"]
        return {"b": filled}

    ds = Dataset.from_dict({"a": list(range(6))})
    assert ds.map(fill, batched=True, batch_size=2)["b"] == list(range(6))
    assert [row["b"] for row in ds.to_iterable_dataset().map(fill, batched=True, batch_size=2)] == list(
        range(6)
    )
