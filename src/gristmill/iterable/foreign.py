"""Sources that libraries write themselves, as classes that yield keys and rows; and what they read of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gristmill.features import Features
from gristmill.iterable.node import Node
from gristmill.iterable.sources import Generated

__all__ = ["FormattingConfig", "StepExamplesIterable", "_BaseExamplesIterable", "node_of_examples"]


@dataclass(frozen=True)
class FormattingConfig:
    """The format of a stream.

    Attributes:
        format_type: Name of the format; None for Python objects.
    """

    format_type: str | None


class _BaseExamplesIterable:
    """Rows for an `IterableDataset`: derive from it, and yield a key and a dict for each row.

    Example:
        >>> class Squares(_BaseExamplesIterable):
        ...     def __iter__(self):
        ...         for n in range(3):
        ...             yield n, {"square": n * n}
        >>> from gristmill import IterableDataset
        >>> [row["square"] for row in IterableDataset(Squares())]
        [0, 1, 4]
    """

    features: Features | None = None

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        raise NotImplementedError(f"{type(self).__name__} doesn't say what its rows are: it needs __iter__.")

    @property
    def num_shards(self) -> int:
        """How many parts `shard_data_sources` can make."""
        return 1

    @property
    def n_shards(self) -> int:
        """The old name of `num_shards`."""
        return self.num_shards

    def shard_data_sources(
        self, num_shards: int, index: int, contiguous: bool = True
    ) -> Iterable[tuple[Any, Mapping[str, Any]]]:
        """Gives one of several parts."""
        return self


class StepExamplesIterable(_BaseExamplesIterable):
    """Every n-th row of another.

    Args:
        ex_iterable: The other.
        step: How many readers there are.
        offset: Which of them this is.

    Example:
        >>> list(StepExamplesIterable([(0, {"a": 0}), (1, {"a": 1}), (2, {"a": 2})], step=2, offset=0))
        [(0, {'a': 0}), (2, {'a': 2})]
    """

    def __init__(self, ex_iterable: Any, step: int, offset: int) -> None:
        self.ex_iterable = ex_iterable
        self.step = step
        self.offset = offset

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        return islice(iter(self.ex_iterable), self.offset, None, self.step)


@dataclass(frozen=True)
class _Rows:
    """The rows of some shards, as a generator function."""

    examples: _BaseExamplesIterable
    count: int

    @property
    def label(self) -> str:
        """What to call the rows' source in messages."""
        return type(self.examples).__qualname__

    def __call__(self, shards: list[int]) -> Iterator[Mapping[str, Any]]:
        for shard in shards:
            part = self.examples if self.count == 1 else self.examples.shard_data_sources(self.count, shard)
            for _, row in part:
                yield row


def node_of_examples(examples: _BaseExamplesIterable) -> Node:
    """Makes a source of rows that a library yields."""
    count = max(1, examples.num_shards)
    return Generated.of_function(_Rows(examples, count), examples.features, {"shards": list(range(count))})
