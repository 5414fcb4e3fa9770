"""Walks over nested Arrow types and arrays, for the few who need the leaves and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

__all__ = ["leaf_arrays", "map_leaves"]


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
