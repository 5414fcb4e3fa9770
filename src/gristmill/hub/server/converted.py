"""Parquet files that were made of a dataset's other files, kept beside it: ``.gristmill/convert/COMMIT``.

::

    index.json                  the files with their hashes, and why a config could not be converted; what the machine
                                failed at is tried again, and when that was and how often is here too
    CONFIG/SPLIT/0000.parquet   the files

The folder of a commit is there whole or not at all. The last few are kept: who reads an older one is not cut off.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gristmill._version import __version__
from gristmill.errors import UnsafePathError
from gristmill.files.atomic import atomic_file, atomic_folder, sweep
from gristmill.files.paths import safe_join
from gristmill.hub.server.history import FOLDER, History
from gristmill.hub.server.snapshots import Entry
from gristmill.hub.server.walk import Found, Stamp

__all__ = ["Converted", "MadeFile", "Tries", "copy_files", "read_converted", "write_converted"]

_KEPT = 2
_FIRST_WAIT = 60.0
_LONGEST_WAIT = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file that was made: its name as config/split/number, its bytes, and its hashes."""

    path: str
    size: int
    blob_id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a conversion failed of the machine and not of the files, and when last, in seconds since 1970."""

    count: int
    time: float

    def due(self, now: float, started: float) -> bool:
        """Says whether it is time to try again.

        That is after a minute, and after four times as long each time, a day at most; and once after each start of the
        server.

        Args:
            now: The time.
            started: When the server was started.

        Example:
            >>> [Tries(2, 1000.0).due(now, started=0.0) for now in (1239.0, 1240.0)]
            [False, True]
        """
        wait = min(_FIRST_WAIT * 4.0 ** min(self.count - 1, 10), _LONGEST_WAIT)
        # A clock that was put back must not keep it from ever being tried.
        return self.time < started or not self.time <= now < self.time + wait


@dataclass(frozen=True)
class Converted:
    """What was made of the files of a commit.

    Attributes:
        files: The files, in order.
        failed: Why a config could not be converted, by its name.
        tries: Of those, the ones that may be converted another time.
        by: The version of Gristmill that tried.
    """

    files: tuple[MadeFile, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    tries: Mapping[str, Tries] = field(default_factory=dict)
    by: str = __version__

    def entries(self, folder: Path) -> list[Entry]:
        """Gives the files as a snapshot has them.

        Args:
            folder: Where they are.

        Raises:
            FileNotFoundError: One is gone.
        """
        made = []
        for file in self.files:
            at = safe_join(folder, file.path)
            found = Found(file.path, at, Stamp.of(at.stat()))
            made.append(Entry(file.path, file.size, file.blob_id, file.sha256, found))
        return made


def folder_of(repo: Path, commit: str) -> Path:
    """Gives where the files made of a commit are, or would be."""
    return repo / FOLDER / "convert" / commit


def read_converted(repo: Path, commit: str) -> Converted | None:
    """Reads what was made of a commit; None if nothing was tried yet, or only by another version, and failed.

    Args:
        repo: The repository's folder.
        commit: The commit.
    """
    try:
        told = json.loads((folder_of(repo, commit) / "index.json").read_bytes())
        files = tuple(MadeFile(*row) for row in told["files"])
        tries = {name: Tries(int(n), float(at)) for name, (n, at) in told.get("tries", {}).items()}
        found = Converted(files, dict(told["failed"]), tries, str(told["by"]))
        found.entries(folder_of(repo, commit))
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        UnsafePathError,
        RecursionError,
    ):
        return None  # made again
    return None if found.failed and found.by != __version__ else found


def copy_files(files: Iterable[MadeFile], folder: Path, out: Path) -> None:
    """Brings files that are made already to where others are being made.

    Args:
        files: The files.
        folder: Where they are.
        out: Where they go; a second name will do.
    """
    for file in files:
        target = safe_join(out, file.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(folder / file.path, target)
        except OSError:
            shutil.copyfile(folder / file.path, target)


def write_converted(repo: Path, commit: str, made: Path, converted: Converted) -> None:
    """Keeps what was made of a commit, and drops what was made of those long before it.

    Args:
        repo: The repository's folder.
        commit: The commit.
        made: Folder with the files; they are moved from there.
        converted: What to say of them.

    Raises:
        FileNotFoundError: There is no repository (any more).
        FileError: They can't be written.
    """
    folder = History(repo).inside("convert")
    sweep(folder)
    final = folder / commit
    with atomic_folder(final) as temporary:
        for file in converted.files:
            target = safe_join(temporary, file.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            (made / file.path).replace(target)
        index = {
            "by": converted.by,
            "failed": dict(converted.failed),
            "tries": {name: [tries.count, tries.time] for name, tries in converted.tries.items()},
            "files": [[file.path, file.size, file.blob_id, file.sha256] for file in converted.files],
        }
        with atomic_file(temporary / "index.json", "w") as out:
            json.dump(index, out, ensure_ascii=False)
    with contextlib.suppress(FileNotFoundError):
        others = [path for path in folder.iterdir() if not path.name.startswith(".") and path != final]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
