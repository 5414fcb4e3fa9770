"""Features: Arrow schemas, plain dicts, cards, encoding, order."""

import json
import logging
import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.dataset import Dataset
from gristmill.errors import CastError, ColumnNotFoundError, InvalidArgumentError
from gristmill.features import (
    Array2D,
    Array3D,
    ClassLabel,
    Features,
    Json,
    LargeList,
    List,
    Sequence,
    Translation,
    TranslationVariableLanguages,
    Value,
)
from gristmill.features import storage as stored
from gristmill.iterable import IterableDataset
from tests.features.test_kinds import DTYPES

PLAIN = {
    "a": {"dtype": "string", "_type": "Value"},
    "b": {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"},
    "c": {"names": ["x", "y"], "_type": "ClassLabel"},
    "d": {"e": {"dtype": "float32", "_type": "Value"}},
    "l": {"feature": {"a": {"dtype": "string", "_type": "Value"}}, "_type": "LargeList"},
    "t": {"feature": {"dtype": "bool", "_type": "Value"}, "length": 3, "_type": "List"},
}
FEATURES = Features(
    {
        "a": Value("string"), "b": List(Value("int32")), "c": ClassLabel(names=["x", "y"]), "d": {"e": Value("float32")},
        "l": LargeList({"a": Value("string")}), "t": List(Value("bool"), length=3),
    }
)  # fmt: skip
CARD = [
    {"name": "a", "dtype": "string"},
    {"name": "b", "list": "int32"},
    {"name": "c", "dtype": {"class_label": {"names": {"0": "x", "1": "y"}}}},
    {"name": "d", "struct": [{"name": "e", "dtype": "float32"}]},
    {"name": "l", "large_list": [{"name": "a", "dtype": "string"}]},
    {"name": "t", "list": "bool", "length": 3},
]


def test_plain_dicts_are_those_of_datasets():
    assert FEATURES.to_dict() == PLAIN
    assert Features.from_dict(PLAIN) == FEATURES


def test_card_lists_are_those_of_datasets():
    assert FEATURES._to_yaml_list() == CARD
    assert Features._from_yaml_list(CARD) == FEATURES


@pytest.mark.parametrize(
    ("entry", "feature"),
    [
        ({"sequence": "int32"}, List(Value("int32"))),
        ({"sequence": "int8", "length": 3}, List(Value("int8"), length=3)),
        ({"sequence": [{"name": "q", "dtype": "string"}]}, {"q": List(Value("string"))}),
        ({"sequence": {"class_label": {"names": {"0": "a"}}}}, List(ClassLabel(names=["a"]))),
        ({"sequence": {"sequence": "int8"}}, List(List(Value("int8")))),
        ({"list": [{"name": "q", "dtype": "string"}]}, List({"q": Value("string")})),
        ({"dtype": {"class_label": {"names": ["a", "b"]}}}, ClassLabel(names=["a", "b"])),
        (
            {"dtype": {"class_label": {"names": {str(i): f"n{i}" for i in (10, *range(10))}}}},
            ClassLabel(names=[f"n{i}" for i in range(11)]),
        ),
        ({"dtype": {"class_label": {"num_classes": 2}}}, ClassLabel(num_classes=2)),
        ({"dtype": "null"}, Value("null")),
        ({"dtype": None}, Value("null")),
        ({"dtype": "image"}, {"bytes": Value("binary"), "path": Value("string")}),
        ({"sequence": "image"}, List({"bytes": Value("binary"), "path": Value("string")})),
        ({"dtype": {"array2_d": {"shape": [1, 2], "dtype": "int8"}}}, Array2D((1, 2), "int8")),
        ({"dtype": {"array3_d": {"shape": [None, 1, 2], "dtype": "int8"}}}, Array3D((None, 1, 2), "int8")),
        ({"dtype": {"translation": {"languages": ["fr", "en"]}}}, Translation(["fr", "en"])),
        ({"dtype": "translation_variable_languages"}, TranslationVariableLanguages()),
        ({"dtype": "json"}, Json()),
        ({"list": "json"}, List(Json())),
    ],
)
def test_forms_in_cards(entry, feature):
    assert Features._from_yaml_list([{"name": "x", **entry}]) == Features({"x": feature})


@pytest.mark.parametrize(
    "damaged",
    ["text", [3], [{"dtype": "string"}], [{"name": "a"}], [{"name": "a", "dtype": "strng"}], [{"name": "a", "dtype": {"class_label": {}}}],
     [{"name": "a", "dtype": {"unheard_of": {}}}], [{"name": "a", "list": 3}], [{"name": "a", "dtype": {"class_label": {"names": {"x": "a"}}}}],
     [{"name": "a", "dtype": {"class_label": {"names": {"0": "a", "2": "c"}}}}], [{"name": "a", "dtype": {"class_label": {"names": {"0": "a", "00": "c"}}}}]],
)  # fmt: skip
def test_damaged_cards_are_refused(damaged):
    with pytest.raises(InvalidArgumentError):
        Features._from_yaml_list(damaged)


@pytest.mark.parametrize(
    "damaged",
    [
        [],
        {"a": 3},
        {"a": {"_type": "Value"}},
        {"a": {"_type": "Unheard"}},
        {"a": {"_type": "List"}},
        {"a": {"dtype": 3, "_type": "Value"}},
    ],
)
def test_damaged_dicts_are_refused(damaged):
    with pytest.raises(InvalidArgumentError):
        Features.from_dict(damaged)


def test_schema_carries_the_features():
    schema = FEATURES.arrow_schema
    assert json.loads(schema.metadata[b"huggingface"]) == {"info": {"features": PLAIN}}
    assert Features.from_arrow_schema(schema) == FEATURES
    assert FEATURES.type == pa.struct(list(schema))


def test_metadata_counts_only_where_it_fits_the_column():
    schema = pa.schema({"c": pa.int8(), "a": pa.string()}, metadata=FEATURES.arrow_schema.metadata)
    assert Features.from_arrow_schema(schema) == Features({"c": Value("int8"), "a": Value("string")})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{",
        b'{"info": 3}',
        b'{"info": {"features": {"a": {"_type": "Value"}}}}',
        b"\xff",
        b'{"info": {"features": {"\\ud800": {"dtype": "int8", "_type": "Value"}}}}',
        b'{"info": {"features": {"a": {"num_classes": 1000000000000, "_type": "ClassLabel"}}}}',
        b'{"info": {"features": {"a": {"names": ["\\ud800"], "_type": "ClassLabel"}}}}',
        b'{"info": {"features": {"a": {"feature": {"dtype": "int8", "_type": "Value"}, "length": 1e30, "_type": "List"}}}}',
        b'{"info": {"features": {"a": {"feature": {"dtype": "int8", "_type": "Value"}, "length": "x", "_type": "List"}}}}',
        b'{"info": {"features": {"a": ' + b'{"_type": "List", "feature": ' * 900 + b"1" + b"}" * 903,
    ],
)
def test_damaged_metadata_is_not_used(text):
    schema = pa.schema({"a": pa.int8()}, metadata={b"huggingface": text})
    assert Features.from_arrow_schema(schema) == Features({"a": Value("int8")})


