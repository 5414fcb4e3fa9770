"""Types that widen."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import SchemaConflictError
from gristmill.features import ClassLabel, Features, Value
from gristmill.features.infer import TypeConflict, unify_schemas, unify_types
from gristmill.features.visit import leaf_arrays, map_leaves

S, L = pa.struct, pa.list_


@pytest.mark.parametrize(
    ("a", "b", "wider"),
    [
        (pa.null(), L(pa.int8()), L(pa.int8())),
        (pa.int8(), pa.int32(), pa.int32()),
        (pa.int8(), pa.uint8(), pa.int16()),
        (pa.uint32(), pa.int8(), pa.int64()),
        (pa.uint64(), pa.int64(), pa.uint64()),
        (pa.int64(), pa.float32(), pa.float64()),
        (pa.int8(), pa.float32(), pa.float32()),
        (pa.float16(), pa.float64(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.string(), pa.string_view(), pa.large_string()),
        (pa.binary(2), pa.binary(3), pa.binary()),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
        (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.timestamp("s", "UTC"), pa.timestamp("s", "+02:00"), pa.timestamp("s", "UTC")),
        (pa.duration("s"), pa.duration("ms"), pa.duration("ms")),
        (pa.time32("s"), pa.time64("us"), pa.time64("us")),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.decimal128(5, 2), pa.decimal128(6, 4), pa.decimal128(7, 4)),
        (pa.decimal128(38, 0), pa.decimal128(10, 5), pa.decimal256(43, 5)),
        (L(pa.null()), L(pa.string()), L(pa.string())),
        (L(pa.int8(), 2), L(pa.int8(), 3), L(pa.int8())),
        (L(pa.int8(), 2), L(pa.int16(), 2), L(pa.int16(), 2)),
        (L(pa.int8()), pa.large_list(pa.int8()), pa.large_list(pa.int8())),
        (S({"b": pa.int8()}), S({"a": pa.null(), "b": pa.float64()}), S({"b": pa.float64(), "a": pa.null()})),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int16()), L(S({"key": pa.string(), "value": pa.int16()}))),
    ],
)  # fmt: skip
def test_widens(a, b, wider):
    assert unify_types(a, b) == wider
    if not pa.types.is_struct(a):
        assert unify_types(b, a) == wider


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (pa.int64(), pa.string()), (pa.bool_(), pa.int64()), (pa.string(), pa.binary()), (L(pa.int8()), pa.int8()),
        (pa.timestamp("s"), pa.timestamp("s", "UTC")), (pa.date32(), pa.timestamp("s")), (S({"a": pa.int8()}), L(pa.int8())),
        (pa.decimal256(76, 0), pa.decimal256(76, 10)),
    ],
)  # fmt: skip
def test_conflicts(a, b):
    with pytest.raises(TypeConflict):
        unify_types(a, b)


types = st.recursive(
    st.sampled_from([pa.null(), pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.large_string()]),
    lambda inner: inner.map(L) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(S),
    max_leaves=5,
)  # fmt: skip


def unify(a, b):
    try:
        return unify_types(a, b)
    except TypeConflict:
        return None


@given(types, types)
def test_laws_of_widening(a, b):
    wider = unify(a, b)
    assert unify(a, a) == a
    assert unify(pa.null(), a) == a
    if wider is not None:
        assert unify(wider, a) == wider
        assert unify(wider, b) == wider
    assert (wider is None) == (unify(b, a) is None)


def test_schemas_take_new_columns_in_order():
    first = pa.schema({"a": pa.null(), "b": pa.int8()})
    second = pa.schema({"c": pa.string(), "a": pa.string()})
    assert unify_schemas(first, second) == pa.schema({"a": pa.string(), "b": pa.int8(), "c": pa.string()})


def test_schema_conflict_names_file_row_and_path():
    first = pa.schema({"a": L(S({"x": pa.int8()}))})
    second = pa.schema({"a": L(S({"x": pa.string()}))})
    with pytest.raises(SchemaConflictError) as caught:
        unify_schemas(first, second, file="f.json", row=7)
    assert 'f.json, row 7, column "a[].x": the type changes from int8 to string' in str(caught.value)
    assert 'Features({"a": Json()})' in str(caught.value)


def test_two_columns_of_one_name_conflict():
    twice = pa.schema([("a", pa.int8()), ("a", pa.int8())])
    with pytest.raises(SchemaConflictError, match="two columns"):
        unify_schemas(pa.schema({"b": pa.int8()}), twice)


def test_class_names_are_kept_where_both_sides_agree():
    label = ClassLabel(names=["x"])
    one = Features({"l": label}).arrow_schema
    more = Features({"l": label, "t": Value("string")}).arrow_schema
    assert Features.from_arrow_schema(unify_schemas(one, more)) == Features(
        {"l": label, "t": Value("string")}
    )
    other = Features({"l": ClassLabel(names=["y"])}).arrow_schema
    assert Features.from_arrow_schema(unify_schemas(one, other)) == Features({"l": Value("int64")})
    assert Features.from_arrow_schema(unify_schemas(one, pa.schema({"t": pa.int8()})))["l"] == label


def test_map_leaves_and_leaf_arrays():
    nested = S({"a": L(pa.null()), "b": pa.large_list(pa.int8()), "c": L(pa.int8(), 2)})
    kept = map_leaves(nested, lambda leaf: None if leaf == pa.null() else pa.string())
    assert kept == S({"b": pa.large_list(pa.string()), "c": L(pa.string(), 2)})
    column = pa.chunked_array([pa.array([{"a": [1]}, None]), pa.array([{"a": [2, 3]}])])
    assert [value for leaf in leaf_arrays(column) for value in leaf.to_pylist()] == [1, 2, 3]
