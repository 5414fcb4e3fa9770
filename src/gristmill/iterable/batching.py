"""`batch`: rows that follow each other, joined into one row of lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.features import Features, List
from gristmill.iterable.block import Block, Columns, Examples, is_arrow, join
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.node import Over, State, Stream
from gristmill.table.grouping import batch_features, changes, lists
from gristmill.table.selection import IndexVector

_ROWS = 1000


@dataclass(frozen=True)
class Batch(Over):
    """Rows joined into lists.

    Attributes:
        size: Rows a batch.
        by_columns: A batch ends where the value of one of these columns changes, whatever the size.
        drop_last: Leave out a last batch that is smaller.
    """

    size: int
    by_columns: tuple[str, ...]
    drop_last: bool

    @property
    def features(self) -> Features | None:  # type: ignore[override]  # a field elsewhere
        """Lists of those below."""
        below = self.child.features
        return None if below is None else batch_features(below)

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return _BatchStream(self, Cursor.open(self.child, epoch, state))


class _BatchStream(Stream):
    def __init__(self, node: Batch, cursor: Cursor) -> None:
        self._node = node
        self._cursor = cursor

    def next(self) -> Block | None:
        size = self._node.size
        if self._node.by_columns:
            return self._next_group(self._node.by_columns)
        # Several whole batches at once: Arrow makes all their lists in one call.
        block = self._cursor.take(max(1, _ROWS // size) * size)
        if block is None:
            return None
        rows = block.num_rows
        if self._node.drop_last:
            rows -= rows % size
        return joined(block.slice(0, rows), np.append(np.arange(0, rows, size), rows))

    def _next_group(self, names: tuple[str, ...]) -> Block | None:
        rows = _ROWS
        while True:
            there = self._cursor.peek(rows)
            if not there:
                return None
            ahead = self._cursor.ahead(there)
            ends = sorted({end for name in names for end in _ends(ahead, name)})
            # The last group may go on behind what was read.
            whole = [*ends, there] if there < rows else ends
            if whole:
                taken = self._cursor.take(whole[-1])
                assert taken is not None
                return joined(taken, np.array([0, *whole], np.int64))
            rows *= 2

    def state(self) -> State:
        return self._cursor.state()

    def close(self) -> None:
        self._cursor.close()


def _ends(block: Block, name: str) -> list[int]:
    """Gives the rows where the value of a column is another than in the row before."""
    if isinstance(block, Columns) and name in block.columns and is_arrow(block.columns[name]):
        found: list[int] = changes(block.columns[name]).tolist()
        return found
    values = block.values(name)
    return [row for row in range(1, len(values)) if not _equal(values[row - 1], values[row])]


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if hasattr(one, "__array__") else bool(one == other)


def joined(block: Block, bounds: IndexVector) -> Block:
    """Joins the rows between bounds into one row each.

    Args:
        block: The rows.
        bounds: The first row of each batch, and the row after the last one.
    """
    cuts = bounds.tolist()
    pairs = list(pairwise(cuts))
    if not isinstance(block, Columns):
        # A batch is what its own rows make of it, whatever the rows of others are.
        return join([_one_batch(block.slice(start, stop)) for start, stop in pairs])
    offsets = pa.array(bounds, pa.int32())
    columns: dict[str, Any] = {}
    for name, values in block.columns.items():
        if is_arrow(values):
            columns[name] = pa.chunked_array([lists(offsets, values)])
        else:
            columns[name] = [values[start:stop] for start, stop in pairs]
    features = {name: List(block.feature(name)) for name, v in block.columns.items() if is_arrow(v)}
    origin = None if block.origin is None else block.origin.take(bounds[:-1])
    return Columns(columns, len(pairs), features, origin)


def _one_batch(rows: Block) -> Block:
    if isinstance(rows, Columns):
        return joined(rows, np.array([0, rows.num_rows], np.int64))
    return Examples.of_rows([_row_of_lists(rows.rows())], rows.origin)


def _row_of_lists(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
