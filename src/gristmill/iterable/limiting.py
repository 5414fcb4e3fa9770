"""Some of the rows by their place in the stream: the first ones, all but the first ones, every n-th one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gristmill.features import Features
from gristmill.iterable.block import Block
from gristmill.iterable.node import Node, Over, State, Stream


@dataclass(frozen=True)
class _InOrder(Over):
    """A node for which the order of rows in the whole stream decides: it is one shard, and shuffling stops here."""

    @property
    def features(self) -> Features | None:  # type: ignore[override]  # a field elsewhere
        """Those below."""
        return self.child.features

    @property
    def num_shards(self) -> int:
        """One: a worker that read some shards only could not tell which rows come first."""
        return 1

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps everything, or nothing."""
        return self if len(shards) else Take(self, 0)

    def shuffle_shards(self, seed: int) -> Node:
        """Keeps the order, which says what the rows are."""
        return self

    def reshard(self) -> Node:
        """Stays as it is."""
        return self


@dataclass(frozen=True)
class Take(_InOrder):
    """The first rows.

    Attributes:
        rows: How many.
    """

    rows: int

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        state = state or {"left": self.rows, "in": None}
        return _TakeStream(self.child.open(epoch, state["in"]), state["left"])


class _TakeStream(Stream):
    def __init__(self, inner: Stream, left: int) -> None:
        self._inner = inner
        self._left = left
        inner.expect(left)

    def next(self) -> Block | None:
        if not self._left or (block := self._inner.next()) is None:
            return None
        # What is read too much is never asked for again: nothing comes after the last row.
        kept = block.slice(0, min(block.num_rows, self._left))
        self._left -= kept.num_rows
        return kept

    def state(self) -> State:
        return {"left": self._left, "in": self._inner.state()}

    def skip(self, rows: int) -> int:
        skipped = self._inner.skip(min(rows, self._left))
        self._left -= skipped
        return skipped

    def expect(self, rows: int) -> None:
        self._inner.expect(min(rows, self._left))

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class Skip(_InOrder):
    """All but the first rows.

    Attributes:
        rows: How many are left out.
    """

    rows: int

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        state = state or {"left": self.rows, "in": None}
        return _SkipStream(self.child.open(epoch, state["in"]), state["left"])


class _SkipStream(Stream):
    def __init__(self, inner: Stream, left: int) -> None:
        self._inner = inner
        self._left = left

    def next(self) -> Block | None:
        if self._left:
            self._left -= self._inner.skip(self._left)
        while (block := self._inner.next()) is not None:
            dropped = min(block.num_rows, self._left)
            self._left -= dropped
            if dropped < block.num_rows:
                return block.slice(dropped, block.num_rows)
        return None

    def state(self) -> State:
        return {"left": self._left, "in": self._inner.state()}

    def skip(self, rows: int) -> int:
        skipped = self._inner.skip(self._left + rows)
        kept = min(self._left, skipped)
        self._left -= kept
        return skipped - kept

    def expect(self, rows: int) -> None:
        self._inner.expect(self._left + rows)

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class Step(Over):
    """Every n-th row, so that several readers share the rows of one stream.

    Attributes:
        count: How many readers.
        index: Which of them this is.
    """

    count: int
    index: int

    @cached_property
    def part(self) -> str:
        """That of the one below, and which of its rows."""
        return f"{self.child.part}/{self.index} of {self.count}"

    @property
    def features(self) -> Features | None:  # type: ignore[override]
        """Those below."""
        return self.child.features

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        state = state or {"row": 0, "in": None}
        return _StepStream(self, self.child.open(epoch, state["in"]), state["row"])


def stepped(node: Node, count: int, index: int) -> Node:
    """Keeps each `count`-th row of a node from `index` on; work on single rows is only done on those kept."""
    return node.step(count, index) or Step(node, count, index)


class _StepStream(Stream):
    def __init__(self, node: Step, inner: Stream, row: int) -> None:
        self._node = node
        self._inner = inner
        self._row = row

    def next(self) -> Block | None:
        block = self._inner.next()
        if block is None:
            return None
        first = (self._node.index - self._row) % self._node.count
        self._row = (self._row + block.num_rows) % self._node.count
        return block.take(np.arange(first, block.num_rows, self._node.count, dtype=np.int64))

    def state(self) -> State:
        return {"row": self._row, "in": self._inner.state()}

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class Repeat(Over):
    """All rows several times.

    Attributes:
        times: How often; None for ever.
    """

    times: int | None

    @property
    def features(self) -> Features | None:  # type: ignore[override]
        """Those below."""
        return self.child.features

    @property
    def num_rows(self) -> int | None:
        """As often as below."""
        rows = self.child.num_rows
        return None if rows is None or self.times is None else rows * self.times

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return _RepeatStream(self, epoch, state or {"round": 0, "any": False, "in": None})


class _RepeatStream(Stream):
    def __init__(self, node: Repeat, epoch: int, state: State) -> None:
        self._node = node
        self._epoch = epoch
        self._round: int = state["round"]
        self._any: bool = state["any"]
        self._inner: Stream | None = node.child.open(epoch, state["in"]) if self._goes_on else None

    @property
    def _goes_on(self) -> bool:
        return self._node.times is None or self._round < self._node.times

    def next(self) -> Block | None:
        while self._inner is not None:
            block = self._inner.next()
            if block is not None:
                self._any = self._any or block.num_rows > 0
                return block
            self._inner.close()
            self._round += 1
            # Nothing stays nothing, however often it is repeated.
            if not self._any:
                self._round = self._node.times or 0
                self._inner = None
            else:
                self._inner = self._node.child.open(self._epoch) if self._goes_on else None
        return None

    def state(self) -> State:
        inner: Any = None if self._inner is None else self._inner.state()
        return {"round": self._round, "any": self._any, "in": inner}

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()
