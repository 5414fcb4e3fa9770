"""The process that forks worker processes on Linux; `gristmill.engine.starting` starts it and says why there is one.

It has imported what workers need, runs no thread and no code of the user's, and waits. Each request comes with the
open files of the new worker, so that it writes where the caller does at the time of the call, and works in the
folder that is the caller's then. All else that a process inherits (environment, limits, umask ...) is what the server
was started with: for another one, the caller starts another server.

A worker is told to end when the caller closes the socket that its end is reported on, and all end with the caller,
however that ended. If it is the server that is killed, the system kills the workers.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gristmill.engine.tasks import INSIDE_WORKER

NUMBER = struct.Struct("!i")
"""What the server says of a worker: its process id, then its exit status; if there is none, 0, or less than 0 the
number of the system's error."""

MESSAGE = 1 << 17
"""Bytes of the longest request."""

_IDLE = 120.0
"""Seconds without a worker after which the server ends."""

_TICK = 1.0
"""Seconds between two looks at whether the caller lives."""

_PATIENCE = 5.0
"""Seconds a worker gets to end by itself before it is killed."""

_SET_DEATH_SIGNAL = 1
_KNOWN_THREADS = {"jemalloc_bg_thd"}
"""Threads of libraries that stop them around a fork by themselves."""


class Request(NamedTuple):
    """A worker that the server is asked for; five open files come with it, see `Server`.

    Attributes:
        payload: The file with the work.
        rank: The number of the worker.
        environ: Variables that are other than when the server was started.
    """

    payload: str
    rank: int
    environ: dict[str, str | None]


@dataclass
class _Child:
    pid: int
    reports: socket.socket
    kill_at: float | None = None


def serve(interrupt: Any, descriptor: str, caller: str) -> None:
    """Runs the server, and in each worker that it forks the work.

    Args:
        interrupt: What SIGINT did before the server ignored it; it does so again in workers.
        descriptor: The number of the open socket that requests come from.
        caller: The process id of who sends them.
    """
    server = _Server(socket.socket(fileno=int(descriptor)), int(caller), interrupt)
    work = server.run()
    if work is None:
        # There is nothing to save, and the caller may be waiting for us.
        os._exit(0)
    # From here on this is a worker.
    from gristmill.engine.worker import main

    main(*work)
    _end_program()


def _end_program() -> None:
    """Does what Python does at the end of a program, but for taking apart all that was imported before the fork."""
    threading._shutdown()  # type: ignore[attr-defined]  # as `multiprocessing` ends its forks
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it, or the user's function closed it
            stream.flush()
    os._exit(0)


