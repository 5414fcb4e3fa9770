"""The parts that streams are made of.

A *node* is a plan: immutable, picklable, cheap. It knows its features, if they are known, and its shards, the parts that
can be read apart from each other. A *stream* is a node being read: it gives blocks of rows, and between two blocks its
*state* is where it is, as plain values that JSON can hold. Opening a node with that state gives the rows that follow.

Three promises, which tests prove for every node and for random trees of them:

- the rows of a stream depend on node, epoch and state only, not on how they are cut into blocks;
- the rows of ``pick([0])``, ``pick([1])``, ... together are those of the node, each once;
- a closed stream holds no file, generator or thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from typing_extensions import Self

from gristmill.features import Features
from gristmill.iterable.block import Block
from gristmill.iterable.order import part_of
from gristmill.iterable.origin import locating

State = Any
"""Plain values that JSON can hold; None is the start."""


class Stream(ABC):
    """A node being read."""

    @abstractmethod
    def next(self) -> Block | None:
        """Gives the next rows, perhaps none; None at the end, also when asked again."""

    @abstractmethod
    def state(self) -> State:
        """Says where the block that comes next begins."""

    def skip(self, rows: int) -> int:
        """Goes on by up to so many rows, as far as none has to be read for that.

        Args:
            rows: How many are not wanted.

        Returns:
            How many of them were left out; the caller drops the others.
        """
        return 0

    def expect(self, rows: int) -> None:  # noqa: B027  # most have nothing to spare
        """Is told that no more rows than these will be taken, those that are skipped included: what need not be fetched."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of files and generators; may be called twice."""


class Node(ABC):
    """A part of a stream's plan.

    Attributes:
        features: The columns, in order; None if they show only when rows are read.
    """

    features: Features | None

    @property
    @abstractmethod
    def num_shards(self) -> int:
        """How many parts can be read apart from each other."""

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes that this one reads."""
        return ()

    def with_children(self, children: Sequence[Node]) -> Node:
        """Gives this node over others."""
        return self

    def seen(self, far: bool) -> Node:
        """Gives the same tree with the columns that a look at its files finds; to tell columns by, never to read.

        Args:
            far: Whether files that are not on this machine may be asked.
        """
        return self.with_children([child.seen(far) for child in self.children])

    @abstractmethod
    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading.

        Args:
            epoch: Decides, with the seeds, what shuffling gives.
            state: Where a stream of this node was, in the same epoch.
        """

    @abstractmethod
    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps some shards."""

    def shard_data_sources(self, num_shards: int, index: int, contiguous: bool = True) -> Node:
        """Gives one of several parts, under the name that libraries call."""
        return self.pick(part_of(self.num_shards, num_shards, index, contiguous))

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields a number and each row as a dict, as libraries read the plan of a stream and the parts of it."""
        stream, number = self.open(0), 0
        try:
            while (block := stream.next()) is not None:
                for row in block.rows():
                    yield number, row
                    number += 1
        finally:
            stream.close()

    @property
    def kwargs(self) -> dict[str, Any]:
        """What the rows are made from, under the name that libraries read: ``files`` of a stream of files."""
        return {}

    def shuffle_shards(self, seed: int) -> Node:
        """Reads the shards in another order each epoch, where the order of rows means nothing."""
        return self.with_children([child.shuffle_shards(seed) for child in self.children])

    def reshard(self) -> Node:
        """Cuts shards into smaller ones where that can be done."""
        return self.with_children([child.reshard() for child in self.children])

    @property
    def num_rows(self) -> int | None:
        """How many rows there are, if that is known without reading them."""
        return None

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Keeps rows from `start` to before `stop` without reading the others; None if that can't be done."""
        return None

    def step(self, count: int, index: int) -> Node | None:
        """Keeps each `count`-th row from `index` on without working on the others; None if that can't be done."""
        return None

    def choose(self, names: Sequence[str]) -> Node | None:
        """Keeps some columns without reading the others; None if that can't be done."""
        return None

    @property
    def seeds(self) -> list[int]:
        """The seeds in this tree, from the top down."""
        return [seed for child in self.children for seed in child.seeds]

    def with_seeds(self, seeds: Iterator[int]) -> Node:
        """Gives the same tree with other seeds, taken in the order of `seeds`."""
        return self.with_children([child.with_seeds(seeds) for child in self.children])

    @property
    def shape(self) -> str:
        """Names the nodes of the tree, to tell states of one tree from those of another."""
        inner = ",".join(child.shape for child in self.children)
        return f"{type(self).__name__}({inner})"

    @cached_property
    def part(self) -> str:
        """Names which rows of its sources the tree reads, to tell states of one worker or machine from those of another."""
        return "+".join(child.part for child in self.children)


@dataclass(frozen=True)
class Over(Node):
    """A node that reads one other, shard by shard.

    Attributes:
        child: The other.
    """

    child: Node

    @property
    def num_shards(self) -> int:
        """As many as below."""
        return self.child.num_shards

    @property
    def children(self) -> tuple[Node, ...]:
        """The one below."""
        return (self.child,)

    def with_children(self, children: Sequence[Node]) -> Self:
        """Gives this node over another."""
        [child] = children
        return replace(self, child=child)

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps shards of the one below."""
        return replace(self, child=self.child.pick(shards))


class OneToOne(Over):
    """A node that gives one row for each, and works on each row alone."""

    @property
    def num_rows(self) -> int | None:
        """As many as below."""
        return self.child.num_rows

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Cuts below."""
        below = self.child.cut(start, stop)
        return None if below is None else replace(self, child=below)

    def step(self, count: int, index: int) -> Node | None:
        """Steps below."""
        below = self.child.step(count, index)
        return None if below is None else replace(self, child=below)


class BlockStream(Stream):
    """A stream that changes each block of another by itself, row for row.

    Args:
        inner: The other; its state is this one's.
        change: What becomes of a block: as many rows.
    """

    def __init__(self, inner: Stream, change: Callable[[Block], Block]) -> None:
        self._inner = inner
        self._change = change

    def next(self) -> Block | None:
        """Gives the next block, changed."""
        block = self._inner.next()
        return None if block is None else self._changed(block)

    def _changed(self, block: Block) -> Block:
        return self._change(block)

    def state(self) -> State:
        """Gives that of the other."""
        return self._inner.state()

    def skip(self, rows: int) -> int:
        """Skips in the other."""
        return self._inner.skip(rows)

    def expect(self, rows: int) -> None:
        """Tells the other."""
        self._inner.expect(rows)

    def close(self) -> None:
        """Closes the other."""
        self._inner.close()


class CountingStream(BlockStream):
    """A stream that changes blocks, and names rows in its errors: where they come from, and by their number in it.

    Args:
        node: What is read.
        epoch: The epoch.
        state: Where it was.
        change: What becomes of a block: as many rows.
    """

    def __init__(self, node: Node, epoch: int, state: State, change: Callable[[Block], Block]) -> None:
        state = state or {"counted": 0, "in": None}
        super().__init__(node.open(epoch, state["in"]), change)
        self._counted: int = state["counted"]

    def _changed(self, block: Block) -> Block:
        after = locating(self._change, block.origin, block, counted=self._counted)
        self._counted += block.num_rows
        return after

    def state(self) -> State:
        """Gives that of the other, and how many rows there were before."""
        return {"counted": self._counted, "in": self._inner.state()}

    def skip(self, rows: int) -> int:
        """Skips in the other."""
        skipped = super().skip(rows)
        self._counted += skipped
        return skipped
