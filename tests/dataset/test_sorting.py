"""Sorting and distinct values, as Python's own."""

import datetime as dt
import math
import operator
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dataset import Dataset, DatasetDict
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, Value


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": [3, None, 1, 3], "b": ["x", None, "y", "w"], "n": [0, 1, 2, 3]})


def test_one_column(ds):
    assert ds.sort("a")["n"][:] == [2, 0, 3, 1]
    assert ds.sort("a", reverse=True)["n"][:] == [0, 3, 2, 1]
    assert ds.sort("a", null_placement="at_start")["n"][:] == [1, 2, 0, 3]
    assert ds.sort("a", reverse=True, null_placement="first")["n"][:] == [1, 0, 3, 2]
    assert ds.select([1, 2]).sort("a")["n"][:] == [2, 1]


def test_several_columns(ds):
    assert ds.sort(["a", "b"])["n"][:] == [2, 3, 0, 1]
    assert ds.sort(["a", "b"], reverse=[True, False])["n"][:] == [3, 0, 2, 1]
    assert ds.sort(["a", "b"], reverse=True)["n"][:] == [0, 3, 2, 1]


def test_values_of_many_kinds():
    day = dt.date
    columns = {
        "f": [1.5, math.nan, None, -1.0],
        "t": [True, False, None, True],
        "d": [day(2020, 1, 2), day(2020, 1, 1), None, day(1900, 1, 1)],
        "b": [b"b", b"a", None, b""],
        "a.b": [2, 1, None, 0],
        "nothing": [None] * 4,
    }
    ds = Dataset.from_dict({**columns, "n": [0, 1, 2, 3]})
    assert ds.sort("f")["n"][:] == [3, 0, 1, 2]
    assert ds.sort("t")["n"][:] == [1, 0, 3, 2]
    for name in ("d", "b", "a.b"):
        assert ds.sort(name)["n"][:] == [3, 1, 0, 2]
    assert ds.sort("nothing")["n"][:] == ds.sort(["nothing", "n"])["n"][:] == [0, 1, 2, 3]


def test_arguments_that_mean_nothing(ds):
    with pytest.raises(ColumnNotFoundError):
        ds.sort("zz")
    for act in (
        lambda: ds.sort([]),
        lambda: ds.sort(["a", "b"], reverse=[True]),
        lambda: ds.sort("a", null_placement="middle"),
        lambda: ds.map(lambda row: {"l": [1]}).sort("l"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  # four messages
            act()


def test_sorting_nothing_gives_a_new_dataset():
    empty = Dataset.from_dict({"a": []})
    made = empty.sort("a")
    made.set_format("numpy")
    assert empty.format["type"] is None
    assert len(made) == 0


def test_a_sorted_dataset_stays_as_it_is():
    ds = Dataset.from_dict({"a": range(100)})
    assert ds.sort("a")._view.parts[0].selection == range(100)


def test_distinct_values(ds):
    assert ds.unique("a") == [3, None, 1]
    assert ds.select([2, 2, 0]).unique("a") == [1, 3]
    assert DatasetDict({"t": ds, "u": ds.select([0])}).unique("b") == {"t": ["x", None, "y", "w"], "u": ["x"]}
    labels = Dataset.from_dict({"c": ["b", "a"]}).cast_column("c", ClassLabel(names=["a", "b"]))
    assert labels.unique("c") == [1, 0]
    with pytest.raises(ColumnNotFoundError):
        ds.unique("zz")
    with pytest.raises(InvalidArgumentError, match="plain values"):
        Dataset.from_dict({"l": [[1]]}).unique("l")


rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-3, 3)),
        st.one_of(st.none(), st.text("abc", max_size=2)),
    ),
    max_size=30,
)


@settings(max_examples=80, deadline=None)
@given(rows, st.booleans(), st.booleans(), st.booleans(), st.integers(1, 5))
def test_sorting_equals_sorting_lists(pairs, down, down_too, first, chunk):
    table = pa.table(
        {"a": pa.array([a for a, _ in pairs], pa.int64()), "b": pa.array([b for _, b in pairs], pa.string())}
    )
    pieces = [table.slice(start, chunk) for start in range(0, max(1, len(pairs)), chunk)]
    ds = Dataset(pa.concat_tables(pieces))
    expected: list[Any] = list(pairs)
    # From the least significant key to the most; Python's sort is stable.
    for position, reverse in ((1, down_too), (0, down)):
        there = [pair for pair in expected if pair[position] is not None]
        absent = [pair for pair in expected if pair[position] is None]
        there.sort(key=operator.itemgetter(position), reverse=reverse)
        expected = [*absent, *there] if first else [*there, *absent]
    placement = "at_start" if first else "at_end"
    made = ds.sort(["a", "b"], reverse=[down, down_too], null_placement=placement)
    assert [(row["a"], row["b"]) for row in made] == expected
    assert ds.unique("b") == list(dict.fromkeys(b for _, b in pairs))


def test_many_splits():
    parts = DatasetDict({"t": Dataset.from_dict({"a": [2, 1]}, features=Features({"a": Value("int8")}))})
    assert parts.sort("a", reverse=True)["t"]["a"][:] == [2, 1]
    assert parts.sort("a")["t"]["a"][:] == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("string_view", ["b", None, "a", "", "b", None]),
        ("binary_view", [b"b", None, b"a", b"", b"b", None]),
        ("float16", [1.5, None, 0.5, -1.0, 1.5, None]),
        (
            "decimal32(5, 2)",
            [Decimal("2.50"), None, Decimal("1.25"), Decimal("-3.00"), Decimal("2.50"), None],
        ),
        (
            "decimal64(12, 2)",
            [Decimal("2.50"), None, Decimal("1.25"), Decimal("-3.00"), Decimal("2.50"), None],
        ),
    ],
)
def test_types_that_arrow_does_not_sort_itself(dtype, values):
    ds = Dataset.from_dict({"a": values}, features=Features({"a": Value(dtype)}))
    there = [value for value in values if value is not None]
    assert ds.sort("a")["a"][:] == [*sorted(there), None, None]
    assert ds.sort("a").features == ds.features
    assert ds.unique("a") == list(dict.fromkeys(values))
    encoded = ds.class_encode_column("a")
    names = encoded.features["a"].names
    assert [None if i is None else names[i] for i in encoded["a"]] == [
        None if value is None else str(value) for value in values
    ]


def test_nan_is_one_value_whatever_its_bits():
    other = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]
    ds = Dataset.from_dict({"a": [math.nan, 1.0, other, None, 1.0, math.nan]})
    first, *rest = ds.unique("a")
    assert math.isnan(first)
    assert rest == [1.0, None]
    assert ds.class_encode_column("a")["a"][:] == [1, 0, 1, None, 0, 1]
