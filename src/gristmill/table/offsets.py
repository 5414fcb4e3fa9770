"""How many rows fit into one array: lists and text count their items with 32 bits.

Arrow refuses to take more text or bytes than that into one array, but of lists it takes them and writes offsets that
have run over.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from gristmill.table.selection import IndexVector

LARGEST = 2**31 - 1
"""Items that an array of lists can count, and bytes that one of text can."""


def has_short_lists(kind: pa.DataType) -> bool:
    """Says whether values of a type are, or hold, lists counted with 32 bits."""
    return _has_short_lists(kind)


@functools.lru_cache(512)
def _has_short_lists(kind: Any) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _has_short_lists(kind.storage_type)
    if pt.is_list(kind) or pt.is_map(kind):
        return True
    return any(_has_short_lists(kind.field(position).type) for position in range(kind.num_fields))


def rows_overflow(pieces: Iterable[tuple[Any, IndexVector]]) -> bool:
    """Says whether rows hold more items of lists than one array can count.

    Args:
        pieces: Arrays of a type that `has_short_lists`, and the rows wanted of each; a row may be wanted often.

    Example:
        >>> rows_overflow([(pa.array([[1, 2], [3]]), np.array([0, 1, 1]))])
        False
    """
    known = list(pieces)
    if sum(len(rows) * _most(array) for array, rows in known) <= LARGEST:
        return False
    # At the level where there are most.
    items = 0
    for array, rows in known:
        counts = np.zeros(len(rows), np.int64)
        _count(array, rows, rows + 1, counts)
        items += int(counts.sum())
    return items > LARGEST


def _most(array: Any) -> int:
    """Gives the number of items of the longest array inside another."""
    return max((max(len(inner), _most(inner)) for inner, _ in _inner(array)), default=0)


def _inner(array: Any) -> list[tuple[Any, Any]]:
    """Gives the arrays inside another, with what leads to them: offsets, a fixed length, or None for one each."""
    if isinstance(array, pa.ExtensionArray):
        return _inner(array.storage)
    kind = array.type
    if not pt.is_nested(kind):
        return []
    if pt.is_struct(kind):
        return [(array.field(position), None) for position in range(kind.num_fields)]
    if pt.is_fixed_size_list(kind):
        return [(array.values[array.offset * kind.list_size :], kind.list_size)]
    if pt.is_map(kind):
        return [(array.keys, array.offsets), (array.items, array.offsets)]
    if pt.is_list(kind) or pt.is_large_list(kind):
        return [(array.values, array.offsets)]
    return []  # views of lists and unions: Arrow takes rows of neither in this way


def _count(array: Any, starts: IndexVector, stops: IndexVector, counts: IndexVector) -> None:
    for inner, step in _inner(array):
        if step is None:
            first, last = starts, stops
        elif isinstance(step, int):
            first, last = starts * step, stops * step
        else:
            offsets = step.to_numpy(zero_copy_only=False).astype(np.int64)
            first, last = offsets[starts], offsets[stops]
        np.maximum(counts, last - first, out=counts)
        _count(inner, first, last, counts)
