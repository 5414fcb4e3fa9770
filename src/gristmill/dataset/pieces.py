"""Computes a transform piece by piece: each piece of rows is a file, finished ones are found again.

A piece is a range of rows cut at multiples of the batch size, so the result is the same however many workers there
are, and what one run finished serves the next one, whatever number of workers that has.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import Self

from gristmill.calling.caller import Caller
from gristmill.dataset.named_file import FACTS, Computed, noted, open_named, write_named
from gristmill.dataset.place import Place
from gristmill.engine import Context, GrowingTable, Task, run_tasks
from gristmill.engine.growing import Fill, Final, join_files
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import FileMissingError, GristmillError
from gristmill.features.columnless import with_metadata
from gristmill.features.infer import Clash, refuse
from gristmill.files.atomic import write_json
from gristmill.files.borders import writing
from gristmill.files.temporary import temporary_prefix
from gristmill.logging import get_logger
from gristmill.progress import progress
from gristmill.table.arrow_file import open_arrow, open_many
from gristmill.table.view import View

_log = get_logger(__name__)
_LARGE = 50_000
_QUICK_BYTES = 64 << 20
_PIECES_A_WORKER = 4
_PIECES_HERE = 16
_SECONDS_A_PIECE = 5.0


class Job(Protocol):
    """A transform that can be computed for any range of rows."""

    @property
    def rows(self) -> int:
        """How many rows it reads."""

    @property
    def unit(self) -> int:
        """Ranges begin at multiples of this."""

    @property
    def fill(self) -> Fill | None:
        """Gives values of columns that were not written for some rows."""

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Computes the rows from `start` to before `stop`."""

    @property
    def is_quick(self) -> bool:
        """Whether it takes no time worth saving half of."""

    def check(self, facts: tuple[dict[str, Any], ...], ranges: tuple[tuple[int, int], ...]) -> None:
        """Refuses pieces that can't be one result, before it is kept."""

    def with_stored_rows(self, folder: Path) -> Job:
        """Gives the same job with its rows in files, so that other processes can map them."""


@dataclass(frozen=True)
class ViewJob:
    """What jobs over the rows of a view have in common; each kind brings its `process`.

    Attributes:
        view: The rows.
    """

    view: View

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.view.num_rows

    @property
    def unit(self) -> int:
        """Pieces may begin anywhere."""
        return 1

    @property
    def fill(self) -> Fill | None:
        """Nothing is ever missing."""
        return None

    @property
    def is_quick(self) -> bool:
        """Yes for little data: no function of the user's is called."""
        return self.view.num_rows * self.view.row_bytes < _QUICK_BYTES

    def check(self, facts: tuple[dict[str, Any], ...], ranges: tuple[tuple[int, int], ...]) -> None:
        """Any pieces make one result."""

    def with_stored_rows(self, folder: Path) -> Self:
        """Gives the same job with its rows in files."""
        return replace(self, view=self.view.stored(folder))


@dataclass(frozen=True)
class CallingJob:
    """What jobs that call the user's function have in common.

    Attributes:
        caller: The function and how it is called.
        unit: Rows a batch; 1 if the function takes single rows.
    """

    caller: Caller
    unit: int

    @property
    def rows(self) -> int:
        """How many rows it reads."""
        return self.caller.view.num_rows

    @property
    def fill(self) -> Fill | None:
        """Nothing is ever missing."""
        return None

    @property
    def is_quick(self) -> bool:
        """Nobody knows."""
        return False

    def check(self, facts: tuple[dict[str, Any], ...], ranges: tuple[tuple[int, int], ...]) -> None:
        """Any pieces make one result."""

    def with_stored_rows(self, folder: Path) -> Self:
        """Gives the same job with its rows in files."""
        return replace(self, caller=replace(self.caller, view=self.caller.view.stored(folder)))


def _clash(job: Job) -> Clash:
    """Says what two types of one column become; only jobs whose types the user's function decides have a say."""
    clash: Clash = getattr(job, "clash", refuse)
    return clash


