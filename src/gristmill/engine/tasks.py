"""Tasks: pieces of work that each end as one file, and the ways to run a list of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.progress import progress

INSIDE_WORKER = "GRISTMILL_INSIDE_WORKER"
"""Set in worker processes: work they start themselves is done in place, never by workers of workers."""


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Attributes:
        name: What to call it in messages, for example ``"rows 0 to 999"``.
        output: The file it ends as; a task whose file exists is done.
        argument: What the function is given, anything cloudpickle can send.
        size: How much work it is, in the unit of the progress bar.
    """

    name: str
    output: Path
    argument: Any
    size: int = 1


@dataclass(frozen=True)
class Context:
    """Where a task runs.

    Attributes:
        rank: The number of the worker process, from 0; None in the calling process.
        advance: To be told how much work was done since the last call.
    """

    rank: int | None
    advance: Callable[[int], object]


TaskFunction = Callable[[Any, Path, Context], None]
"""Given a task's argument, writes its output file (atomically) and returns nothing."""


def check_num_proc(num_proc: object) -> int | None:
    """Checks a number of worker processes; None, 0 and 1 mean to work in the calling process.

    Raises:
        InvalidArgumentError: It is negative or no whole number.

    Example:
        >>> check_num_proc(0), check_num_proc(4)
        (None, 4)
    """
    if num_proc is None:
        return None
    if isinstance(num_proc, bool) or not isinstance(num_proc, int) or num_proc < 0:
        raise InvalidArgumentError.from_value("num_proc", num_proc, "a whole number of worker processes")
    return num_proc if num_proc > 1 else None


def run_tasks(
    function: TaskFunction,
    tasks: Sequence[Task],
    *,
    num_proc: int | None = None,
    description: str = "working",
    unit: str = "rows",
    reuse: bool = True,
) -> list[Path]:
    """Runs a function over tasks; what is finished stays finished, whatever happens to the rest.

    Args:
        function: Given a task's argument, its output path and a `Context`, writes the output file atomically.
        tasks: The work, with distinct outputs.
        num_proc: Worker processes; None, 0 or 1 works in this process, one task after another.
        description: What is being done, for the progress bar.
        unit: What one unit of a task's size is called.
        reuse: Take files that exist as done; otherwise everything is done again.

    Returns:
        The outputs, in the order of the tasks.

    Raises:
        InvalidArgumentError: `num_proc` is negative.
        TransformError: The function failed in a worker; the message holds the traceback from there.
        WorkerDiedError: A worker process ended without an answer; names the task and the signal.

    Example:
        >>> import tempfile
        >>> def write(text, output, context):
        ...     _ = output.write_text(text)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [done] = run_tasks(write, [Task("one", Path(folder) / "1", "hello")])
        ...     done.read_text()
        'hello'
    """
    workers = check_num_proc(num_proc)
    waiting = [task for task in tasks if not (reuse and task.output.exists())]
    if waiting:
        total = sum(task.size for task in tasks)
        with progress(description, total, unit) as bar:
            bar.update(total - sum(task.size for task in waiting))
            if workers is None or os.environ.get(INSIDE_WORKER):
                context = Context(None, bar.update)
                for task in waiting:
                    function(task.argument, task.output, context)
            else:
                # Workers are only needed here, and starting them needs modules that most programs never do.
                from gristmill.engine.workers import run_in_workers

                run_in_workers(function, waiting, workers, bar.update)
    return [task.output for task in tasks]
