"""The features that hold the rows of several datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.errors import SchemaConflictError
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.infer import TypeConflict, unify_types
from gristmill.features.kinds import LargeList, List, Value
from gristmill.features.picking import pick_features
from gristmill.features.schema import Features


def align_features(several: Sequence[Features]) -> Features:
    """Finds the columns that hold the rows of all, in order of appearance.

    Args:
        several: The features of each dataset.

    Raises:
        SchemaConflictError: A column has features that no feature holds; names the dataset and the column.

    Example:
        >>> align_features(
        ...     [Features({"a": Value("null")}), Features({"a": Value("int8"), "b": Value("bool")})]
        ... )
        {'a': Value('int8'), 'b': Value('bool')}
    """
    merged: dict[str, Any] = dict(several[0])
    alike = True
    for position, features in enumerate(several[1:], 1):
        if features is several[0] or (features == merged and len(features) == len(merged)):
            continue
        alike = False
        for name, feature in features.items():
            merged[name] = _unify_column(name, merged[name], feature, position) if name in merged else feature
    return pick_features(several[0], merged) if alike else Features(merged)


def _unify_column(name: str, one: Any, other: Any, position: int) -> Any:
    try:
        return _unify(one, other)
    except TypeConflict as conflict:
        error: SchemaConflictError = SchemaConflictError.at(
            f"it is {one!r:.200} so far and {other!r:.200} in dataset {position} of the list, and nothing holds both",
            column=name,
            remedy="Bring both to one feature with cast_column first.",
        )
        raise error from conflict


def _unify(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if is_null(one) or is_null(other):
        return other if is_null(one) else one
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        merged = dict(one)
        for name, feature in other.items():
            merged[name] = _unify(merged[name], feature) if name in merged else feature
        return merged
    if isinstance(one, List | LargeList) and isinstance(other, List | LargeList):
        inner = _unify(one.feature, other.feature)
        if isinstance(one, LargeList) or isinstance(other, LargeList):
            return LargeList(inner)
        return List(inner, length=one.length if one.length == other.length else -1)
    if isinstance(one, Value) and isinstance(other, Value):
        return from_arrow_type(unify_types(to_arrow_type(one), to_arrow_type(other)))
    raise TypeConflict(one, other)


def is_null(feature: Any) -> bool:
    """Says whether a column has nothing but nulls."""
    return isinstance(feature, Value) and feature.dtype == "null"