def test_unknown_kinds_fall_back_to_the_stored_type_with_one_warning(monkeypatch):
    monkeypatch.setattr(stored, "_warned", set())
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("gristmill.features.storage")
    log.addHandler(handler)
    try:
        picture = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        plain = {
            "i": {"_type": "Image"},
            "j": {"feature": {"_type": "Image"}, "_type": "List"},
            "n": {"_type": "Unheard"},
        }
        metadata = {b"huggingface": json.dumps({"info": {"features": plain}}).encode()}
        schema = pa.schema({"i": picture, "j": pa.list_(picture), "n": pa.int8()}, metadata=metadata)
        features = Features.from_arrow_schema(schema)
        assert Features.from_arrow_schema(schema) == features
    finally:
        log.removeHandler(handler)
    one = {"bytes": Value("binary"), "path": Value("string")}
    assert features == Features({"i": one, "j": List(one), "n": Value("int8")})
    assert len(lines) == 2


def test_encode_and_decode():
    features = Features(
        {"l": ClassLabel(names=["n", "p"]), "d": {"x": Value("int8")}, "s": Sequence({"y": Value("int8")})}
    )
    row = features.encode_example({"l": "p", "d": {"x": "3"}, "s": [{"y": 1}]})
    assert row == {"l": 1, "d": {"x": 3}, "s": {"y": [1]}}
    assert features.decode_example(row) == row
    assert features.encode_example({}) == {"l": None, "d": None, "s": None}
    assert features.encode_batch({"l": ["n"], "d": [None], "s": [{"y": []}]}) == {
        "l": [0],
        "d": [None],
        "s": [{"y": []}],
    }
    assert features.decode_batch({"l": [0]}) == {"l": [0]}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"a": {"x": "y"}}, 'column "a.x"'),
        ({"a": 3}, 'column "a"'),
        ({"z": 1}, "unknown keys z"),
        ({"b": "text"}, "no list"),
        ({"b": [1]}, "1 items where 2"),
    ],
)
def test_encoding_errors_name_the_column(row, words):
    features = Features({"a": {"x": Value("int8")}, "b": List(Value("int8"), length=2)})
    with pytest.raises(CastError) as caught:
        features.encode_example(row)
    assert words in str(caught.value)


