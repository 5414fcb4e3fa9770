"""Data files on this machine: listing a folder, and patterns with absolute or relative paths."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from gristmill.errors import DataFilesNotFoundError, FileError, FileMissingError, shorten, suggest
from gristmill.files.data_files import resolve_patterns
from gristmill.files.paths import absolute_path, expand_home
from gristmill.files.patterns import PathIndex, has_magic, is_hidden
from gristmill.files.stamps import change_stamp
from gristmill.prepared.source import DataFile


def list_folder(folder: Path) -> list[str]:
    """Lists the files anywhere in a folder, relative and with ``/``; names that begin with ``.`` or ``__`` are left out.

    Args:
        folder: The folder; links to folders inside it are not followed, so a link can't lead out or in circles.

    Raises:
        FileMissingError: There is no such folder.
        FileError: It can't be listed.
    """

    def refuse(error: OSError) -> None:
        raise FileError.from_os_error("list", error.filename or folder, error) from error

    if not os.path.isdir(folder):  # noqa: PTH112  # Path.is_dir raises for names too long
        raise FileMissingError.from_path(shorten(str(folder)))
    paths = []
    for root, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        relative = Path(root).relative_to(folder)
        paths += [(relative / name).as_posix() for name in names if not is_hidden(name)]
    return sorted(paths)


def expand_local(pattern: str, base: Path | None = None) -> list[Path]:
    """Lists the files that a path or pattern on this machine means, in natural order.

    A path that exists as written is that path, whatever characters are in it; of a pattern, the leading folders that
    exist as written are literal, and only what is met below them is searched.

    Args:
        pattern: An absolute path, or one relative to `base`; ``~`` is the home folder.
        base: Where relative paths start; the working folder if left out.

    Returns:
        The files, at least one. A folder means the files anywhere inside it.

    Raises:
        DataFilesNotFoundError: Nothing matches; the message names near names.
    """
    path = (base or Path()) / expand_home(pattern)
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116  # half the time of Path.stat
            return [path]
    except (OSError, ValueError):  # not there, or no possible name
        pass
    folder, rest = _literal_folder(path)
    if not folder.is_dir() or (rest and not has_magic("/".join(rest))):
        if os.path.lexists(path):
            return [path]  # a link that leads nowhere or round in circles: to look at it says so
        what = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        missing = rest[0] if rest else folder.name
        raise DataFilesNotFoundError(
            f'There is no data file "{path}": the folder {absolute_path(folder)} has no "{missing}". {suggest(missing, what)}'
        )
    paths = _list_spelled_out(folder, rest)
    found = resolve_patterns(PathIndex(paths), ["/".join(rest) or "**"], str(folder))
    return [folder / name for name in found]


def _literal_folder(path: Path) -> tuple[Path, list[str]]:
    """Cuts a path after the longest run of folders that exist as written."""
    folder, parts = Path(path.anchor), list(path.parts[1:] if path.anchor else path.parts)
    while parts and os.path.isdir(folder / parts[0]):  # noqa: PTH112  # as above
        folder /= parts.pop(0)
    return folder, parts


def _list_spelled_out(folder: Path, rest: Sequence[str]) -> list[str]:
    # One folder deep is enough unless the pattern goes deeper: a search from / must not walk the disk.
    if "**" in rest or not rest:
        return list_folder(folder)
    hidden = any(part.startswith((".", "__")) for part in rest)
    paths: list[str] = []
    for root, folders, names in os.walk(folder):
        relative = Path(root).relative_to(folder)
        depth = len(relative.parts) + 1
        if depth >= len(rest):
            folders[:] = []
        if not hidden:
            folders[:] = [name for name in folders if not is_hidden(name)]
        if depth == len(rest):
            paths += [(relative / name).as_posix() for name in names]
    return paths


def find_local(pattern: str, base: Path | None, folders: dict[str, str]) -> list[DataFile]:
    """Describes the files that a path or pattern on this machine means, see `expand_local`.

    Args:
        pattern: The path or pattern.
        base: Where relative paths start.
        folders: See `local_file`.
    """
    # As `expand_home`; one path is made for each of many files.
    path = Path(os.path.expanduser(pattern) if pattern[:1] == "~" else pattern)  # noqa: PTH111
    path = path if base is None else base / path
    text = str(path)
    try:
        status = os.lstat(text)
    except (OSError, ValueError):  # not there as written, or no possible name
        status = None
    if status is not None and stat.S_ISREG(status.st_mode):
        return [_described(path, text, _real_path(text, folders), status)]
    return [local_file(found, folders=folders) for found in expand_local(pattern, base)]


def local_file(path: Path, name: str | None = None, folders: dict[str, str] | None = None) -> DataFile:
    """Describes a file on this machine.

    Args:
        path: The file.
        name: What to call it; its path if left out.
        folders: Where folders really are, as far as that was found out for files before; what is found is added.

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be looked at, or is no regular file.
    """
    try:
        status = os.lstat(path)
        is_link = stat.S_ISLNK(status.st_mode)
        if is_link:
            status = path.stat()
    except FileNotFoundError as error:
        raise FileMissingError.from_path(path) from error
    except OSError as error:
        raise FileError.from_os_error("read", path, error) from error
    if not stat.S_ISREG(status.st_mode):
        # To open a pipe waits for whoever writes to it; and what is read is read more than once.
        raise FileError(
            f"{path} is no file with content of its own but a pipe, a socket or a device: copy it first."
        )
    where = os.path.realpath(path) if is_link else _real_path(str(path), {} if folders is None else folders)
    return _described(path, name, where, status)


def _described(path: Path, name: str | None, where: str, status: os.stat_result) -> DataFile:
    label = name or str(path)
    if not label.isascii():
        label = printable(label)
    size, written, changed = change_stamp(status)
    return DataFile(label, f"{where}:{size}:{written}:{changed}", size, path)


def has_changed(file: DataFile) -> bool:
    """Says whether a file on this machine has another size or time of change than when it was described.

    The time of its inode does not count: whoever makes a link to a file, or lets others read it, does not write it.

    Args:
        file: Made by `local_file`, or of another kind, which can't change.
    """
    try:
        now = None if file.path is None else local_file(file.path).identity.rsplit(":", 3)
    except FileMissingError:  # what was read of it was all of it
        return False
    return now is not None and (was := file.identity.rsplit(":", 3))[0] == now[0] and was[1:3] != now[1:3]


def printable(name: str) -> str:
    r"""Gives a name that can be written down; those on disks are any bytes, and need not be text.

    Example:
        >>> printable("a\udcff.csv")
        'a\\udcff.csv'
    """
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def _real_path(file: str, folders: dict[str, str]) -> str:
    """Follows links in the folders of a file that is none itself: most files of a split lie in one folder."""
    folder, name = os.path.split(file)
    known = folders.get(folder)
    if known is None:
        # With what separates it from the names in it: a path of its own would be made for each file.
        known = folders[folder] = os.path.join(os.path.realpath(folder), "")  # noqa: PTH118
    return known + name
