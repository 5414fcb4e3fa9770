"""Walks over nested Arrow types and arrays, for the few who need the leaves and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

__all__ = ["flat_items", "has_extension", "leaf_arrays", "map_leaves", "storage_type", "with_type"]


def map_leaves(type_: pa.DataType, change: Callable[[Any], Any]) -> pa.DataType | None:
    """Rebuilds a type of structs and lists with other leaves.

    Args:
        type_: An Arrow type.
        change: Gives the new type of a leaf, or None to drop it; a list without items is dropped as well, a struct
            keeps the fields that are left.

    Example:
        >>> import pyarrow as pa
        >>> map_leaves(pa.list_(pa.int8()), lambda leaf: pa.string())
        ListType(list<item: string>)
    """
    if pt.is_struct(type_):
        fields = [(field.name, map_leaves(field.type, change)) for field in type_]
        return pa.struct([pa.field(name, inner) for name, inner in fields if inner is not None])
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        items = map_leaves(type_.value_type, change)
        if items is None:
            return None
        if pt.is_fixed_size_list(type_):
            return pa.list_(items, type_.list_size)
        return pa.large_list(items) if pt.is_large_list(type_) else pa.list_(items)
    return change(type_)


def leaf_arrays(array: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array | pa.ChunkedArray]:
    """Yields the leaves of a nested array: what lies under a null is left out.

    Args:
        array: A column.

    Example:
        >>> import pyarrow as pa
        >>> [leaf.to_pylist() for leaf in leaf_arrays(pa.array([{"a": [1, 2]}, None]))]
        [[1, 2]]
    """
    type_ = array.type
    if pt.is_struct(type_):
        for inner in array.flatten():
            yield from leaf_arrays(inner)
    elif pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        for chunk in chunks:
            yield from leaf_arrays(chunk.flatten())
    else:
        yield array


def storage_type(type_: pa.DataType) -> pa.DataType:
    """Gives the type with the storage of extension types in their place.

    Args:
        type_: An Arrow type.

    Example:
        >>> import pyarrow as pa
        >>> storage_type(pa.list_(pa.json_()))
        ListType(list<item: string>)
    """
    stored = map_leaves(type_, lambda leaf: getattr(leaf, "storage_type", leaf))
    assert stored is not None
    return stored


def has_extension(type_: pa.DataType) -> bool:
    """Says whether a type is an extension type or has one inside it."""
    return bool(storage_type(type_) != type_)


def with_type(array: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Names the extension types of an array that has their storage, or takes the names away; no value is copied.

    Args:
        array: An array with the same storage as the type wanted.
        type_: The type wanted.

    Example:
        >>> import pyarrow as pa
        >>> with_type(pa.array([["1"]]), pa.list_(pa.json_())).type
        ListType(list<item: extension<arrow.json>>)
    """
    if array.type == type_:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([with_type(chunk, type_) for chunk in array.chunks], type=type_)
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, array)
    if isinstance(array.type, pa.BaseExtensionType):
        return with_type(array.storage, type_)
    mask = array.is_null() if array.null_count else None
    if pt.is_struct(type_):
        columns = [with_type(array.field(i), field.type) for i, field in enumerate(type_)]
        return pa.StructArray.from_arrays(columns, fields=list(type_), mask=mask)
    if pt.is_fixed_size_list(type_):
        size = type_.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        return pa.FixedSizeListArray.from_arrays(with_type(items, type_.value_type), type=type_, mask=mask)
    make = pa.LargeListArray if pt.is_large_list(type_) else pa.ListArray
    offsets = pa.array(array.offsets.to_numpy(), array.offsets.type)
    return make.from_arrays(offsets, with_type(array.values, type_.value_type), type=type_, mask=mask)


def flat_items(array: pa.Array) -> pa.Array:
    """Gives the items of all lists of an array in a row, none that hides under a null.

    Arrow's own `flatten` can't build arrays with extension types.

    Args:
        array: An array of lists of any kind.

    Example:
        >>> flat_items(pa.array([["1"], None, ["2"]])).to_pylist()
        ['1', '2']
    """
    if not has_extension(array.type):
        return array.flatten()
    return with_type(with_type(array, storage_type(array.type)).flatten(), array.type.value_type)
