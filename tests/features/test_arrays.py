"""Array2D to Array5D: shapes checked, read as arrays, named in files as `datasets` names them."""

import json
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import Dataset
from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features import Array2D, Array3D, Array4D, Array5D, Features, List, Value
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_field, to_arrow_field, to_arrow_type

KINDS = {2: Array2D, 3: Array3D, 4: Array4D, 5: Array5D}


@pytest.mark.parametrize("ndim", [2, 3, 4, 5])
def test_each_kind_from_numpy_and_lists(ndim):
    shape = tuple(range(1, ndim + 1))
    feature = KINDS[ndim](shape, "int32")
    array = np.arange(np.prod(shape)).reshape(shape)
    ds = Dataset.from_dict({"m": [array, array.tolist(), None]}, features=Features({"m": feature}))
    assert ds.features["m"] == feature
    assert ds["m"][:] == [array.tolist(), array.tolist(), None]
    assert feature.encode_example(array) == array.tolist()
    made = ds.with_format("numpy")[:2]["m"]
    assert made.shape == (2, *shape)
    np.testing.assert_array_equal(made[1], array)


def test_first_dimension_may_vary():
    features = Features({"m": Array2D((None, 2), "float32")})
    ds = Dataset.from_dict(
        {"m": [np.zeros((1, 2)), np.ones((3, 2)), np.zeros((0, 2)), None]}, features=features
    )
    made = ds.with_format("numpy")["m"][:]
    assert [None if row is None else row.shape for row in made] == [(1, 2), (3, 2), (0, 2), None]
    assert list(ds.to_pandas()["m"][1][2]) == [1.0, 1.0]
    assert ds.select([1, 0]).with_format("numpy")[1]["m"].shape == (1, 2)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([[1, 2, 3], [4]], "lists of different lengths"),
        ([[1, 2, 3]], r"\(1, 3\)"),
        ([1, 2], r"\(2,\)"),
        (5, r"\(\)"),
        ([[[1, 2]]], r"\(1, 1, 2\)"),
        ([None], r"\(1,\)"),
        ([[]], r"\(1, 0\)"),
        (np.zeros((2, 3)), r"\(2, 3\)"),
    ],
)
def test_another_shape_is_refused_naming_row_and_both(value, found):
    features = Features({"m": Array2D((None, 2), "int64")})
    with pytest.raises(CastError, match=rf'row 1, column "m".*{found}.*\(None, 2\)'):
        Dataset.from_dict({"m": [[[1, 2]], value]}, features=features)
    with pytest.raises(CastError, match=rf"{found}.*\(None, 2\)"):
        features["m"].encode_example(value)


def test_values_are_checked_like_any_number():
    with pytest.raises(CastError, match=r'row 1, column "m".*300'):
        Dataset.from_dict({"m": [[[1]], [[300]]]}, features=Features({"m": Array2D((1, 1), "uint8")}))


@pytest.mark.parametrize("shape", [(1,), (1, 2, 3), (1, None), (1, -1), (1, True), 3, "ab"])
def test_shapes_that_can_not_be(shape):
    with pytest.raises(InvalidArgumentError, match="shape"):
        Array2D(shape, "int8")
    with pytest.raises(InvalidArgumentError, match="dtype"):
        Array2D((1, 1), "int7")


def test_files_name_the_extension_type_of_datasets():
    field = to_arrow_field("m", Array3D((None, 1, 2), "float32"))
    assert field.metadata == {
        b"ARROW:extension:name": b"datasets.features.features.Array3DExtensionType",
        b"ARROW:extension:metadata": b'[[null, 1, 2], "float32"]',
    }
    nested = Features({"s": {"m": List(Array2D((2, 2), "int8"))}})
    assert Features.from_arrow_schema(nested.arrow_schema.remove_metadata()) == nested
    assert Features.from_arrow_schema(nested.arrow_schema) == nested


@pytest.mark.parametrize("text", ["", "3", "[[1], 2]", "[[1, 2], 5]", '[[9, 9], "int64"]', "\x80\x04pickled"])
def test_what_a_file_says_is_believed_only_where_it_fits(text):
    marks = {
        "ARROW:extension:name": "datasets.features.features.Array2DExtensionType",
        "ARROW:extension:metadata": text,
    }
    lists = pa.list_(pa.list_(pa.int32()))
    assert from_arrow_field(pa.field("m", lists, metadata=marks)) == List(List(Value("int32")))


def test_equal_copied_pickled():
    shape: Any = [None, 2]  # as JSON has it
    feature = Array2D(shape, "float", id="x")
    assert feature == pickle.loads(pickle.dumps(feature)) == Features({"m": feature}).copy()["m"]
    assert feature.shape == (None, 2)
    assert feature.dtype == "float32"
    assert feature != Array2D((1, 2), "float32", id="x")
    assert json.loads(json.dumps(Features({"m": feature}).to_dict())) == {
        "m": {"shape": [None, 2], "dtype": "float32", "id": "x", "_type": "Array2D"}
    }


rows = st.none() | st.lists(st.lists(st.none() | st.integers(-9, 9), min_size=2, max_size=2), max_size=3)


@given(st.lists(st.lists(rows, max_size=4), max_size=3), st.sampled_from(["list", "large", "fixed"]))
def test_any_cut_of_any_kind_of_lists(chunks, kind):
    inner = {"list": pa.list_, "large": pa.large_list, "fixed": lambda item: pa.list_(item, 2)}[kind](
        pa.int64()
    )
    outer = pa.list_(inner) if kind == "list" else pa.large_list(inner)
    padded = [pa.array([None, *chunk, [[7, 7]]], outer).slice(1, len(chunk)) for chunk in chunks]
    column = pa.chunked_array(padded, type=outer)
    feature = Array2D((None, 2), "int8")
    made = cast_array(column, feature)
    made.validate(full=True)
    assert made.type == to_arrow_type(feature)
    values = [row for chunk in chunks for row in chunk]
    assert made.to_pylist() == values
    arrays = feature.to_numpy(made)
    assert [None if row is None else row.shape for row in arrays] == [
        None if row is None else (len(row), 2) for row in values
    ]
