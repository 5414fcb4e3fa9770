"""Values without a common type: Json where they clash, and only there."""

from typing import Any

import pyarrow as pa
import pytest

from gristmill import Dataset
from gristmill.errors import InvalidArgumentError, SchemaConflictError
from gristmill.features import Features, Json, List, Value
from gristmill.features.infer import JSON, to_json, to_text, unify_types
from gristmill.features.mixed import features_for_empty, json_for_empty

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Turn on the lights and play music."},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "type": "function",
                "function": {"name": "lights", "arguments": {"room": "living room", "state": "on"}},
            },
            {"type": "function", "function": {"name": "play", "arguments": {"playlist": "electronic"}}},
        ],
    },
    {"role": "tool", "name": "lights", "content": "On."},
]


def test_messages_with_tool_calls():
    ds = Dataset.from_dict({"messages": [MESSAGES]}, on_mixed_types="use_json")
    text = Value("string")
    assert ds.features == Features(
        {"messages": List({"role": text, "content": text, "tool_calls": List(Json()), "name": text})}
    )
    assert ds[0]["messages"][1]["tool_calls"] == MESSAGES[1]["tool_calls"]


@pytest.mark.parametrize(
    ("values", "feature"),
    [
        ([1, "a"], Json()),
        ([1, True], Json()),
        ([1, 2.5, None], Value("float64")),
        ([[1], ["a"]], List(Json())),
        ([[1, "a"], None], List(Json())),
        ([[1], "a"], Json()),
        ([{"b": 0}, {"c": 0}], Json()),
        ([{"b": 0}, {}], Json()),
        ([{"b": 0}, {"b": "x"}], {"b": Json()}),
        ([{"b": 0}, {"b": None}], {"b": Value("int64")}),
        ([[{"b": 0}, {"c": 0}]], List(Json())),
        ([[{"b": [{"x": 1}]}, {"b": [{"y": 1}]}]], List({"b": List(Json())})),
        ([{"t": [{"x": [1]}]}, {"t": [{"x": ["a"]}]}], {"t": List({"x": List(Json())})}),
        ([2**70, 1], Json()),
        (["a", None], Value("string")),
    ],
)
def test_json_only_where_types_clash(values, feature):
    by_columns = Dataset.from_dict({"a": values}, on_mixed_types="use_json")
    assert by_columns.features == Features({"a": feature})
    assert by_columns["a"][:] == values
    by_rows = Dataset.from_list([{"a": value} for value in values], on_mixed_types="use_json")
    assert by_rows.to_list() == by_columns.to_list()


def test_without_it_a_clash_is_an_error_that_names_the_remedy():
    with pytest.raises(SchemaConflictError, match=r'row 1, column "a".*Json\(\)'):
        Dataset.from_dict({"a": [1, "a"]})
    with pytest.raises(SchemaConflictError):
        Dataset.from_dict({"a": [1, b"bytes"]}, on_mixed_types="use_json")
    for make in (
        Dataset.from_dict,
        lambda columns, **how: Dataset.from_dict(columns).map(lambda row: row, **how),
    ):
        with pytest.raises(InvalidArgumentError, match="use_json"):
            make({"a": [1]}, on_mixed_types="json")


def _rows():
    yield from ({"a": i} for i in range(1500))
    yield {"a": "x", "b": [1]}
    yield {"b": ["y"]}


def test_rows_of_a_generator(tmp_path):
    for how in ({"keep_in_memory": True}, {"cache_dir": str(tmp_path)}):
        ds = Dataset.from_generator(_rows, on_mixed_types="use_json", **how)
        assert ds.features == Features({"a": Json(), "b": List(Json())})
        assert ds[-3:] == {"a": [1499, "x", None], "b": [None, [1], ["y"]]}


def test_types_that_clash():
    nested = pa.struct({"a": pa.list_(pa.int64())}), pa.struct({"a": pa.list_(pa.string()), "b": pa.bool_()})
    assert unify_types(*nested, to_json) == pa.struct({"a": pa.list_(JSON), "b": pa.bool_()})
    assert (
        unify_types(JSON, pa.int8())
        == unify_types(pa.struct({}), JSON)
        == unify_types(pa.null(), JSON)
        == JSON
    )
    assert unify_types(pa.bool_(), pa.float64(), to_text) == pa.string()


def test_structs_without_fields_become_json_where_they_are():
    empty = pa.struct([])
    schema = pa.schema(
        {
            "a": empty,
            "b": pa.list_(empty),
            "c": pa.struct({"d": pa.large_list(empty), "e": pa.int8()}),
            "f": pa.list_(empty, 2),
            "g": pa.int64(),
        }
    )
    found = json_for_empty(schema)
    assert found.types == [
        JSON,
        pa.list_(JSON),
        pa.struct({"d": pa.large_list(JSON), "e": pa.int8()}),
        pa.list_(JSON, 2),
        pa.int64(),
    ]
    known = json_for_empty(schema, pa.schema({"a": empty, "b": pa.int8()}))
    assert known.types == [empty, *found.types[1:]]
    features = features_for_empty(Features({"a": {}, "b": List({}), "c": Value("int8")}))
    assert features == {"a": Json(), "b": List(Json()), "c": Value("int8")}
