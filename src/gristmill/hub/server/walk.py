"""The files of a folder as a repository shows them: one cheap walk of stat calls, no file opened.

Left out: tool folders (``.git``, ``.cache``, ``.gristmill``), files that are still being written, symbolic links that leave
the served folder (unless they are to be followed) or lead to a folder from inside another linked one, what is not a regular
file, and names that no URL can carry.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gristmill.logging import get_logger

_logger = get_logger(__name__)
_LATEST = 253402300799.0  # the last second of the year 9999
HIDDEN_FOLDERS = frozenset({".git", ".cache", ".gristmill"})


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says about a file's content: as long as it is equal, the content is taken to be the same."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def modified(self) -> float:
        """Time of the last change in seconds since 1970, kept within the years that dates can be written for."""
        return min(max(self.mtime_ns / 1e9, 0.0), _LATEST)

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Takes the stamp from an answer of `os.stat` or `os.fstat`."""
        return cls(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A file seen by the walk.

    Attributes:
        path: Name in the repository, with ``/`` between the parts.
        file: Where it is on this machine.
        stamp: Its state at the time of the walk.
    """

    path: str
    file: Path
    stamp: Stamp

    @property
    def modified(self) -> float:
        """Time of the last change, in seconds since 1970."""
        return self.stamp.modified

    def same(self, status: os.stat_result) -> bool:
        """Says whether a file that was opened is the one that was found."""
        return Stamp.of(status) == self.stamp


def walk(folder: Path, root: Path, outside: bool = False) -> dict[str, Found]:
    """Lists the files below a folder.

    Args:
        folder: The repository's folder.
        root: The served folder, resolved; links to the settings at its top are left out.
        outside: Whether links to places outside it are followed.

    Returns:
        Files by their path in the repository, in sorted order.

    Raises:
        OSError: A folder can't be listed; `FileNotFoundError` if `folder` itself is not there.
    """
    top = _Folder(str(folder), "", (os.path.realpath(folder),))
    found = {item.path: item for item in _below(top, root, outside)}
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be listed: where it is, what the paths in it begin with, and the folders that led here."""

    path: str
    prefix: str
    trail: tuple[str, ...]
    linked: bool = False


def _below(top: _Folder, root: Path, outside: bool) -> Iterator[Found]:
    # A list of folders, not a call in a call: a path may have more parts than Python calls may be nested.
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            entries = os.scandir(folder.path)
        except FileNotFoundError:
            if folder is top:
                raise
            continue  # a folder removed during the walk is absent, which is the truth by now
        with entries:
            for entry in entries:
                link = entry.is_symlink()
                status = _status(entry) if _listed(entry.name) else None
                if status is None:
                    continue
                if link and not inside(Path(entry.path), root, outside):
                    _tell(entry.path, outside)
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield Found(folder.prefix + entry.name, Path(entry.path), Stamp.of(status))
                elif stat.S_ISDIR(status.st_mode) and entry.name not in HIDDEN_FOLDERS:
                    real = os.path.realpath(entry.path) if link else entry.path
                    # Links behind links could lead to the same files by more ways than there is memory for.
                    if real not in folder.trail and not (link and folder.linked):
                        prefix, trail = f"{folder.prefix}{entry.name}/", (*folder.trail, real)
                        waiting.append(_Folder(entry.path, prefix, trail, link or folder.linked))


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Asks for the state of an entry; None if it was removed since, or is a link to nothing or in a circle."""
    try:
        return entry.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise


def _listed(name: str) -> bool:
    if name.startswith(".") and name.endswith(".incomplete"):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in name


@functools.lru_cache(maxsize=1000)  # once, and not with each look
def _tell(path: str, outside: bool) -> None:
    way_out = "" if outside else " What lies outside the folder is served with --follow-links."
    _logger.warning("%s is left out: the link leads to where the server does not follow.%s", path, way_out)


def inside(path: Path, root: Path, outside: bool = False) -> bool:
    """Says whether a path, its links followed, is one whose content may be served.

    Args:
        path: The path.
        root: The served folder, resolved. The settings files at its top are never served, nor what is in folders of tools.
        outside: Whether places outside it may be, but for the folders above it: through those it would come to itself.
    """
    real = Path(os.path.realpath(path))
    if real.is_relative_to(root):
        return real != root and real.parent != root and not HIDDEN_FOLDERS & {*real.relative_to(root).parts}
    return outside and not root.is_relative_to(real)
