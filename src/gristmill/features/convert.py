"""Features to Arrow types and back. Every Arrow type except unions has a feature, so that every file loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import pyarrow as pa

from gristmill.errors import DataError, InvalidArgumentError, shorten
from gristmill.features.dtypes import dtype_name
from gristmill.features.exact import is_text
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Value

__all__ = [
    "check_name",
    "extension_metadata",
    "feature_of_type",
    "from_arrow_field",
    "from_arrow_type",
    "is_feature",
    "normalise",
    "register_extension",
    "to_arrow_field",
    "to_arrow_type",
]


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
    inner = to_arrow_field("item", feature.feature)
    return pa.list_(inner) if feature.length < 0 else pa.list_(inner, feature.length)


@to_arrow_type.register(LargeList)
def _large_list(feature: LargeList) -> pa.DataType:
    return pa.large_list(to_arrow_field("item", feature.feature))


@to_arrow_type.register(Mapping)
def _struct(feature: Mapping[str, FeatureType]) -> pa.DataType:
    return pa.struct([to_arrow_field(name, inner) for name, inner in feature.items()])


def to_arrow_field(name: str, feature: FeatureType) -> pa.Field:
    """Makes the Arrow field of a feature, with what a file needs to name the feature's extension type."""
    return pa.field(name, to_arrow_type(feature), metadata=extension_metadata(feature))


@singledispatch
def extension_metadata(feature: FeatureType) -> dict[bytes, bytes] | None:
    """Gives the Arrow field metadata that marks a column as of an extension type; None for most features."""
    return None


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
        return feature_of_type(type_)
    except RecursionError as error:
        raise DataError.at("types are nested too deep to be read") from error


@singledispatch
def feature_of_type(type_: Any) -> FeatureType:
    """Finds the feature of a type; one registration for each class of Arrow types."""
    return Value(dtype_name(type_))


def from_arrow_field(field: pa.Field) -> FeatureType:
    """Finds the feature that describes an Arrow field: by the extension its metadata names, else by its type.

    Args:
        field: Any Arrow field.

    Raises:
        CastError: As for `from_arrow_type`.
    """
    marks = field.metadata or {}
    name = marks.get(b"ARROW:extension:name")
    if name is not None:
        text = marks.get(b"ARROW:extension:metadata", b"")
        feature = _of_extension(name.decode("utf-8", "replace"), text, field.type)
        if feature is not None:
            return feature
    return from_arrow_type(field.type)


_EXTENSIONS: list[Callable[[str, bytes], FeatureType | None]] = []


def register_extension(recognise: Callable[[str, bytes], FeatureType | None]) -> None:
    """Adds a function that makes a feature of an extension type's name and metadata, or gives None."""
    _EXTENSIONS.append(recognise)


def _of_extension(name: str, metadata: bytes, storage: Any) -> FeatureType | None:
    for recognise in _EXTENSIONS:
        feature = recognise(name, metadata)
        # What a file says of itself is only believed where it fits.
        if feature is not None and to_arrow_type(feature) == storage:
            return feature
    return None


@feature_of_type.register(pa.ListType)
@feature_of_type.register(pa.ListViewType)
def _from_list(type_: Any) -> FeatureType:
    return List(from_arrow_field(type_.value_field))


@feature_of_type.register(pa.LargeListType)
@feature_of_type.register(pa.LargeListViewType)
def _from_large_list(type_: Any) -> FeatureType:
    return LargeList(from_arrow_field(type_.value_field))


@feature_of_type.register(pa.FixedSizeListType)
def _from_fixed_size_list(type_: Any) -> FeatureType:
    return List(from_arrow_field(type_.value_field), length=type_.list_size)


@feature_of_type.register(pa.StructType)
def _from_struct(type_: Any) -> FeatureType:
    return {inner.name: from_arrow_field(inner) for inner in type_}


@feature_of_type.register(pa.MapType)
def _from_map(type_: Any) -> FeatureType:
    return List({"key": feature_of_type(type_.key_type), "value": feature_of_type(type_.item_type)})


@feature_of_type.register(pa.DictionaryType)
@feature_of_type.register(pa.RunEndEncodedType)
def _from_encoded(type_: Any) -> FeatureType:
    return feature_of_type(type_.value_type)


@feature_of_type.register(pa.BaseExtensionType)
def _from_extension(type_: Any) -> FeatureType:
    known = None
    if hasattr(type_, "__arrow_ext_serialize__"):
        known = _of_extension(type_.extension_name, type_.__arrow_ext_serialize__(), type_.storage_type)
    return feature_of_type(type_.storage_type) if known is None else known


def is_feature(thing: object) -> bool:
    """Says whether something can describe a column (a kind of feature, or a class of the user's that acts like one)."""
    return isinstance(thing, Value | ClassLabel | List | LargeList) or (
        not isinstance(thing, type) and callable(thing) and hasattr(thing, "_type")
    )


def check_name(name: Any) -> str:
    """Checks the name of a column, or of a field of a struct.

    Raises:
        InvalidArgumentError: It is no text, or has half a character in it.
    """
    if not is_text(name):
        raise InvalidArgumentError(f"A column's name must be text, not {shorten(name)}.")
    return str(name)


DEEPEST = 150
"""How many levels of lists and structs a feature may have: what Python and Arrow can follow in each use of it."""


def normalise(feature: Any, column: str) -> FeatureType:
    """Brings what users write for a feature into its one form: ``[x]`` becomes ``List(x)``, at any depth.

    Args:
        feature: What was written.
        column: Where, for the error.

    Raises:
        InvalidArgumentError: Not a feature, or one that is nested too deep.
    """
    return _normalise(feature, column, 0)


def _normalise(feature: Any, column: str, depth: int) -> FeatureType:
    if depth > DEEPEST:
        raise InvalidArgumentError(
            f'The features of column "{column[:40]}" are nested too deep: more than {DEEPEST} levels. '
            "Store such values as text, or as Json()."
        )
    if isinstance(feature, list | tuple):
        if len(feature) != 1:
            raise InvalidArgumentError.from_value(
                f'features["{column}"]', feature, "one feature inside the brackets"
            )
        return List(_normalise(feature[0], column, depth + 1))
    if isinstance(feature, Mapping):
        return {
            check_name(str(name)): _normalise(inner, f"{column}.{name}", depth + 1)
            for name, inner in feature.items()
        }
    if isinstance(feature, List | LargeList):
        feature.feature = _normalise(feature.feature, column, depth + 1)
        return feature
    if not is_feature(feature):
        raise InvalidArgumentError.from_value(
            f'features["{column}"]', feature, 'a feature, for example Value("string")'
        )
    return feature
