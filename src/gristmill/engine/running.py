"""The ways to run a list of tasks: one after another in this process, or in worker processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gristmill.engine.tasks import INSIDE_WORKER, Context, Task, TaskFunction, check_num_proc
from gristmill.progress import progress


def run_tasks(
    function: TaskFunction,
    tasks: Sequence[Task],
    *,
    num_proc: int | None = None,
    description: str = "working",
    unit: str = "rows",
    reuse: bool = True,
    imports: Sequence[str] = (),
) -> list[Path]:
    """Runs a function over tasks; what is finished stays finished, whatever happens to the rest.

    Args:
        function: Given a task's argument, its output path and a `Context`, writes the output file atomically.
        tasks: The work, with distinct outputs.
        num_proc: Worker processes; None, 0 or 1 works in this process, one task after another.
        description: What is being done, for the progress bar.
        unit: What one unit of a task's size is called.
        reuse: Take files that exist as done; otherwise everything is done again.
        imports: Modules that every task will import and that take long, for example `CONVERTING`: they are imported
            once for all workers where that can be done.

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

                run_in_workers(function, waiting, workers, bar.update, imports)
    return [task.output for task in tasks]
