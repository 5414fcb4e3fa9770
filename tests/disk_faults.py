"""Faults of a disk: system calls below a folder that fail, or at which something happens, at a chosen one of them.

What the superuser may write can't be forbidden by permissions, so that the calls themselves are made to fail.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

WRITING = ("mkdir", "replace", "rename", "link", "symlink", "truncate")
TAKING_AWAY = ("unlink", "rmdir", "utime", "chmod")
READING = ("stat", "lstat", "scandir", "listdir")


def _is_below(path: Any, folder: Path) -> bool:
    if isinstance(path, int):
        return False
    try:
        name = os.fsdecode(path)
    except TypeError:
        return False
    return name == str(folder) or name.startswith(f"{folder}{os.sep}")


def _writes(call: str, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    if call == "os.open":
        flags = args[1] if len(args) > 1 else options["flags"]
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    mode = args[1] if len(args) > 1 else options.get("mode", "r")
    return any(letter in mode for letter in "wax+")


@contextlib.contextmanager
def watched(folder: Path, happen: Callable[[str, bool], None]) -> Iterator[None]:
    """Calls something before each system call below a folder.

    Args:
        folder: The folder.
        happen: Given the name of the call, and whether it writes; may raise what the call is to raise.
    """
    inside = False

    def wrap(call: str, real: Any, writes: bool | None) -> Any:
        def wrapped(*args: Any, **options: Any) -> Any:
            nonlocal inside
            path = args[0] if args else options.get("path")
            if not inside and _is_below(path, folder):
                inside = True
                try:
                    happen(call, _writes(call, args, options) if writes is None else writes)
                except OSError as error:
                    assert path is not None
                    error.filename = os.fsdecode(path)
                    raise
                finally:
                    inside = False
            return real(*args, **options)

        return wrapped

    with contextlib.ExitStack() as stack:
        for name in (*WRITING, *TAKING_AWAY, *READING):
            fault = wrap(f"os.{name}", getattr(os, name), name in WRITING or name in TAKING_AWAY)
            stack.enter_context(mock.patch.object(os, name, fault))
        for module, name in ((os, "open"), (io, "open"), (builtins, "open"), (pa, "OSFile")):
            fault = wrap(f"{module.__name__}.{name}", getattr(module, name), None)
            stack.enter_context(mock.patch.object(module, name, fault))
        yield


@contextlib.contextmanager
def failing(folder: Path, number: int, *, since: int = 0, reads: bool = False) -> Iterator[list[str]]:
    """Lets the calls below a folder that write fail.

    Args:
        folder: The folder.
        number: The system's number of the error.
        since: How many of them succeed before.
        reads: Those that only open a file for reading fail as well.

    Yields:
        The names of the calls so far.
    """
    seen: list[str] = []

    def happen(call: str, writes: bool) -> None:
        if call.removeprefix("os.") in (*TAKING_AWAY, *READING) or not (writes or reads):
            return
        seen.append(call)
        if len(seen) > since:
            raise OSError(number, os.strerror(number))

    with watched(folder, happen):
        yield seen


@contextlib.contextmanager
def deleted(folder: Path, moment: int) -> Iterator[list[str]]:
    """Deletes a folder with all in it just before one of the system calls below it.

    Args:
        folder: The folder.
        moment: Which call, counted from 1.

    Yields:
        The names of the calls so far.
    """
    calls: list[str] = []

    def happen(call: str, _writes: bool) -> None:
        calls.append(call)
        if len(calls) == moment:
            shutil.rmtree(folder, ignore_errors=True)

    with watched(folder, happen):
        yield calls


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Makes a folder one that can't be written, as a disk that is mounted for reading alone."""
    import errno

    def happen(call: str, writes: bool) -> None:
        if writes:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with watched(folder, happen):
        yield
