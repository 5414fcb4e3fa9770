"""Lines of CSV by Arrow's own writer, which either quotes all texts or refuses those that need quotes.

So it is told to quote none, and in place of a cell that needs quotes it gets a mark as long as the cell: bytes that no
UTF-8 has. In what it writes, while that is still in the processor's cache, the marks are found and the quoted cells put
there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.formats.csv_dialect import Dialect
from gristmill.formats.csv_quotes import LETTERS_OF_NUMBERS, NO_TEXT, in_quotes
from gristmill.formats.text_columns import Positions, lengths_of, overwritten, pieces_of, replaced

__all__ = ["Cells", "can_be_marked", "write_marked"]

Cells = tuple[Any, Positions]
"""The cells of a column, texts or numbers for which `is_plain` holds, and which of the texts need quotes, in order."""
_Write = Callable[[Any], object]
_ROWS = 2048
"""Lines that Arrow writes at once."""
_FEW = 50
"""One cell in so many rows may need quotes; from there on, joining texts is quicker."""


def can_be_marked(dialect: Dialect) -> bool:
    """Says whether Arrow's writer knows the rest of a dialect."""
    return (
        dialect.is_utf8
        and dialect.quoting == csv.QUOTE_MINIMAL
        and dialect.quotechar == '"'
        and dialect.lineterminator == "\n"
        and dialect.float_format is None
        and dialect.decimal == "."
        and dialect.sep not in LETTERS_OF_NUMBERS
        and dialect.sep != "\0"
    )


def write_marked(columns: Sequence[Cells], dialect: Dialect, write: _Write) -> bool:
    """Writes lines, each with its end, if few of their cells need quotes; a missing value is an empty cell.

    Args:
        columns: The cells, all columns of the same length.
        dialect: One for which `can_be_marked` holds.
        write: Takes the lines, piece by piece.

    Returns:
        Whether it did; if not, nothing is written.

    Raises:
        CastError: A cell can't be quoted.
    """
    import pyarrow.csv as pc_csv

    if sum(len(odd) for _, odd in columns) * _FEW > len(columns[0][0]):
        return False
    marked = [_marked(cells) for cells in columns]
    file = _Quoting(write, *_in_order(columns, marked, dialect))
    batch = pa.RecordBatch.from_arrays(marked, names=[""] * len(marked))
    options = pc_csv.WriteOptions(
        include_header=False, batch_size=_ROWS, delimiter=dialect.sep, quoting_style="none"
    )
    pc_csv.write_csv(batch, pa.PythonFile(file, mode="w"), options)
    return True


def _marked(cells: Cells) -> Any:
    values, odd = cells
    if not len(odd):
        return values
    # What is empty can't be marked.
    empty = odd[lengths_of(values, odd) == 0]
    filled = replaced(values, empty, ["-"] * len(empty)) if len(empty) else values
    return overwritten(filled, odd, NO_TEXT[0])


def _in_order(
    columns: Sequence[Cells], marked: Sequence[Any], dialect: Dialect
) -> tuple[list[bytes], list[int]]:
    """Gives the quoted cells and the lengths of their marks, in the order in which they are written."""
    odd = [(cells, marks) for cells, marks in zip(columns, marked, strict=True) if len(cells[1])]
    if not odd:
        return [], []
    cells = [in_quotes(values.take(pa.array(rows)), dialect) for (values, rows), _ in odd]
    quoted = pa.concat_arrays(cells)
    lengths = np.concatenate([lengths_of(marks, rows) for (_, rows), marks in odd])
    if len(odd) > 1:
        order = np.argsort(np.concatenate([rows for (_, rows), _ in odd]), kind="stable")
        quoted, lengths = quoted.take(pa.array(order)), lengths[order]
    return pieces_of(quoted), lengths.tolist()


class _Quoting:
    """A file for writing that puts cells in place of marks.

    Args:
        write: Takes what there is then.
        cells: In the order of the marks.
        lengths: Bytes of each mark.
    """

    closed = False

    def __init__(self, write: _Write, cells: Sequence[bytes], lengths: Sequence[int]) -> None:
        self._write = write
        self._cells = cells
        self._lengths = lengths
        self._next = 0
        # Both are used again for each piece: new memory would take longer than all that happens in it.
        self._lines = bytearray()
        self._out = io.BytesIO()

    def write(self, data: Any) -> int:
        """Writes whole lines, the only thing that Arrow gives."""
        if not self._cells:
            self._write(memoryview(data))
            return len(data)
        view = memoryview(data).cast("B")
        size = len(view)
        if size > len(self._lines):
            self._lines = bytearray(size)
        lines = self._lines
        with memoryview(lines) as place:
            place[:size] = view
        out = self._out
        out.seek(0)
        start = 0
        at = lines.find(NO_TEXT, 0, size)
        while at >= 0:
            out.write(view[start:at])
            out.write(self._cells[self._next])
            start = at + self._lengths[self._next]
            self._next += 1
            at = lines.find(NO_TEXT, start, size)
        out.write(view[start:])
        end = out.tell()
        with out.getbuffer() as whole:
            self._write(whole[:end])
        return size

    def flush(self) -> None:
        """Does nothing: the last line has an end."""

    def close(self) -> None:
        """Does nothing: the file below stays open."""
