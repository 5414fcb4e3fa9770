"""`read_leaf`: one column by its path, each entry with the levels that its pages hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.parquet.decoding import iter_values, on_disk
from gristmill.parquet.footer import Chunk, ParquetFile, open_parquet
from gristmill.parquet.levels import PageLevels, iter_decoded_pages
from gristmill.parquet.schema import SchemaNode, find_leaf

_ENTRIES = 1 << 16


@dataclass(frozen=True)
class LeafBatch:
    """Entries of a leaf, in order; all arrays have one element an entry.

    Attributes:
        leaf: The leaf.
        rows: Row of each entry, counted from 0 in the file.
        repetition: Repetition levels: 0 begins a row.
        definition: Definition levels: the leaf's maximum where a value is there.
        values: The values; null where none is there.
    """

    leaf: SchemaNode
    rows: npt.NDArray[np.int64]
    repetition: npt.NDArray[np.unsignedinteger]
    definition: npt.NDArray[np.unsignedinteger]
    values: pa.Array


def read_leaf(
    name: str | os.PathLike[str], column: str, rows: tuple[int | None, int | None] = (None, None)
) -> Iterator[LeafBatch]:
    """Reads one leaf of a Parquet file, its levels from the pages and its values by Arrow.

    Only the row groups that hold the rows are read; of a remote file only their chunks of this column are fetched.

    Args:
        name: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``.
        column: The leaf's dotted path, such as ``"messages.list.element.content"``; a beginning is enough if only
            one leaf has it.
        rows: First row and the one behind the last, as in a slice; None for the file's ends.

    Yields:
        Entries of a page, or of part of a large one, at a time.

    Raises:
        ColumnNotFoundError: No leaf has the path, or several have.
        InvalidArgumentError: The rows are none.
        FileFormatError: The file is damaged or encrypted; names row group, column and page.
        HubError: A server refuses, can't be reached, or does not answer ranges.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"tags": [["a", None], [], None]}), f"{folder.name}/levels.parquet")
        >>> for batch in read_leaf(f"{folder.name}/levels.parquet", "tags"):
        ...     print(batch.repetition, batch.definition, batch.values.to_pylist())
        [0 1 0 0] [3 2 1 0] ['a', None, None, None]
        >>> folder.cleanup()
    """
    first, last = rows
    if (first or 0) < 0 or (last is not None and last < (first or 0)):
        raise InvalidArgumentError.from_value("rows", rows, "a first row from 0 on, and a last not before it")
    with open_parquet(name) as file:
        yield from iter_leaf(file, column, first or 0, last)


def iter_leaf(file: ParquetFile, column: str, first: int = 0, last: int | None = None) -> Iterator[LeafBatch]:
    """As `read_leaf`, for a file that is open.

    Args:
        file: The file.
        column: The leaf's dotted path.
        first: First row.
        last: The row behind the last; None for all.

    Yields:
        Entries of a page, or of part of a large one, at a time.
    """
    index, _ = find_leaf(file.schema, column)
    wanted: list[tuple[Chunk, int]] = []
    row = 0
    for group, described in enumerate(file.metadata.row_groups):
        if described.num_rows and row + described.num_rows > first and (last is None or row < last):
            wanted.append((file.chunk(group, index), row))
        row += described.num_rows
    chunks = [chunk for chunk, _ in wanted]
    with on_disk(file, chunks) as local:
        for (chunk, start), values in zip(wanted, iter_values(local, chunks), strict=True):
            yield from _batches(local, chunk, start, (first, last), values)


def _batches(
    file: ParquetFile, chunk: Chunk, start: int, bounds: tuple[int, int | None], values: Iterator[pa.Array]
) -> Iterator[LeafBatch]:
    """Lays the values of a chunk beside its levels, page by page; `start` is the chunk's first row."""
    place, waiting = file.chunk_place(chunk.group, chunk.index), _Waiting(values)
    row = start
    pages = iter_decoded_pages(file, chunk)
    for page in pages:
        if not isinstance(page, PageLevels):
            continue
        for at in range(0, len(page.definition), _ENTRIES):
            piece = slice(at, at + _ENTRIES)
            begins = page.repetition[piece] == 0
            rows = np.cumsum(begins) + (row - 1)
            row += int(np.count_nonzero(begins))
            present = page.definition[piece] == chunk.leaf.max_definition
            try:
                taken = waiting.take(int(np.count_nonzero(present)))
            except FileFormatError:
                # A fault of a later page may be why Arrow stopped, and then there is a better name for it.
                for _ in pages:
                    pass
                raise
            if taken is None:
                raise place.error("Arrow decodes fewer values than its levels say are there")
            span = slice(
                *np.searchsorted(rows, [bounds[0], row if bounds[1] is None else bounds[1]]).tolist()
            )
            if span.start < span.stop:
                positions = pa.array(np.cumsum(present) - 1, mask=~present)
                yield LeafBatch(
                    chunk.leaf, rows[span], page.repetition[piece][span], page.definition[piece][span],
                    taken.take(positions[span]),
                )  # fmt: skip
        # The next page may go on with the row.
        if bounds[1] is not None and row > bounds[1]:
            return
    if row - start != chunk.rows:
        raise place.error(f"its pages hold {row - start:,} rows, and the row group {chunk.rows:,}")
    if not waiting.empty():
        raise place.error("Arrow decodes more values than its levels say are there")


class _Waiting:
    """Values that were decoded and not asked for yet."""

    def __init__(self, pieces: Iterator[pa.Array]) -> None:
        self._pieces = pieces
        self._held: list[pa.Array] = []

    def take(self, count: int) -> pa.Array | None:
        """Gives the next values; None if there are not that many."""
        got: list[pa.Array] = []
        kind = self._held[0].type if self._held else None
        while count:
            if not self._held:
                piece = next(self._pieces, None)
                if piece is None:
                    return None
                self._held.append(piece)
            piece = self._held.pop()
            got.append(piece[:count])
            if len(piece) > count:
                self._held.append(piece[count:])
            count -= len(got[-1])
            kind = piece.type
        return pa.concat_arrays(got) if got else pa.nulls(0, kind or pa.null())

    def empty(self) -> bool:
        """Says whether all were taken; reads to the end of what is decoded."""
        return not sum(map(len, self._held)) and not sum(len(piece) for piece in self._pieces)