def _final(job: Job) -> Final | None:
    """Gives the schema that the result ends with; each piece keeps its own, which others may still widen."""
    final: Final | None = getattr(job, "final", None)
    return final


@dataclass(frozen=True)
class _Work:
    """A job as the engine's function of one range."""

    job: Job

    def __call__(self, argument: tuple[int, int], output: Path, context: Context) -> None:
        start, stop = argument
        fill = self.job.fill
        shifted: Fill | None = None
        if fill is not None:
            found = fill

            def shifted(name: str, first: int, last: int) -> Any:
                return found(name, start + first, start + last)

        with GrowingTable(output, fill=shifted, clash=_clash(self.job)) as growing:
            self.job.process(start, stop, growing, context.rank, context.advance)


def compute(job: Job, place: Place, num_proc: int | None, description: str) -> Computed:
    """Computes a job, or finds what an earlier run computed.

    Args:
        job: The transform.
        place: Where its result goes.
        num_proc: Worker processes; None, 0 or 1 works here.
        description: For the progress bar.

    Raises:
        TransformError: The user's function failed.
        WorkerDiedError: A worker ended without an answer.
    """
    workers = check_num_proc(num_proc)
    if place.file is not None and place.reuse:
        with writing(place.file):
            there = place.file.is_file()
        if there and (named := open_named(place.file, job.rows)) is not None:
            return named
    if place.folder is None and workers is None:
        return _in_memory(job, place, description)
    folder, stem = place.directory(), place.stem()
    manifest = folder / f"{stem}.json"
    if place.reuse and place.file is None and (found := _open_manifest(manifest)) is not None:
        return found
    done = _finished(folder, stem) if place.reuse else []
    ranges = plan_pieces(job.rows, job.unit, workers, done, job.is_quick)
    if workers is None:
        ranges = _run_here(job, ranges, set(done), lambda *piece: _piece(folder, stem, *piece), description)
        paths = [_piece(folder, stem, *piece) for piece in ranges]
    else:
        tasks = [
            Task(
                f"rows {start} to {stop - 1}", _piece(folder, stem, start, stop), (start, stop), stop - start
            )
            for start, stop in ranges
        ]
        paths = _run_workers(job, tasks, workers, place.reuse, description)
    try:
        opened = [open_arrow(path) for path in paths]
    except FileMissingError:
        # Another process that makes the same file may have been done first, and deleted the pieces.
        if place.file is None or not place.file.is_file():
            raise
        named = open_named(place.file, job.rows, place.identity.value)
        if named is None:
            raise
        return named
    facts = tuple(map(noted, opened))
    job.check(facts, tuple(ranges))
    table = join_files(
        paths, [stop - start for start, stop in ranges], job.fill, _clash(job), opened, _final(job)
    )
    computed = Computed(table, tuple(paths), facts, tuple(ranges))
    if place.file is not None:
        return write_named(place.file, place.identity.value, computed)
    write_json(
        manifest,
        {"files": [path.name for path in paths], "facts": list(facts), "ranges": [list(r) for r in ranges]},
        durable=False,  # like the files it names: what a power cut leaves of them is noticed, and computed again
    )
    return computed


def _run_here(
    job: Job,
    planned: list[tuple[int, int]],
    done: set[tuple[int, int]],
    path_of: Callable[[int, int], Path],
    description: str,
) -> list[tuple[int, int]]:
    """Computes pieces one after another; returns the pieces, which are fewer than planned if the work goes fast.

    A file for what was made in no time is a waste, now and whenever the result is opened.
    """
    work, pieces, together = _Work(job), [], 1
    with progress(description, job.rows) as bar:
        context, position = Context(None, bar.update), 0
        while position < len(planned):
            piece = planned[position]
            position += 1
            if piece in done:
                bar.update(piece[1] - piece[0])
            else:
                count = 1
                while count < together and position < len(planned) and planned[position] not in done:
                    piece = (piece[0], planned[position][1])
                    position, count = position + 1, count + 1
                began = time.monotonic()
                work(piece, path_of(*piece), context)
                together = int(count * _SECONDS_A_PIECE / max(time.monotonic() - began, 1e-6))
            pieces.append(piece)
    return pieces


