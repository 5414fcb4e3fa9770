"""A worker process: ``python -m gristmill.engine.worker PAYLOAD RANK FD``, started by `gristmill.engine.workers`."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_REPORT_EVERY = 0.2
"""Seconds between two messages about progress."""


def main(payload: str, rank: str, descriptor: str) -> None:
    """Does tasks until told that there are no more.

    Args:
        payload: File with the search path and the pickled work.
        rank: The number of this worker.
        descriptor: The number of the open socket to the process that started it.
    """
    connection: Connection[Any, Any] = Connection(int(descriptor))
    path, work = pickle.loads(Path(payload).read_bytes())  # noqa: S301  # written by the process that started us
    sys.path[:] = path
    # After the path: this imports pyarrow and the user's modules, from where the user's program found them.
    from gristmill.engine.tasks import Context

    try:
        function, tasks = pickle.loads(work)  # noqa: S301  # as above
    except BaseException as error:  # noqa: BLE001  # whatever the user's modules do on import is reported
        connection.recv()
        connection.send(("failed", _describe(error)))
        return
    context = Context(int(rank), _Reporter(connection))
    while (number := _next(connection)) is not None:
        task = tasks[number]
        try:
            function(task.argument, task.output, context)
        except BaseException as error:  # noqa: BLE001  # reported to whoever asked for the work
            connection.send(("failed", _describe(error)))
            return
        connection.send(("done", number))


def _next(connection: Connection[Any, Any]) -> int | None:
    try:
        number: int | None = connection.recv()
    except (EOFError, OSError):  # the other side is gone
        return None
    return number


class _Reporter:
    """Passes on progress, not too often."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._count = 0
        self._last = time.monotonic()

    def __call__(self, count: int) -> None:
        self._count += count
        if time.monotonic() - self._last > _REPORT_EVERY:
            self._connection.send(("advance", self._count))
            self._count, self._last = 0, time.monotonic()


def _describe(error: BaseException) -> dict[str, Any]:
    from gristmill.errors import TransformError

    cause = error.__cause__ or error
    try:
        import cloudpickle

        pickled = cloudpickle.dumps(cause)
    except Exception:  # noqa: BLE001  # some exceptions can't be pickled; the traceback text says it all
        pickled = b""
    text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
    kind = type(error).__name__ if isinstance(error, TransformError) else "TransformError"
    return {"kind": kind, "message": str(error) or type(error).__name__, "cause": pickled, "traceback": text}


if __name__ == "__main__":
    main(*sys.argv[1:])
