"""Starts worker processes: by a fork of a small server on Linux, elsewhere as fresh interpreters.

A worker never is a fork of the user's process: it would have its locks (held by threads that are not there, or by the
caller itself), its CUDA contexts, its connections to servers and databases, and whatever else was open. Whether a fork
is safe can't be known there; even a process that does nothing but read a Parquet file has threads. And a function that
finds what the program left in its modules as long as there are no threads, and fails when there are, helps nobody.

A fresh interpreter has none of that, and takes as long as its imports: pyarrow, numpy, pandas (which pyarrow imports
to convert Python values) and Gristmill, again for each worker of each call. So these are imported once, by a process
that is a fresh interpreter, runs no thread, and does nothing but fork: a worker is there in some milliseconds, and
what makes it different from a fresh interpreter is only which libraries are loaded.

The first call still waits for one interpreter with these libraries, which a fork of the process would not. A map of
1,000 rows by two workers, on a machine with two processors that were busy with other work, took 0.7 to 1.0 s at the
first call and 0.06 to 0.09 s later, with 14 MB of memory for each worker alone; with fresh interpreters 1.3 to 1.9 s,
later 1.0 to 1.5 s, and 60 MB; `datasets`, which forks the process, took 0.2 to 0.3 s at each call.

What the server was started with has to be what the process has now (`gristmill.engine.inheritance`), or there is
another server. It ends with the process that uses it, and two minutes after the last worker. Modules that workers had
to import (of these libraries only, never the user's) are imported by the server before the next call.

On macOS, numpy's linear algebra and the system's own libraries may be used during imports, and do not survive a fork.
There, on Windows, and where a library starts threads when it is imported, workers are fresh interpreters.
"""

from __future__ import annotations

import atexit
import socket
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.engine.processes import FreshProcess, WorkerProcess, connected_sockets
from gristmill.files.forks import renew_in_children

if TYPE_CHECKING:
    from gristmill.engine.server import ForkServer


def start_worker(payload: Path, rank: int) -> tuple[WorkerProcess, socket.socket]:
    """Starts a worker.

    Args:
        payload: The file with the work, see `gristmill.engine.worker`.
        rank: The number of the worker.

    Returns:
        The process, and our end of the socket to it.

    Raises:
        OSError: The system has no more processes, files or memory to give.
    """
    ours, theirs = connected_sockets()
    try:
        with theirs:
            return _servers.start_worker(payload, rank, theirs) or FreshProcess(payload, rank, theirs), ours
    except BaseException:
        ours.close()
        raise


def prepare_server(modules: Iterable[str] = ()) -> None:
    """Starts the server, unless there is one, and has it import modules; does not wait for it.

    Args:
        modules: Names of modules, see `ForkServer.learn`.
    """
    _servers.prepare(modules)


def end_server() -> None:
    """Ends the server, if there is one, and waits for that; the next call has another. Workers end with it."""
    _servers.end()


class _Servers:
    """The server of this process, and those it had before that are still needed by somebody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: ForkServer | None = None
        self._inheritance: tuple[Any, ...] = ()
        self._retired: list[ForkServer] = []
        atexit.register(self.end)
        renew_in_children(self)

    def prepare(self, modules: Iterable[str]) -> None:
        """Does what `prepare_server` says."""
        if _can_fork():
            with self._lock:
                server = self._get()
                if server.works:
                    server.learn(modules)

    def start_worker(self, payload: Path, rank: int, connection: socket.socket) -> WorkerProcess | None:
        """Gives a worker of the server; None if there can't be one."""
        if not _can_fork():
            return None
        with self._lock:
            server = self._get()
            worker = server.start(payload, rank, connection) if server.works else None
            if worker is None and server.works:
                # It may have ended a moment ago, for want of work.
                self._retire()
                server = self._get()
                worker = server.start(payload, rank, connection)
                if worker is None:
                    server.give_up()
            return worker

    def end(self) -> None:
        """Does what `end_server` says; at the end of this process, too."""
        servers = [*self._retired, *([] if self._current is None else [self._current])]
        self._retired, self._current = [], None
        for server in servers:
            server.end()

    def renew(self) -> None:
        """Makes a fork of this process one that has no server yet; its parent's ends with its parent."""
        self._lock = threading.Lock()
        for server in [*self._retired, *([] if self._current is None else [self._current])]:
            server.forget()
        self._retired, self._current = [], None

    def _get(self) -> ForkServer:
        from gristmill.engine.inheritance import inheritance
        from gristmill.engine.server import ForkServer

        now = inheritance()
        if self._current is not None and self._inheritance != now:
            self._retire()
        if self._current is None:
            self._current, self._inheritance = ForkServer(), now
        return self._current

    def _retire(self) -> None:
        if self._current is not None:
            self._current.close()
            self._retired.append(self._current)
            self._current = None
        # The system keeps those that have ended until somebody asks for their status.
        self._retired = [server for server in self._retired if server.process.poll() is None]


def _can_fork() -> bool:
    return sys.platform == "linux" and Path("/proc/self/task").is_dir()


_servers = _Servers()
