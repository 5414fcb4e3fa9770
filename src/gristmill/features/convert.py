"""Features to Arrow types and back. Every Arrow type except unions has a feature, so that every file loads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import pyarrow as pa

from gristmill.errors import DataError, InvalidArgumentError
from gristmill.features.dtypes import dtype_name
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Value

__all__ = ["from_arrow_type", "is_feature", "normalise", "to_arrow_type"]


@singledispatch
def to_arrow_type(feature: FeatureType) -> pa.DataType:
    """Says how a feature is stored.

    Args:
        feature: A feature, or a dict of features (a struct).

    Returns:
        The Arrow type of its column.

    Raises:
        InvalidArgumentError: `feature` is none.

    Example:
        >>> to_arrow_type({"a": List(Value("int32"))})
        StructType(struct<a: list<item: int32>>)
    """
    if callable(feature) and not isinstance(feature, type):
        return feature()
    raise InvalidArgumentError.from_value("feature", feature, 'a feature, for example Value("string")')


@to_arrow_type.register(Value)
@to_arrow_type.register(ClassLabel)
def _scalar(feature: Value | ClassLabel) -> pa.DataType:
    return feature.pa_type


@to_arrow_type.register(List)
def _list(feature: List) -> pa.DataType:
    inner = to_arrow_type(feature.feature)
    return pa.list_(inner) if feature.length < 0 else pa.list_(inner, feature.length)


@to_arrow_type.register(LargeList)
def _large_list(feature: LargeList) -> pa.DataType:
    return pa.large_list(to_arrow_type(feature.feature))


@to_arrow_type.register(Mapping)
def _struct(feature: Mapping[str, FeatureType]) -> pa.DataType:
    return pa.struct([pa.field(name, to_arrow_type(inner)) for name, inner in feature.items()])


def from_arrow_type(type_: pa.DataType) -> FeatureType:
    """Finds the feature that describes an Arrow type.

    Dictionary and run-length encoded columns are described by their values, extension types by their storage, and a
    map as a list of ``{"key", "value"}``.

    Args:
        type_: Any Arrow type.

    Raises:
        CastError: The type, or one inside it, is a union.
        DataError: Types are nested deeper than Python can follow.

    Example:
        >>> import pyarrow as pa
        >>> from_arrow_type(pa.struct({"a": pa.list_(pa.int8())}))
        {'a': List(Value('int8'))}
    """
    try:
        return _from_arrow(type_)
    except RecursionError as error:
        raise DataError.at("types are nested too deep to be read") from error


@singledispatch
def _from_arrow(type_: Any) -> FeatureType:
    return Value(dtype_name(type_))


@_from_arrow.register(pa.ListType)
@_from_arrow.register(pa.ListViewType)
def _from_list(type_: Any) -> FeatureType:
    return List(_from_arrow(type_.value_type))


@_from_arrow.register(pa.LargeListType)
@_from_arrow.register(pa.LargeListViewType)
def _from_large_list(type_: Any) -> FeatureType:
    return LargeList(_from_arrow(type_.value_type))


@_from_arrow.register(pa.FixedSizeListType)
def _from_fixed_size_list(type_: Any) -> FeatureType:
    return List(_from_arrow(type_.value_type), length=type_.list_size)


@_from_arrow.register(pa.StructType)
def _from_struct(type_: Any) -> FeatureType:
    return {inner.name: _from_arrow(inner.type) for inner in type_}


@_from_arrow.register(pa.MapType)
def _from_map(type_: Any) -> FeatureType:
    return List({"key": _from_arrow(type_.key_type), "value": _from_arrow(type_.item_type)})


@_from_arrow.register(pa.DictionaryType)
@_from_arrow.register(pa.RunEndEncodedType)
def _from_encoded(type_: Any) -> FeatureType:
    return _from_arrow(type_.value_type)


@_from_arrow.register(pa.BaseExtensionType)
def _from_extension(type_: Any) -> FeatureType:
    return _from_arrow(type_.storage_type)


def is_feature(thing: object) -> bool:
    """Says whether something can describe a column (a kind of feature, or a class of the user's that acts like one)."""
    return isinstance(thing, Value | ClassLabel | List | LargeList) or (
        not isinstance(thing, type) and callable(thing) and hasattr(thing, "_type")
    )


def normalise(feature: Any, column: str) -> FeatureType:
    """Brings what users write for a feature into its one form: ``[x]`` becomes ``List(x)``, at any depth.

    Args:
        feature: What was written.
        column: Where, for the error.

    Raises:
        InvalidArgumentError: Not a feature.
    """
    if isinstance(feature, list | tuple):
        if len(feature) != 1:
            raise InvalidArgumentError.from_value(
                f'features["{column}"]', feature, "one feature inside the brackets"
            )
        return List(normalise(feature[0], column))
    if isinstance(feature, Mapping):
        return {str(name): normalise(inner, f"{column}.{name}") for name, inner in feature.items()}
    if isinstance(feature, List | LargeList):
        feature.feature = normalise(feature.feature, column)
        return feature
    if not is_feature(feature):
        raise InvalidArgumentError.from_value(
            f'features["{column}"]', feature, 'a feature, for example Value("string")'
        )
    return feature