def _run_workers(job: Job, tasks: list[Task], workers: int, reuse: bool, description: str) -> list[Path]:
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("rows")) as folder:
        work = _Work(job.with_stored_rows(Path(folder)))
        return run_tasks(
            work,
            tasks,
            num_proc=workers,
            description=description,
            reuse=reuse,
            imports=getattr(job, "imports", ()),
        )


def _in_memory(job: Job, place: Place, description: str) -> Computed:
    overflow = None if place.in_memory else lambda: place.directory() / f"{place.stem()}.arrow"
    with (
        GrowingTable(None, overflow, job.fill, _clash(job), _final(job)) as growing,
        progress(description, job.rows) as bar,
    ):
        job.process(0, job.rows, growing, None, bar.update)
    table = growing.table()
    files = () if growing.path is None else (growing.path,)
    facts = json.loads(growing.metadata.get(FACTS, b"{}"))
    return Computed(with_metadata(table, None), files, (facts,), ((0, job.rows),))


def plan_pieces(
    rows: int, unit: int, workers: int | None, done: list[tuple[int, int]], quick: bool = False
) -> list[tuple[int, int]]:
    """Divides rows into pieces, keeping those that are done.

    Args:
        rows: How many rows there are.
        unit: Pieces begin at multiples of this.
        workers: How many workers will share them; None for this process alone.
        done: Pieces that an earlier run finished.
        quick: One piece will do for a process alone.

    Returns:
        Pieces in order that cover all rows.

    Example:
        >>> plan_pieces(10, 2, 1, [(4, 6)])
        [(0, 4), (4, 6), (6, 10)]
    """
    kept: list[tuple[int, int]] = []
    position = 0
    for start, stop in sorted(done):
        if (
            start >= position
            and start % unit == 0
            and start < stop <= rows
            and (stop % unit == 0 or stop == rows)
        ):
            kept.append((start, stop))
            position = stop
    count = _PIECES_HERE if rows > _LARGE and not quick else 1
    if workers is not None and workers > 1:
        count = workers * _PIECES_A_WORKER
    size = max(1, math.ceil(rows / count / unit)) * unit
    pieces: list[tuple[int, int]] = []
    position = 0
    for start, stop in [*kept, (rows, rows)]:
        pieces.extend((begin, min(start, begin + size)) for begin in range(position, start, size))
        if stop > start:
            pieces.append((start, stop))
        position = stop
    return pieces


def _piece(folder: Path, stem: str, start: int, stop: int) -> Path:
    return folder / f"{stem}_{start}_{stop}.arrow"


def _finished(folder: Path, stem: str) -> list[tuple[int, int]]:
    # As names, of which a cache may hold thousands; a path for each takes six times as long.
    listed = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208
    names = [name for name in listed if name.startswith(stem)]
    if not names:
        return []
    pattern = re.compile(re.escape(stem) + r"_(\d+)_(\d+)\.arrow")
    matches = [(folder / name, found) for name in names if (found := pattern.fullmatch(name))]
    return [(int(found[1]), int(found[2])) for path, found in matches if _is_whole(path)]


def _is_whole(path: Path) -> bool:
    try:
        open_arrow(path)
    except GristmillError as error:
        _log.warning("%s is computed again: %s", path, error)
        with writing(path):
            path.unlink(missing_ok=True)
        return False
    return True


def _open_manifest(manifest: Path) -> Computed | None:
    if not manifest.is_file():
        return None
    try:
        value = json.loads(manifest.read_text())
        paths = tuple(manifest.parent / name for name in value["files"])
        table = with_metadata(open_many(list(paths)), None)
        ranges = tuple((int(start), int(stop)) for start, stop in value["ranges"])
        return Computed(table, paths, tuple(value["facts"]), ranges)
    except (GristmillError, OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("the cached result %s can't be used and is computed again: %s", manifest, error)
        return None
