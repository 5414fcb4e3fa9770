"""Paths that come from outside: joined so that they can't leave their folder."""

from __future__ import annotations

import os
from pathlib import Path

from gristmill.errors import UnsafePathError, shorten


def check_relative(path: str, folder: object = "of the repository") -> str:
    """Gives back a path from outside if it is a plain relative one, with ``/`` between its parts.

    Args:
        path: A path as a repository, an archive or a request names it.
        folder: What to call the folder in the error.

    Raises:
        UnsafePathError: The path is empty or absolute, has an empty, ``.`` or ``..`` part, a backslash, a drive or a
            NUL, or is no text that UTF-8 can write.

    Example:
        >>> check_relative("data/train.parquet")
        'data/train.parquet'
        >>> check_relative("../secret")
        Traceback (most recent call last):
        ...
        gristmill.errors.UnsafePathError: The path '../secret' leaves the folder ...
    """
    parts = path.split("/")
    bad = not path or "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in parts)
    if bad or path.startswith("/") or (len(parts[0]) == 2 and parts[0][1] == ":"):
        raise UnsafePathError.from_path(path, folder)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UnsafePathError(f"The path {shorten(path)} is no text that UTF-8 can write.") from error
    return path


def safe_join(folder: Path, path: str) -> Path:
    """Joins a path from outside to a folder; the result is inside it, also after following symbolic links.

    Args:
        folder: The folder nothing may leave.
        path: A relative path with ``/`` between its parts.

    Returns:
        The joined path; it need not exist.

    Raises:
        UnsafePathError: The path, or a link on its way, leaves the folder.

    Example:
        >>> safe_join(Path("/srv/hub"), "a/b").as_posix()
        '/srv/hub/a/b'
    """
    joined = folder / check_relative(path, folder)
    try:
        inside = joined.resolve().is_relative_to(folder.resolve())
    except (RuntimeError, OSError) as error:
        # Links in a circle (RuntimeError before Python 3.13), or a name that no file system takes.
        raise UnsafePathError.from_path(path, folder) from error
    if not inside:
        raise UnsafePathError.from_path(path, folder)
    return joined


def expand_home(path: str | os.PathLike[str]) -> Path:
    """Writes out a leading ``~`` or ``~user``; one that the system knows no folder for is a plain name.

    Args:
        path: A path on this machine, as a user gives it.

    Example:
        >>> expand_home("~no-such-user/data").as_posix()
        '~no-such-user/data'
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises where there is no such folder


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Makes a path absolute, to show or to keep it; it stays as it is where the working folder has been deleted.

    Args:
        path: A path.

    Example:
        >>> absolute_path("/data/a.csv").as_posix()
        '/data/a.csv'
    """
    try:
        return Path(path).absolute()
    except OSError:
        return Path(path)
