"""Tables from Python values."""

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError
from gristmill.features import ClassLabel, Features, List, Sequence, Value, from_python
from gristmill.features.build import array_from_values, table_from_columns, table_from_rows


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([None, None], pa.null()),
        ([None, 1, 2.5], pa.float64()),
        ([1, None], pa.int64()),
        ([2**63], pa.uint64()),
        ([[], None, [1]], pa.list_(pa.int64())),
        ([{"b": 1}, {"a": "x", "b": 2.0}], pa.struct([("b", pa.float64()), ("a", pa.string())])),
        ([{}, None], pa.struct([])),
        ([[{"a": []}], [{"a": ["x"]}]], pa.list_(pa.struct([("a", pa.list_(pa.string()))]))),
        (np.zeros((2, 3, 4), np.float32), pa.list_(pa.list_(pa.float32()))),
        ([np.zeros((2, 2), np.int8), np.zeros((1, 2), np.int8)], pa.list_(pa.list_(pa.int8()))),
        ([np.float32(1), 2], pa.float64()),
        ([np.int32(1), np.int64(3)], pa.int64()),
        (np.array(["a", "b"]), pa.string()),
        ([np.datetime64("2020-01-01"), None], pa.date32()),
        ([dt.datetime(2020, 1, 1)], pa.timestamp("us")),  # noqa: DTZ001  # times without a zone are data too
        ([Decimal("1.5"), Decimal("100.25")], pa.decimal128(5, 2)),
        ([bytearray(b"a"), b"b"], pa.binary()),
        ((1, 2), pa.int64()),
        (range(2), pa.int64()),
        (pa.array([1], pa.int8()), pa.int8()),
    ],
)  # fmt: skip
def test_type_is_settled_over_all_values(values, type_):
    built = array_from_values(values)
    assert built.type == type_
    assert len(built) == len(values)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([1, None, "a"], 'row 2, column "c": the type changes from int64 to string'),
        ([{"a": 1}, {"a": "x"}], 'row 1, column "c.a"'),
        ([[1], [2, "b"]], 'row 1, column "c[]"'),
        ([[], [[{"x": True}]], [[{"x": 1}]]], 'row 2, column "c[][].x": the type changes from bool to int64'),
        (["a", b"b"], "from string to binary"),
    ],
)
def test_conflict_names_row_and_column_path(values, place):
    with pytest.raises(SchemaConflictError) as caught:
        table_from_columns({"c": values})
    assert place in str(caught.value)
    assert 'Features({"c": Json()})' in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2**64], "row 1"),
        ([-1, 2**63], "row 1"),
        ([0.5, 2**53 + 1], "row 1"),
        ([object()], "row 0"),
        (["\ud800"], "row 0"),
        ([None, {1: 2}], 'row 1, column "c": the key 1'),
        ([None, {"\ud800": 2}], 'row 1, column "c": the key .*must be text'),
        ([[1], np.array(1)], "without dimensions"),
    ],
)
def test_what_arrow_cannot_hold_is_named(values, message):
    with pytest.raises(CastError, match=message):
        table_from_columns({"c": values})


def test_columns_must_be_sequences_of_one_length():
    with pytest.raises(InvalidArgumentError, match="a: 1, b: 2"):
        table_from_columns({"a": [1], "b": [1, 2]})
    with pytest.raises(InvalidArgumentError, match="a list or an array"):
        table_from_columns({"a": "text"})


def test_rows_take_the_union_of_keys_in_order_of_appearance():
    table = table_from_rows([{"b": 1}, {"a": "x"}, {"b": 2.5, "c": None}])
    assert table.column_names == ["b", "a", "c"]
    assert table.to_pylist()[1] == {"b": None, "a": "x", "c": None}


def test_row_that_is_no_dict_is_named():
    with pytest.raises(CastError, match="row 1: a row must be a dict"):
        table_from_rows([{"a": 1}, [2]])  # type: ignore[list-item]


def test_features_decide_where_values_are_mixed():
    features = Features({"s": Value("string"), "l": ClassLabel(names=["x", "y"])})
    table = table_from_columns({"s": [1, "3", None], "l": ["y", 0, -1]}, features)
    assert table.to_pydict() == {"s": ["1", "3", None], "l": [1, 0, -1]}
    assert Features.from_arrow_schema(table.schema) == features


@pytest.mark.parametrize(
    ("values", "dtype", "stored"),
    [
        ([2**70, None], "string", [str(2**70), None]),
        ([2**70, 1], "string_view", [str(2**70), "1"]),
        ([0.5, 2**53 + 1], "string", ["0.5", str(2**53 + 1)]),
        ([2**70], "float64", [2.0**70]),
        ([2**70], "float32", [2.0**70]),
        ([2**100], "decimal256(40, 3)", [Decimal(2**100)]),
        ([1, "a"], "string_view", ["1", "a"]),
        ([1, "true", 0.0], "bool", [True, True, False]),
        ([1.5, "inf"], "float32", [1.5, math.inf]),
    ],
)
def test_features_hold_numbers_that_no_type_of_their_own_holds(values, dtype, stored):
    assert table_from_columns({"c": values}, {"c": Value(dtype)})["c"].to_pylist() == stored
    nested = table_from_columns({"c": [{"k": values}]}, {"c": {"k": List(Value(dtype))}})
    assert nested["c"].to_pylist() == [{"k": stored}]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([2**70], "int64"),
        ([2**70], "float16"),
        ([2**70 + 1], "float64"),
        ([2**70], "bool"),
        ([3, "true"], "bool"),
        ([1e300, "1"], "float32"),
        ([2**53 + 1, "1"], "float64"),
    ],
)
def test_features_do_not_change_what_they_take_one_by_one(values, dtype):
    with pytest.raises(CastError, match="row 0"):
        table_from_columns({"c": values}, {"c": Value(dtype)})


