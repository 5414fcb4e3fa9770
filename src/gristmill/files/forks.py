"""What a forked child inherits and can't use: locks that another thread held, work of threads that did not come along.

Whatever of ours has locks, threads or sockets and lives longer than one call gets new ones in a child, before any
other code runs there: nobody has to remember to ask which process this is.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

__all__ = ["ForkedLock", "renew_in_children"]


class Renewable(Protocol):
    """Something with locks, threads or sockets."""

    def renew(self) -> None:
        """Makes it usable in a forked child, in which the thread that forked is the only one."""
        ...


_known: weakref.WeakValueDictionary[int, Renewable] = weakref.WeakValueDictionary()


def renew_in_children(thing: Renewable) -> None:
    """Has `renew` called in every process that is forked from this one, as long as the thing lives.

    Args:
        thing: What can't be shared; it is not kept alive.

    Example:
        >>> lock = ForkedLock()
        >>> renew_in_children(lock)
    """
    _known[id(thing)] = thing


class ForkedLock:
    """A lock that is free in a forked child, whoever held it.

    Example:
        >>> with ForkedLock():
        ...     pass
    """

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Puts a new lock in its place."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        # Another one than was taken, if a child was forked inside the block.
        if self._lock.locked():
            self._lock.release()


def _renew_all() -> None:
    for thing in list(_known.values()):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
