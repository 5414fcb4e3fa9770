"""Datasets in turns: which row comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill.arguments import mixing_chances, stopping_strategy
from gristmill.errors import InvalidArgumentError
from gristmill.table.selection import IndexVector

_DRAWN_AT_ONCE = 1000
_MOST_TURNS = 1_000_000_000
_TURNS_A_ROW = 1000
_RARE = 1e-4


def interleaved_rows(
    lengths: Sequence[int], probabilities: Sequence[float] | None, seed: int | None, strategy: str
) -> IndexVector:
    """Finds the order of `interleave_datasets`.

    Args:
        lengths: Rows of each dataset.
        probabilities: How likely each is drawn; in turns if None.
        seed: For the drawing.
        strategy: When to stop, as documented for `interleave_datasets`.

    Returns:
        Row numbers counted over all datasets one after another.

    Raises:
        InvalidArgumentError: The strategy is not known, the probabilities can't be used, or a dataset is drawn so rarely
            that it would take for ever until it is exhausted.

    Example:
        >>> interleaved_rows([2, 3], None, None, "first_exhausted").tolist()
        [0, 2, 1, 3]
    """
    strategy = stopping_strategy(strategy)
    chances = mixing_chances(probabilities, len(lengths))
    sizes = np.asarray(lengths, np.int64)
    can_be_drawn = np.ones(len(sizes), np.bool_) if chances is None else np.asarray(chances) > 0
    if strategy != "first_exhausted":
        can_be_drawn &= sizes > 0  # an empty dataset is exhausted before it begins
    elif chances is not None and not sizes[can_be_drawn].all():
        empty = np.flatnonzero(can_be_drawn & (sizes == 0)).tolist()
        raise InvalidArgumentError(
            f"The datasets at {empty} have no rows and can't be drawn from; leave them out, or give them the "
            "probability 0."
        )
    if not can_be_drawn.any():
        return np.empty(0, np.int64)
    if chances is not None and strategy == "all_exhausted":
        _check_turns(sizes, can_be_drawn, chances)
    turns = _turns(sizes, can_be_drawn, chances, seed, strategy)
    rank = _ranks(turns)
    allowed = can_be_drawn[turns]
    last_needed = allowed & (rank == sizes[turns] - 1)
    if strategy == "first_exhausted":
        # Whoever gives its last row first ends it; an empty dataset does so before its first turn.
        ends = np.flatnonzero(last_needed)
        stop = int(ends[0]) + 1 if len(ends) else 0
        if chances is None:
            stop = int(sizes.min()) * len(sizes)
        turns, rank, allowed = turns[:stop], rank[:stop], allowed[:stop]
    elif strategy == "all_exhausted":
        stop = int(np.flatnonzero(last_needed)[-1]) + 1
        if chances is None:
            stop = int(sizes.max()) * int(can_be_drawn.sum())
        turns, rank, allowed = turns[:stop], rank[:stop], allowed[:stop]
    else:
        allowed = allowed & (rank < sizes[turns])
    turns, rank = turns[allowed], rank[allowed]
    starts = np.cumsum(np.concatenate([[0], sizes[:-1]]))
    rows: IndexVector = rank % sizes[turns] + starts[turns]
    return rows


def _check_turns(sizes: IndexVector, can_be_drawn: Any, chances: Sequence[float]) -> None:
    """Refuses what would fill the memory with turns of other datasets before a rare one has had all of its own."""
    expected = np.where(can_be_drawn, sizes / np.where(can_be_drawn, chances, 1.0), 0.0)
    if expected.max() > max(_MOST_TURNS, _TURNS_A_ROW * int(sizes.sum())):
        rare = int(expected.argmax())
        raise InvalidArgumentError(
            f"The dataset at {rare} has {sizes[rare]} rows and the probability {chances[rare]}: it would take about "
            f"{expected[rare]:.0e} turns until all of them were there. Raise it, or pass another stopping_strategy."
        )


def _turns(
    sizes: IndexVector,
    can_be_drawn: Any,
    chances: Sequence[float] | None,
    seed: int | None,
    strategy: str,
) -> IndexVector:
    """Says which dataset is next, at least as often as is needed."""
    if chances is None:
        sources = np.flatnonzero(can_be_drawn).astype(np.int64)
        longest = sizes.min() if strategy == "first_exhausted" else sizes.max()
        return np.tile(sources, int(longest))
    generator = np.random.default_rng(seed)
    counts, drawn, enough = np.zeros(len(sizes), np.int64), [], False
    size = _DRAWN_AT_ONCE
    shares = np.asarray(chances, np.float64)
    while not enough:
        block = generator.choice(len(sizes), size=size, p=shares)
        drawn.append(block.astype(np.int64, copy=False))
        counts += np.bincount(block, minlength=len(sizes))
        done = counts[can_be_drawn] >= sizes[can_be_drawn]
        enough = bool(done.any() if strategy == "first_exhausted" else done.all())
        if strategy == "all_exhausted_without_replacement" and not enough:
            # Turns of datasets without rows left count for nothing: where hardly any others come, only they are drawn.
            left = np.where(can_be_drawn & (counts < sizes), chances, 0.0)
            shares = left / left.sum() if left.sum() < _RARE else shares
        size = min(size * 2, 1_000_000)
    return np.concatenate(drawn)


def _ranks(turns: IndexVector) -> IndexVector:
    """Counts for each turn how often the same dataset had one before."""
    # Few sources fit into 16 bits, and numpy sorts those in linear time.
    small = turns.astype(np.int16) if len(turns) and int(turns.max()) < 1 << 15 else turns
    order = np.argsort(small, kind="stable")
    sorted_turns = small[order]
    firsts = np.searchsorted(sorted_turns, sorted_turns, side="left")
    ranks = np.empty(len(turns), np.int64)
    ranks[order] = np.arange(len(turns)) - firsts
    return ranks
