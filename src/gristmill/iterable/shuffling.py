"""`shuffle`: rows mixed in a buffer that is a function of the position, so that a stream resumes exactly.

The buffer is filled from several shards at once, its rows are put in an order drawn from (seed, epoch, number of the
buffer), handed out, and it is filled again. Where the shards were when it was filled is all that has to be remembered:
resuming reads those rows again and puts them in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gristmill.features import Features
from gristmill.iterable.block import Block, join
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.node import Node, Over, State, Stream
from gristmill.iterable.order import even_parts


@dataclass(frozen=True)
class Shuffle(Over):
    """Rows in another order, which seed and epoch decide.

    Attributes:
        seed: The same seed gives the same order.
        buffer_size: Rows mixed at a time.
        inputs: Shards read at the same time at most.
    """

    seed: int
    buffer_size: int
    inputs: int

    @property
    def features(self) -> Features | None:  # type: ignore[override]  # a field elsewhere
        """Those below."""
        return self.child.features

    @property
    def num_rows(self) -> int | None:
        """As many as below."""
        return self.child.num_rows

    @property
    def seeds(self) -> list[int]:
        """Its own, then those below."""
        return [self.seed, *self.child.seeds]

    def with_seeds(self, seeds: Iterator[int]) -> Node:
        """Shuffles by other seeds."""
        seed = next(seeds)
        return replace(self, seed=seed, child=self.child.with_seeds(seeds))

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        parts = self._parts()
        state = state or {"buffer": 0, "in": [None] * len(parts)}
        cursors = [Cursor.open(part, epoch, at) for part, at in zip(parts, state["in"], strict=True)]
        return _ShuffleStream(self, epoch, cursors, state["buffer"])

    def _parts(self) -> Sequence[Node]:
        shards = self.child.num_shards
        count = min(self.inputs, shards, self.buffer_size)
        # What was shuffled below has mixed shards already: reading it several times over would open files by the hundred.
        if count < 2 or _is_mixed(self.child):
            return [self.child]
        return [self.child.pick(range(index, shards, count)) for index in range(count)]


def _is_mixed(node: Node) -> bool:
    return isinstance(node, Shuffle) or any(map(_is_mixed, node.children))


class _ShuffleStream(Stream):
    def __init__(self, node: Shuffle, epoch: int, cursors: list[Cursor], number: int) -> None:
        self._node = node
        self._epoch = epoch
        self._cursors = cursors
        self._number = number

    def next(self) -> Block | None:
        pieces: list[Block] = []
        wanted = self._node.buffer_size
        going = list(self._cursors)
        while wanted and going:
            # Each shard gives its share; when some are at their end, the others give more.
            shares = [len(part) for part in even_parts(wanted, len(going))]
            taken = [
                cursor.take(share) if share else None for cursor, share in zip(going, shares, strict=True)
            ]
            going = [
                cursor
                for cursor, block, share in zip(going, taken, shares, strict=True)
                if block is not None and block.num_rows == share
            ]
            pieces += [block for block in taken if block is not None]
            wanted -= sum(block.num_rows for block in taken if block is not None)
        if not pieces:
            return None
        rows = join(pieces)
        seed = [self._node.seed, self._epoch, self._number]
        self._number += 1
        return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))

    def state(self) -> State:
        return {"buffer": self._number, "in": [cursor.state() for cursor in self._cursors]}

    def close(self) -> None:
        for cursor in self._cursors:
            cursor.close()
