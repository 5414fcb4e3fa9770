import pyarrow as pa
import pytest

from gristmill.build.columns import SplitColumns
from gristmill.errors import SchemaConflictError
from gristmill.features import ClassLabel, Features, List, Value


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
    features = settle({"x": pa.int64(), "label": pa.string()}, declared=Features({"label": label}))
    assert features == Features({"label": label, "x": Value("int64")})
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
