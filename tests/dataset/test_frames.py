"""Frames of polars and pandas."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gristmill.dataset import Column, Dataset
from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, Json, List, Value

pl = pytest.importorskip("polars")


def test_round_trip():
    frame = pl.DataFrame({"n": [1, None], "s": ["x", None], "l": [[1], []]})
    ds = Dataset.from_polars(frame)
    assert ds.to_dict() == {"n": [1, None], "s": ["x", None], "l": [[1], []]}
    assert ds.to_polars().equals(frame)
    assert ds.select([1]).to_polars().equals(frame[1:])
    assert [part.height for part in ds.to_polars(batch_size=1, batched=True)] == [1, 1]
    assert ds.to_polars(schema_overrides={"n": pl.Int8}).schema["n"] == pl.Int8
    assert Dataset.from_polars(frame.lazy()).to_dict() == ds.to_dict()


def test_types():
    frame = pl.DataFrame({"c": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})
    assert Dataset.from_polars(frame)["c"][:] == ["a", "b", "a"]
    small = Dataset.from_polars(pl.DataFrame({"n": [1]}), features=Features({"n": Value("int8")}))
    assert small.features == {"n": Value("int8")}
    with pytest.raises(InvalidArgumentError):
        Dataset.from_polars([1])


def test_columns_of_frames_are_what_the_library_has():
    ds = Dataset.from_dict({"a": [1, 2, 3]})
    assert ds.with_format("pandas")["a"].iloc[1] == 2
    assert ds.with_format("arrow")["a"].to_pylist() == [1, 2, 3]
    assert isinstance(ds.with_format("numpy")["a"], Column)


LARGE = 2**53 + 1
"""The first integer that a float changes."""


def test_integers_beside_missing_ones_are_not_rounded_in_pandas():
    ds = Dataset(
        pa.table(
            {
                "id": [LARGE, None],
                "low": [None, -LARGE],
                "u": pa.array([2**64 - 1, None], pa.uint64()),
                "all": [LARGE, 2],
                "few": [2**53, None],
                "i32": pa.array([2**31 - 1, None], pa.int32()),
            }
        )
    )
    frame = ds.to_pandas()
    assert frame.dtypes.map(str).to_dict() == {
        "id": "Int64", "low": "Int64", "u": "UInt64", "all": "int64", "few": "float64", "i32": "float64"
    }  # fmt: skip
    assert [frame["id"][0], frame["low"][1], frame["u"][0]] == [LARGE, -LARGE, 2**64 - 1]
    assert frame.isna().to_numpy().tolist() == [[False, True, False, False, False, False],
                                                [True, False, True, False, True, True]]  # fmt: skip
    again = Dataset.from_pandas(frame)
    assert again.to_list() == ds.to_list()
    assert [again.features[name] for name in ("id", "low", "u")] == [
        Value("int64"),
        Value("int64"),
        Value("uint64"),
    ]
    # By every way out: columns, rows, batches, streams, and what a function gives back.
    shown = ds.with_format("pandas")
    assert shown["id"][:].dtype == "Int64"
    assert shown[0]["all"].dtype == "int64"
    assert shown[1]["id"].isna().tolist() == [True]
    assert shown.map(lambda frame: frame.assign(id=frame["id"] + 1), batched=True).with_format(None)["id"][
        :
    ] == [LARGE + 1, None]
    assert ds.to_iterable_dataset().to_pandas()["id"][0] == LARGE


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([[LARGE, None], None], pa.list_(pa.int64())),
        ([[LARGE, None], [1, 2]], pa.list_(pa.int64(), 2)),
        ([[LARGE, 1], None], pa.list_(pa.int64(), 2)),  # for a missing list of two, two nulls are stored
        ([[[LARGE, None]], [[]]], pa.large_list(pa.list_(pa.int64()))),
        ([{"a": LARGE}, {"a": None}], pa.struct({"a": pa.int64()})),
        ([[{"a": LARGE}, {"a": None}], None], pa.list_(pa.struct({"a": pa.int64()}))),
        ([{"a": [LARGE, None]}, None], pa.struct({"a": pa.list_(pa.int64())})),
    ],
)  # fmt: skip
def test_integers_in_lists_and_dicts_are_not_rounded_in_pandas(values, type_):
    ds = Dataset(pa.table({"x": pa.array(values, type_)}))
    assert ds.to_pandas()["x"].tolist() == values
    assert Dataset.from_pandas(ds.to_pandas()).to_list() == ds.to_list()


def test_integers_in_maps_are_not_rounded_in_pandas():
    pairs = [[("a", LARGE)], [("b", None)]]
    ds = Dataset(pa.table({"x": pa.array(pairs, pa.map_(pa.string(), pa.int64()))}))
    assert ds.to_pandas()["x"].tolist() == pairs


@pytest.mark.parametrize(
    ("values", "feature"),
    [
        ([[1, 2], None, [None, 3], [4, 5]], List(Value("int64"), length=2)),
        ([[[1, 2]], [None, [3, 4]], None, [[5, None]]], List(List(Value("int64"), length=2))),
        ([{"k": [1, 2]}, None, {"k": None}, {"k": [3, None]}], {"k": List(Value("int64"), length=2)}),
    ],
)
def test_polars_takes_lists_of_a_fixed_length_from_any_row_on(values, feature):
    ds = Dataset.from_dict({"x": values}, features=Features({"x": feature}))
    for start in range(4):
        for stop in range(start + 1, 5):
            chosen = ds.select(range(start, stop))
            assert chosen.to_polars()["x"].to_list() == chosen["x"][:]
            assert chosen.with_format("polars")[0]["x"].to_list() == [chosen[0]["x"]]
    assert ds.select([]).to_polars()["x"].to_list() == []


def test_whole_numbers_and_none_come_back_from_a_frame_beside_columns_that_arrow_refuses():
    features = Features(
        {
            "lists": List(Value("int64")),
            "deep": {"x": List(List(Value("int32")))},
            "any": {"j": Json(), "n": List(Value("uint8")), "label": List(ClassLabel(names=["a", "b"]))},
            "text": Value("string"),
        }
    )
    nan = float("nan")
    frame = pd.DataFrame(
        {
            "lists": [np.array([1.0, nan]), np.array([2.0]), None],
            "deep": [{"x": [np.array([1.0, nan]), None]}, {"x": None}, None],
            "any": [
                {"j": nan, "n": np.array([1.0, nan]), "label": [0.0, nan]},
                {"j": "x", "n": [3], "label": []},
                None,
            ],
            "text": [2**70, None, "x"],
        }
    )
    made = Dataset.from_pandas(frame, features=features)
    assert made["lists"][:] == [[1, None], [2], None]
    assert made["deep"][:] == [{"x": [[1, None], None]}, {"x": None}, None]
    assert made["text"][:] == [str(2**70), None, "x"]
    first, *others = made["any"]
    assert (first["n"], first["label"]) == ([1, None], [0, None])
    assert others == [{"j": "x", "n": [3], "label": []}, None]
    with pytest.raises(CastError, match=r'row 0, column "lists\[\]": 1.5 does not fit into int64'):
        Dataset.from_pandas(frame.assign(lists=[np.array([1.5, nan]), None, None]), features=features)
