"""Parquet rows of a stream that leaves out what can't be read: rows that do not fit, the rest of a damaged row group."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import FileFormatError
from gristmill.formats.base import Batches, fitter, one_batch
from gristmill.formats.loose import Bad, LooseRows, fitted, in_turn
from gristmill.formats.source import Position, SourceFile

__all__ = ["good_groups"]


def good_groups(
    read: Callable[[Position], Batches],
    sizes: Sequence[int],
    file: SourceFile,
    columns: list[str] | None,
    start: Position,
    schema: pa.Schema | None,
    bad: Bad,
) -> Iterator[tuple[Position, LooseRows]]:
    """Reads what can be read of a file.

    Args:
        read: Reads the file from a position on, in types of its own.
        sizes: Rows of each row group.
        file: The file, for errors.
        columns: Columns to read.
        start: Where to begin.
        schema: Types to bring the columns to.
        bad: Takes the rows left out.
    """
    firsts = [0, *itertools.accumulate(sizes)]
    fit = fitter(schema, columns, file)
    while start.group < len(sizes):
        row = start.row
        try:
            for position, batch in read(start):
                row = position.row + batch.num_rows
                yield position, _fitting(batch, position.row, fit, bad)
            return
        except FileFormatError as error:
            group = max(start.group, next(g for g in range(len(sizes)) if row < firsts[g + 1]))
            bad.add(error, firsts[group + 1] - max(row, firsts[group]))
            start = Position(firsts[group + 1], group=group + 1)


def _fitting(batch: Any, row: int, fit: Callable[[pa.Table, int], pa.Table], bad: Bad) -> LooseRows:
    def make(first: int, stop: int) -> pa.RecordBatch:
        return one_batch(fit(pa.Table.from_batches([batch.slice(first, stop - first)]), row + first))

    return in_turn(list(fitted(make, batch.num_rows, bad)), batch.num_rows)
