"""Data files as a source: each is read by its format, from the position where it was left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError, FileMissingError
from gristmill.features import Features
from gristmill.formats.loose import LooseRows, read_loosely
from gristmill.formats.registry import get_format
from gristmill.formats.source import Position, SourceFile
from gristmill.iterable.block import Block, Columns, Examples, gathered, parts_of
from gristmill.iterable.node import Node, State, Stream
from gristmill.iterable.order import Order
from gristmill.iterable.readers_ahead import MOST_AHEAD, ReadersAhead, how_many
from gristmill.iterable.sources import Source
from gristmill.table.selection import IndexVector

# In the others a column may begin in a later row.
_COLUMNS_ARE_FIXED = frozenset({"arrow", "csv", "parquet"})


@dataclass(frozen=True)
class StreamFile:
    """A data file of a stream.

    Attributes:
        name: What to call it in errors.
        path: Where it is on this machine, if it is here.
        get: Brings it here, if it is not.
        part: Opens it for reading what is needed of it, if that can be done; gives None if it can't after all.
        size: Its bytes, if known.
    """

    name: str
    path: Path | None = None
    get: Callable[[], Path] | None = field(default=None, compare=False, repr=False)
    part: Callable[[], SourceFile | None] | None = field(default=None, compare=False, repr=False)
    size: int = 0

    def local(self) -> SourceFile:
        """Gives the file, ready to be read.

        Raises:
            FileMissingError: It is nowhere.
            HubError: It can't be fetched.
        """
        part = self.part() if self.path is None and self.part is not None else None
        if part is not None:
            return part
        path = self.path if self.path is not None or self.get is None else self.get()
        if path is None:
            raise FileMissingError.from_path(self.name)
        return SourceFile(path, self.name)


@dataclass(frozen=True)
class Piece:
    """A shard: a file, or some row groups of one.

    Attributes:
        file: Number of the file.
        start: Where it begins; the file's beginning if None.
        stop: Row group before which it ends; the file's end if None.
        rows: How many rows it has, if known.
        end: Row of the file before which it ends; as `stop` says if None.
    """

    file: int
    start: Position | None = None
    stop: int | None = None
    rows: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Files(Source):
    """The rows of data files.

    Attributes:
        format: Name of their format.
        files: The files.
        pieces: The shards.
        options: Options of the format's reader.
        columns: Only these columns are read.
        filters: Only rows that pass are read.
        skips: Leave out rows that can't be read.
    """

    format: str
    files: tuple[StreamFile, ...]
    pieces: tuple[Piece, ...]
    options: Mapping[str, Any]
    columns: tuple[str, ...] | None
    filters: Any
    skips: bool = False

    @classmethod
    def of_files(
        cls,
        format: str,
        files: Sequence[StreamFile],
        features: Features | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        skips: bool = False,
    ) -> Files:
        """Makes a source of files, a shard each.

        Args:
            format: Name of their format.
            files: The files, in the order of their rows.
            features: What the columns are; each value is checked. If left out, the types of each file are those of its head,
                and rows that do not fit them have their own.
            options: Options of the format's reader.
            columns: Only these columns are read.
            filters: Only rows that pass are read, see `Format.read`.
            skips: Leave out rows that can't be read, and tell of them.

        Raises:
            ColumnNotFoundError: One of `columns` is not among the features.
        """
        pieces = tuple(Piece(number) for number in range(len(files)))
        names = None if columns is None else tuple(columns)
        if features is not None and names is not None:
            for name in names:
                if name not in features:
                    raise ColumnNotFoundError.from_name(name, features)
            features = Features({name: features[name] for name in names})
        return cls(
            Order(len(pieces)),
            features,
            format,
            tuple(files),
            pieces,
            dict(options or {}),
            names,
            filters,
            skips,
        )

    @property
    def schema(self) -> pa.Schema | None:
        """What the columns are brought to, if that is known."""
        return None if self.features is None else self.features.arrow_schema

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading; goes to the row group or the byte where the state was."""
        return _FileStream(self, self.order.shards(epoch), state or {"shard": 0, "at": None, "skip": 0})

    def reshard(self) -> Node:
        """Cuts files at row groups, where they have them."""
        settled = self.order.settled()
        if settled is None:
            return self
        shards, seeds = settled
        pieces = [part for shard in shards for part in self._cut(self.pieces[shard])]
        return replace(self, pieces=tuple(pieces), order=Order(len(pieces), seeds))

    def _cut(self, piece: Piece) -> list[Piece]:
        if piece.start is not None or piece.stop is not None:
            return [piece]
        groups = self._groups(piece.file)
        if groups is None or len(groups) < 2:
            return [piece]
        found, row = [], 0
        for group, rows in enumerate(groups):
            found.append(Piece(piece.file, Position(row, group=group), group + 1, rows))
            row += rows
        return found

    @property
    def num_rows(self) -> int | None:
        """How many rows there are, if the files are here and say so at their end."""
        settled = self.order.settled()
        if settled is None or not self._has_lengths:
            return None
        rows = [self._rows_of(self.pieces[shard]) for shard in settled[0]]
        known = [number for number in rows if number is not None]
        return sum(known) if len(known) == len(rows) else None

    @property
    def _has_lengths(self) -> bool:
        return self.filters is None and not self.skips and all(file.path is not None for file in self.files)

    def _rows_of(self, piece: Piece) -> int | None:
        if piece.rows is not None:
            return piece.rows
        groups = self._groups(piece.file)
        return None if groups is None else sum(groups)

    def _groups(self, file: int) -> list[int] | None:
        return get_format(self.format).group_rows(self.files[file].local())

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Keeps some rows, if the files are here and say how many they have; no others are read."""
        if self.order.is_shuffled or not self._has_lengths:
            return None
        kept, at = [], 0
        for piece in (self.pieces[shard] for shard in self.order.shards(0)):
            if stop is None and at >= start:
                kept.append(piece)
                continue
            if stop is not None and at >= stop:
                break
            rows = self._rows_of(piece)
            if rows is None:
                return None
            part = range(rows)[max(0, start - at) : None if stop is None else stop - at]
            at += rows
            if len(part):
                kept.append(piece if len(part) == rows else self._part(piece, part))
        return replace(self, pieces=tuple(kept), order=Order(len(kept)))

    def _part(self, piece: Piece, rows: range) -> Piece:
        """Gives some rows of a piece, counted from its first."""
        first = (0 if piece.start is None else piece.start.row) + rows.start
        row = 0
        for group, size in enumerate(self._groups(piece.file) or ()):
            if first < row + size:
                start = Position(first, group=group)
                return Piece(piece.file, start, piece.stop, len(rows), first + len(rows))
            row += size
        return piece


class _FileStream(Stream):
    def __init__(self, node: Files, shards: list[int], state: State) -> None:
        self._node = node
        self._shards = shards
        self._shard: int = state["shard"]
        self._at: list[int] | None = state["at"]
        self._skip: int = state["skip"]
        self._batches: Any = None
        self._first = True
        self._ahead: ReadersAhead | None = None
        # Rows that were given since `_at`; those of `_skip` are dropped first after going there.
        self._given = self._skip

    def next(self) -> Block | None:
        while self._shard < len(self._shards):
            piece = self._node.pieces[self._shards[self._shard]]
            if self._batches is None:
                self._batches, self._first = self._opened(piece), True
            elif self._first:
                # Not before a second batch is wanted: who looks at a few rows needs no other shard.
                self._first = False
                self._read_ahead()
            for position, read in self._batches:
                if _is_behind(piece, position):
                    break
                block = _block(read, self._node.features)
                if self._first:
                    _check_columns(self._node, piece, block)
                if piece.end is not None:
                    block = block.slice(0, min(block.num_rows, piece.end - position.row))
                dropped = min(self._skip, block.num_rows)
                self._skip -= dropped
                if dropped < block.num_rows:
                    if dropped == 0:
                        self._at = [position.row, position.offset, position.group, position.line]
                        self._given = 0
                    self._given += block.num_rows - dropped
                    return block.slice(dropped, block.num_rows)
            self._close_file()
            self._shard, self._at, self._skip, self._given = self._shard + 1, None, 0, 0
        return None

    def _opened(self, piece: Piece) -> Any:
        if self._at is None and self._ahead is not None:
            return self._ahead.take(self._shard)
        return _read(self._node, piece, None if self._at is None else Position(*self._at))

    def _read_ahead(self) -> None:
        """Has the shards that come next begun, where their bytes come over a network."""
        coming = range(self._shard + 1, len(self._shards))[:MOST_AHEAD]
        files = [self._node.files[self._node.pieces[self._shards[shard]].file] for shard in coming]
        if any(file.path is None for file in files):
            if self._ahead is None:
                node, shards = self._node, self._shards
                self._ahead = ReadersAhead(lambda shard: _read(node, node.pieces[shards[shard]]))
            self._ahead.begin(coming[: how_many([file.size for file in files])])

    def state(self) -> State:
        return {"shard": self._shard, "at": self._at, "skip": self._given}

    def _close_file(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            with contextlib.suppress(
                ValueError, RuntimeError
            ):  # a generator that is running, in another thread
                batches.close()

    def close(self) -> None:
        self._close_file()
        self._shard = len(self._shards)
        if self._ahead is not None:
            self._ahead.close()


def _check_columns(node: Files, piece: Piece, block: Block) -> None:
    """Refuses a column that a file does not have, where it was not known before what it has.

    Raises:
        ColumnNotFoundError: It has no such column.
    """
    if node.columns is None or node.features is not None or node.format not in _COLUMNS_ARE_FIXED:
        return
    there = block.columns if isinstance(block, Columns) else node.columns
    for name in node.columns:
        if name not in there:
            file = node.files[piece.file].local()
            schema = None if node.format == "csv" else get_format(node.format).infer_schema(file)
            raise ColumnNotFoundError.from_name(name, there if schema is None else schema.names, file.name)


def _block(rows: LooseRows, features: Features | None) -> Block:
    """Makes a block of what a format read."""
    if len(rows.parts) == 1 and isinstance(rows.parts[0][1], pa.RecordBatch):
        return Columns.of_table(pa.Table.from_batches([rows.parts[0][1]]), features)
    parts: list[tuple[IndexVector, Columns]] = []
    for places, part in rows.parts:
        if isinstance(part, pa.RecordBatch):
            parts.append((places, Columns.of_table(pa.Table.from_batches([part]), features)))
        else:
            parts += [(places[at], several) for at, several in parts_of(Examples.of_rows(part))]
    return gathered(parts, rows.num_rows)


def _read(node: Files, piece: Piece, at: Position | None = None) -> Any:
    """Reads a piece, from its beginning or a position in it."""
    file = node.files[piece.file].local()
    return read_loosely(
        get_format(node.format),
        file if piece.stop is None else replace(file, stop=piece.stop),
        options=node.options,
        columns=node.columns,
        filters=node.filters,
        start=piece.start if at is None else at,
        schema=node.schema,
        skips=node.skips,
    )


def _is_behind(piece: Piece, position: Position) -> bool:
    return (piece.stop is not None and position.group >= piece.stop) or (
        piece.end is not None and position.row >= piece.end
    )
