"""Json: each row its own value, the same by every way in and out."""

import datetime as dt
import json
import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Dataset, load_dataset
from gristmill.errors import CastError
from gristmill.features import ClassLabel, Features, Json, LargeList, List, Value
from gristmill.features.cast import cast_array
from gristmill.features.infer import JSON

VALUES = [
    1,
    "a",
    {"k": [1, None, {}]},
    None,
    [],
    "1",
    True,
    2.5,
    2**70,
    -(2**70),
    "null",
    "é\n",
    {"a": None},
    {"b": 1},
    "",
]


def test_every_way_out_gives_the_same(tmp_path):
    features = Features({"v": Json(), "l": List(Json()), "s": {"j": Json(), "n": Value("int8")}})
    columns = {
        "v": VALUES,
        "l": [None, [], *[[value, None] for value in VALUES[2:]]],
        "s": [None, *[{"j": value, "n": 1} for value in VALUES[1:]]],
    }
    ds = Dataset.from_dict(columns, features=features)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    same = json.dumps(rows)
    assert ds.features == features
    assert (
        json.dumps(list(ds))
        == json.dumps(ds.to_list())
        == json.dumps([ds[i] for i in range(len(ds))])
        == same
    )
    assert json.dumps(ds[:]) == json.dumps(ds.to_dict()) == json.dumps({k: ds[k][:] for k in columns})
    assert json.dumps(ds[:]) == json.dumps(columns)
    assert list(ds.to_pandas()["v"]) == VALUES
    assert ds.with_format("numpy")["v"][:3].tolist()[:2] == VALUES[:2]
    ds.to_json(tmp_path / "x.jsonl")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == rows
    ds.to_parquet(tmp_path / "x.parquet")
    known: dict[str, Any] = {"features": features}
    for name, options in (("parquet", {}), ("json", known)):
        file = str(tmp_path / f"x.{name.replace('json', 'jsonl')}")
        again = load_dataset(name, data_files=file, split="train", cache_dir=str(tmp_path), **options)
        assert again.features == features
        assert json.dumps(again.to_list()) == same
    mapped = ds.map(lambda row: row)
    assert mapped.features == features
    assert json.dumps(mapped.to_list()) == same
    assert json.dumps(ds.select([3, 0, 2]).to_list()) == json.dumps([rows[3], rows[0], rows[2]])


def test_text_that_is_stored_on_request():
    ds = Dataset.from_dict({"v": [1, "1", None]}, features=Features({"v": Json(decode=False)}))
    assert ds["v"][:] == ["1", '"1"', None]
    assert repr(List(Json())) == "List(Json())"
    assert pickle.loads(pickle.dumps(Json(decode=False))) == Json(decode=False) != Json()
    assert Features.from_dict(ds.features.to_dict()) == ds.features


@pytest.mark.parametrize("value", [b"x", {1, 2}, 1j, object()])
def test_what_json_has_not_is_refused(value):
    with pytest.raises(CastError, match=r'row 1, column "v".*JSON'):
        Dataset.from_dict({"v": [1, value]}, features=Features({"v": Json()}))


def test_numbers_of_numpy_and_odd_floats():
    encode, decode = Json().encode_example, Json().decode_example
    assert encode([np.int8(3), np.float32(0.5), np.arange(2), (1,)]) == "[3,0.5,[0,1],[1]]"
    assert math.isnan(decode(encode(math.nan)))
    assert decode(encode(math.inf)) == math.inf
    assert decode(encode("\ud800")) == "\ud800"
    with pytest.raises(CastError, match="no JSON text"):
        decode("{")


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (pa.array([1, None]), [1, None]),
        (pa.array([[1.5], []]), [[1.5], []]),
        (pa.array([{"a": 1, "b": None}]), [{"a": 1, "b": None}]),
        (pa.array(['{"a": 1}', "2", None]), [{"a": 1}, 2, None]),
        (pa.array(["foo", "2", None]), ["foo", "2", None]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_casts(array, values):
    made = cast_array(array, Json())
    assert made.type == JSON
    assert [Json().decode_example(text) for text in made.to_pylist()] == values


def test_casts_back_and_refused():
    column = cast_array(pa.array([1, 2]), Json())
    assert cast_array(column, Value("int8")).to_pylist() == [1, 2]
    assert cast_array(column, Value("string")).to_pylist() == ["1", "2"]
    with pytest.raises(CastError, match='row 1, column "v"'):
        cast_array(pa.array([None, b"x"]), Json(), column="v")


KINDS = {
    "i": (Value("int32"), st.integers(-9, 9)),
    "s": (Value("string"), st.text(max_size=3)),
    "c": (ClassLabel(names=["x", "y"]), st.integers(-1, 1)),
    "j": (
        Json(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
            ),
            max_leaves=4,
        ),
    ),
}


