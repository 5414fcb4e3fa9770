"""`filter` and `flatten_indices`: which rows stay, and writing rows out in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.calling.caller import Caller
from gristmill.calling.masks import mask_of, truths
from gristmill.dataset.mapping import batch_unit
from gristmill.dataset.pieces import CallingJob, ViewJob, compute
from gristmill.dataset.place import Place
from gristmill.dataset.row_numbers import ROWS
from gristmill.engine import GrowingTable
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.cast import cast_array, cast_table
from gristmill.table.gather import arrow_vector
from gristmill.table.selection import IndexVector, compact
from gristmill.table.view import Part, View

_BLOCKS_AT_ONCE = 1000


@dataclass(frozen=True)
class FilterJob(CallingJob):
    """One call of `filter`, ready to be computed for any range of rows."""

    @classmethod
    def plan(cls, caller: Caller, batch_size: int | None) -> FilterJob:
        """Makes the job; `batch_size` as documented for `Dataset.filter`."""
        return cls(caller, batch_unit(caller, batch_size))

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides the result, for the fingerprint."""
        return (*self.caller.key, self.unit if self.caller.batched else None)

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Finds which of the rows from `start` to before `stop` stay.

        Args:
            start: First row.
            stop: Row to stop before.
            growing: Takes their numbers.
            rank: Number of the worker.
            advance: Told of progress.

        Raises:
            TransformError: The function failed.
            TransformOutputError: It did not answer once a row.
        """
        caller = self.caller
        masks: list[Any] = []
        written = start
        size = self.unit if caller.batched else caller.view.block_rows()
        for begin, block in caller.blocks(start, stop, size):
            if caller.batched:
                mask = mask_of(caller.name, caller.call_batch(block, begin, rank), begin, block.num_rows)
            else:
                mask = truths(caller.name, caller.call_rows(block, begin, rank), begin)
            masks.append(mask)
            advance(block.num_rows)
            if len(masks) == _BLOCKS_AT_ONCE:
                _write(masks, written, growing)
                masks, written = [], begin + block.num_rows
        _write(masks, written, growing)


def _write(masks: list[Any], start: int, growing: GrowingTable) -> None:
    rows = np.flatnonzero(np.concatenate(masks)) + start if masks else np.empty(0, np.int64)
    growing.write(pa.table({ROWS: arrow_vector(rows)}))


def run_filter(job: FilterJob, place: Place, num_proc: int | None, description: str) -> range | IndexVector:
    """Computes `filter`, or finds what an earlier run computed.

    Args:
        job: The call.
        place: Where the result goes.
        num_proc: Worker processes.
        description: For the progress bar.

    Returns:
        The rows that stay.

    Raises:
        TransformError: The function failed, or did not answer once a row.
        WorkerDiedError: A worker ended without an answer.
    """
    if job.rows == 0:
        return range(0)
    table = compute(job, place, num_proc, description).table
    known = table.column_names == [ROWS] and table.schema.field(0).type == pa.int64()
    rows = table.column(0).to_numpy() if known and table.num_rows else np.empty(0, np.int64)
    if not known or (len(rows) and not 0 <= rows.min() <= rows.max() < job.rows):
        raise InvalidArgumentError(
            f"The file {place.file} is there already and holds something else than rows that this filter keeps: name "
            "another file as cache_file_name, or pass load_from_cache_file=False."
        )
    return compact(rows) if len(rows) else range(0)


@dataclass(frozen=True)
class FlattenJob(ViewJob):
    """Writes rows out in their order.

    Attributes:
        features: Features to bring them to.
    """

    features: Features | None

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Writes the rows from `start` to before `stop`, see `FilterJob.process`."""
        size = self.view.block_rows(100_000, 8 << 20)
        for table in self.view.blocks(size, start, stop):
            growing.write(self._cast(table))
            advance(table.num_rows)

    def _cast(self, table: pa.Table) -> pa.Table:
        if self.features is None:
            return table
        columns = [cast_array(table.column(name), self.features[name], column=name) for name in self.features]
        return pa.table(columns, names=list(self.features))


def run_flatten(job: FlattenJob, place: Place, num_proc: int | None) -> View:
    """Writes rows out in their order, or finds what an earlier run wrote.

    Args:
        job: The rows.
        place: Where they go.
        num_proc: Worker processes.

    Returns:
        The same rows as one table.
    """
    if not job.view.names or (job.view.is_whole and job.features is None):
        return job.view
    if job.rows == 0:
        nothing = job.view.take(range(0))
        return View.from_table(nothing if job.features is None else cast_table(nothing, job.features))
    computed = compute(job, place, num_proc, "Flattening the indices")
    part = Part.from_files(computed.files, computed.table)
    return View((part,), tuple(computed.table.column_names), job.rows, job.view.origins)
