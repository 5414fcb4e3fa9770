"""Rows read one by one where a whole block does not fit: types settled by the head of a file, and rows left out.

A stream can't look at the last row of a file before it gives the first. The types of its columns are those of the head;
a row further down that does not fit them has values of its own types, and no other row is changed by it. So what a
row is depends on it and on the head, never on where blocks are cut or a reading goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.errors import CastError, DataError, SchemaConflictError
from gristmill.features.build import table_from_rows
from gristmill.formats.base import Format, columns_needed, filter_expression, fitter, one_batch, rows_of
from gristmill.formats.source import Position, SourceFile
from gristmill.logging import get_logger

__all__ = ["HEAD_BYTES", "HEAD_ROWS", "Bad", "LooseRows", "Part", "fitted", "in_turn", "read_loosely"]

_log = get_logger(__name__)

HEAD_ROWS = 10_000
"""Rows that settle the types of a file, with all others of the blocks they are in."""
HEAD_BYTES = 16 << 20
_TOLD = 5

Places = npt.NDArray[np.int64]
Part = tuple[Places, Any]
"""(places in the block, a `pyarrow.RecordBatch` or a list of dicts of Python values) of some rows."""


@dataclass(frozen=True)
class LooseRows:
    """Rows of a block, in parts whose columns have one type each.

    Attributes:
        num_rows: How many.
        parts: Each row is in one of them.
        seen: Rows of the file that this is of, with those left out.
    """

    num_rows: int
    parts: Sequence[Part]
    seen: int = 0

    def filtered(self, predicate: Any, columns: Sequence[str] | None, file: SourceFile) -> LooseRows:
        """Keeps rows that an expression is true for, and some of their columns."""
        kept: list[Part] = []
        for places, part in self.parts:
            numbered = part if isinstance(part, pa.RecordBatch) else None
            for at, batch in [(places, numbered)] if numbered is not None else _alone(places, part):
                index = pa.array(np.arange(batch.num_rows))
                table = pa.Table.from_batches([batch]).append_column(_NUMBER, index)
                found = (
                    rows_of(table.combine_chunks().to_batches()[0], predicate, file) if len(table) else batch
                )
                if not found.num_rows:
                    continue
                rows = at[found.column(_NUMBER).to_numpy()]
                names = [name for name in found.schema.names if name != _NUMBER]
                if columns is not None:
                    names = [name for name in columns if name in names]
                chosen = found.select(names)
                kept.append((rows, chosen if numbered is not None else chosen.to_pylist()))
        order = np.sort(np.concatenate([places for places, _ in kept])) if kept else np.empty(0, np.int64)
        return LooseRows(
            len(order), [(np.searchsorted(order, places), part) for places, part in kept], self.seen
        )


_NUMBER = "\0row"


def _alone(places: Places, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Places, Any]]:
    for at, row in enumerate(rows):
        yield places[at : at + 1], table_from_rows([row]).to_batches()[0]


class Bad:
    """Counts rows of a file that are left out, and tells of them.

    Args:
        file: The file.
        tells: Whether to; a look at the head of a file does not.
    """

    def __init__(self, file: SourceFile, tells: bool = True) -> None:
        self._file = file
        self._tells = tells
        self.count = 0

    def add(self, error: DataError, rows: int = 1) -> None:
        """Leaves rows out; the first few errors, which name file and row, are told at once."""
        self.count += rows
        if self._tells and self.count - rows < _TOLD:
            left_out = f"Left out, as are the {rows - 1} rows after it" if rows > 1 else "Left out"
            _log.warning('%s %s, as on_error="skip" says.', error, left_out)

    def tell(self) -> None:
        """Says at the end how many they were."""
        if self.count:
            _log.warning(
                "%s: %d row%s left out.", self._file.name, self.count, " was" if self.count == 1 else "s were"
            )


def fitted(
    make: Callable[[int, int], pa.RecordBatch], rows: int, bad: Bad | None
) -> Iterator[pa.RecordBatch]:
    """Makes values of rows that fit, by halving where some do not.

    Args:
        make: Makes values of the rows between two numbers.
        rows: How many there are.
        bad: Takes rows that do not fit.

    Raises:
        CastError: A row does not fit, and `bad` is None.
        SchemaConflictError: As `CastError`.
    """
    waiting = [(0, rows)]
    while waiting:
        start, stop = waiting.pop()
        try:
            made = make(start, stop)
        except (CastError, SchemaConflictError) as error:
            if bad is None:
                raise
            if stop - start == 1:
                bad.add(error)
                continue
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            yield made


def in_turn(batches: Sequence[pa.RecordBatch], seen: int) -> LooseRows:
    """Puts batches of one schema one after another; `seen` as in `LooseRows`."""
    parts: list[Part] = []
    first = 0
    for batch in batches:
        parts.append((np.arange(first, first + batch.num_rows), batch))
        first += batch.num_rows
    return LooseRows(first, parts, seen)


def read_loosely(
    format: Format[Any],
    file: SourceFile,
    *,
    options: Any = None,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    start: Position | None = None,
    schema: pa.Schema | None = None,
    skips: bool = False,
) -> Iterator[tuple[Position, LooseRows]]:
    """Reads a file for a stream; the arguments are those of `Format.read`.

    Args:
        format: Its format.
        file: The file.
        options: Options of the format.
        columns: Columns to read.
        filters: Rows to keep.
        start: Where to begin.
        schema: Types to bring the columns to; by the head of the file if None.
        skips: Leave out rows that can't be read, and tell of them.
    """
    bad = Bad(file) if skips else None
    settings = format.parse_options(options)
    wanted = None if columns is None else list(dict.fromkeys(columns))
    needed = columns_needed(wanted, filters)
    predicate = filter_expression(filters)
    blocks = format.read_by_row(file, settings, needed, start or Position(), schema, bad)
    if blocks is None:
        whole = format.read(
            file,
            options=settings,
            columns=columns,
            filters=filters,
            start=start,
            schema=None if skips else schema,
        )
        for position, batch in whole:
            yield position, _as_schema(batch, schema, columns, file, position.row, bad)
    else:
        for position, rows in blocks:
            yield position, rows if predicate is None else rows.filtered(predicate, wanted, file)
    if bad is not None:
        bad.tell()


def _as_schema(
    batch: Any,
    schema: pa.Schema | None,
    columns: Sequence[str] | None,
    file: SourceFile,
    row: int,
    bad: Bad | None,
) -> LooseRows:
    if schema is None or bad is None:
        return in_turn([batch], batch.num_rows)
    fit = fitter(schema, columns, file)

    def make(start: int, stop: int) -> pa.RecordBatch:
        return one_batch(fit(pa.Table.from_batches([batch.slice(start, stop - start)]), row + start))

    return in_turn(list(fitted(make, batch.num_rows, bad)), batch.num_rows)
