"""Some columns of the row groups of a Parquet file, written as a file of their own in memory.

`gristmill.formats.parquet_splice` makes one file of such pieces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["Piece", "PieceWriter", "Source", "abandon", "copied"]


_LITTLE = 16 << 10


@dataclass
class Source:
    """A Parquet file whose column chunks become part of another.

    Attributes:
        tail: What lies behind its last page, once that has been written.
        tail_start: Where in the file that begins.
    """

    tail: bytes = b""
    tail_start: int = 0


class Piece(NamedTuple):
    """Some columns of a row group.

    Attributes:
        data: Their pages.
        start: Where in their file these begin.
        source: The file; its tail need not be there yet.
        group: Number of the row group in it.
    """

    data: list[bytes | memoryview]
    start: int
    source: Source
    group: int


class PieceWriter:
    """Writes row groups of some columns.

    Args:
        schema: The columns.
        options: Of `pyarrow.parquet.ParquetWriter`.
    """

    def __init__(self, schema: pa.Schema, options: Mapping[str, Any]) -> None:
        # Only the file that these become part of says what the columns mean.
        given = {**copied(options), "store_schema": False}
        self._sink = _Collected()
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), schema.remove_metadata(), **given
        )
        self._source = Source()
        self._groups = 0
        self._sink.taken()

    def write(self, table: pa.Table) -> Piece:
        """Writes the next row group."""
        start = self._sink.position
        self._writer.write_table(table.replace_schema_metadata(), row_group_size=table.num_rows)
        self._groups += 1
        return Piece(self._sink.taken(), start, self._source, self._groups - 1)

    def close(self) -> None:
        """Writes the tail; before, the pieces can be written to another file, but that can't be closed."""
        self._source.tail_start = self._sink.position
        self._writer.close()
        self._source.tail = b"".join(self._sink.taken())

    def abandon(self) -> None:
        """Ends what nobody wants any more."""
        abandon(self._writer)


def abandon(writer: pq.ParquetWriter) -> None:
    """Ends a writer whose file nobody wants: pyarrow would do so later, and warn where a row group is not whole."""
    with contextlib.suppress(pa.ArrowException, OSError):
        writer.close()
    writer.is_open = False


def copied(options: Mapping[str, Any]) -> dict[str, Any]:
    """Copies options for one writer: pyarrow puts some columns' encodings into the mapping that it is given."""
    return {name: dict(value) if isinstance(value, dict) else value for name, value in options.items()}


def _kept(data: Any) -> bytes | memoryview:
    """Copies what was written into Arrow's memory, which the system gives in larger pages than that of bytes objects."""
    if len(data) < _LITTLE:
        return bytes(data)
    kept = memoryview(pa.allocate_buffer(len(data))).cast("B")
    kept[:] = data
    return kept.toreadonly()


class _Collected:
    """A file that keeps what was written since it was last asked."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self.position = 0

    def write(self, data: Any) -> int:
        self._parts.append(_kept(data))
        self.position += len(data)
        return len(data)

    def flush(self) -> None:
        """There is nothing to wait for."""

    def taken(self) -> list[bytes | memoryview]:
        parts, self._parts = self._parts, []
        return parts
