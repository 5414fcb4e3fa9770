"""Tables of what a function returned for rows: plain values of many blocks become one table.

A function is called for blocks of some hundred rows. To make arrays and a table of so few, and to write them, takes as
long as to call many a function for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from gristmill.calling.alike import Alike
from gristmill.calling.caller import Caller
from gristmill.calling.outputs import Outputs
from gristmill.calling.taking import plain_type
from gristmill.features.value_types import types_of

_MOST_ROWS = 8192
_MOST_BYTES = 1 << 20
_NOTHING = type(None)

Made = tuple[int, int, "pa.Table | None"]
"""Row number of the first row, how many rows the function was called for, and the table of what it returned."""


def iter_row_tables(
    caller: Caller,
    outputs: Outputs,
    start: int,
    stop: int,
    rank: int | None,
    advance: Callable[[int], object],
) -> Iterator[Made]:
    """Calls a function for one row after another, and makes tables of what it returns.

    Args:
        caller: The function.
        outputs: What makes tables of answers.
        start: The first row.
        stop: The row to stop before.
        rank: Number of the worker.
        advance: Told of progress.

    Returns:
        Tables in the order of the rows; they are those that each block alone would become.

    Raises:
        TransformError: The function failed. What it returned for the rows before comes first, or what is wrong with that.
        TransformOutputError: It returned something that can't become rows.
    """
    waiting = _Waiting(outputs)
    for begin, block in caller.blocks(start, stop, caller.view.block_rows()):
        failed: Exception | None = None
        columns: dict[str, list[Any]] | None = None
        answers: Alike | list[Any] = []
        try:
            answers = caller.call_rows_apart(block, begin, rank)
            if isinstance(answers, Alike):
                columns = outputs.changed_columns(answers, block, begin)
        except Exception as error:  # noqa: BLE001  # raised below, in its turn
            failed = error
        if failed is not None:
            try:
                yield from waiting.tables()
                raise failed
            finally:
                failed = None  # it knows this frame, and would keep all that is here
        if columns is not None and waiting.takes(columns):
            waiting.add(columns, begin, block.num_rows)
            if waiting.is_full:
                yield from waiting.tables()
        else:
            yield from waiting.tables()
            if columns is None:
                table = outputs.of_rows(answers, block, begin)
            else:
                table = outputs.of_columns(columns, begin, block.num_rows)
            answers = []  # where these are rows of the block, nobody holds them any more
            if begin + block.num_rows < stop:
                waiting.expect(table)
            yield begin, block.num_rows, table
        advance(block.num_rows)
    yield from waiting.tables()


class _Waiting:
    """Columns of blocks that are to become one table: plain values, of the types that the columns have already.

    Args:
        outputs: What makes tables of them.
    """

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._expected: dict[str, frozenset[type]] = {}
        self._most_rows = 0
        self._columns: dict[str, list[Any]] = {}
        self._blocks: list[tuple[int, int]] = []
        self._rows = 0

    @property
    def is_full(self) -> bool:
        """Whether there are as many rows as are made a table at once."""
        return self._rows >= self._most_rows

    def takes(self, columns: dict[str, list[Any]]) -> bool:
        """Says whether columns of a block are like those of the last table."""
        return (
            bool(columns)
            and columns.keys() == self._expected.keys()
            and all(types_of(values) <= self._expected[name] for name, values in columns.items())
        )

    def add(self, columns: dict[str, list[Any]], start: int, rows: int) -> None:
        """Adds columns that it takes, of `rows` rows from the row `start` on."""
        if not self._blocks:
            self._columns = columns
        else:
            for name, values in columns.items():
                self._columns[name] += values
        self._blocks.append((start, rows))
        self._rows += rows

    def expect(self, table: pa.Table | None) -> None:
        """Learns from the table of one block what the next ones may be, and how large."""
        self._expected = {}
        if table is None or not table.num_columns or not table.num_rows:
            return
        self._most_rows = min(_MOST_ROWS, _MOST_BYTES * table.num_rows // max(1, table.nbytes))
        if self._most_rows < 2 * table.num_rows:
            return
        outputs, expected = self._outputs, {}
        for field in table.schema:
            plain = plain_type(field.type)
            if (
                plain is None
                or outputs.types.get(field.name) != field.type
                or not outputs.is_plain(field.name)
            ):
                return
            expected[field.name] = frozenset({plain, _NOTHING})
        self._expected = expected

    def tables(self) -> Iterator[Made]:
        """Gives what was added as tables: one, or one a block where a value does not fit its type after all."""
        if not self._blocks:
            return
        columns, blocks, rows = self._columns, self._blocks, self._rows
        self._columns, self._blocks, self._rows = {}, [], 0
        types = self._outputs.types
        try:
            arrays = [pa.array(values, types[name]) for name, values in columns.items()]
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            first = blocks[0][0]
            for start, count in blocks:
                mine = slice(start - first, start - first + count)
                one = {name: values[mine] for name, values in columns.items()}
                yield start, count, self._outputs.of_columns(one, start, count)
            return
        table = pa.Table.from_arrays(arrays, list(columns))
        self._most_rows = min(_MOST_ROWS, _MOST_BYTES * rows // max(1, table.nbytes))
        yield blocks[0][0], rows, table
