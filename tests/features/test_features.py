"""The names of ``datasets.features.features``."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

from gristmill import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.features import Array2D, ClassLabel, Features, Json, LargeList, List, Value
from gristmill.features import features as names


@dataclass
class Celsius:
    """A feature of one's own: given in degrees, stored in thousandths."""

    places: int = 3
    _type: ClassVar[str] = "Celsius"

    def __call__(self):
        return pa.int32()

    def encode_example(self, value):
        return round(value * 10**self.places)

    def decode_example(self, value):
        return value / 10**self.places


def test_a_feature_of_ones_own(tmp_path):
    names.register_feature(Celsius, "Celsius")
    assert names._FEATURE_TYPES["Celsius"] is Celsius
    features = Features({"t": List(Celsius(2))})
    assert Features.from_dict(features.to_dict()) == features
    assert Features._from_yaml_list(features._to_yaml_list()) == features
    ds = Dataset.from_dict({"t": [[21.5, None], None]}, features=features)
    assert ds["t"][:] == [[21.5, None], None]
    assert ds.data.table["t"].to_pylist() == [[2150, None], None]
    ds.to_parquet(tmp_path / "x.parquet")
    assert Features.from_arrow_schema(pa.parquet.read_schema(tmp_path / "x.parquet")) == features


def test_small_helpers():
    nested = Features(
        {"a": LargeList({"b": List(Json(decode=False), length=2)}), "c": Array2D((1, 1), "int8")}
    )
    assert names.generate_from_dict(nested.to_dict()) == nested
    assert names.require_decoding(List(Json()))
    assert not names.require_decoding(nested)
    assert names.require_decoding(nested, ignore_decode_attribute=True)
    changed = names._visit(nested, lambda inner: Value("string") if isinstance(inner, Json) else None)
    assert changed == Features(
        {"a": LargeList({"b": List(Value("string"), length=2)}), "c": Array2D((1, 1), "int8")}
    )
    assert isinstance(nested["c"], names._ArrayXD)
    label = List(ClassLabel(names=["x", "y"]))
    assert names.encode_nested_example(label, ["y"]) == [1]
    assert names.decode_nested_example(List(Json()), ["[1]"]) == [[1]]
    found = [
        names._check_non_null_non_empty_recursive(value)
        for value in (None, [], [[None]], [[1]], 0, [[], [1]])
    ]
    assert found == [False, False, False, True, True, False]


def test_arrow_types_and_features():
    type_ = pa.struct({"a": pa.list_(pa.int8(), 3), "b": pa.large_list(pa.string())})
    feature = {"a": List(Value("int8"), length=3), "b": LargeList(Value("string"))}
    assert names.generate_from_arrow_type(type_) == feature
    assert names.get_nested_type(feature) == names.get_nested_type(Features(feature)) == type_
    assert names.string_to_arrow("timestamp[s, tz=UTC]") == pa.timestamp("s", "UTC")
    assert names._arrow_to_datasets_dtype(pa.timestamp("s", "UTC")) == "timestamp[s, tz=UTC]"
    with pytest.raises(InvalidArgumentError, match="nope"):
        names.string_to_arrow("nope")
