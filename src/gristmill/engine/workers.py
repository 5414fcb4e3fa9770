"""Worker processes, seen from the process that starts them.

Workers are as good as fresh interpreters (`gristmill.engine.starting`), never forks of this process: no lock, thread or
CUDA context is inherited half-way, the user's script needs no ``if __name__`` guard, and it works while a module is
being imported. Each gets the function once, in a file, then one task number at a time over a socket pair. A worker
that dies closes its end; nothing waits for an answer that can't come.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import cloudpickle

from gristmill import errors
from gristmill.engine.processes import WorkerProcess
from gristmill.engine.sending import dumps
from gristmill.engine.starting import prepare_server, start_worker
from gristmill.engine.tasks import Task, TaskFunction
from gristmill.errors import InvalidArgumentError, TransformError, WorkerDiedError
from gristmill.files.temporary import temporary_prefix
from gristmill.fingerprint.code import is_library

_PATIENCE = 5.0
"""Seconds a worker gets to end by itself before it is killed."""


@dataclass
class _Worker:
    rank: int
    process: WorkerProcess
    connection: Connection[Any, Any]
    task: int | None = None
    imported: set[str] = field(default_factory=set)


def run_in_workers(
    function: TaskFunction,
    tasks: Sequence[Task],
    num_proc: int,
    advance: Callable[[int], object],
    imports: Sequence[str] = (),
) -> None:
    """Runs tasks in worker processes, see `gristmill.engine.run_tasks`.

    Args:
        function: As there.
        tasks: As there; all of them are run.
        num_proc: How many workers, at most one a task.
        advance: Told of progress.
        imports: As there.

    Raises:
        TransformError: The function failed.
        WorkerDiedError: A worker ended without an answer.
        InvalidArgumentError: The function can't be sent to another process.
    """
    # It imports while the function is packed.
    prepare_server(imports)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("work")) as folder:
        payload = Path(folder) / "payload"
        modules: set[str] = set()
        payload.write_bytes(_pack(function, tasks, modules))
        prepare_server(modules)
        workers: list[_Worker] = []
        try:
            for rank in range(min(num_proc, len(tasks))):
                process, connection = start_worker(payload, rank)
                workers.append(_Worker(rank, process, Connection(connection.detach())))
            _conduct(workers, tasks, advance)
        finally:
            _stop(workers)
        prepare_server(set().union(*(worker.imported for worker in workers)))


def _pack(function: TaskFunction, tasks: Sequence[Task], modules: set[str]) -> bytes:
    with contextlib.ExitStack() as stack:
        for module in [module for name, module in list(sys.modules.items()) if _is_only_here(name, module)]:
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        try:
            work = dumps((function, list(tasks)), modules)
        except Exception as error:
            raise InvalidArgumentError(
                f"The function or its arguments can't be sent to worker processes ({error}). Make what can't be sent "
                "inside the function, or work without num_proc."
            ) from error
    # The path comes first: unpickling the function imports the user's modules.
    return pickle.dumps((list(sys.path), work))


def _is_only_here(name: str, module: Any) -> bool:
    """Says whether a worker can't import a module, so that its functions have to be sent as they are."""
    if name == "__main__":  # they always are
        return False
    # In a process that multiprocessing has spawned, the program has this name.
    if name == "__mp_main__":
        return getattr(module, "__name__", None) == name
    # Each worker that imported one that is still being imported would start over.
    is_unfinished = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return is_unfinished and not is_library(getattr(module, "__file__", None))


def _conduct(workers: list[_Worker], tasks: Sequence[Task], advance: Callable[[int], object]) -> None:
    waiting = list(range(len(tasks)))[::-1]
    for worker in workers:
        _give(worker, waiting, tasks)
    busy = {worker.connection: worker for worker in workers if worker.task is not None}
    while busy:
        ready = wait(list(busy), timeout=1.0)
        # A process that outlives its worker may hold the socket open: then only the exit status tells.
        gone = [worker.connection for worker in busy.values() if worker.process.wait(0)]
        for connection in {*ready, *gone}:
            worker = busy[connection]  # type: ignore[index]  # wait() gives back what it was given
            if not _listen(worker, tasks, advance):
                continue
            _give(worker, waiting, tasks)
            if worker.task is None:
                del busy[worker.connection]


def _give(worker: _Worker, waiting: list[int], tasks: Sequence[Task]) -> None:
    worker.task = waiting.pop() if waiting else None
    try:
        worker.connection.send(worker.task)
    except OSError as error:
        if worker.task is not None:
            raise _death(worker, tasks) from error


def _listen(worker: _Worker, tasks: Sequence[Task], advance: Callable[[int], object]) -> bool:
    """Takes one message; says whether the worker is free for another task."""
    try:
        if not worker.connection.poll(0 if worker.process.wait(0) else None):
            raise EOFError
        kind, content = worker.connection.recv()
    except (EOFError, OSError) as error:
        raise _death(worker, tasks) from error
    if kind == "advance":
        advance(content)
        return False
    if kind == "failed":
        raise _failure(content)
    worker.imported.update(content)
    return True


def _failure(content: dict[str, Any]) -> Exception:
    try:
        cause = pickle.loads(content["cause"])  # noqa: S301  # from our own worker
    except Exception:  # noqa: BLE001  # an exception class that does not survive pickling; its text does
        cause = None
    kind: type[TransformError] = getattr(errors, content["kind"])
    error = kind(f"{content['message']}\n\nIn the worker process:\n{content['traceback']}")
    if not isinstance(cause, Exception):
        return error
    error = error.also(cause)
    error.__cause__ = cause
    return error


def _death(worker: _Worker, tasks: Sequence[Task]) -> WorkerDiedError:
    worker.process.wait(_PATIENCE)
    name = tasks[worker.task].name if worker.task is not None else "no task"
    return WorkerDiedError.from_status(worker.rank, name, worker.process.status, _signal_name)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        # Closing our end tells a worker that waits for a task to end; one in the middle of a task is ended.
        worker.connection.close()
        if worker.task is not None and not worker.process.wait(0):
            worker.process.send_signal(signal.SIGTERM)
    for worker in workers:
        if not worker.process.wait(_PATIENCE):
            worker.process.send_signal(signal.SIGKILL)
            worker.process.wait(_PATIENCE)
        worker.process.close()
