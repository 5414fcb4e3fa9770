"""Text in place of values that are none, where a feature is text: as Python writes them, or as Arrow does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.features.kinds import FeatureType, LargeList, List, Value
from gristmill.features.value_types import stands_for_none

__all__ = ["arrow_text", "as_texts", "has_text", "needs_text"]


def has_text(feature: FeatureType) -> bool:
    """Says whether a feature is text, or has text inside.

    Example:
        >>> has_text({"a": List(Value("string"))})
        True
    """
    if isinstance(feature, Mapping):
        return any(map(has_text, feature.values()))
    if isinstance(feature, List | LargeList):
        return has_text(feature.feature)
    return isinstance(feature, Value) and _is_text(feature.pa_type)


def needs_text(feature: FeatureType, type_: pa.DataType) -> bool:
    """Says whether values of an Arrow type read differently as text of Python and of Arrow, where a feature is text.

    Args:
        feature: The feature.
        type_: Type of the values.

    Example:
        >>> needs_text(Value("string"), pa.bool_()), needs_text(Value("string"), pa.int64())
        (True, False)
    """
    if isinstance(feature, Mapping) and pt.is_struct(type_):
        return any(needs_text(feature[field.name], field.type) for field in type_ if field.name in feature)
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        if isinstance(feature, Mapping):
            return needs_text(_of_items(feature), type_.value_type)
        return isinstance(feature, List | LargeList) and needs_text(feature.feature, type_.value_type)
    # Bytes are text in UTF-8 to Arrow, and nothing that anybody wants to Python.
    same = pt.is_null(type_) or pt.is_integer(type_) or pt.is_binary(type_) or pt.is_large_binary(type_)
    return isinstance(feature, Value) and _is_text(feature.pa_type) and not (same or _is_text(type_))


def as_texts(feature: FeatureType, value: Any, text: Callable[[Any], str]) -> Any:
    """Puts text in the place of values that are none, wherever a feature is text.

    Args:
        feature: The feature.
        value: A value of it; None stays None, and lists and dicts where text belongs stay as they are.
        text: Gives the text of a value.

    Example:
        >>> as_texts(
        ...     {"a": List(Value("string")), "b": Value("bool")}, {"a": [True, None, 1.0], "b": True}, str
        ... )
        {'a': ['True', None, '1.0'], 'b': True}
    """
    if value is None or not has_text(feature):
        return value
    many = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    many = many and getattr(value, "ndim", 1) > 0
    if isinstance(feature, Mapping):
        if isinstance(value, Mapping):
            return {name: as_texts(feature.get(name), inner, text) for name, inner in value.items()}
        return [as_texts(_of_items(feature), item, text) for item in value] if many else value
    if isinstance(feature, List | LargeList):
        return [as_texts(feature.feature, item, text) for item in value] if many else value
    if stands_for_none(type(value)) or (
        isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value)
    ):
        return None
    if many or isinstance(value, str | bytes | Mapping):
        return value
    return text(value)


def arrow_text(value: Any) -> str:
    """Gives the text that a cast of a column gives of a value.

    Example:
        >>> arrow_text(True), arrow_text(1.0), arrow_text(2**70)
        ('true', '1', '1180591620717411303424')
    """
    try:
        made: str = pc.cast(pa.array([value]), pa.large_string())[0].as_py()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return str(value)
    return made


def _of_items(feature: Mapping[str, FeatureType]) -> dict[str, FeatureType]:
    """Of lists of dicts that meet a dict of lists, as `Sequence` of a dict asks for: the feature of one dict."""
    lists = all(isinstance(inner, List) for inner in feature.values())
    return {name: inner.feature for name, inner in feature.items()} if lists else {}


def _is_text(type_: Any) -> bool:
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_))
