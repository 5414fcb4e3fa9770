"""Data files being read: each by its format, from the position where it was left."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from gristmill.features import Features
from gristmill.formats.loose import LooseRows, read_loosely
from gristmill.formats.registry import get_format
from gristmill.formats.source import Position, SourceFile
from gristmill.hub.transfer import run_parallel
from gristmill.iterable.block import Block, Columns, Examples, gathered, parts_of
from gristmill.iterable.file_columns import columns_of_others, type_in_others
from gristmill.iterable.file_plan import FilePlan, Piece
from gristmill.iterable.node import State, Stream
from gristmill.iterable.origin import Origin, Run
from gristmill.iterable.readers_ahead import MOST_AHEAD, ReadersAhead, how_many
from gristmill.table.selection import IndexVector

__all__ = ["FileStream"]


class FileStream(Stream):
    """Files being read.

    Args:
        node: What is to be read.
        shards: Numbers of the pieces, in the order of reading.
        state: Where to begin.
    """

    def __init__(self, node: FilePlan, shards: Sequence[int], state: State) -> None:
        self._node = node
        self._shards = shards
        self._shard: int = state["shard"]
        self._at: list[int] | None = state["at"]
        self._skip: int = state["skip"]
        self._batches: Any = None
        self._first = True
        self._begins = True
        self._ahead: ReadersAhead | None = None
        # Rows that were given since `_at`; those of `_skip` are dropped first after going there.
        self._given: int = self._skip
        # The file that skipping ended in; how many rows are wanted at most, and how many of them lie in later shards.
        self._found: SourceFile | None = None
        self._most: int | None = None
        self._later: int | None = None
        # The remote files that are being read, or begun, by their shards; how many rows the groups of one have.
        self._sources: dict[int, SourceFile] = {}
        self._sizes: tuple[int, list[int]] | None = None
        # Columns that some file has, where that is not known before.
        self._known: set[str] = set()
        # Types of columns that a filter looks at and some files lack.
        self._types: dict[str, Any] = {}

    def next(self) -> Block | None:
        """Gives the next rows."""
        while self._shard < len(self._shards):
            piece = self._piece(self._shard)
            if self._batches is None:
                self._batches, self._first = self._opened(piece), True
            elif self._first:
                # Not before a second batch is wanted: who looks at a few rows needs no other shard.
                self._first = False
                self._read_ahead()
            for position, read in self._batches:
                if _is_behind(piece, position):
                    break
                row = position.row if self._is_exact else None
                block = _block(read, self._node.features, Run(self._node.files[piece.file].name, row))
                if self._node.columns is not None and self._node.features is None:
                    if self._first:
                        self._check_columns(piece, block)
                    block = _with_all(block, self._node.columns)
                if piece.end is not None:
                    block = block.slice(0, min(block.num_rows, piece.end - position.row))
                dropped = min(self._skip, block.num_rows)
                self._skip -= dropped
                if dropped < block.num_rows:
                    if dropped == 0:
                        self._at = [position.row, position.offset, position.group, position.line]
                        self._given = 0
                    self._given += block.num_rows - dropped
                    self._pass(block.num_rows - dropped)
                    return block.slice(dropped, block.num_rows)
            self._close_file()
            self._next_shard()
        return None

    def _check_columns(self, piece: Piece, block: Block) -> None:
        for _, part in parts_of(block):
            self._known.update(part.names)
        if not self._known.issuperset(self._node.columns or ()):
            self._known = columns_of_others(self._node, piece, self._known)

    def _piece(self, shard: int) -> Piece:
        return self._node.pieces[self._shards[shard]]

    def _next_shard(self) -> None:
        self._sources.pop(self._shard, None)
        self._shard, self._at, self._skip, self._given = self._shard + 1, None, 0, 0

    def _pass(self, rows: int) -> None:
        if self._most is not None:
            self._most = max(0, self._most - rows)

    @property
    def _is_exact(self) -> bool:
        """Whether the rows that a file says it has are those that come."""
        return self._node.filters is None and not self._node.skips

    def _opened(self, piece: Piece) -> Any:
        begins, self._begins, self._later = self._begins, False, None
        found, self._found = self._found, None
        if self._at is None and found is None and self._ahead is not None:
            return self._ahead.take(self._shard)
        at = None if self._at is None else Position(*self._at)
        source = self._node.files[piece.file]
        if source.path is not None:
            return _read(self._node, piece, self._types, at, found)
        file = self._sources[self._shard] = source.local() if found is None else found
        return _read(self._node, piece, self._types, at, self._bounded(piece, file, begins))

    def _bounded(self, piece: Piece, file: SourceFile, begins: bool) -> SourceFile:
        """Gives a remote file of which no more is fetched than the rows that are expected need."""
        sizes = self._groups(file) if self._most is not None and self._is_exact else None
        if sizes is None or self._most is None:
            return replace(file, peeks=begins)
        ends = list(itertools.accumulate(sizes))
        whole = _rows(piece, sizes)
        first = self._first_row(piece)
        wanted = range(first, min(whole.stop, first + self._most))
        self._later = self._most - len(wanted)
        stop = bisect.bisect_left(ends, wanted.stop) + 1 if wanted else 0
        return replace(file, stop=stop if piece.stop is None else min(stop, piece.stop))

    def _first_row(self, piece: Piece) -> int:
        """Gives the row of its file that the stream is at."""
        if self._at is not None:
            return self._at[0] + self._given
        return 0 if piece.start is None else piece.start.row

    def _groups(self, file: SourceFile) -> list[int] | None:
        return get_format(self._node.format).group_rows(file)

    def skip(self, rows: int) -> int:
        """Goes on to the row group, or the row of a file on this machine, if files say how many rows they have."""
        if self._batches is not None or not self._is_exact or self._node.format != "parquet":
            return 0
        left: int = rows
        looked = 1
        while left and self._shard < len(self._shards):
            shards = range(self._shard, min(len(self._shards), self._shard + looked))
            for file, sizes in self._looked_at(shards):
                piece = self._piece(self._shard)
                first, whole = self._first_row(piece), _rows(piece, sizes)
                if left < whole.stop - first:
                    ends = list(itertools.accumulate(sizes))
                    self._at = [first + left, 0, bisect.bisect_right(ends, first + left), 0]
                    self._skip = self._given = 0
                    left = 0
                    self._found = file
                    break
                left -= whole.stop - first
                self._next_shard()
                if not left:
                    break
            looked = min(looked * 2, MOST_AHEAD)
        skipped: int = rows - left
        self._pass(skipped)
        return skipped

    def _looked_at(self, shards: range) -> list[tuple[SourceFile, list[int]]]:
        def look(shard: int, stop: threading.Event) -> tuple[SourceFile, list[int]]:
            file = self._node.files[self._piece(shard).file].local()
            return file, self._groups(file) or []

        return run_parallel(look, shards, len(shards))

    def expect(self, rows: int) -> None:
        """Fetches no more than these rows need."""
        self._most = rows

    def _read_ahead(self) -> None:
        """Has the shards that come next begun, where their bytes come over a network."""
        if self._later == 0:
            return
        coming = range(self._shard + 1, len(self._shards))[:MOST_AHEAD]
        files = [self._node.files[self._piece(shard).file] for shard in coming]
        if any(file.path is None for file in files):
            if self._ahead is None:
                whole = self._later is None and self._node.columns is None and self._node.filters is None
                self._ahead = ReadersAhead(
                    partial(_begun, self._node, self._shards, self._sources, self._types, whole)
                )
            several = how_many([file.size for file in files])
            # As many as it takes if they are like the one that is read.
            if self._later is not None and self._most is not None:
                here = max(1, self._most - self._later + self._given)
                several = min(several, -(-self._later // here))
            self._ahead.begin(coming[:several])

    def state(self) -> State:
        """Says where it is."""
        shard, at, skip = self._shard, self._at, self._given
        file = self._sources.get(shard)
        if at is not None and file is not None and file.footer is not None and self._is_exact:
            # A row group of which all was given is not fetched again.
            if self._sizes is None or self._sizes[0] != shard:
                self._sizes = shard, self._groups(file) or []
            piece, sizes, row = self._piece(shard), self._sizes[1], at[0] + skip
            group = bisect.bisect_right(list(itertools.accumulate(sizes)), row)
            if row >= _rows(piece, sizes).stop:
                shard, at, skip = shard + 1, None, 0
            elif group > at[2]:
                at, skip = [row, 0, group, 0], 0
        return {"shard": shard, "at": at, "skip": skip}

    def _close_file(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            with contextlib.suppress(
                ValueError, RuntimeError
            ):  # a generator that is running, in another thread
                batches.close()

    def close(self) -> None:
        """Closes the file that is open, and those begun."""
        self._close_file()
        self._shard = len(self._shards)
        if self._ahead is not None:
            self._ahead.close()
        self._sources.clear()


def _rows(piece: Piece, sizes: Sequence[int]) -> range:
    """Gives the rows of its file that a piece holds."""
    first = 0 if piece.start is None else piece.start.row
    if piece.end is not None:
        return range(first, piece.end)
    return range(first, sum(sizes if piece.stop is None else sizes[: piece.stop]))


def _with_all(block: Block, names: Sequence[str]) -> Block:
    """Gives rows all columns asked for: None where the file has none of that name."""
    if isinstance(block, Examples):
        parts = [(rows, _completed(part, names)) for rows, part in block.parts()]
        return gathered(parts, block.num_rows)
    return _completed(block, names)


def _completed(block: Columns, names: Sequence[str]) -> Columns:
    if block.names == list(names):
        return block
    nothing = pa.chunked_array([pa.nulls(block.num_rows)])
    columns = {name: block.columns.get(name, nothing) for name in names}
    return Columns(columns, block.num_rows, block.features, block.origin)


def _block(rows: LooseRows, features: Features | None, origin: Origin) -> Block:
    """Makes a block of what a format read."""
    if len(rows.parts) == 1 and isinstance(rows.parts[0][1], pa.RecordBatch):
        return Columns.of_table(pa.Table.from_batches([rows.parts[0][1]]), features, origin)
    parts: list[tuple[IndexVector, Columns]] = []
    for places, part in rows.parts:
        if isinstance(part, pa.RecordBatch):
            table = pa.Table.from_batches([part])
            parts.append((places, Columns.of_table(table, features, origin.take(places))))
        else:
            parts += [
                (places[at], several) for at, several in parts_of(Examples.of_rows(part, origin.take(places)))
            ]
    return gathered(parts, rows.num_rows)


def _read(
    node: FilePlan,
    piece: Piece,
    types: dict[str, Any],
    at: Position | None = None,
    file: SourceFile | None = None,
) -> Any:
    """Reads a piece, from its beginning or a position in it; of `file`, if it was opened already."""
    if file is None:
        file = node.files[piece.file].local()
    if piece.stop is not None and file.stop is None:
        file = replace(file, stop=piece.stop)
    if node.filters is not None:
        file = replace(file, lacks=partial(type_in_others, node, piece, types))
    return _rows_read(node, file, piece.start if at is None else at)


def _rows_read(node: FilePlan, file: SourceFile, start: Position | None) -> Iterator[Any]:
    format, schema = get_format(node.format), node.schema
    if schema is None and node.format == "parquet":
        # The types of features, as where they are known: a map is a list, whoever reads it.
        schema = Features.from_arrow_schema(format.infer_schema(file, node.options)).arrow_schema
    yield from read_loosely(
        format,
        file,
        options=node.options,
        columns=node.columns,
        filters=node.filters,
        start=start,
        schema=schema,
        skips=node.skips,
    )


def _begun(
    node: FilePlan,
    shards: Sequence[int],
    sources: dict[int, SourceFile],
    types: dict[str, Any],
    whole: bool,
    shard: int,
) -> Any:
    """Reads a shard from its beginning, and leaves its file in `sources`."""
    piece = node.pieces[shards[shard]]
    whole = whole and piece.start is None and piece.stop is None and piece.end is None
    file = node.files[piece.file].local(whole)
    if node.files[piece.file].path is None:
        sources[shard] = file
    return _read(node, piece, types, file=file)


def _is_behind(piece: Piece, position: Position) -> bool:
    return (piece.stop is not None and position.group >= piece.stop) or (
        piece.end is not None and position.row >= piece.end
    )
