"""Which shards of a source are read, in which order: shuffling and picking, worked out when an epoch begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gristmill.errors import InvalidArgumentError


@dataclass(frozen=True)
class Order:
    """An order of shards.

    Attributes:
        count: How many shards the source has.
        steps: What was done to them, one after another: a seed shuffles, a tuple of positions picks.

    Example:
        >>> order = Order(4).pick([1, 3])
        >>> order.num_shards, order.shards(epoch=0)
        (2, [1, 3])
    """

    count: int
    steps: tuple[int | tuple[int, ...], ...] = ()

    @property
    def num_shards(self) -> int:
        """How many are read."""
        picks = [step for step in self.steps if isinstance(step, tuple)]
        return len(picks[-1]) if picks else self.count

    @property
    def is_shuffled(self) -> bool:
        """Whether the order depends on the epoch."""
        return any(isinstance(step, int) for step in self.steps)

    def pick(self, positions: Sequence[int]) -> Order:
        """Keeps the shards at these positions."""
        return replace(self, steps=(*self.steps, tuple(positions)))

    def shuffle(self, seed: int) -> Order:
        """Reads the shards in another order each epoch."""
        return replace(self, steps=(*self.steps, seed))

    def shards(self, epoch: int) -> list[int]:
        """Gives the shards in the order of an epoch."""
        shards = list(range(self.count))
        for step in self.steps:
            if isinstance(step, tuple):
                shards = [shards[position] for position in step]
            else:
                order = np.random.default_rng([step, epoch]).permutation(len(shards))
                shards = [shards[position] for position in order.tolist()]
        return shards

    def settled(self) -> tuple[list[int], tuple[int, ...]] | None:
        """Takes apart what was picked for good and what is shuffled after it.

        Returns:
            (shards, seeds of the shuffles that follow); None if the epoch decides which shards are read.
        """
        shuffles = [number for number, step in enumerate(self.steps) if isinstance(step, int)]
        first = shuffles[0] if shuffles else len(self.steps)
        rest = tuple(step for step in self.steps[first:] if isinstance(step, int))
        if len(rest) < len(self.steps) - first:
            return None
        return replace(self, steps=self.steps[:first]).shards(0), rest

    @property
    def picks(self) -> str:
        """Names which of the shards are read, whatever the seeds are."""
        return f"{self.count}:{[step if isinstance(step, tuple) else 'shuffled' for step in self.steps]}"

    @property
    def seeds(self) -> list[int]:
        """The seeds of the shuffles, in order."""
        return [step for step in self.steps if isinstance(step, int)]

    def with_seeds(self, seeds: Iterator[int]) -> Order:
        """Shuffles by other seeds."""
        return replace(
            self, steps=tuple(next(seeds) if isinstance(step, int) else step for step in self.steps)
        )


def even_parts(total: int, parts: int) -> list[range]:
    """Cuts rows or shards into parts that follow each other and differ by one in length at most.

    Example:
        >>> even_parts(5, 2)
        [range(0, 3), range(3, 5)]
    """
    each, more = divmod(total, parts)
    cuts = [number * each + min(number, more) for number in range(parts + 1)]
    return [range(start, stop) for start, stop in pairwise(cuts)]


def part_of(total: int, parts: int, index: int, contiguous: bool) -> Sequence[int]:
    """Gives one of several parts of shards, which together are all of them.

    Raises:
        InvalidArgumentError: There are fewer shards than parts, or there is no such part.
    """
    if not 0 <= index < parts:
        raise InvalidArgumentError.from_value("index", index, f"a number from 0 to {parts - 1}")
    if parts > total:
        raise InvalidArgumentError(
            f"num_shards is {parts}, and the stream has {total} shard{'s' * (total != 1)}; reshard() may cut it into more."
        )
    return even_parts(total, parts)[index] if contiguous else range(index, total, parts)
