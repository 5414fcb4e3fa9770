"""`push_to_hub` of streams: read once, cut into Parquet files as the rows come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill import config
from gristmill.arguments import parse_size, whole_number
from gristmill.engine import GrowingTable
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.columnless import without_rows
from gristmill.iterable.export import _settled
from gristmill.iterable.node import Node
from gristmill.iterable.walking import Walk
from gristmill.publishing import WrittenShard, write_shard

__all__ = ["StreamSource"]

_ROWS = 10_000


@dataclass
class StreamSource:
    """The rows of a stream.

    Attributes:
        node: The stream.
        epoch: The epoch that is read.
        max_bytes: Size as Arrow data at which a file ends, if that decides it.
        count: Number of files, if it was asked for.
        embed: Put the bytes of files that columns only name into the Parquet files.
    """

    node: Node
    epoch: int
    max_bytes: int
    count: int | None
    embed: bool
    _features: Features | None = field(default=None, init=False)
    together: bool = field(default=False, init=False)

    @classmethod
    def plan(cls, node: Node, epoch: int, max_shard_size: Any, num_shards: Any, embed: bool) -> StreamSource:
        """Checks the arguments of `IterableDataset.push_to_hub`.

        Raises:
            InvalidArgumentError: Both size and number are given, or one means nothing.
        """
        if max_shard_size is not None and num_shards is not None:
            raise InvalidArgumentError("Pass either max_shard_size= or num_shards=, not both.")
        size = config.MAX_SHARD_SIZE if max_shard_size is None else max_shard_size
        count = None if num_shards is None else whole_number("num_shards", num_shards, 1)
        return cls(node, epoch, parse_size(size), count, embed)

    @property
    def features(self) -> Features | None:
        """The columns; where the stream does not know them, once `write` has begun."""
        return self.node.features if self._features is None else self._features

    def write(self, folder: Path) -> Iterator[list[WrittenShard]]:
        """Writes the next file into a folder."""
        for number, (schema, piece) in enumerate(self._pieces(folder)):
            self._features = Features.from_arrow_schema(schema)
            file = folder / f"{number}.parquet"
            yield [WrittenShard(file, *write_shard(file, piece, schema, self.embed))]

    def _pieces(self, folder: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.Table]]]:
        count = self.count
        if count is not None and self.node.features is not None and count <= self.node.num_shards:
            for index in range(count):
                part = self.node.shard_data_sources(count, index)
                with _read(part, self.epoch) as (schema, tables):
                    yield schema, tables
            return
        with _read(self.node, self.epoch) as (schema, tables):
            pieces = cut(tables, self.max_bytes) if count is None else _even(schema, tables, count, folder)
            for piece in pieces:
                yield schema, piece


@contextlib.contextmanager
def _read(node: Node, epoch: int) -> Iterator[tuple[pa.Schema, Iterator[pa.Table]]]:
    with contextlib.closing(Walk(node, epoch)) as walk, _settled(walk, _ROWS) as (schema, tables):
        yield schema, map(_table, tables)


def _table(rows: pa.Table | pa.RecordBatch) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])


def _even(
    schema: pa.Schema, tables: Iterable[pa.Table], count: int, folder: Path
) -> Iterator[Iterator[pa.Table]]:
    """Cuts rows into pieces of nearly equal numbers of them, which needs all to be read first."""
    overflow = folder / "rows.arrow"
    try:
        with GrowingTable(None, overflow) as growing:
            growing.write(without_rows(schema))
            for table in tables:
                growing.write(table)
        whole = growing.table()
        for number in range(count):
            start, stop = (whole.num_rows * bound // count for bound in (number, number + 1))
            yield (whole.slice(at, min(_ROWS, stop - at)) for at in range(start, stop, _ROWS))
    finally:
        overflow.unlink(missing_ok=True)


def cut(tables: Iterable[pa.Table], max_bytes: int) -> Iterator[Iterator[pa.Table]]:
    """Cuts tables into pieces of a size, at least one piece.

    Args:
        tables: Tables, drawn one by one.
        max_bytes: Size of a piece; a row that is larger is a piece of its own.

    Yields:
        The tables of one piece after another; each has to be drawn before the next.

    Example:
        >>> rows = pa.table({"a": range(5)})
        >>> [sum(table.num_rows for table in piece) for piece in cut([rows], 16)]
        [2, 2, 1]
    """
    left = iter(tables)
    held = next(left, None)

    def piece() -> Iterator[pa.Table]:
        nonlocal held
        size = 0
        while held is not None:
            width = max(1, held.nbytes // max(1, held.num_rows))
            fit = max(0, (max_bytes - size) // width)
            if fit == 0 and size == 0:
                fit = 1
            if fit < held.num_rows:
                if fit:
                    yield held.slice(0, fit)
                held = held.slice(fit)
                return
            yield held
            size += held.nbytes
            held = next(left, None)

    yield piece()
    while held is not None:
        yield piece()
