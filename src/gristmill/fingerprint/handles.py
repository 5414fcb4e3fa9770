"""What stands for objects that belong to a process: locks, sockets, pools and event loops by their kind, files by name."""

from __future__ import annotations

import contextlib
import io
import os
import weakref
from contextvars import ContextVar
from typing import Any

from gristmill.files.stamps import change_stamp
from gristmill.fingerprint.code import module_is_library

# Of these, and of what libraries derive from them, nothing decides what a function gives back: they guard, carry or run
# what does. By name, so that none of these modules is loaded for it.
_BY_KIND = {
    ("_thread", "lock"), ("_thread", "RLock"), ("multiprocessing.synchronize", "SemLock"),
    ("concurrent.futures._base", "Executor"), ("multiprocessing.pool", "Pool"), ("asyncio.events", "AbstractEventLoop"),
    ("_socket", "socket"), ("_ssl", "_SSLContext"), ("ssl", "SSLObject"),
    ("select", "epoll"), ("select", "poll"), ("select", "kqueue"), ("selectors", "BaseSelector"),
}  # fmt: skip


def stands_for(value: Any, kind: type) -> tuple[Any, ...] | None:
    """Gives what stands for an object that can't be pickled because it belongs to this process.

    Args:
        value: Any object.
        kind: Its class.

    Returns:
        Values to hash in its place; None if it is no such object, or its class is the user's own and may hold more.

    Example:
        >>> import threading
        >>> stands_for(threading.Lock(), type(threading.Lock())) == (type(threading.Lock()),)
        True
        >>> stands_for([1], list) is None
        True
    """
    if not module_is_library(str(kind.__module__)):
        return None
    if isinstance(value, io.IOBase):
        return _of_file(value, kind)
    if isinstance(value, weakref.ReferenceType):
        return ("weak reference", value())
    if isinstance(value, ContextVar):
        return ("context variable", value.name, value.get(None))
    names = {(base.__module__, base.__name__) for base in kind.__mro__}
    if ("_thread", "_local") in names:
        return (kind, vars(value))  # what this thread sees
    return (kind,) if names & _BY_KIND else None


def _of_file(file: Any, kind: type) -> tuple[Any, ...] | None:
    """Gives name and mode of a file; of one that is read, also which content it has and where reading goes on."""
    name, mode = getattr(file, "name", None), getattr(file, "mode", None)
    if not isinstance(name, str | bytes | int):
        return None
    if file.closed:
        return (kind, name, "closed")
    if not file.readable():
        return (kind, name, mode)
    try:
        stamp = change_stamp(os.fstat(file.fileno()))
    except OSError:  # a part of another file, which its name does not tell
        return None
    place = None
    with contextlib.suppress(OSError):  # a pipe has none, and a text that is iterated over does not tell it
        place = file.tell()
    return (kind, name, mode, stamp, place)
