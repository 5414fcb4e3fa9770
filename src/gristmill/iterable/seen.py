"""Rows and batches of a block as a user's function, or the user, sees them in a format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill.formatting import FormatSpec, Reader
from gristmill.iterable.block import Block, Columns, is_arrow, parts_of
from gristmill.iterable.origin import locating
from gristmill.table.selection import IndexVector
from gristmill.table.view import View


def rows_in(block: Block, spec: FormatSpec) -> list[Any]:
    """Gives the rows of a block in a format; each row is what it would be alone."""
    if spec.type is None:
        return block.rows()
    if isinstance(block, Columns) and all(is_arrow(values) for values in block.columns.values()):
        return _rows_alike(block, spec)
    found: list[Any] = [None] * block.num_rows
    for places, part in parts_of(block):
        for rows in _of_one_kind(part):
            alike = part if len(rows) == part.num_rows else part.take(rows)
            for place, row in zip(places[rows].tolist(), _rows_alike(alike, spec), strict=True):
                found[place] = row
    return found


def _rows_alike(block: Columns, spec: FormatSpec) -> list[Any]:
    table, features = locating(block.table, block.origin)
    if spec.type == "custom":
        reader = Reader(View.from_table(table), features, spec)
        return locating(reader.rows_at, block.origin, range(block.num_rows))
    return locating(spec.formatter(features).rows, block.origin, table)


def _of_one_kind(block: Columns) -> list[IndexVector]:
    """Gives rows whose objects become Arrow values that are the same together as alone."""
    kinds = [_kinds(values) for values in block.columns.values() if not is_arrow(values)]
    kinds = [kind for kind in kinds if kind is not None]
    if not kinds:
        return [np.arange(block.num_rows)]
    groups: dict[Any, list[int]] = {}
    for row, kind in enumerate(zip(*kinds, strict=True)):
        groups.setdefault(row if None in kind else kind, []).append(row)
    return [np.array(rows, np.int64) for rows in groups.values()]


def _kinds(values: Any) -> list[Any] | None:
    """Gives the kind of each object, None for one that only is what it is alone; None if all are of one kind."""
    if isinstance(values, np.ndarray) and values.dtype != np.object_:
        return None
    types = set(map(type, values))
    if len(types) == 1 and (types <= _SIMPLE or (types == {int} and _is_small(values))):
        return None
    return [_kind(value) for value in values]


_SIMPLE = {str, bytes, bool, float}


def _is_small(numbers: Any) -> bool:
    return bool(min(numbers) >= -(1 << 63) and max(numbers) < 1 << 63)


def _kind(value: Any) -> Any:
    kind = type(value)
    if kind in _SIMPLE or (kind is int and _is_small([value])):
        return (kind,)
    if value is None:
        return (kind,)
    if kind is list:
        types = set(map(type, value))
        simple = len(types) == 1 and (types <= _SIMPLE or (types == {int} and _is_small(value)))
        return (kind, *types) if simple else None
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    return (
        None if dtype is None or shape is None or str(dtype) == "object" else (kind, str(dtype), tuple(shape))
    )


def batch_in(block: Block, spec: FormatSpec) -> Any:
    """Gives the rows of a block as one batch in a format."""
    if spec.type is None:
        by_column = block if isinstance(block, Columns) else block.columns()
        if by_column is not None:
            return {name: by_column.values(name) for name in by_column.names}
    table, features = locating(block.table, block.origin)
    if spec.type == "custom":
        reader = Reader(View.from_table(table), features, spec)
        return locating(reader.batch, block.origin, range(block.num_rows))
    return locating(spec.formatter(features).batch, block.origin, table)


def column_in(block: Block, name: str, spec: FormatSpec) -> Sequence[Any]:
    """Gives the values of one column of a block in a format."""
    if spec.type is None:
        return block.values(name)
    table, features = locating(block.choose([name]).table, block.origin)
    formatter = spec.formatter(features)
    values: Sequence[Any] = locating(formatter.column, block.origin, name, table.column(0))
    return values


class Seen:
    """The columns of a block in a format, each converted when it is asked for; what `LazyBatch` reads.

    Args:
        block: The rows.
        spec: The format.
    """

    __slots__ = ("_block", "_spec", "columns", "names", "num_rows")

    def __init__(self, block: Columns, spec: FormatSpec) -> None:
        self._block = block
        self._spec = spec
        self.names = dict.fromkeys(block.names)
        self.num_rows = block.num_rows
        self.columns: dict[str, Any] = {}

    def column(self, name: str) -> Any:
        """Gives the values of one column."""
        if name not in self.columns:
            values = column_in(self._block, name, self._spec)
            if self._spec.type is None and not is_arrow(self._block.columns[name]):
                values = list(values)  # the function may change the list; the block keeps its own
            self.columns[name] = values
        return self.columns[name]
