"""Columns whose values have no common type: where they clash, and only there, the column becomes `Json`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_type
from gristmill.features.encode import decoded_values
from gristmill.features.infer import JSON
from gristmill.features.json_values import Json
from gristmill.features.kinds import FeatureType, List
from gristmill.features.schema import Features
from gristmill.features.visit import has_extension

__all__ = [
    "array_of_mixed",
    "check_mixed_types",
    "feature_of_mixed",
    "features_for_empty",
    "json_for_empty",
    "widen_array",
]


def check_mixed_types(on_mixed_types: str | None) -> bool:
    """Says whether mixed values become `Json`.

    Args:
        on_mixed_types: The documented argument: ``"use_json"``, or None for an error.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if on_mixed_types not in (None, "use_json"):
        raise InvalidArgumentError.from_choice("on_mixed_types", str(on_mixed_types), ["use_json"])
    return on_mixed_types is not None


def array_of_mixed(
    values: Any,
    *,
    by_keys: bool = False,
    column: str | None = None,
    file: object = None,
    first_row: int = 0,
) -> pa.Array | pa.ChunkedArray:
    """Makes one column of values that may have no common type.

    Args:
        values: As for `array_from_values`.
        by_keys: See `feature_of_mixed`.
        column: Its name, for errors.
        file: Where the values come from, for errors.
        first_row: Index in `file` of the first value, for errors.

    Raises:
        SchemaConflictError: Values clash and are not what JSON can hold.

    Example:
        >>> array_of_mixed([[1], ["a"], None]).type
        ListType(list<item: extension<arrow.json>>)
    """
    clash: SchemaConflictError | CastError | None = None
    try:
        built = array_from_values(values, column=column, file=file, first_row=first_row)
    except (SchemaConflictError, CastError) as error:
        clash = error
    else:
        if not by_keys or not pa.types.is_nested(built.type):
            return built
    try:
        feature = feature_of_mixed(list(values), by_keys=by_keys)
        return array_from_values(values, feature, column=column, file=file, first_row=first_row)
    except (CastError, RecursionError) as error:
        # The clash knows column and row; values nested without end are not asked again.
        raise error if clash is None else clash from error


def feature_of_mixed(values: list[Any], *, by_keys: bool = False) -> FeatureType:
    """Finds the feature of values that may have no common type.

    Args:
        values: The values.
        by_keys: Also see dicts that have no key in common as values of different types; inside a list they make its
            items `Json`, so that every dict keeps its own keys at every level.

    Example:
        >>> feature_of_mixed([{"a": 1, "b": 2}, {"a": "x"}])
        {'a': Json(), 'b': Value('int64')}
        >>> feature_of_mixed([[{"a": 1}, {"b": 1}]], by_keys=True)
        List(Json())
    """
    return _settle(values, by_keys)[0]


def _settle(values: list[Any], by_keys: bool) -> tuple[FeatureType, bool]:
    """Gives the feature, and whether dicts without a common key are inside it and in no list within it."""
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, Mapping) for value in there):
        return _settle_dicts(there, by_keys)
    if there and all(_is_many(value) for value in there):
        items, odd_keys = _settle(list(itertools.chain.from_iterable(there)), by_keys)
        return List(Json() if odd_keys else items), False
    try:
        return from_arrow_type(array_from_values(there).type), False
    except SchemaConflictError:
        return Json(), False
    except CastError:
        # Integers that no type holds, alone or next to other values; anything else is no question of types.
        kinds = set(map(type, there))
        if len(kinds) == 1 and kinds != {int}:
            raise
        return Json(), False


def _settle_dicts(dicts: list[Mapping[Any, Any]], by_keys: bool) -> tuple[FeatureType, bool]:
    names = dict.fromkeys(itertools.chain.from_iterable(dicts))
    if by_keys and not set(dicts[0]).intersection(*dicts[1:]):
        return Json(), True
    fields: dict[str, FeatureType] = {}
    odd_keys = False
    for name in names:
        fields[str(name)], odd = _settle([value.get(name) for value in dicts], by_keys)
        odd_keys |= odd
    return fields, odd_keys


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def widen_array(array: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Brings a column to a wider type; where that has `Json` inside, value by value: what was text is a text there.

    Args:
        array: The column.
        type_: What `unify_types` made of its type and others.

    Raises:
        CastError: A value does not fit after all.

    Example:
        >>> widen_array(pa.array(["1", None]), pa.json_()).to_pylist()
        ['"1"', None]
    """
    if not has_extension(type_):
        return cast_array(array, from_arrow_type(type_))
    return array_from_values(decoded_values(array), from_arrow_type(type_))


def json_for_empty(schema: pa.Schema, known: pa.Schema | None = None) -> pa.Schema:
    """Makes `Json` of structs without fields, at any depth: all their values were empty dicts, and Parquet holds none.

    Args:
        schema: The schema that all rows have in the end.
        known: Columns that stay what they are if they are of these types.

    Example:
        >>> json_for_empty(pa.schema({"a": pa.list_(pa.struct([])), "b": pa.int64()})).types
        [ListType(list<item: extension<arrow.json>>), DataType(int64)]
    """
    types = {} if known is None else {field.name: field.type for field in known}
    for position, field in enumerate(schema):
        type_ = _without_empty(field.type)
        if type_ != field.type and types.get(field.name) != field.type:
            schema = schema.set(position, field.with_type(type_))
    return schema


def features_for_empty(features: Features) -> Features:
    """Gives features with `Json` in place of structs without fields, see `json_for_empty`.

    Args:
        features: What rows were found to be.
    """
    found = Features(features)
    for field in features.arrow_schema:
        type_ = _without_empty(field.type)
        if type_ != field.type:
            found[field.name] = from_arrow_type(type_)
    return found


def _without_empty(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        if not type_.num_fields:
            return JSON
        fields = [field.with_type(_without_empty(field.type)) for field in type_]
        return pa.struct(fields)
    if pa.types.is_list(type_):
        return pa.list_(_without_empty(type_.value_type))
    if pa.types.is_large_list(type_):
        return pa.large_list(_without_empty(type_.value_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_without_empty(type_.value_type), type_.list_size)
    return type_
