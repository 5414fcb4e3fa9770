import pyarrow as pa
import pytest

from gristmill.errors import CastError, SchemaConflictError
from gristmill.features import Array2D, ClassLabel, Features, Json, List, Value
from gristmill.features.infer import refuse, to_json, to_text
from gristmill.prepared.columns import SplitColumns


def settle(*schemas, declared=None):
    columns = SplitColumns(declared)
    for number, schema in enumerate(schemas):
        columns.learn(pa.schema(schema) if isinstance(schema, dict) else schema, f"{number}.json")
    return columns.features()


def test_types_widen_and_columns_come_together():
    features = settle(
        {"a": pa.null(), "b": pa.int64(), "c": pa.list_(pa.null())},
        {"a": pa.string(), "c": pa.list_(pa.int32())},
        {"d": pa.bool_(), "b": pa.float64()},
    )
    assert features == Features(
        {"a": Value("string"), "b": Value("float64"), "c": List(Value("int32")), "d": Value("bool")}
    )
    assert list(features) == ["a", "b", "c", "d"]


def test_a_conflict_names_the_file_and_column():
    with pytest.raises(
        SchemaConflictError, match=r'1\.json, column "a": the type changes from int64 to string'
    ):
        settle({"a": pa.int64()}, {"a": pa.string()})


def test_declared_columns_come_first_and_do_not_widen():
    label = ClassLabel(names=["no", "yes"])
    declared = Features({"label": label, "x": Value("int8")})
    features = settle({"x": pa.int64(), "label": pa.string()}, declared=declared)
    assert features == declared
    assert list(features) == ["label", "x"]


def test_class_names_in_a_files_metadata_are_kept():
    label = ClassLabel(names=["no", "yes"])
    schema = Features({"label": label}).arrow_schema
    assert settle(schema, {"label": pa.int64()})["label"] == label
    assert settle({"label": pa.null()}, schema)["label"] == label
    # A type that does not fit the names any more wins over them.
    assert settle(schema, {"label": pa.float64()})["label"] == Value("float64")


def test_two_sets_of_class_names_are_a_conflict():
    one, two = (Features({"y": ClassLabel(names=names)}).arrow_schema for names in (["a", "b"], ["b", "a"]))
    with pytest.raises(SchemaConflictError, match=r"1\.json.*in 0\.json"):
        settle(one, two)


def test_types_that_clash_become_what_the_format_says():
    one, other = pa.schema({"a": pa.int64()}), pa.schema({"a": pa.string()})
    for clash, feature in ((to_json, Json()), (to_text, Value("string"))):
        columns = SplitColumns(clash=clash)
        columns.learn(one, "1")
        columns.learn(other, "2")
        assert columns.features() == Features({"a": feature})


def test_arrays_of_files_without_metadata_of_their_own():
    arrays = Features({"m": Array2D((None, 2), "int8")})
    columns = SplitColumns()
    for file in ("1", "2"):
        columns.learn(arrays.arrow_schema.remove_metadata(), file)
    assert columns.features() == arrays


def test_columns_that_the_card_does_not_name():
    declared = {"a": Value("int64"), "b": Value("string")}
    assert settle({"b": pa.int8()}, {}, declared=declared) == Features(declared)
    with pytest.raises(CastError) as caught:
        settle({"b": pa.string()}, {"c": pa.int64(), "a": pa.int64(), "d": pa.int64()}, declared=declared)
    assert str(caught.value) == (
        "1.json: the columns c, d are not among those asked for (a, b). Add them to `features` (in the call, or under "
        "`dataset_info` in the dataset's card), or choose columns with columns=."
    )
    asked = SplitColumns(declared, order=["c", "a"])
    asked.learn(pa.schema({"a": pa.int64(), "c": pa.int64()}), "0.json")
    assert list(asked.features()) == ["c", "a", "b"]


def test_structs_without_fields_in_all_files_become_json():
    def settled(clash, *schemas):
        columns = SplitColumns(clash=clash)
        for number, schema in enumerate(schemas):
            columns.learn(pa.schema(schema), f"{number}.json")
        return columns.features()

    empty = {"a": pa.struct([]), "b": pa.list_(pa.struct([]))}
    assert settled(to_json, empty) == {"a": Json(), "b": List(Json())}
    fields = {"a": pa.struct({"k": pa.int64()}), "b": pa.null()}
    assert settled(to_json, empty, fields) == {"a": {"k": Value("int64")}, "b": List(Json())}
    assert settled(refuse, empty) == {"a": {}, "b": List({})}