@st.composite
def features_and_values(draw, depth=3):
    """A feature of any kinds nested to a depth, and what draws its values, nulls among them."""
    kind = draw(st.sampled_from(["leaf", "list", "large", "fixed", "struct"] if depth else ["leaf"]))
    if kind == "leaf":
        feature, values = KINDS[draw(st.sampled_from(list(KINDS)))]
        return feature, st.none() | values
    if kind == "struct":
        inner = {name: draw(features_and_values(depth - 1)) for name in draw(st.sampled_from(["a", "ab"]))}
        fields = {name: values for name, (_, values) in inner.items()}
        return {name: feature for name, (feature, _) in inner.items()}, st.none() | st.fixed_dictionaries(
            fields
        )
    feature, values = draw(features_and_values(depth - 1))
    if kind == "fixed":
        return List(feature, length=2), st.none() | st.lists(values, min_size=2, max_size=2)
    return (LargeList if kind == "large" else List)(feature), st.none() | st.lists(values, max_size=3)


def _text(value):
    # As text, so that True is not 1; in the order of keys, which is that of the feature.
    return json.dumps(value, sort_keys=True)


@settings(max_examples=150, deadline=None)
@given(features_and_values(), st.data())
def test_values_of_any_nesting_come_back(kind, data):
    feature, values = kind
    features = Features({"v": feature})
    parts = [data.draw(st.lists(values, min_size=1, max_size=4)) for _ in range(2)]
    tables = [Dataset.from_dict({"v": part}, features=features).data.table for part in parts]
    for table in tables:
        table.validate(full=True)
    start = data.draw(st.integers(0, 2))
    whole = Dataset(pa.concat_tables(tables).slice(start))
    expected = [value for part in parts for value in part][start:]
    assert whole.features == features
    assert _text(whole["v"][:]) == _text(expected)
    order = list(range(len(expected)))[::-1]
    assert _text(whole.select(order).to_list()) == _text([{"v": expected[i]} for i in order])
    encoded = features.encode_batch({"v": expected})
    assert _text(features.decode_batch(encoded)["v"]) == _text(expected)


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    ds = Dataset.from_dict({"v": [["\ud800é"], [1]]}, features=Features({"v": Json()}))
    for ascii_only in (True, False):
        ds.to_json(tmp_path / "x.jsonl", force_ascii=ascii_only)
        lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["v"] for line in lines] == ds["v"][:]
    Dataset.from_dict({"v": [["\ud800"]]}, features=Features({"v": List(Json())})).to_csv(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == 'v\n"[""\\ud800""]"\n'


def test_batches_as_pandas_frames():
    ds = Dataset.from_dict({"v": [1, "a", {"k": 1}]}, features=Features({"v": Json()}))
    made = ds.with_format("pandas").map(lambda frame: frame, batched=True)
    assert made.features == ds.features
    assert made.with_format(None)["v"][:] == [1, "a", {"k": 1}]


def test_what_stands_for_none_in_frames_is_none():
    pd = pytest.importorskip("pandas")
    for missing in (pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT")):
        assert Json().encode_example({"k": [missing]}) == '{"k":[null]}'
        features = Features({"v": Json()})
        assert Dataset.from_dict({"v": [missing, 1, [missing]]}, features=features)["v"] == [None, 1, [None]]
        rows = Dataset.from_dict({"i": [0]})
        assert rows.map(lambda row, m=missing: {"v": m}, features=features, remove_columns="i")["v"] == [None]


def test_times_and_decimals_as_text_are_read_beside_json():
    features = Features(
        {"c": {"j": Json(), "t": Value("timestamp[us]"), "d": List(Value("decimal128(10, 2)"))}}
    )
    given = [{"j": "1", "t": "2020-01-01T00:00:00", "d": ["1.50"]}, None, {"j": [1], "t": None, "d": None}]
    ds = Dataset.from_dict({"c": given}, features=features)
    assert ds.features == features
    assert ds["c"] == [
        {"j": "1", "t": dt.datetime(2020, 1, 1), "d": [Decimal("1.50")]},  # noqa: DTZ001  # of no zone
        None,
        {"j": [1], "t": None, "d": None},
    ]
    with pytest.raises(CastError, match="row 1"):
        Dataset.from_dict({"c": [None, {"j": 1, "t": "no time", "d": None}]}, features=features)
