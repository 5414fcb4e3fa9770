"""Rows and batches of a block as a user's function, or the user, sees them in a format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gristmill.formatting import FormatSpec, Reader
from gristmill.formatting.registry import formatter_for
from gristmill.iterable.block import Block, Columns, is_arrow
from gristmill.table.view import View


def rows_in(block: Block, spec: FormatSpec) -> list[Any]:
    """Gives the rows of a block in a format."""
    if spec.type is None:
        return block.rows()
    if not isinstance(block, Columns) and block.columns() is None:
        # Together in a table, each would have the keys of all.
        return [row for at in range(block.num_rows) for row in rows_in(block.slice(at, at + 1), spec)]
    table, features = block.table()
    if spec.type == "custom":
        return Reader(View.from_table(table), features, spec).rows_at(range(block.num_rows))
    return formatter_for(spec, features).rows(table)


def batch_in(block: Block, spec: FormatSpec) -> Any:
    """Gives the rows of a block as one batch in a format."""
    if spec.type is None:
        by_column = block if isinstance(block, Columns) else block.columns()
        if by_column is not None:
            return {name: by_column.values(name) for name in by_column.names}
    table, features = block.table()
    if spec.type == "custom":
        return Reader(View.from_table(table), features, spec).batch(range(block.num_rows))
    return formatter_for(spec, features).batch(table)


def column_in(block: Block, name: str, spec: FormatSpec) -> Sequence[Any]:
    """Gives the values of one column of a block in a format."""
    if spec.type is None:
        return block.values(name)
    table, features = block.choose([name]).table()
    values: Sequence[Any] = formatter_for(spec, features).column(name, table.column(0))
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
