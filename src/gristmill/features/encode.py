"""Python values to what Arrow stores (encode) and from there to what users see (decode), at any depth.

A feature class of its own, such as an image, takes part by having ``encode_example`` and ``decode_example``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from functools import singledispatch
from typing import Any

import pyarrow as pa

from gristmill.errors import CastError, shorten
from gristmill.features.convert import from_arrow_type
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Value
from gristmill.features.value_types import stands_for_none
from gristmill.features.visit import has_extension

__all__ = ["decode_value", "decoded_values", "encode_value", "needs_decoding", "needs_encoding"]


@singledispatch
def encode_value(feature: FeatureType, value: Any, column: str = "") -> Any:
    """Turns a Python value into one that Arrow can store under a feature.

    Args:
        feature: The feature.
        value: The value; None stays None at every level.
        column: Dotted path of the column, for errors.

    Raises:
        CastError: The value does not fit.

    Example:
        >>> from gristmill.features import ClassLabel
        >>> encode_value(List(ClassLabel(names=["a", "b"])), ["b", None])
        [1, None]
    """
    if value is None or not hasattr(feature, "encode_example"):
        return value
    if stands_for_none(type(value)):
        return None
    try:
        return feature.encode_example(value)
    except CastError as error:
        raise CastError.at(str(error), column=column or None) from error


@encode_value.register(List)
@encode_value.register(LargeList)
def _encode_list(feature: List | LargeList, value: Any, column: str = "") -> Any:
    if value is None or stands_for_none(type(value)):
        return None
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise CastError.at(f"{shorten(value)} is no list", column=column or None)
    length = getattr(feature, "length", -1)
    items = [encode_value(feature.feature, item, column) for item in value]
    if length >= 0 and len(items) != length:
        raise CastError.at(
            f"a list of {len(items)} items where {length} are asked for", column=column or None
        )
    return items


@encode_value.register(Mapping)
def _encode_struct(feature: Mapping[str, FeatureType], value: Any, column: str = "") -> Any:
    if value is None or stands_for_none(type(value)):
        return None
    if isinstance(value, list | tuple) and feature and all(isinstance(f, List) for f in feature.values()):
        value = _turn(feature, value, column)
    if not isinstance(value, Mapping):
        raise CastError.at(f"{shorten(value)} is no dict", column=column or None)
    extra = [str(key) for key in value if key not in feature]
    if extra:
        raise CastError.at(f"unknown keys {', '.join(extra[:10])}", column=column or None)
    return {
        name: encode_value(inner, value.get(name), f"{column}.{name}" if column else name)
        for name, inner in feature.items()
    }


def _turn(feature: Mapping[str, FeatureType], rows: Sized, column: str) -> dict[str, list[Any]]:
    # Sequence({...}) is documented to take a list of dicts and to store a dict of lists.
    turned: dict[str, list[Any]] = {name: [] for name in feature}
    for row in rows:  # type: ignore[attr-defined]  # checked above
        if not isinstance(row, Mapping):
            raise CastError.at(f"{shorten(row)} is no dict", column=column or None)
        for name, items in turned.items():
            items.append(row.get(name))
    return turned


@singledispatch
def needs_encoding(feature: FeatureType) -> bool:
    """Says whether values of a feature must be encoded one by one before Arrow can store them as meant.

    True for a class of the user's that encodes.
    """
    return hasattr(feature, "encode_example")


@needs_encoding.register(Value)
@needs_encoding.register(ClassLabel)
def _scalar_encoding(feature: Value | ClassLabel) -> bool:
    return False  # a cast of the whole column does the same


@needs_encoding.register(List)
@needs_encoding.register(LargeList)
def _list_encoding(feature: List | LargeList) -> bool:
    return needs_encoding(feature.feature)


@needs_encoding.register(Mapping)
def _struct_encoding(feature: Mapping[str, FeatureType]) -> bool:
    return any(needs_encoding(inner) for inner in feature.values())


@singledispatch
def needs_decoding(feature: FeatureType) -> bool:
    """Says whether values of a feature are shown in another form than stored."""
    return bool(hasattr(feature, "decode_example") and getattr(feature, "decode", True))


@needs_decoding.register(List)
@needs_decoding.register(LargeList)
def _list_needs(feature: List | LargeList) -> bool:
    return needs_decoding(feature.feature)


@needs_decoding.register(Mapping)
def _struct_needs(feature: Mapping[str, FeatureType]) -> bool:
    return any(needs_decoding(inner) for inner in feature.values())


@singledispatch
def decode_value(feature: FeatureType, value: Any) -> Any:
    """Turns a stored value into what the user sees; most features show what they store.

    Args:
        feature: The feature.
        value: The stored value, as Python objects.
    """
    if value is None or not needs_decoding(feature):
        return value
    return feature.decode_example(value)


@decode_value.register(List)
@decode_value.register(LargeList)
def _decode_list(feature: List | LargeList, value: Any) -> Any:
    if value is None or not needs_decoding(feature):
        return value
    return [decode_value(feature.feature, item) for item in value]


@decode_value.register(Mapping)
def _decode_struct(feature: Mapping[str, FeatureType], value: Any) -> Any:
    if value is None or not needs_decoding(feature):
        return value
    return {name: decode_value(inner, value.get(name)) for name, inner in feature.items()}


def decoded_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Gives the values of a column as Python objects, where all that is known of it is its Arrow type.

    Args:
        array: A column; `Json` inside it is decoded.

    Example:
        >>> decoded_values(pa.array(['{"a":1}', None], pa.json_()))
        [{'a': 1}, None]
    """
    values: list[Any] = array.to_pylist()
    if not has_extension(array.type):
        return values
    feature = from_arrow_type(array.type)
    return [decode_value(feature, value) for value in values]
