"""Rows out of a table in any order: contiguous runs as slices, the rest by one `take` a chunk.

`Table.take` on a column of several chunks joins the whole column first, whatever the number of rows asked for; here
the row numbers are sorted, each chunk is asked once, and the answer is put back into the order wanted.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.features.cast import take
from gristmill.table.offsets import has_short_lists, rows_overflow
from gristmill.table.selection import IndexVector, as_vector


def arrow_vector(values: IndexVector) -> pa.Array:
    """Wraps an int64 vector as an Arrow array without a copy (and without `pa.array`, which imports pandas)."""
    return pa.Array.from_buffers(
        pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values, np.int64))]
    )


def gather(table: pa.Table, rows: range | IndexVector) -> pa.Table:
    """Gives the rows asked for, in the order asked for.

    Args:
        table: Where they are.
        rows: Row numbers from 0, already checked; repeats are fine.

    Returns:
        A table of ``len(rows)`` rows; for a range of step 1 it shares the memory of `table`.

    Example:
        >>> gather(pa.table({"x": [1, 2, 3]}), np.array([2, 0])).to_pydict()
        {'x': [3, 1]}
    """
    if isinstance(rows, range):
        if rows.step == 1 or len(rows) < 2:
            return table.slice(rows.start if len(rows) else 0, len(rows))
        rows = as_vector(rows)
    if not len(rows):
        return table.slice(0, 0)
    try:
        return _gathered(table, rows)
    except pa.ArrowInvalid as error:
        # More text, bytes or items of lists than one array can hold: in two, then.
        if "overflow" not in str(error) or len(rows) < 2:
            raise
        half = len(rows) // 2
        return pa.concat_tables([gather(table, rows[:half]), gather(table, rows[half:])])


def _gathered(table: pa.Table, rows: IndexVector) -> pa.Table:
    # Columns of one file share their chunk layout: they are read together, by one plan.
    alike: dict[tuple[int, ...], list[int]] = {}
    for position, column in enumerate(table.columns):
        alike.setdefault(tuple(map(len, column.chunks)), []).append(position)
    columns: list[Any] = [None] * table.num_columns
    for layout, positions in alike.items():
        taken = _Plan(layout, rows).take([table.column(position) for position in positions])
        for position, column in zip(positions, taken, strict=True):
            columns[position] = column
    if not columns:
        return table.slice(0, len(rows))
    return pa.Table.from_arrays(columns, schema=table.schema)


class _Plan:
    """Which rows to take from which chunk, and how to undo the sorting."""

    def __init__(self, layout: tuple[int, ...], rows: IndexVector) -> None:
        self.pieces: list[tuple[int, pa.Array]] = []
        self.back: pa.Array | None = None
        if len(layout) == 1:
            self.pieces.append((0, arrow_vector(rows)))
            return
        ends = np.cumsum(np.array(layout, np.int64))
        if len(rows) > 1 and bool((rows[1:] < rows[:-1]).any()):
            order = np.argsort(rows, kind="stable")
            inverse = np.empty(len(rows), np.int64)
            inverse[order] = np.arange(len(rows))
            self.back = arrow_vector(inverse)
            rows = rows[order]
        chunks = np.searchsorted(ends, rows, side="right")
        cuts = np.flatnonzero(np.diff(chunks)) + 1
        starts = [0, *cuts.tolist()]
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            chunk = int(chunks[start])
            first = int(ends[chunk]) - layout[chunk]
            self.pieces.append((chunk, arrow_vector(rows[start:stop] - first)))

    def take(self, columns: list[pa.ChunkedArray]) -> list[Any]:
        """Gives the rows of columns of this layout.

        Raises:
            pyarrow.ArrowInvalid: They do not fit into one array, and there is an "overflow".
        """
        for column in columns:
            # Of lists, the kernel does not see it.
            if has_short_lists(column.type) and rows_overflow(
                (column.chunk(chunk), indices.to_numpy()) for chunk, indices in self.pieces
            ):
                raise pa.ArrowInvalid("offset overflow: more items of lists than 32 bits can count")
        if len(columns) > 1:
            # As record batches: the way into a kernel takes longer than a few hundred values do.
            with contextlib.suppress(pa.ArrowNotImplementedError):  # views of text and bytes
                return self._take_together(columns)
        return [self._take(column) for column in columns]

    def _take_together(self, columns: list[pa.ChunkedArray]) -> list[Any]:
        names = [str(position) for position in range(len(columns))]
        batches = [
            pa.RecordBatch.from_arrays([column.chunk(chunk) for column in columns], names).take(indices)
            for chunk, indices in self.pieces
        ]
        if self.back is None:
            return list(batches[0].columns if len(batches) == 1 else pa.Table.from_batches(batches).columns)
        return list(pa.concat_batches(batches).take(self.back).columns)

    def _take(self, column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        if len(self.pieces) == 1:
            chunk, indices = self.pieces[0]
            taken = take(column.chunk(chunk), indices)
            return taken if self.back is None else take(taken, self.back)
        parts = [take(column.chunk(chunk), indices) for chunk, indices in self.pieces]
        if self.back is None:
            return pa.chunked_array(parts, column.type)
        return take(pa.concat_arrays(parts), self.back)