def test_features_add_missing_columns_and_refuse_unknown_ones():
    assert table_from_rows([{"a": 1}], {"a": Value("int8"), "b": List(Value("string"))}).to_pylist() == [
        {"a": 1, "b": None}
    ]
    with pytest.raises(CastError, match="columns z"):
        table_from_rows([{"a": 1, "z": 2}], {"a": Value("int8")})


def test_sequence_of_dict_takes_lists_of_dicts_and_dicts_of_lists():
    features = Features({"s": Sequence({"a": Value("int8")})})
    assert table_from_columns({"s": [[{"a": 1}, {"a": 2}], []]}, features)["s"].to_pylist() == [
        {"a": [1, 2]},
        {"a": []},
    ]
    assert table_from_columns({"s": [{"a": [1]}]}, features)["s"].to_pylist() == [{"a": [1]}]


def test_no_rows_with_features_has_their_types():
    features = Features({"a": {"b": List(Value("int8"), length=3)}})
    assert table_from_rows([], features).schema.types == [pa.struct([("b", pa.list_(pa.int8(), 3))])]


values = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6))
def test_what_is_built_reads_back_equal(column):
    """Whatever does not conflict comes back as it was, up to None for keys that a dict lacked."""
    try:
        built = array_from_values(column)
    except SchemaConflictError:
        return
    assert _bare(built.to_pylist()) == _bare(column)


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in sorted(value.items()) if item is not None}
    return value


@given(st.lists(st.floats() | st.none()))
def test_floats_are_exact(column):
    assert json.dumps(array_from_values(column).to_pylist()) == json.dumps(column)


_ITEMS = [
    st.integers(-(2**63), 2**64), st.integers(-5, 5), st.floats(), st.text(max_size=3), st.booleans(), st.binary(max_size=3),
    st.sampled_from([np.int64(3), np.int8(2), np.float32(0.5), np.str_("s"), 2.0, "\ud800", dt.date(2020, 1, 1)]),
    st.lists(st.integers(0, 3), max_size=2),
]  # fmt: skip
_ROW_KINDS = st.sampled_from([list, tuple])


@st.composite
def _lists(draw: st.DrawFn) -> list[Any]:
    """Draws lists of one kind of item mostly, of two at times."""
    chosen = draw(st.lists(st.sampled_from(_ITEMS), min_size=1, max_size=2))
    items = st.lists(st.none() | st.one_of(chosen), max_size=3)
    row = st.none() | st.builds(lambda kind, row: kind(row), _ROW_KINDS, items)
    return draw(st.lists(row, max_size=5))


def _outcome(values: list[Any]) -> tuple[Any, ...]:
    try:
        built = array_from_values(values, column="c")
    except (CastError, SchemaConflictError) as error:
        return type(error), str(error)
    built.validate(full=True)
    return built.type, repr(built.to_pylist())


@given(_lists())
def test_the_short_way_for_lists_gives_what_taking_them_apart_gives(values):
    short = _outcome(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_python, "_plain_lists", lambda _: None)
        assert _outcome(values) == short


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([[1, 2], None, (3, None)], pa.int64()),
        ([[1.5], [float("inf")]], pa.float64()),
        ([["a", None], []], pa.string()),
        ([[True], [False, None]], pa.bool_()),
        ([[b"a"]], pa.binary()),
        ([[1], [2.0, np.int64(3)]], pa.float64()),
        ([[2**63]], pa.uint64()),
    ],
)
def test_lists_of_plain_items(values, type_):
    built = array_from_values(values)
    assert built.type == pa.list_(type_)
    assert built.to_pylist() == [None if row is None else list(row) for row in values]


NAIVE = dt.datetime(2000, 1, 1)  # noqa: DTZ001
AWARE = dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    "values", [[NAIVE, AWARE], [None, AWARE, NAIVE], [[NAIVE], [AWARE]], [NAIVE, pd.Timestamp(AWARE)]]
)
def test_dates_with_and_without_a_zone_do_not_mix(values):
    with pytest.raises(SchemaConflictError, match="UTC"):
        table_from_columns({"c": values})


def test_zones_are_kept_or_refused():
    later = dt.datetime(2000, 1, 1, 5, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    column = table_from_columns({"c": [AWARE, later]})["c"]
    assert column.type == pa.timestamp("us", "UTC")
    assert column.to_pylist() == [AWARE, AWARE]
    with pytest.raises(CastError, match=r"row 1.*time zone"):
        table_from_columns({"c": [dt.time(1), dt.time(1, tzinfo=dt.timezone.utc)]})


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([1, 258], ">i4"), [1, 258]),
        (np.array([[1.5, 2]], ">f8"), [[1.5, 2]]),
        (np.array(["2000", "NaT"], "M8[Y]"), [dt.date(2000, 1, 1), None]),
        (np.array(["2000-01-01T05"], "M8[h]"), [dt.datetime(2000, 1, 1, 5)]),  # noqa: DTZ001
        (np.array([90], "m8[m]"), [dt.timedelta(minutes=90)]),
        ([np.datetime64("2000-02", "M"), None], [dt.date(2000, 2, 1), None]),
    ],
)
def test_numbers_and_times_of_numpy_that_arrow_has_in_another_form(array, expected):
    assert table_from_columns({"c": array})["c"].to_pylist() == expected
