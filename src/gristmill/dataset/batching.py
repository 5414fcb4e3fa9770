"""`batch`: rows that follow each other, joined into one row of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gristmill.arguments import MOST_ROWS, whole_number
from gristmill.dataset.pieces import ViewJob, compute
from gristmill.dataset.place import Place
from gristmill.engine import GrowingTable
from gristmill.errors import InvalidArgumentError
from gristmill.features.columnless import without_rows
from gristmill.table.grouping import changes_in_any, grouping_columns, lists
from gristmill.table.selection import IndexVector
from gristmill.table.view import Part, View

_BLOCK = 32 << 20


def batch_bounds(
    view: View, batch_size: int | None, by_column: str | Sequence[str] | None, drop_last_batch: bool
) -> IndexVector:
    """Finds where batches begin and end.

    Args:
        view: The rows.
        batch_size: Rows a batch.
        by_column: A batch ends where the value of this column, or of one of these, changes; `batch_size` is not looked at then.
        drop_last_batch: Leave out a last batch that is smaller than `batch_size`.

    Returns:
        The first row of each batch, and the row after the last one.

    Raises:
        InvalidArgumentError: The size is below 1, or neither a size nor a column is given.
        ColumnNotFoundError: There is no such column.
    """
    rows = view.num_rows
    if by_column is not None:
        names = grouping_columns(by_column, view.names)
        return np.concatenate([[0], changes_in_any(view.table(names).columns), [rows]]) if rows else _NONE
    if batch_size is None:
        raise InvalidArgumentError.from_value("batch_size", None, "rows a batch, unless by_column is given")
    size = min(whole_number("batch_size", batch_size, 1), MOST_ROWS)
    bounds = np.arange(0, rows + 1, size, dtype=np.int64)
    if bounds[-1] < rows and not drop_last_batch:
        bounds = np.append(bounds, rows)
    return bounds


_NONE: IndexVector = np.zeros(1, np.int64)


@dataclass(frozen=True)
class BatchJob(ViewJob):
    """Rows to be joined; what it counts as its rows are the batches.

    Attributes:
        bounds: From `batch_bounds`.
    """

    bounds: IndexVector

    @property
    def rows(self) -> int:
        """How many batches there are."""
        return len(self.bounds) - 1

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Joins the rows of the batches from `start` to before `stop`."""
        budget = self.view.block_rows(1_000_000, _BLOCK)
        while start < stop:
            first = int(self.bounds[start])
            # As many whole batches as the budget holds, and at least one.
            end = int(np.searchsorted(self.bounds, first + budget, side="right")) - 1
            end = min(stop, max(start + 1, end))
            growing.write(self._join(start, end))
            advance(end - start)
            start = end

    def _join(self, start: int, end: int) -> pa.Table:
        bounds = self.bounds[start : end + 1]
        table = self.view.take(range(int(bounds[0]), int(bounds[-1])))
        offsets = pa.array(bounds - bounds[0], pa.int32())
        return pa.table({name: lists(offsets, table.column(name)) for name in table.column_names})


def run_batch(job: BatchJob, place: Place, num_proc: int | None) -> View:
    """Joins rows into batches, or finds what an earlier run joined.

    Args:
        job: The rows.
        place: Where the batches go.
        num_proc: Worker processes.
    """
    names = job.view.names
    if not names:
        return View((), (), job.rows)
    if not job.rows:
        types = [(name, pa.list_(job.view.schema.field(name).type)) for name in names]
        return View.from_table(without_rows(pa.schema(types)))
    computed = compute(job, place, num_proc, "Batching")
    return View((Part.from_files(computed.files, computed.table),), names, job.rows)
