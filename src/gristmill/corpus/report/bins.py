"""Lengths in classes that double, so that a word and a long document fit on one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bins:
    """Classes of lengths with what was counted in each.

    Attributes:
        edges: First length of each class, in characters; the last class has no end.
        counts: Name of a series -> one count a class.
    """

    edges: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]

    @property
    def totals(self) -> tuple[int, ...]:
        """Counts over all series."""
        return tuple(sum(column) for column in zip(*self.counts.values(), strict=True))

    def label(self, position: int) -> str:
        """The class in words: ``"64 to 127"``."""
        first = self.edges[position]
        if position + 1 == len(self.edges):
            return f"{first:,} or more"
        last = self.edges[position + 1] - 1
        return f"{first:,}" if last == first else f"{first:,} to {last:,}"


def bin_lengths(series: Mapping[str, Mapping[int, int]], most: int = 12) -> Bins:
    """Sorts lengths into at most `most` classes: doubling, no empty ones at either end.

    Args:
        series: Name -> length -> count.
        most: Most classes; lengths beyond the last are counted in it.

    Example:
        >>> bins = bin_lengths({"all": {3: 2, 20: 1}})
        >>> [(bins.label(i), n) for i, n in enumerate(bins.totals)]
        [('2 to 3', 2), ('4 to 7', 0), ('8 to 15', 0), ('16 or more', 1)]
    """
    lengths = [length for counts in series.values() for length in counts] or [0]
    lowest, highest = min(lengths).bit_length(), max(lengths).bit_length()
    highest = min(highest, lowest + most - 1)
    classes = range(lowest, highest + 1)
    edges = tuple(0 if size == 0 else 1 << (size - 1) for size in classes)
    counts = {}
    for name, lengths_of in series.items():
        row = [0] * len(edges)
        for length, count in lengths_of.items():
            row[min(length.bit_length(), highest) - lowest] += count
        counts[name] = tuple(row)
    return Bins(edges, counts)
