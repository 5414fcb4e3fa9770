"""Temporary files and folders that are gone when their process ends, and swept by the next one if it was killed."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from gristmill.files.atomic import _alive, _host

_NAME = re.compile(r"gristmill-[a-z0-9]+-(?P<pid>\d{1,10})-(?P<host>[0-9a-f]{8})-.+")
_swept = False


def temporary_prefix(purpose: str) -> str:
    """Gives what the name of a temporary file or folder begins with, so that `sweep_temporary` knows whose it is.

    The first call of a process sweeps.

    Args:
        purpose: A word for people who look at it.

    Example:
        >>> temporary_prefix("rows").startswith(f"gristmill-rows-{os.getpid()}-")
        True
    """
    global _swept  # noqa: PLW0603  # once a process is often enough
    if not _swept:
        _swept = True
        sweep_temporary(Path(tempfile.gettempdir()))
    return f"gristmill-{purpose}-{os.getpid()}-{_host()}-"


def sweep_temporary(folder: Path) -> list[Path]:
    """Deletes temporary files and folders of processes of this machine and user that were killed.

    Args:
        folder: The folder to look into (not below it).

    Returns:
        What is gone.
    """
    removed: list[Path] = []
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names are all that is needed of thousands
    except OSError:
        return removed
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or match["host"] != _host() or _alive(int(match["pid"])):
            continue
        path = folder / name
        try:
            ours = path.lstat().st_uid == os.getuid() if hasattr(os, "getuid") else True
        except OSError:  # another process was faster
            continue
        if not ours or path.is_symlink():
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
        removed.append(path)
    return removed


class TemporaryFolder:
    """A folder that lives as long as its process.

    Args:
        purpose: As for `temporary_prefix`.

    Attributes:
        name: Its path.
    """

    def __init__(self, purpose: str) -> None:
        self.name = tempfile.mkdtemp(prefix=temporary_prefix(purpose))
        self._owner = os.getpid()
        atexit.register(self.cleanup)

    def cleanup(self) -> None:
        """Deletes it now."""
        # A forked child ends before the process whose folder it is.
        if os.getpid() == self._owner:
            shutil.rmtree(self.name, ignore_errors=True)

    # The name by which the tests of other libraries call it.
    _cleanup = cleanup
