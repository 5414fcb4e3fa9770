"""Checked casts."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import CastError
from gristmill.features import ClassLabel, Features, LargeList, List, Sequence, Value
from gristmill.features.cast import cast_array, cast_table
from gristmill.features.convert import to_arrow_type

LABEL = ClassLabel(names=["neg", "pos"])


@pytest.mark.parametrize(
    ("array", "feature", "expected"),
    [
        (pa.array([1, None]), Value("float32"), [1.0, None]),
        (pa.array([1.0, None]), Value("int8"), [1, None]),
        (pa.array(["1", None]), Value("int8"), [1, None]),
        (pa.array([0.1 + 0.2]), Value("string"), ["0.30000000000000004"]),
        (pa.array([1, 0]), Value("bool"), [True, False]),
        (pa.array(["true"]), Value("bool"), [True]),
        (pa.nulls(2), List(LABEL), [None, None]),
        (pa.nulls(1), {"a": LABEL}, [None]),
        (pa.array([float("inf"), float("nan")]), Value("float32"), [float("inf"), pytest.approx(float("nan"), nan_ok=True)]),
        (pa.array([b"ab"], pa.binary(2)), Value("binary"), [b"ab"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), Value("string"), ["a", "b", "a"]),
        (pa.array(["pos", None, " neg ", "1"]), LABEL, [1, None, 0, 1]),
        (pa.array([-1, None, 1], pa.int8()), LABEL, [-1, None, 1]),
        (pa.array([1.0]), LABEL, [1]),
        (pa.array([["neg"], None, []]), List(LABEL), [[0], None, []]),
        (pa.array([[1, 2], None, [3, 4]]), List(Value("int8"), length=2), [[1, 2], None, [3, 4]]),
        (pa.array([[1], [2]], pa.list_(pa.int64(), 1)), LargeList(Value("int8")), [[1], [2]]),
        (pa.array([[], []], pa.list_(pa.int64())), List(Value("int8"), length=0), [[], []]),
        (pa.array([{"a": 1}, None]), {"b": Value("string"), "a": Value("int8")}, [{"b": None, "a": 1}, None]),
        (pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8())),
         List({"key": Value("string"), "value": Value("int64")}), [[{"key": "k", "value": 1}], None, []]),
        (pa.array([[{"a": 1}, {"a": 2}], None]), Sequence({"a": Value("int8")}), [{"a": [1, 2]}, None]),
        (pa.array([dt.date(2020, 1, 2)]), Value("timestamp[s]"), [dt.datetime(2020, 1, 2)]),  # noqa: DTZ001
        (pa.array([[1], [2]], pa.list_view(pa.int8())), List(Value("int8")), [[1], [2]]),
        (pa.array(["01:02:03", None, "23:59"]), Value("time32[s]"), [dt.time(1, 2, 3), None, dt.time(23, 59)]),
        (pa.array(["01:02:03.5"], pa.large_string()), Value("time64[us]"), [dt.time(1, 2, 3, 500000)]),
        (pa.array([["a"], None], pa.list_(pa.string_view())), List(Value("string_view"), length=1), [["a"], None]),
        (pa.array([[b"a"], None]), List(Value("binary_view"), length=1), [[b"a"], None]),
    ],
)  # fmt: skip
def test_values_are_kept(array, feature, expected):
    cast = cast_array(array, feature)
    cast.validate(full=True)
    assert cast.type == to_arrow_type(feature)
    assert cast.to_pylist() == expected
    # A slice is cast like a fresh array: no offset is forgotten.
    if len(array) > 1:
        assert cast_array(array.slice(1), feature).to_pylist() == expected[1:]


@pytest.mark.parametrize(
    ("array", "feature", "words"),
    [
        (pa.array([1, 300]), Value("int8"), ["row 1", "300"]),
        (pa.array([1.0, 1.5]), Value("int64"), ["row 1", "1.5"]),
        (pa.array([1.0, float("nan")]), Value("int64"), ["row 1", "nan"]),
        (pa.array([1e300]), Value("float32"), ["row 0", "1e+300"]),
        (pa.array([1e9]), Value("float16"), ["row 0", "1000000000.0"]),
        (pa.array([2**53 + 1]), Value("float64"), ["row 0", "9007199254740993"]),
        (pa.array([1, 2]), Value("bool"), ["row 1", "2"]),
        (pa.array(["1", "x"]), Value("int64"), ["row 1", "'x'"]),
        (pa.array([b"\xff"]), Value("string"), ["row 0"]),
        (pa.array(["01:02:03", "25:00:00"]), Value("time32[s]"), ["row 1", "25:00:00"]),
        (pa.array(["01:02:03.5"]), Value("time32[s]"), ["row 0", "01:02:03.5"]),
        (pa.array([1.239]), Value("decimal128(5, 2)"), ["row 0", "1.239"]),
        (pa.array([dt.datetime(2020, 1, 1, 5)]), Value("date32"), ["row 0"]),  # noqa: DTZ001
        (pa.array([{"a": 1}]), Value("string"), ["can't become string"]),
        (pa.array([1]), List(Value("int8")), ["int64 can't become list"]),
        (pa.array([1]), {"a": Value("int8")}, ["int64 can't become struct"]),
        (pa.array([0, 2]), LABEL, ["row 1", "label 2", "0 to 1"]),
        (pa.array([-2]), LABEL, ["label -2"]),
        (pa.array(["pos", "poz"]), LABEL, ["row 1", "'poz'", 'Did you mean "pos"?']),
        (pa.array([[1], [1, 2]]), List(Value("int8"), length=1), ["row 1", "2 items where 1"]),
        (pa.array([{"a": 1, "z": 2}]), {"a": Value("int8")}, ["fields z"]),
        (pa.array([[], [{"x": ["neg"]}], [{"x": ["neg", "bad"]}]]), List({"x": List(LABEL)}),
         ["row 2", "c[].x[]", "'bad'"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(array, feature, words):
    with pytest.raises(CastError) as caught:
        cast_array(array, feature, column="c")
    for word in [*words, 'column "c']:
        assert word in str(caught.value)


def test_row_counts_over_chunks():
    with pytest.raises(CastError, match=r"f\.csv, row 3"):
        cast_array(pa.chunked_array([[1, 2], [3, 300]]), Value("int8"), file="f.csv")


def test_equal_types_are_not_copied():
    array = pa.array([[{"a": "x"}], None])
    assert cast_array(array, List({"a": Value("string")})) is array
    table = pa.table({"a": pa.array(range(5))})
    cast = cast_table(table, {"a": Value("int64")})
    assert cast["a"].chunk(0).buffers()[1].address == table["a"].chunk(0).buffers()[1].address


def test_values_hidden_under_a_null_are_not_checked():
    structs = pa.StructArray.from_arrays([pa.array([1, 300])], ["a"], mask=pa.array([False, True]))
    assert cast_array(structs, {"a": Value("int8")}).to_pylist() == [{"a": 1}, None]
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array([1, 300]), mask=pa.array([False, True])
    )
    assert cast_array(lists, List(Value("int8"))).to_pylist() == [[1], None]


def test_table_gets_missing_columns_and_refuses_extra_ones():
    features = Features({"b": LABEL, "a": Value("string")})
    cast = cast_table(pa.table({"a": ["x"]}), features)
    assert cast.to_pylist() == [{"b": None, "a": "x"}]
    assert Features.from_arrow_schema(cast.schema) == features
    with pytest.raises(CastError, match=r"f\.json: the columns z"):
        cast_table(pa.table({"z": [1]}), features, file="f.json")


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.none()),
    st.sampled_from(["int8", "uint8", "int32", "uint64", "float64"]),
)
def test_integers_cast_exactly_or_not_at_all(values, dtype):
    target = np.dtype(dtype)
    fits = all(v is None or _in_range(v, target) for v in values)
    try:
        cast = cast_array(pa.array(values, pa.int64()), Value(dtype)).to_pylist()
    except CastError:
        assert not fits or dtype == "float64"
    else:
        assert cast == values


def _in_range(value: int, target: Any) -> bool:
    if target.kind == "f":
        return abs(value) <= 2**53
    return np.iinfo(target).min <= value <= np.iinfo(target).max


@pytest.mark.parametrize(
    "dtype", ["bool", "date32", "decimal128(5, 2)", "string", "float32", "timestamp[s]", "binary"]
)
def test_nulls_become_anything(dtype):
    for count in (0, 3):
        assert cast_array(pa.nulls(count), Value(dtype)).to_pylist() == [None] * count
