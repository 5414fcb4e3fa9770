"""A worker process: ``python -m gristmill.engine.worker PAYLOAD RANK FD``, or a fork of `gristmill.engine.fork_server`.

One that is told to end (SIGTERM) does so as if its function had failed, so that what is half-written is taken away.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_REPORT_EVERY = 0.2
"""Seconds between two messages about progress."""


class _Told(BaseException):  # no error, and nobody's to catch
    """SIGTERM has come."""


def main(payload: str, rank: str, descriptor: str) -> None:
    """Does tasks until told that there are no more.

    Args:
        payload: File with the search path and the pickled work.
        rank: The number of this worker.
        descriptor: The number of the open socket to the process that started it.
    """
    connection: Connection[Any, Any] = Connection(int(descriptor))
    _listen_to_signals()
    try:
        _work(payload, int(rank), connection)
        # Nothing is half-written any more, and at the end of the interpreter an exception would only be printed.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    except _Told:
        # Who waits for our end sees what it was.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _work(payload: str, rank: int, connection: Connection[Any, Any]) -> None:
    path, work = pickle.loads(Path(payload).read_bytes())  # noqa: S301  # written by the process that started us
    sys.path[:] = path
    loaded = set(sys.modules)
    # After the path: this imports pyarrow and the user's modules, from where the user's program found them.
    from gristmill.engine.tasks import Context

    try:
        function, tasks = pickle.loads(work)  # noqa: S301  # as above
    except BaseException as error:  # noqa: BLE001  # whatever the user's modules do on import is reported
        _next(connection)
        _fail(connection, error)
        return
    context = Context(rank, _Reporter(connection))
    while (number := _next(connection)) is not None:
        task = tasks[number]
        try:
            function(task.argument, task.output, context)
        except BaseException as error:  # noqa: BLE001  # reported to whoever asked for the work
            _fail(connection, error)
            return
        # What had to be imported is told, so that it need not be the next time.
        new = [name for name in list(sys.modules) if name not in loaded]
        loaded.update(new)
        with contextlib.suppress(OSError):  # nobody wants to know any more: then there is no next task either
            connection.send(("done", new))


def _next(connection: Connection[Any, Any]) -> int | None:
    try:
        number: int | None = connection.recv()
    except (EOFError, OSError):  # the other side is gone
        return None
    return number


def _fail(connection: Connection[Any, Any], error: BaseException) -> None:
    if isinstance(error, _Told):
        raise error
    with contextlib.suppress(OSError):  # the other side is gone
        connection.send(("failed", _describe(error)))


def _listen_to_signals() -> None:
    """Has the first signal to end raise an exception, and the next ones wait for what that brings about.

    Ctrl-C reaches the worker and the process that started it, which then ends the worker: by then it is cleaning up.
    """
    ending = False

    def end(number: int, frame: Any) -> None:
        nonlocal ending
        if ending:
            return
        ending = True
        if number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        raise _Told

    handlers: dict[int, Any] = {signal.SIGTERM: signal.SIG_DFL}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = signal.default_int_handler
    for number in handlers:
        signal.signal(number, end)
    if hasattr(os, "register_at_fork"):
        _leave_to_this_process(handlers)


def _leave_to_this_process(handlers: dict[int, Any]) -> None:
    """Has processes that the user's function forks treat signals as ever; they are none of ours."""
    masks = threading.local()

    def hold_signals() -> None:
        # One that came before the handlers are back would be taken by ours, and forgotten.
        masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)

    def let_signals_come() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    def be_as_ever() -> None:
        for number, before in handlers.items():
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, before)
        let_signals_come()

    os.register_at_fork(before=hold_signals, after_in_parent=let_signals_come, after_in_child=be_as_ever)


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
    from gristmill.errors import GristmillError, TransformError

    cause = error.__cause__ or error
    try:
        import cloudpickle

        pickled = cloudpickle.dumps(cause)
    except Exception:  # noqa: BLE001  # some exceptions can't be pickled; the traceback text says it all
        pickled = b""
    text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
    kind = type(error).__name__ if isinstance(error, TransformError) else "TransformError"
    message = str(error) if isinstance(error, GristmillError) else _name(error)
    return {"kind": kind, "message": message, "cause": pickled, "traceback": text}


def _name(error: BaseException) -> str:
    """Says what was raised and where; a SystemExit or KeyboardInterrupt has the row in a note."""
    try:
        shown = f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001  # an exception whose own text can't be made
        shown = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (raised in {frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return " ".join([f"{shown}{where}.", getattr(error, "ended_call", "")]).rstrip()


if __name__ == "__main__":
    main(*sys.argv[1:])
