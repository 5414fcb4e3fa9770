"""The fork server, seen from the process that uses it."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path

from gristmill.engine.fork_server import MESSAGE, Request
from gristmill.engine.inheritance import VOLATILE
from gristmill.engine.processes import ForkedProcess, connected_sockets, read_number, worker_environment

PRELOADED = frozenset({"gristmill", "numpy", "pandas", "pyarrow"})
"""Packages that the server imports: they are the same for all who use them, and start no threads."""

_PATIENCE = 5.0
"""Seconds the server gets to end by itself when this process ends."""

# What is imported stays: looking for garbage meanwhile takes a twentieth of the time, and finds none.
_PROGRAM = (
    "import gc, signal, sys; gc.disable(); del sys.path[0]; "
    "interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from gristmill.engine.fork_server import serve; serve(interrupt, *sys.argv[1:])"
)


class ForkServer:
    """The server, seen from the process that uses it; starts it, and does not wait for it.

    Attributes:
        process: The server.
        works: Whether it has workers to give, as far as is known.
        sockets: The open ends of sockets to it, which no other process may hold.
    """

    def __init__(self) -> None:
        self.works = True
        self.sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._known: set[str] = set()
        ours, theirs = connected_sockets(socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(os.getpid())],
                env=worker_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._requests = ours
        self.sockets.add(ours)

    def start(self, payload: Path, rank: int, connection: socket.socket) -> ForkedProcess | None:
        """Asks for a worker.

        Args:
            payload: The file with the work.
            rank: The number of the worker.
            connection: The worker's end of the socket to it.

        Returns:
            The worker, or None: then this server has none to give, and `works` says whether another one may.

        Raises:
            OSError: The system has no more processes to give.
        """
        changed = {name: os.environ.get(name) for name in VOLATILE}
        request = Request(str(payload), rank, changed)
        reports, theirs = connected_sockets()
        self.sockets.add(reports)
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(theirs.close)
                # Before the folder, which could have the number of one that is closed.
                streams = [
                    _open_or_nothing(1, sys.__stdout__, stack),
                    _open_or_nothing(2, sys.__stderr__, stack),
                ]
                folder = os.open(".", os.O_PATH)
                stack.callback(os.close, folder)
                files = [connection.fileno(), theirs.fileno(), *streams, folder]
                socket.send_fds(self._requests, [pickle.dumps(request)], files)
            pid = read_number(reports)
        except OSError:
            pid = None
        except BaseException:
            reports.close()
            raise
        if pid is not None and pid > 0:
            return ForkedProcess(reports)
        reports.close()
        if pid is not None and pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        if pid == 0:
            self.give_up()
        return None

    def learn(self, names: Iterable[str]) -> None:
        """Has modules imported, and does not wait for that.

        Args:
            names: Their names; those of other packages than `PRELOADED` are left to the workers.
        """
        new = {name for name in names if name.partition(".")[0] in PRELOADED} - self._known
        if not new:
            return
        self._known |= new
        message = pickle.dumps(sorted(new))
        # A server that ended learns nothing; the next one is told what it needs as this one was.
        if len(message) < MESSAGE:
            with contextlib.suppress(OSError):
                self._requests.send(message)

    def give_up(self) -> None:
        """Lets it end, and takes no other in its place."""
        self.works = False
        self.close()

    def close(self) -> None:
        """Lets it end as soon as its workers have."""
        self._requests.close()

    def end(self) -> None:
        """Waits for its end, which the end of all sockets to it brings about."""
        for ours in list(self.sockets):
            ours.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def forget(self) -> None:
        """Leaves it to the process that this one is a fork of."""
        for ours in list(self.sockets):
            ours.close()
        # It is no child of ours, and nobody will ask how it ended.
        self.process.returncode = 0


def _open_or_nothing(number: int, stream: object, stack: contextlib.ExitStack) -> int:
    try:
        if (
            stream is None
        ):  # it was closed when the program began, and the number may be that of any file by now
            raise OSError
        os.fstat(number)
    except OSError:
        number = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, number)
    return number