def test_unknown_columns():
    with pytest.raises(ColumnNotFoundError):
        FEATURES.decode_example({"zz": 1})
    with pytest.raises(ColumnNotFoundError):
        FEATURES.encode_batch({"a": ["x"]})


def test_flatten():
    features = Features({"a": {"b": {"c": Value("int8")}, "d": Value("bool")}, "e": Value("string")})
    assert list(features.flatten()) == ["a.b.c", "a.d", "e"]
    assert list(features.flatten(max_depth=1)) == ["a.b", "a.d", "e"]


def test_reorder():
    a, b = Value("int8"), Value("bool")
    mine = Features({"x": List({"a": a, "b": b}), "y": a})
    other = Features({"y": a, "x": List({"b": b, "a": a})})
    ordered = mine.reorder_fields_as(other)
    assert list(ordered) == ["y", "x"]
    assert list(ordered["x"].feature) == ["b", "a"]
    for wrong in ({"y": a}, {"x": a, "y": a}, {"x": List({"a": a}), "y": a}):
        with pytest.raises(InvalidArgumentError):
            mine.reorder_fields_as(Features(wrong))


def test_all_ways_to_set_a_column_normalise():
    features = Features()
    features["a"] = [Value("int8")]
    features.update({"b": [Value("int8")]})
    features.setdefault("c", [Value("int8")])
    assert list(features.values()) == [List(Value("int8"))] * 3


feature_trees = st.recursive(
    st.sampled_from(DTYPES).map(Value) | st.lists(st.text(), unique=True, min_size=1, max_size=3).map(lambda names: ClassLabel(names=names)),
    lambda inner: st.builds(List, inner, st.sampled_from([-1, 2])) | st.builds(LargeList, inner) | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=3), feature_trees, max_size=4))
def test_every_form_gives_the_features_back(tree):
    features = Features(tree)
    assert Features.from_arrow_schema(features.arrow_schema) == features
    assert Features.from_dict(json.loads(json.dumps(features.to_dict()))) == features
    assert Features._from_yaml_list(json.loads(json.dumps(features._to_yaml_list()))) == features


