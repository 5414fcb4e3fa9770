"""Data files as a source: each is a shard, or its row groups are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError
from gristmill.features import Features
from gristmill.formats.registry import get_format
from gristmill.formats.source import Position
from gristmill.iterable.file_columns import COLUMNS_ARE_FIXED
from gristmill.iterable.file_plan import Piece, StreamFile
from gristmill.iterable.file_stream import FileStream
from gristmill.iterable.looking import Look
from gristmill.iterable.node import Node, State, Stream
from gristmill.iterable.order import Order
from gristmill.iterable.sources import Source

__all__ = ["Files"]


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
        look: What was found in the files, where their columns are not known.
    """

    format: str
    files: tuple[StreamFile, ...]
    pieces: tuple[Piece, ...]
    options: Mapping[str, Any]
    columns: tuple[str, ...] | None
    filters: Any
    skips: bool = False
    look: Look = field(default_factory=Look, compare=False, repr=False)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The files that the shards are in: paths, and URLs of those that are not here."""
        return {"files": [str(file.path or file.name) for file in self.files]}

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
                    others = f" and {len(files) - 1} other files" if len(files) > 1 else ""
                    where = f"{files[0].name}{others}" if files else ""
                    raise ColumnNotFoundError.from_name(name, features, where)
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
    def cuts(self) -> object:
        """What of which file each shard is."""
        return self.pieces

    @property
    def schema(self) -> pa.Schema | None:
        """What the columns are brought to, if that is known."""
        return None if self.features is None else self.features.arrow_schema

    def seen(self, far: bool) -> Node:
        """Gives the same files with the columns that the first of them has."""
        return self if self.features is not None else replace(self, features=self.look.features(self, far))

    def choose(self, names: Sequence[str]) -> Node | None:
        """Keeps some columns, where a file has all it has from its beginning on."""
        if self.skips or self.format not in COLUMNS_ARE_FIXED:
            return None  # a row that can't be read is left out for any of its values
        features = self.features
        picked = None if features is None else Features({name: features[name] for name in names})
        return replace(self, columns=tuple(names), features=picked)

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading; goes to the row group or the byte where the state was."""
        return FileStream(self, self.order.shards(epoch), state or {"shard": 0, "at": None, "skip": 0})

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
