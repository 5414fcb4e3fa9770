"""Fetching ahead: a few threads that bring what will be asked for next, and are gone when there is nothing to bring."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Callable

from gristmill.files.forks import renew_in_children

__all__ = ["Ahead"]

_PATIENCE = 0.5


class Ahead:
    """Does pieces of work in threads that nobody has to wait for.

    A piece that fails is forgotten: whoever needs what it should have brought asks again, and learns what is wrong. The
    threads are daemons, since one that waits for a silent server must not keep the process from ending, and end when
    there is nothing to do.

    Args:
        workers: Most threads at a time.

    Example:
        >>> ahead, seen = Ahead(2), []
        >>> ahead.submit(lambda: seen.append(1))
        >>> ahead.wait()
        >>> seen
        [1]
    """

    def __init__(self, workers: int = 4) -> None:
        self._workers = workers
        self._start()

    def _start(self) -> None:
        self._closed = False
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Begins anew with nothing to do: threads do not come along into a forked process."""
        self._lock = threading.Lock()
        self._todo: collections.deque[Callable[[], object]] = collections.deque()
        self._threads: set[threading.Thread] = set()

    def __getstate__(self) -> dict[str, int]:
        return {"_workers": self._workers}

    def __setstate__(self, state: dict[str, int]) -> None:
        self._workers = state["_workers"]
        self._start()

    def submit(self, work: Callable[[], object]) -> None:
        """Has something done soon; after `close`, nothing is."""
        with self._lock:
            if self._closed:
                return
            self._todo.append(work)
            if len(self._threads) < self._workers:
                thread = threading.Thread(target=self._run, name="gristmill-ahead", daemon=True)
                self._threads.add(thread)
                thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._todo:
                    self._threads.discard(threading.current_thread())
                    return
                work = self._todo.popleft()
            with contextlib.suppress(Exception):
                work()
            del work  # what it holds may have to go

    def wait(self, timeout: float | None = None) -> None:
        """Waits until all that was handed in is done.

        Args:
            timeout: Seconds to wait at most, for all threads together; without end if None.
        """
        with self._lock:
            threads = list(self._threads)
        until = None if timeout is None else time.monotonic() + timeout
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(None if until is None else max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Drops what was not begun, and waits a moment for what was."""
        with self._lock:
            self._closed = True
            self._todo.clear()
        self.wait(_PATIENCE)
