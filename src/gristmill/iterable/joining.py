"""Several streams made one: one after another, or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.align import align_features
from gristmill.features.cast import cast_table
from gristmill.iterable.block import Block, Columns, Examples
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.node import CountingStream, Node, OneToOne, State, Stream
from gristmill.iterable.origin import locating

_ROWS = 1000


@dataclass(frozen=True)
class Align(OneToOne):
    """Columns brought to those of several streams: missing ones are None.

    Attributes:
        features: The columns of all.
    """

    features: Features

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return CountingStream(self.child, epoch, state, self._aligned)

    def _aligned(self, block: Block) -> Block:
        table, _ = block.table()
        return Columns.of_table(cast_table(table, self.features), self.features, block.origin)


def aligned(nodes: Sequence[Node]) -> tuple[tuple[Node, ...], Features | None]:
    """Brings the columns of several streams together, if those of all are known.

    Returns:
        (the streams, their common features).

    Raises:
        SchemaConflictError: Columns of a name have features that nothing holds both of.
    """
    known = [node.features for node in nodes]
    each = [features for features in known if features is not None]
    if len(each) < len(known):
        return tuple(nodes), None
    features = align_features(each)
    same = [list(one) == list(features) and one == features for one in each]
    return tuple(
        node if alike else Align(node, features) for node, alike in zip(nodes, same, strict=True)
    ), features


@dataclass(frozen=True)
class Several(Node):
    """A node over several others.

    Attributes:
        parts: The others.
        features: The columns of all, if known.
    """

    parts: tuple[Node, ...]
    features: Features | None

    @property
    def children(self) -> tuple[Node, ...]:
        """The others."""
        return self.parts

    def with_children(self, children: Sequence[Node]) -> Node:
        """Gives this node over others."""
        return replace(self, parts=tuple(children))

    def seen(self, far: bool) -> Node:
        """Gives the same streams with the columns of all, if each has some."""
        if self.features is not None:
            return self
        parts: list[Node] = []
        for part in self.parts:
            parts.append(part.seen(far))
            if parts[-1].features is None:
                return self
        return replace(self, features=self._common(parts))

    def _common(self, parts: Sequence[Node]) -> Features | None:
        return aligned(parts)[1]


@dataclass(frozen=True)
class Concat(Several):
    """The rows of one after those of the one before; the shards are those of all."""

    @property
    def num_shards(self) -> int:
        """The shards of all."""
        return sum(part.num_shards for part in self.parts)

    @property
    def num_rows(self) -> int | None:
        """The rows of all."""
        rows = [part.num_rows for part in self.parts]
        known = [number for number in rows if number is not None]
        return sum(known) if len(known) == len(rows) else None

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps some shards; they are read in the order of the streams."""
        picked, first = [], 0
        for part in self.parts:
            mine = [shard - first for shard in shards if first <= shard < first + part.num_shards]
            picked.append(part.pick(mine))
            first += part.num_shards
        return replace(self, parts=tuple(picked))

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Cuts the streams whose length is known, as far as it matters."""
        kept: list[Node] = []
        for part in self.parts:
            rows = part.num_rows
            if rows is None:
                return None
            end = rows if stop is None else min(rows, stop)
            below = part if start <= 0 and end == rows else part.cut(max(0, start), max(0, end))
            if below is None:
                return None
            kept.append(below)
            start, stop = start - rows, None if stop is None else stop - rows
        return replace(self, parts=tuple(kept))

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return _ConcatStream(self, epoch, state or {"part": 0, "in": None})


class _ConcatStream(Stream):
    def __init__(self, node: Concat, epoch: int, state: State) -> None:
        self._node = node
        self._epoch = epoch
        self._part: int = state["part"]
        self._inner = self._opened(state["in"])

    def _opened(self, state: State = None) -> Stream | None:
        parts = self._node.parts
        return parts[self._part].open(self._epoch, state) if self._part < len(parts) else None

    def next(self) -> Block | None:
        while self._inner is not None:
            block = self._inner.next()
            if block is not None:
                return block
            self._inner.close()
            self._part += 1
            self._inner = self._opened()
        return None

    def state(self) -> State:
        return {"part": self._part, "in": None if self._inner is None else self._inner.state()}

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


@dataclass(frozen=True)
class SideBySide(Several):
    """The columns of several streams in each row; a stream that ends first leaves its columns None."""

    @classmethod
    def of_nodes(cls, nodes: Sequence[Node]) -> SideBySide:
        """Puts streams side by side.

        Raises:
            InvalidArgumentError: A column is in two of them.
        """
        known = [node.features for node in nodes]
        merged: dict[str, Any] = {}
        for features in known:
            for name, feature in (features or {}).items():
                if name in merged:
                    raise InvalidArgumentError(
                        f'The column "{name}" is in several streams; rename or remove it in all but one.'
                    )
                merged[name] = feature
        features = Features(merged) if all(one is not None for one in known) else None
        return cls(tuple(nodes), features)

    def _common(self, parts: Sequence[Node]) -> Features | None:
        return self.of_nodes(parts).features

    @property
    def num_shards(self) -> int:
        """One: rows belong together by their place in the whole stream."""
        return 1

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps everything, or nothing."""
        return self if len(shards) else replace(self, parts=tuple(part.pick([]) for part in self.parts))

    def shuffle_shards(self, seed: int) -> Node:
        """Keeps the order, which says what belongs together."""
        return self

    def reshard(self) -> Node:
        """Stays as it is."""
        return self

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        states = state or [None] * len(self.parts)
        return _SideStream(
            self, [Cursor.open(part, epoch, at) for part, at in zip(self.parts, states, strict=True)]
        )


class _SideStream(Stream):
    def __init__(self, node: SideBySide, cursors: list[Cursor]) -> None:
        self._node = node
        self._cursors = cursors

    def next(self) -> Block | None:
        there = [cursor.peek(_ROWS) for cursor in self._cursors]
        # A stream at its end gives no columns any more; what is left of the others goes on.
        rows = min((number for number in there if number), default=0)
        if not rows:
            return None
        rows = min(rows, _ROWS)
        blocks = [cursor.take(rows) for cursor, number in zip(self._cursors, there, strict=True) if number]
        return self._beside([block for block in blocks if block is not None], rows)

    def _beside(self, blocks: list[Block], rows: int) -> Block:
        origin = blocks[0].origin  # one of several, and enough to find the row by
        by_column = [block if isinstance(block, Columns) else block.columns() for block in blocks]
        columns: dict[str, Any] = {}
        features: dict[str, Any] = {}
        for block in by_column:
            if block is None:
                return Examples.of_rows(
                    [
                        {name: value for row in several for name, value in row.items()}
                        for several in zip(*(one.rows() for one in blocks), strict=True)
                    ],
                    origin,
                )
            twice = [name for name in block.columns if name in columns]
            if twice:
                raise InvalidArgumentError(
                    f'The column "{twice[0]}" is in several streams; rename or remove it in all but one.'
                )
            columns.update(block.columns)
            features.update(block.features)
        made = Columns(columns, rows, features, origin)
        if self._node.features is None or len(columns) == len(self._node.features):
            return made
        table = locating(cast_table, origin, made.table()[0], self._node.features)
        return Columns.of_table(table, self._node.features, origin)

    def state(self) -> State:
        return [cursor.state() for cursor in self._cursors]

    def close(self) -> None:
        for cursor in self._cursors:
            cursor.close()
