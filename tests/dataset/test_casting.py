"""Columns brought to other features: checked, and written only where their type changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dataset import Dataset, DatasetDict
from gristmill.errors import CastError, ColumnNotFoundError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, LargeList, List, Value


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": [3, None, 1], "b": ["x", None, "y"]})


def test_cast(ds):
    wanted = Features({"b": Value("large_string"), "a": Value("float32")})
    cast = ds.cast(wanted)
    assert cast.features == wanted
    assert cast.column_names == ["b", "a"]
    assert cast.to_dict() == {"b": ["x", None, "y"], "a": [3.0, None, 1.0]}
    assert ds.cast(ds.features).to_dict() == ds.to_dict()
    with pytest.raises(InvalidArgumentError, match="one side only: b"):
        ds.cast(Features({"a": Value("int8")}))


def test_cast_column(ds):
    assert ds.cast_column("a", Value("string")).to_dict() == {"a": ["3", None, "1"], "b": ["x", None, "y"]}
    assert ds.select([2, 0]).cast_column("a", Value("int8"))["a"][:] == [1, 3]
    with pytest.raises(ColumnNotFoundError):
        ds.cast_column("zz", Value("string"))
    with pytest.raises(CastError, match='row 0, column "b"'):
        ds.cast_column("b", Value("int64"))
    with pytest.raises(CastError, match='row 2, column "a"'):
        Dataset.from_dict({"a": [1, 2, 300]}).cast_column("a", Value("int8"))
    formatted = ds.with_format("numpy", columns=["a"]).cast_column("a", Value("float32"))
    assert formatted.format["columns"] == ["a"]


def test_numbers_are_checked_against_the_classes():
    label = ClassLabel(names=["neg", "pos", "other"])
    assert Dataset.from_dict({"c": [2, None, -1]}).cast_column("c", label)["c"][:] == [2, None, -1]
    with pytest.raises(ValueError, match=r'row 1, column "c".*out of range'):
        Dataset.from_dict({"c": [1, 5]}).cast_column("c", label)
    assert Dataset.from_dict({"c": ["pos"]}).cast_column("c", label)["c"][:] == [1]
    with pytest.raises(ValueError, match="no name"):
        Dataset.from_dict({"c": ["zzz"]}).cast_column("c", label)


def test_no_rows_and_nested_columns():
    empty = Dataset.from_dict({"a": []}).cast_column("a", Value("int64"))
    assert (len(empty), empty.features) == (0, {"a": Value("int64")})
    nested = Dataset.from_dict({"d": [{"x": [1]}, None]})
    cast = nested.cast_column("d", {"x": LargeList(Value("string")), "y": Value("int8")})
    assert cast["d"][:] == [{"x": ["1"], "y": None}, None]


def test_only_what_changes_is_written(tmp_path):
    Dataset.from_dict({"a": range(100), "big": ["x" * 100] * 100}).save_to_disk(tmp_path / "d")
    ds = Dataset.load_from_disk(tmp_path / "d")
    cast = ds.cast_column("a", Value("int8"))
    [written] = [entry["filename"] for entry in cast.cache_files if "cache-" in entry["filename"]]
    assert cast._view.parts[-1].table.column_names == ["a"]
    assert cast["big"][99] == "x" * 100
    again = ds.cast_column("a", Value("int8"))
    assert written in [entry["filename"] for entry in again.cache_files]
    named = ds.cast_column("a", ClassLabel(num_classes=100))
    assert named.cache_files == ds.cache_files
    parallel = ds.cast(Features({"a": Value("string"), "big": Value("string")}), num_proc=2)
    assert parallel["a"][:] == [str(number) for number in range(100)]


def test_class_encode(ds):
    encoded = ds.class_encode_column("b")
    assert encoded.features["b"] == ClassLabel(names=["x", "y"])
    assert encoded["b"][:] == [0, None, 1]
    with_none = ds.class_encode_column("b", include_nulls=True)
    assert with_none.features["b"].names == ["None", "x", "y"]
    assert with_none["b"][:] == [1, 0, 2]
    assert ds.class_encode_column("a").features["a"].names == ["1", "3"]
    assert ds.select([0, 0]).class_encode_column("b").features["b"].names == ["x"]
    odd = Dataset.from_dict({"f": [1.5, float("nan"), -1.0], "t": [True, False, None]})
    assert odd.class_encode_column("f").features["f"].names == ["-1.0", "1.5", "nan"]
    assert odd.class_encode_column("f")["f"][:] == [1, 2, 0]
    assert odd.class_encode_column("t")["t"][:] == [1, 0, None]
    with pytest.raises(ColumnNotFoundError):
        ds.class_encode_column("zz")
    for refused in (encoded, Dataset.from_dict({"b": [[1]]})):
        with pytest.raises(InvalidArgumentError, match="plain values"):
            refused.class_encode_column("b")
    assert Dataset.from_dict({"b": []}).class_encode_column("b").features["b"].names == []


def test_splits_share_their_classes():
    parts = DatasetDict(
        {"a": Dataset.from_dict({"c": ["x", "z"]}), "b": Dataset.from_dict({"c": ["y", None]})}
    )
    encoded = parts.class_encode_column("c")
    assert encoded["a"].features == encoded["b"].features == {"c": ClassLabel(names=["x", "y", "z"])}
    assert (encoded["a"]["c"][:], encoded["b"]["c"][:]) == ([0, 2], [1, None])


def test_aligned_labels():
    label = ClassLabel(names=["a", "b", "c"])
    ds = Dataset.from_dict({"l": [0, 1, 2, -1, None]}, features=Features({"l": label}))
    aligned = ds.align_labels_with_mapping({"C": 0, "b": 1, "a": 2}, "l")
    assert aligned.features["l"] == ClassLabel(names=["C", "b", "a"])
    assert aligned["l"][:] == [2, 1, 0, -1, None]
    assert ds.select([0, 1]).align_labels_with_mapping({"a": 1, "b": 0}, "l")["l"][:] == [1, 0]
    with pytest.raises(InvalidArgumentError, match='class "c"'):
        ds.align_labels_with_mapping({"a": 1, "b": 0}, "l")
    with pytest.raises(InvalidArgumentError, match="gaps"):
        ds.align_labels_with_mapping({"a": 3, "b": 0}, "l")
    with pytest.raises(InvalidArgumentError, match="not a ClassLabel"):
        Dataset.from_dict({"l": [1]}).align_labels_with_mapping({"a": 0}, "l")
    parts = DatasetDict({"t": ds}).align_labels_with_mapping({"C": 0, "b": 1, "a": 2}, "l")
    assert parts["t"]["l"][:] == [2, 1, 0, -1, None]


@pytest.mark.parametrize("kind", [List, LargeList])
def test_aligned_labels_in_lists(kind):
    label = ClassLabel(names=["a", "b"])
    rows = [[0, 1], None, [], [1, None, -1]]
    ds = Dataset.from_dict({"l": rows}, features=Features({"l": kind(label)}))
    aligned = ds.align_labels_with_mapping({"b": 0, "a": 1}, "l")
    assert aligned["l"][:] == [[1, 0], None, [], [0, None, -1]]
    assert aligned.select([3, 0])["l"][:] == [[0, None, -1], [1, 0]]
    assert aligned.features == {"l": kind(ClassLabel(names=["b", "a"]))}


def test_aligned_labels_in_lists_of_one_length():
    label = ClassLabel(names=["a", "b"])
    features = Features({"l": List(label, length=2)})
    for rows, expected in (([[0, 1], [1, 1]], [[1, 0], [0, 0]]), ([[0, 1], None], [[1, 0], None])):
        aligned = Dataset.from_dict({"l": rows}, features=features).align_labels_with_mapping(
            {"b": 0, "a": 1}, "l"
        )
        assert aligned["l"][:] == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-300, 300)), max_size=20))
def test_casting_equals_casting_each_value(values):
    ds = Dataset.from_dict({"a": values}, features=Features({"a": Value("int64")}))
    fits = all(value is None or -128 <= value < 128 for value in values)
    if fits:
        assert ds.cast_column("a", Value("int8"))["a"][:] == values
    else:
        with pytest.raises(CastError):
            ds.cast_column("a", Value("int8"))
    assert ds.cast_column("a", Value("string"))["a"][:] == [None if v is None else str(v) for v in values]
    names = sorted({str(value) for value in values if value is not None})
    encoded = ds.class_encode_column("a")
    assert encoded["a"][:] == [None if v is None else names.index(str(v)) for v in values]
