"""Small work that touches the disk: done at once where the disk answers at once, in threads where it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

__all__ = ["Quick"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_QUICK = 0.005
_SLOW = 0.02
_AVOID = 5.0
_MOST = 10_000


class Quick:
    """Decides, for each thing that is asked about, where the asking is done.

    A few calls of `stat` on a local disk take less than handing them to a thread and back. On a network file system
    they may take long, and then all others would wait; how long they took the last time tells.

    Args:
        threads: Those that are used where it may take long.
    """

    def __init__(self, threads: anyio.CapacityLimiter) -> None:
        self._threads = threads
        self._at_once_from: dict[str, float] = {}

    async def call(
        self, about: str, long: bool, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Calls a function.

        Args:
            about: What the time that it takes depends on, such as a repository.
            long: It will take long for other reasons, and has to be done in a thread.
            function: What to call.
            *args: Its arguments.
            **kwargs: Its arguments by name.
        """
        if not long and self._at_once_from.get(about, float("inf")) <= time.monotonic():
            start = time.monotonic()
            try:
                return function(*args, **kwargs)
            finally:
                if (end := time.monotonic()) - start > _SLOW:
                    self._at_once_from[about] = end + _AVOID
        work = partial(function, *args, **kwargs)
        if not long and about not in self._at_once_from:
            work = partial(self._try, about, work)
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    def _try(self, about: str, work: Callable[[], _T]) -> _T:
        start = time.monotonic()
        result = work()
        # What takes long may have waited for its turn only: the next time tells.
        if (end := time.monotonic()) - start < _QUICK:
            if len(self._at_once_from) >= _MOST:
                self._at_once_from.clear()
            self._at_once_from[about] = end
        return result
