"""Many files made durable together: the disk is waited for once, not once a file.

A disk takes about as long for one file as for all that was written to its file system. Where the system says of a whole
file system that it is on the disk, and tells of errors on the way, that is asked for; elsewhere each file is waited for,
several at a time.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from typing_extensions import Self

__all__ = ["Durable"]

_FEW = 16
_AT_ONCE = 16
# Kernels before 5.8 keep errors of writing to themselves there. Of file systems, those that wait for their disk.
_TELLS_SINCE = (5, 8)
_KNOWN = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})  # ext, xfs, btrfs, f2fs, tmpfs


class Durable:
    """Waits until the disk has files that were written while this is open.

    Args:
        folder: A folder of the file system that the files are on.

    Raises:
        OSError: The folder can't be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Durable(Path(folder)) as disk:
        ...         _ = (Path(folder) / "a").write_text("1")
        ...         disk.wait([Path(folder) / "a", Path(folder)])
    """

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder, os.O_RDONLY)  # from here on, errors of writing are told to it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def wait(self, paths: Collection[Path]) -> None:
        """Waits for files and folders.

        Args:
            paths: Files with what was written to them; folders with the names in them.

        Raises:
            OSError: The disk could not take all of it.
        """
        whole = _whole_file_system() if len(paths) > _FEW and _known(self._handle) else None
        if whole is not None:
            whole(self._handle)
        elif len(paths) > 1:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                for _ in pool.map(_wait, paths):
                    pass
        else:
            for path in paths:
                _wait(path)


def _wait(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@functools.cache
def _whole_file_system() -> Callable[[int], None] | None:
    """Gives what waits for the file system of an open file; None where there is no such, or it keeps errors to itself."""
    if sys.platform != "linux" or _kernel() < _TELLS_SINCE:
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:
        return None

    def wait(handle: int) -> None:
        if call(handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return wait


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _known(handle: int) -> bool:
    call = getattr(ctypes.CDLL(None, use_errno=True), "fstatfs", None) if sys.platform == "linux" else None
    about = ctypes.create_string_buffer(512)
    if call is None or call(handle, about) != 0:
        return False
    return ctypes.c_long.from_buffer(about).value in _KNOWN
