"""Columns computed anew from what they hold, block by block; the others stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gristmill.dataset.pieces import ViewJob, compute
from gristmill.dataset.place import Place
from gristmill.engine import GrowingTable
from gristmill.table.view import Part, View

Change = Callable[[pa.Table, int], pa.Table]
"""Given some rows of the columns and the number of the first, gives as many rows of the columns that replace them."""


@dataclass(frozen=True)
class RewriteJob(ViewJob):
    """Columns to compute anew.

    Attributes:
        names: The columns that are read.
        change: Computes a block; it is sent to worker processes.
    """

    names: tuple[str, ...]
    change: Change

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Computes the rows from `start` to before `stop`."""
        size = self.view.block_rows(100_000, 32 << 20)
        for begin in range(start, stop, size):
            rows = range(begin, min(stop, begin + size))
            growing.write(self.change(self.view.take(rows, self.names), begin))
            advance(len(rows))


def rewrite(
    view: View, names: Sequence[str], change: Change, place: Place, num_proc: int | None, description: str
) -> View:
    """Computes columns anew, or finds what an earlier run computed.

    Args:
        view: The rows.
        names: The columns to read.
        change: Computes a block of the columns that replace them.
        place: Where the result goes.
        num_proc: Worker processes.
        description: For the progress bar.

    Returns:
        The same rows with the new columns where the old ones stood.
    """
    if not names:
        return view
    if not view.num_rows:
        return view.join(Part(change(view.take(range(0), names).replace_schema_metadata(None), 0)))
    computed = compute(RewriteJob(view, tuple(names), change), place, num_proc, description)
    return view.join(Part.from_files(computed.files, computed.table))
