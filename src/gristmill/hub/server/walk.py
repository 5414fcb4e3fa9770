"""The files of a folder as a repository shows them: one cheap walk of stat calls, no file opened.

Left out: tool folders (``.git``, ``.cache``), files that are still being written, symbolic links that leave the served
folder, what is not a regular file, and names that no URL can carry.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LATEST = 253402300799.0  # the last second of the year 9999
HIDDEN_FOLDERS = frozenset({".git", ".cache"})


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


def walk(folder: Path, root: Path) -> dict[str, Found]:
    """Lists the files below a folder.

    Args:
        folder: The repository's folder.
        root: The served folder, resolved; links to places outside it, and to the settings at its top, are left out.

    Returns:
        Files by their path in the repository, in sorted order.

    Raises:
        OSError: A folder can't be listed; `FileNotFoundError` if `folder` itself is not there.
    """
    found = {item.path: item for item in _below(folder, "", root, (os.path.realpath(folder),))}
    return dict(sorted(found.items()))


def _below(folder: Path, prefix: str, root: Path, trail: tuple[str, ...]) -> Iterator[Found]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not _listed(entry.name) or (entry.is_symlink() and not inside(Path(entry.path), root)):
                continue
            path = prefix + entry.name
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue  # removed since the folder was listed, or a link to nothing
            if stat.S_ISDIR(status.st_mode):
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if entry.name not in HIDDEN_FOLDERS and real not in trail:
                    yield from _sub(Path(entry.path), f"{path}/", root, (*trail, real))
            elif stat.S_ISREG(status.st_mode):
                yield Found(path, Path(entry.path), Stamp.of(status))


def _sub(folder: Path, prefix: str, root: Path, trail: tuple[str, ...]) -> Iterator[Found]:
    try:
        yield from _below(folder, prefix, root, trail)
    except FileNotFoundError:
        return  # a folder removed during the walk is absent, which is the truth by now


def _listed(name: str) -> bool:
    if name.startswith(".") and name.endswith(".incomplete"):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in name


def inside(path: Path, root: Path) -> bool:
    """Says whether a path, its links followed, is below `root` and not one of the settings files at its top."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(root) and real != root and real.parent != root