def test_types_nested_without_end_are_refused():
    plain: Any = {"_type": "Value", "dtype": "int8"}
    card: Any = {"list": "int8"}
    for _ in range(5000):
        plain, card = {"_type": "List", "feature": plain}, {"list": card}
    with pytest.raises(InvalidArgumentError, match="nested too deep"):
        Features.from_dict({"a": plain})
    with pytest.raises(InvalidArgumentError, match="nested too deep"):
        Features._from_yaml_list([{"name": "a", **card}])


_LEVELS: dict[str, tuple[Any, Any]] = {
    "list": (List, lambda value: [value]),
    "large list": (LargeList, lambda value: [value]),
    "brackets": (lambda feature: [feature], lambda value: [value]),
    "struct": (lambda feature: {"a": feature}, lambda value: {"a": value}),
}


@pytest.mark.parametrize("kind", _LEVELS)
def test_features_as_deep_as_may_be_do_in_every_use(kind):
    level, wrap = _LEVELS[kind]
    feature, value = Value("int64"), 1
    for _ in range(150):
        feature, value = level(feature), wrap(value)
    features = Features({"c": feature})
    assert Features.from_dict(features.to_dict()) == features
    assert Features.from_arrow_schema(features.arrow_schema) == features
    assert pickle.loads(pickle.dumps(features)) == features == features.copy()
    assert "int64" in repr(features)
    ds = Dataset.from_dict({"c": [value, None]}, features=features)
    assert ds.to_list() == [{"c": value}, {"c": None}]
    assert ds.cast(features).map(lambda row: row)[0] == {"c": value}
    stream = IterableDataset.from_generator(lambda: iter([{"c": value}]), features=features)
    assert list(stream) == [{"c": value}]


@pytest.mark.parametrize("kind", _LEVELS)
@pytest.mark.parametrize("depth", [151, 500, 5000])
def test_features_nested_without_end_are_refused_where_they_are_made(kind, depth):
    level = _LEVELS[kind][0]
    feature = Value("int64")
    for _ in range(depth):
        feature = level(feature)
    for make in (
        lambda: Features({"c": feature}),
        lambda: Features(c=feature),
        lambda: Dataset.from_dict({"c": []}, features={"c": feature}),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidArgumentError, match=r'column "c.*nested too deep: more than 150 levels'):
            make()


@pytest.mark.parametrize("wrong", [None, 3, "ab", b"ab", [{"c": 1}]])
def test_examples_and_columns_of_the_wrong_shape(wrong):
    features: Any = Features({"c": Value("int8")})
    for call in (features.encode_batch, features.decode_batch, features.decode_example):
        with pytest.raises(InvalidArgumentError, match="a dict of values by column"):
            call(wrong)
    if not isinstance(wrong, list):
        for call in (features.encode_column, features.decode_column):
            with pytest.raises(InvalidArgumentError, match='column "c"'):
                call(wrong, "c")
    with pytest.raises(InvalidArgumentError, match="max_depth"):
        features.flatten("2")


def test_a_copy_shares_nothing_that_can_be_changed():
    features = Features(
        {
            "a": Value("timestamp[s]", id="i"),
            "b": ClassLabel(names=["x", "y"]),
            "c": List({"d": Value("string")}, length=2),
            "e": LargeList([Value("int8")]),
            "f": {"g": Array2D((1, 2), "int8"), "h": Json()},
            "i": Translation(["de", "en"]),
        }
    )
    plain, schema = features.to_dict(), features.arrow_schema
    made = features.copy()
    assert made == features
    assert made.arrow_schema.equals(schema, check_metadata=True)
    made["a"].dtype = "int8"
    made["b"].names.append("z")
    made["c"].feature["d"] = Value("bool")
    made["e"].feature.feature.id = "j"
    made["f"]["g"].dtype = "int16"
    del made["f"]["h"]
    del made["i"]
    assert features.to_dict() == plain
    assert features.arrow_schema.equals(schema, check_metadata=True)
    assert features["b"].str2int("y") == 1
