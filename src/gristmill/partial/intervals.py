"""Ranges of bytes as sorted, disjoint, half-open intervals, and which requests fetch them. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

__all__ = ["Interval", "intersect", "merged", "missing", "plan_requests", "total"]

Interval = tuple[int, int]
"""Bytes from the first number up to, and without, the second."""


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Brings intervals to order; those that touch or overlap become one, empty ones go.

    Example:
        >>> merged([(5, 9), (0, 2), (2, 3), (7, 12), (4, 4)])
        [(0, 3), (5, 12)]
    """
    result: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def total(intervals: Iterable[Interval]) -> int:
    """Counts the bytes of disjoint intervals.

    Example:
        >>> total([(0, 3), (5, 12)])
        10
    """
    return sum(end - start for start, end in intervals)


def missing(wanted: Iterable[Interval], here: Iterable[Interval]) -> list[Interval]:
    """Gives what of `wanted` is not in `here`.

    Example:
        >>> missing([(0, 10), (20, 30)], [(2, 4), (8, 25)])
        [(0, 2), (4, 8), (25, 30)]
    """
    result: list[Interval] = []
    have = merged(here)
    at = 0
    for first, end in merged(wanted):
        start = first
        while at < len(have) and have[at][1] <= start:
            at += 1
        look = at
        while look < len(have) and have[look][0] < end:
            if start < have[look][0]:
                result.append((start, have[look][0]))
            start = max(start, have[look][1])
            look += 1
        if start < end:
            result.append((start, end))
    return result


def intersect(first: Iterable[Interval], second: Iterable[Interval]) -> list[Interval]:
    """Gives what is in both.

    Example:
        >>> intersect([(0, 10)], [(5, 20), (2, 3)])
        [(2, 3), (5, 10)]
    """
    whole = merged(first)
    return missing(whole, missing(whole, second))


def plan_requests(
    wanted: Iterable[Interval], here: Iterable[Interval], *, gap: int, waste: float, largest: int
) -> list[Interval]:
    """Says which requests fetch what is missing: near ranges become one, long ones are cut.

    The smallest gaps are bridged first, as long as all bytes fetched for nothing stay below a share of those needed.

    Args:
        wanted: What is needed.
        here: What is there already.
        gap: Most bytes between two ranges of one request.
        waste: Share of bytes beyond the needed ones, for example 0.02.
        largest: Most bytes of one request.

    Returns:
        Disjoint ranges in order.

    Example:
        >>> plan_requests([(0, 100), (101, 200), (900, 1000)], [], gap=50, waste=0.02, largest=150)
        [(0, 150), (150, 200), (900, 1000)]
    """
    needed = missing(wanted, here)
    allowed = int(total(needed) * waste)
    gaps = [(after[0] - before[1], before[1], after[0]) for before, after in itertools.pairwise(needed)]
    bridges: list[Interval] = []
    for size, start, end in sorted(gaps):
        if size > min(gap, allowed):
            break
        allowed -= size
        bridges.append((start, end))
    return [
        (at, min(at + largest, end))
        for start, end in merged([*needed, *bridges])
        for at in range(start, end, largest)
    ]