class _Server:
    """Listens to one socket: names of modules to import, and requests for workers.

    A request brings the worker's socket, the socket that its end is reported on, standard output, standard error and
    the working folder.
    """

    def __init__(self, requests: socket.socket, caller: int, interrupt: Any) -> None:
        self._requests: socket.socket | None = requests
        self._caller = caller
        self._interrupt = interrupt
        self._pid = os.getpid()
        self._children: dict[int, _Child] = {}
        self._used = time.monotonic()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._prctl = ctypes.CDLL(None).prctl
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ringer.fileno(), warn_on_full_buffer=False)
        # What is garbage by now stays; collections in workers would copy every page that they look at.
        gc.disable()
        os.chdir("/")
        # Threads of OpenBLAS are stopped at the first fork, and only start again where somebody multiplies matrices.
        self._checked: set[str] | None = None

    def run(self) -> tuple[str, str, str] | None:
        """Serves until there is nobody to serve; in a worker, returns its work."""
        while self._requests is not None or self._children:
            for descriptor in self._wait():
                if descriptor == self._bell.fileno():
                    with contextlib.suppress(BlockingIOError):
                        self._bell.recv(4096)
                elif self._requests is not None and descriptor == self._requests.fileno():
                    work = self._take_request()
                    if work is not None:
                        return work
                else:
                    self._obey(descriptor)
            self._reap()
            self._look_around()
        return None

    def _wait(self) -> list[int]:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if self._requests is not None:
            poll.register(self._requests, select.POLLIN)
        for child in self._children.values():
            if child.kill_at is None:
                poll.register(child.reports, select.POLLIN)
        return [descriptor for descriptor, _ in poll.poll(_TICK * 1000)]

    def _look_around(self) -> None:
        now = time.monotonic()
        if self._children:
            self._used = now
        if os.getppid() != self._caller:
            self._stop_listening()
            for child in self._children.values():
                self._end(child)
        elif now - self._used > _IDLE:
            self._stop_listening()
        for child in self._children.values():
            if child.kill_at is not None and now > child.kill_at:
                os.kill(child.pid, signal.SIGKILL)

    def _stop_listening(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None

    def _take_request(self) -> tuple[str, str, str] | None:
        assert self._requests is not None
        try:
            message, files, _, _ = socket.recv_fds(self._requests, MESSAGE, 5)
        except OSError:
            message, files = b"", []
        if not message:
            self._stop_listening()
            return None
        self._used = time.monotonic()
        request = pickle.loads(message)  # noqa: S301  # from the process that started us
        if isinstance(request, Request):
            return self._fork(request, files)
        self._import(request)
        return None

    def _import(self, names: Iterable[str]) -> None:
        for name in names:
            # Whoever needs it imports it again, and is told what is wrong with it.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        self._checked = None

    def _fork(self, request: Request, files: list[int]) -> tuple[str, str, str] | None:
        work, reports, *inherited = files
        report = socket.socket(fileno=reports)
        try:
            pid = self._fork_if_alone()
        except OSError as error:
            answer = -(error.errno or errno.EAGAIN)
        else:
            if pid == 0:
                report.close()
                self._become_worker(inherited, request)
                return request.payload, str(request.rank), str(work)
            answer = pid or 0
        for descriptor in (work, *inherited):
            os.close(descriptor)
        # A caller that is gone by now is seen as such at once.
        with contextlib.suppress(OSError):
            report.sendall(NUMBER.pack(answer))
        if answer > 0:
            self._children[report.fileno()] = _Child(answer, report)
        else:
            report.close()
        return None

    def _fork_if_alone(self) -> int | None:
        """Forks; None if a library that was imported runs a thread, which may hold a lock that no child could take."""
        gc.freeze()
        if self._checked is None:
            if (pid := _fork()) == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            self._checked = _threads() - _KNOWN_THREADS
        return None if self._checked else _fork()

    def _become_worker(self, inherited: list[int], request: Request) -> None:
        self._prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != self._pid:  # it died before it was to be our death
            os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, self._interrupt)
        self._stop_listening()
        for other in (self._bell, self._ringer, *(child.reports for child in self._children.values())):
            other.close()
        output, errors, folder = inherited
        os.fchdir(folder)
        for descriptor, number, stream in ((output, 1, sys.stdout), (errors, 2, sys.stderr)):
            os.dup2(descriptor, number)
            os.close(descriptor)
            stream.reconfigure(line_buffering=number == 2 or os.isatty(number))  # type: ignore[union-attr]
        os.close(folder)
        for name, value in request.environ.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        os.environ[INSIDE_WORKER] = "1"
        # Python sees to its own random numbers after a fork.
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        # Files and folders may have come since the server looked.
        sys.path_importer_cache.clear()
        importlib.invalidate_caches()
        gc.enable()

    def _obey(self, descriptor: int) -> None:
        child = self._children.get(descriptor)
        if child is None:
            return
        try:
            orders = child.reports.recv(64)
        except OSError:
            orders = b""
        if not orders:  # the caller does not want to know any more
            self._end(child)
        for number in orders:
            os.kill(child.pid, number)

    def _end(self, child: _Child) -> None:
        if child.kill_at is None:
            child.kill_at = time.monotonic() + _PATIENCE
            os.kill(child.pid, signal.SIGTERM)

    def _reap(self) -> None:
        for descriptor, child in list(self._children.items()):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            del self._children[descriptor]
            with contextlib.suppress(OSError):
                child.reports.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))
            child.reports.close()


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of threads, and counts those that libraries have stopped before the fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _threads() -> set[str]:
    """Gives the names of all threads but this one."""
    names = set()
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended
                names.add((task / "comm").read_text().strip())
    return names
