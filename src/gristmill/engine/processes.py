"""Worker processes as the process that starts them holds them: fresh interpreters, and forks of the fork server."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from multiprocessing.connection import wait
from pathlib import Path
from typing import Protocol

from gristmill.engine.fork_server import NUMBER
from gristmill.engine.tasks import INSIDE_WORKER

_LAST_STANDARD_STREAM = 2


class WorkerProcess(Protocol):
    """A process that was started as a worker."""

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None if it runs, or if nobody knows."""

    def wait(self, timeout: float) -> bool:
        """Waits for its end for at most `timeout` seconds; says whether it has ended."""

    def send_signal(self, number: int) -> None:
        """Sends it a signal; nothing happens if it has ended."""

    def close(self) -> None:
        """Gives back what is kept to know its end."""


class FreshProcess:
    """A fresh interpreter.

    Args:
        payload: The file with the work.
        rank: The number of the worker.
        connection: The worker's end of the socket to it.
    """

    def __init__(self, payload: Path, rank: int, connection: socket.socket) -> None:
        descriptor = connection.fileno()
        command = [
            sys.executable, "-m", "gristmill.engine.worker", str(payload), str(rank), str(descriptor),
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, env=worker_environment(), pass_fds=[descriptor], stdin=subprocess.DEVNULL
        )

    @property
    def status(self) -> int | None:
        """Its exit status."""
        return self._process.returncode

    def wait(self, timeout: float) -> bool:
        """Waits for its end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self._process.returncode is not None

    def send_signal(self, number: int) -> None:
        """Sends it a signal."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Does nothing: its end is known from the system."""


class ForkedProcess:
    """A fork of the server, which tells its end on a socket.

    Args:
        reports: The socket; closing it ends the worker.
    """

    def __init__(self, reports: socket.socket) -> None:
        self._reports = reports
        self._ended = False
        self._status: int | None = None

    @property
    def status(self) -> int | None:
        """Its exit status; None also if the server died, and the worker with it."""
        return self._status

    def wait(self, timeout: float) -> bool:
        """Waits for its end."""
        if not self._ended and wait([self._reports], timeout):
            self._status = read_number(self._reports)
            self._ended = True
        return self._ended

    def send_signal(self, number: int) -> None:
        """Sends it a signal, by way of the server: only that knows whether its process id is still its own."""
        with contextlib.suppress(OSError):
            self._reports.send(bytes([number]))

    def close(self) -> None:
        """Closes the socket."""
        self._reports.close()


def connected_sockets(kind: int = socket.SOCK_STREAM) -> tuple[socket.socket, socket.socket]:
    """Makes two sockets that are connected, with numbers that no standard stream has.

    A process that has closed its standard streams would give these numbers to the next files that it opens, and what
    workers print would go there.

    Args:
        kind: The kind of the sockets.

    Returns:
        Both ends.

    Raises:
        OSError: The system has no more files to give.
    """
    pair = socket.socketpair(type=kind)
    try:
        return _above_standard_streams(pair[0]), _above_standard_streams(pair[1])
    except BaseException:
        for end in pair:
            end.close()
        raise


def _above_standard_streams(end: socket.socket) -> socket.socket:
    if sys.platform == "win32" or end.fileno() > _LAST_STANDARD_STREAM:
        return end
    import fcntl

    with end:
        number = fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, _LAST_STANDARD_STREAM + 1)
    return socket.socket(fileno=number)


def read_number(reports: socket.socket) -> int | None:
    """Reads what the server says of a worker; None if it says no more.

    Args:
        reports: The socket on which it tells of this worker.
    """
    try:
        data = reports.recv(NUMBER.size, socket.MSG_WAITALL)
    except OSError:
        return None
    number: int | None = NUMBER.unpack(data)[0] if len(data) == NUMBER.size else None
    return number


def worker_environment() -> dict[str, str]:
    """Gives the variables that a worker has: those of this process, and the way to the modules that it sees."""
    package_folder = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join([package_folder, *filter(None, sys.path)])
    return {**os.environ, INSIDE_WORKER: "1", "PYTHONPATH": path}
