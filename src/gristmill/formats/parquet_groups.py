"""The row groups of an open Parquet file, decoded in batches that are bounded by rows and bytes."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import FileFormatError
from gristmill.features.soundness import check_soundness
from gristmill.formats.source import Position, SourceFile

__all__ = ["RowGroups", "runs"]

BATCH_BYTES = 16 << 20
"""Decoded size aimed at for one batch."""
BATCH_ROWS = 1 << 16
STREAM_BYTES = 2 << 20
"""The same for a batch of several row groups in a stream, as values take that came before."""
SMALL_BYTES = 512 << 10
"""Size of a row group up to which a stream decodes it with others: a larger one wins nothing, and its dictionary stays."""


def runs(groups: Sequence[int], sizes: Sequence[int], largest: int = BATCH_BYTES) -> Iterator[range]:
    """Puts small row groups that follow each other together; the first one stays alone, so that its rows come soon.

    Args:
        groups: Their numbers, in order.
        sizes: Bytes of each row group of the file; no more than `BATCH_BYTES` are put together.
        largest: Bytes of a row group that is put together with others, at most.

    Example:
        >>> list(runs([0, 1, 2, 4, 5, 6], [10] * 6 + [BATCH_BYTES]))
        [range(0, 1), range(1, 3), range(4, 6), range(6, 7)]
    """
    first = 0
    while first < len(groups):
        last, held = first, sizes[groups[first]]
        while first and last + 1 < len(groups) and groups[last + 1] == groups[last] + 1:
            held += sizes[groups[last + 1]]
            if held > BATCH_BYTES or max(sizes[groups[last]], sizes[groups[last + 1]]) > largest:
                break
            last += 1
        yield range(groups[first], groups[last] + 1)
        first = last + 1


class RowGroups:
    """The row groups of an open file.

    Args:
        parquet: The file.
        sizes: Rows of each row group, as the footer says.
        shape: Columns to read, in this order.
        file: The file, for errors.
        most_rows: Rows of a batch at most, besides the bounds that hold anyway.
    """

    def __init__(
        self,
        parquet: pq.ParquetFile,
        sizes: Sequence[int],
        shape: pa.Schema,
        file: SourceFile,
        most_rows: int | None = None,
    ) -> None:
        self._parquet = parquet
        self._firsts = [0, *itertools.accumulate(sizes)]
        self._shape = shape
        self._names = None if len(shape) == len(parquet.schema_arrow) else shape.names
        self._file = file
        self._most_rows = most_rows
        self._width = 1

    def read(self, run: range, first: int = 0) -> Iterator[tuple[Position, pa.RecordBatch]]:
        """Reads row groups that follow each other.

        Args:
            run: Their numbers.
            first: Row of the file before which nothing is given.

        Yields:
            (where the batch begins, the batch).

        Raises:
            FileFormatError: A row group is damaged; all rows before it came.
        """
        row = self._firsts[run.start]
        try:
            for batch in self._decoded(run):
                skip = max(0, first - row)
                if skip < batch.num_rows:
                    yield Position(row + skip, group=self._group_of(row + skip)), batch.slice(skip)
                row += batch.num_rows
        except (pa.ArrowException, OSError, FileFormatError):
            if len(run) == 1:
                raise
            # One by one: the rows of those before the damage come, and it is told where that is.
            for group in range(self._group_of(row), run.stop):
                yield from self.read(range(group, group + 1), max(first, row))
            raise

    def _group_of(self, row: int) -> int:
        return bisect.bisect_right(self._firsts, row) - 1

    def _decoded(self, run: range) -> Iterator[pa.RecordBatch]:
        footers = [self._parquet.metadata.row_group(group) for group in run]
        expected = sum(footer.num_rows for footer in footers)
        rows = min(_batch_rows(footer.total_byte_size, footer.num_rows) for footer in footers)
        if len(footers) > 1 and not self._file.workers:
            # The footer counts repeated values once, decoding does not: the rows before tell their real size.
            rows = min(rows, max(STREAM_BYTES // self._width, *(footer.num_rows for footer in footers)))
        rows = min(rows, self._most_rows or rows)
        shape, seen = self._shape, 0
        threads = self._file.threads
        for batch in self._parquet.iter_batches(
            rows, row_groups=list(run), columns=self._names, use_threads=threads
        ):
            whole = batch
            # "a" also selects a column called "a.b", and the order is the file's: pick by name.
            # Of no columns, only the batch as read knows how many rows there are.
            if len(shape) and not batch.schema.equals(shape, check_metadata=True):
                whole = pa.RecordBatch.from_arrays([_column(batch, field) for field in shape], schema=shape)
            _validate(whole, self._file)
            self._width = max(self._width, whole.nbytes // max(1, whole.num_rows))
            yield whole
            seen += batch.num_rows
        if seen != expected:
            said = f"row group {run[0]} holds" if len(run) == 1 else f"row groups {run[0]} to {run[-1]} hold"
            raise FileFormatError.at(
                f"{said} {seen} rows where the footer says {expected}", file=self._file.name
            )


def _validate(batch: pa.RecordBatch, file: SourceFile) -> None:
    """Looks at every value: a damaged page can decode to text that is not UTF-8, or to offsets out of range."""
    try:
        check_soundness(batch)
    except pa.ArrowInvalid as error:
        for field, column in zip(batch.schema, batch.columns, strict=True):
            if problem := _problem(column):
                problem = f"holds a value that its type {field.type} does not allow ({problem})"
                raise FileFormatError.at(problem, file=file.name, column=field.name) from error
        raise


def _problem(column: Any) -> str:
    try:
        check_soundness(column)
    except pa.ArrowInvalid as error:
        return str(error)
    return ""


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    # A struct without fields has no leaf that could be asked for by name.
    return batch.column(field.name) if field.name in batch.schema.names else pa.nulls(len(batch), field.type)


def _batch_rows(group_bytes: int, group_rows: int) -> int:
    width = max(1, group_bytes // max(1, group_rows))
    return max(1, min(BATCH_ROWS, BATCH_BYTES // width))
