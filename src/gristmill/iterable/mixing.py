"""`interleave_datasets`: rows of several streams in turns, or drawn with given probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gristmill.iterable.block import Block, join
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.joining import Several
from gristmill.iterable.node import Node, State, Stream
from gristmill.iterable.pacing import Pace

_DRAWN_AT_ONCE = 1000
_RARE = 1e-4


@dataclass(frozen=True)
class Interleave(Several):
    """Rows of several streams, one at a time.

    Attributes:
        probabilities: How likely each is drawn from; one after another if None.
        seed: The same seed draws the same.
        strategy: When to stop, as documented for `interleave_datasets`.
    """

    probabilities: tuple[float, ...] | None
    seed: int
    strategy: str

    @property
    def num_shards(self) -> int:
        """As many as each of the streams has at least: each reader mixes its share of every stream."""
        return min((part.num_shards for part in self.parts if part.num_shards), default=0)

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps some of the shares."""
        count, wanted = max(1, self.num_shards), set(shards)
        parts = [
            part.pick([shard for shard in range(part.num_shards) if shard % count in wanted])
            for part in self.parts
        ]
        return replace(self, parts=tuple(parts))

    @property
    def seeds(self) -> list[int]:
        """Its own, then those below."""
        return [self.seed, *super().seeds]

    def with_seeds(self, seeds: Iterator[int]) -> Node:
        """Draws by other seeds."""
        seed = next(seeds)
        return replace(self, seed=seed, parts=tuple(part.with_seeds(seeds) for part in self.parts))

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return _MixStream(self, epoch, state)


class _MixStream(Stream):
    def __init__(self, node: Interleave, epoch: int, state: State) -> None:
        self._node = node
        self._epoch = epoch
        count = len(node.parts)
        state = state or {
            "turn": 0,
            # One that is never drawn from is not waited for.
            "done": [probability == 0 for probability in node.probabilities or [1.0] * count],
            "over": False,
            "in": [None] * count,
        }
        self._turn: int = state["turn"]
        self._done: list[bool] = list(state["done"])
        self._over: bool = state["over"]
        self._cursors = [
            Cursor.open(part, epoch, at) for part, at in zip(node.parts, state["in"], strict=True)
        ]
        self._pace = Pace()
        self._draws: tuple[Any, Any] = (None, None)

    def next(self) -> Block | None:
        while not self._over and not self._is_finished():
            turns = self._turns()
            self._pace.start()
            block = self._take(turns)
            self._pace.stop(len(turns))
            if block is not None:
                return block
        self._over = True
        return None

    def _turns(self) -> Any:
        """Says which streams come next; in turns it is whole rounds."""
        count = len(self._cursors)
        if self._node.probabilities is None:
            rest = -self._turn % count
            rounds = max(1, self._pace.rows // count)
            return (np.arange(rest or rounds * count) + self._turn) % count
        block, at = divmod(self._turn, _DRAWN_AT_ONCE)
        chances = self._chances()
        if self._draws[0] != (block, chances):
            self._draws = ((block, chances), self._drawn(block, chances))
        return self._draws[1][at : at + self._pace.rows]

    def _chances(self) -> tuple[float, ...]:
        """Says how likely each is drawn now.

        Turns of streams that are at their end, and do not begin again, give nothing: where hardly any others would
        come, only those others are drawn.
        """
        chances = self._node.probabilities
        assert chances is not None
        if self._node.strategy == "all_exhausted_without_replacement" and any(self._done):
            left = [0.0 if done else chance for chance, done in zip(chances, self._done, strict=True)]
            if 0 < (whole := sum(left)) < _RARE:
                return tuple(chance / whole for chance in left)
        return chances

    def _drawn(self, block: int, chances: tuple[float, ...]) -> Any:
        # Each draw takes one number from the generator, so that any block of draws can be gone to.
        seed = [self._node.seed, self._epoch] if self._epoch else self._node.seed
        generator = np.random.Generator(np.random.PCG64(seed).advance(block * _DRAWN_AT_ONCE))
        return generator.choice(len(self._cursors), size=_DRAWN_AT_ONCE, p=chances)

    def _is_finished(self) -> bool:
        node = self._node
        if node.strategy != "first_exhausted":
            return all(self._done)
        chances = node.probabilities or [1.0] * len(self._cursors)
        return any(
            chance and not cursor.peek(1) for chance, cursor in zip(chances, self._cursors, strict=True)
        )

    def _take(self, turns: Any) -> Block | None:
        """Takes the rows of some turns, as far as no stream comes to its end; else a single one."""
        pieces: list[Block] = []
        counts: list[Any] = []
        stop = len(turns)
        for index, cursor in enumerate(self._cursors):
            mine = np.flatnonzero(turns == index)
            # The last row of a stream changes what comes next: one row more than is taken has to be there.
            there = max(0, cursor.peek(len(mine) + 1) - 1) if len(mine) else 0
            if there < len(mine):
                stop = min(stop, int(mine[there]))
            counts.append(mine)
        if not stop:
            return self._take_one(int(turns[0]))
        places = np.empty(stop, np.int64)
        first = 0
        for cursor, all_of_mine in zip(self._cursors, counts, strict=True):
            mine = all_of_mine[all_of_mine < stop]
            taken = cursor.take(len(mine)) if len(mine) else None
            if taken is not None:
                places[mine] = np.arange(first, first + len(mine))
                first += len(mine)
                pieces.append(taken)
        self._turn += stop
        return join(pieces).take(places)

    def _take_one(self, index: int) -> Block | None:
        """Takes a turn at which a stream comes to its end, or is at it."""
        strategy = self._node.strategy
        self._turn += 1
        if strategy == "all_exhausted_without_replacement" and self._done[index]:
            return None
        row = self._cursors[index].take(1)
        if self._cursors[index].peek(1):
            return row
        self._done[index] = True
        if strategy == "all_exhausted":
            self._cursors[index].close()
            self._cursors[index] = Cursor.open(self._node.parts[index], self._epoch)
        return row

    def state(self) -> State:
        return {
            "turn": self._turn,
            "done": list(self._done),
            "over": self._over,
            "in": [cursor.state() for cursor in self._cursors],
        }

    def close(self) -> None:
        for cursor in self._cursors:
            cursor.close()
