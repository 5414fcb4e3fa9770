"""The names that other libraries import from ``datasets.features.features``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from gristmill.features.arrays import AnyArray as _ArrayXD
from gristmill.features.arrays import Array2D, Array3D, Array4D, Array5D
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.dtypes import dtype_name, parse_dtype
from gristmill.features.encode import decode_value, encode_value, needs_decoding
from gristmill.features.json_values import Json
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Sequence, Value
from gristmill.features.schema import Features
from gristmill.features.serialize import from_plain, register_kind
from gristmill.features.translation import Translation, TranslationVariableLanguages

__all__ = [
    "Array2D",
    "Array3D",
    "Array4D",
    "Array5D",
    "ClassLabel",
    "FeatureType",
    "Features",
    "Json",
    "LargeList",
    "List",
    "Sequence",
    "Translation",
    "TranslationVariableLanguages",
    "Value",
    "_ArrayXD",
    "decode_nested_example",
    "encode_nested_example",
    "generate_from_arrow_type",
    "generate_from_dict",
    "get_nested_type",
    "register_feature",
    "require_decoding",
    "string_to_arrow",
]

_FEATURE_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Value,
        ClassLabel,
        Translation,
        TranslationVariableLanguages,
        LargeList,
        List,
        Array2D,
        Array3D,
        Array4D,
        Array5D,
        Json,
    )
}


def register_feature(feature_cls: type, feature_type: str) -> None:
    """Makes a feature class of your own known, so that files and cards that name it are read with it.

    Args:
        feature_cls: The class: a dataclass with a ``_type``, that can be called for its Arrow type, and that may have
            ``encode_example`` and ``decode_example``.
        feature_type: The ``_type`` it is written with.

    Example:
        >>> from dataclasses import dataclass
        >>> import pyarrow as pa
        >>> @dataclass
        ... class Celsius:
        ...     _type = "Celsius"
        ...
        ...     def __call__(self):
        ...         return pa.float32()
        >>> register_feature(Celsius, "Celsius")
        >>> Features.from_dict({"t": {"_type": "Celsius"}})
        {'t': Celsius()}
    """
    _FEATURE_TYPES[feature_type] = feature_cls

    def make(entries: Mapping[str, Any]) -> FeatureType:
        return feature_cls(**{name: value for name, value in entries.items() if name != "_type"})

    register_kind(feature_type, make)


def generate_from_dict(obj: Any) -> FeatureType:
    """Makes a feature of its plain form; see `Features.from_dict`.

    Args:
        obj: A dict with a ``_type``, or a dict or list of such.

    Raises:
        InvalidArgumentError: It describes no feature.
    """
    return from_plain(obj)


def generate_from_arrow_type(pa_type: pa.DataType) -> FeatureType:
    """Finds the feature that describes an Arrow type.

    Args:
        pa_type: The type.

    Raises:
        CastError: The type, or one inside it, is a union.

    Example:
        >>> generate_from_arrow_type(pa.list_(pa.int8()))
        List(Value('int8'))
    """
    return from_arrow_type(pa_type)


def get_nested_type(schema: FeatureType) -> pa.DataType:
    """Finds the Arrow type that values of a feature are stored as.

    Args:
        schema: The feature, or a dict of them.

    Example:
        >>> get_nested_type({"a": List(Value("int8"))})
        StructType(struct<a: list<item: int8>>)
    """
    return to_arrow_type(schema)


def string_to_arrow(datasets_dtype: str) -> pa.DataType:
    """Finds the Arrow type that the dtype of a `Value` means.

    Args:
        datasets_dtype: For example ``"int32"``.

    Raises:
        InvalidArgumentError: It means none.

    Example:
        >>> string_to_arrow("timestamp[us]")
        TimestampType(timestamp[us])
    """
    return parse_dtype(datasets_dtype)


def _arrow_to_datasets_dtype(arrow_type: pa.DataType) -> str:
    """Names an Arrow type without inner types; see `string_to_arrow`."""
    return dtype_name(arrow_type)


def encode_nested_example(schema: FeatureType, obj: Any, level: int = 0) -> Any:  # documented
    """Turns a value into one that Arrow can store under a feature.

    Args:
        schema: The feature.
        obj: The value.
        level: Not used.

    Raises:
        CastError: The value does not fit.
    """
    return encode_value(schema, obj)


def decode_nested_example(
    schema: FeatureType,
    obj: Any,
    token_per_repo_id: Mapping[str, Any] | None = None,  # documented
) -> Any:
    """Turns a stored value into what the user sees.

    Args:
        schema: The feature.
        obj: The stored value.
        token_per_repo_id: Tokens for media files in private repositories.
    """
    return decode_value(schema, obj)


def require_decoding(feature: FeatureType, ignore_decode_attribute: bool = False) -> bool:
    """Says whether values of a feature are shown in another form than stored.

    Args:
        feature: The feature.
        ignore_decode_attribute: Say so as well for a feature that was told not to decode.
    """
    if not ignore_decode_attribute:
        return needs_decoding(feature)
    found: list[bool] = []
    _visit(feature, lambda inner: found.append(hasattr(inner, "decode_example")))
    return any(found)


def _visit(feature: FeatureType, func: Callable[[Any], Any]) -> FeatureType:
    """Rebuilds a feature from the inside out; where `func` gives something, that takes the place of what it got."""
    if isinstance(feature, Features):
        made: Any = Features({name: _visit(inner, func) for name, inner in feature.items()})
    elif isinstance(feature, Mapping):
        made = {name: _visit(inner, func) for name, inner in feature.items()}
    elif isinstance(feature, LargeList):
        made = LargeList(_visit(feature.feature, func), id=feature.id)
    elif isinstance(feature, List):
        made = List(_visit(feature.feature, func), length=feature.length, id=feature.id)
    else:
        made = feature
    changed = func(made)
    return made if changed is None else changed


def _check_non_null_non_empty_recursive(obj: Any, schema: FeatureType | None = None) -> bool:
    """Says whether there is a value: not None, nor lists whose first item, and its first item, leads to nothing."""
    inner = getattr(schema, "feature", None)
    while isinstance(obj, list | tuple) and (schema is None or inner is not None):
        if not obj:
            return False
        obj, inner = obj[0], getattr(inner, "feature", None)
    return obj is not None
