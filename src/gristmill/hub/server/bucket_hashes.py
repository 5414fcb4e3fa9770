"""The xet hashes of a bucket's files: noted when a file comes, computed for one that was put there by hand."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from gristmill.files.atomic import temporary_name
from gristmill.hub.server.errors import unreadable
from gristmill.hub.server.hashing import ChangedWhileRead, settled
from gristmill.hub.server.walk import Found, Stamp

EMPTY = "0" * 64
"""The hash of a file without bytes."""
_SPARE_LINES = 1000


def xet_hash(file: Path) -> str | None:
    """Computes the xet hash of a file; None where hf_xet is not installed.

    Raises:
        OSError: It can't be read.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     xet_hash(Path(file.name)) in (EMPTY, None)
        True
    """
    try:
        import hf_xet  # type: ignore[import-untyped]
    except ImportError:
        return None
    hash: str = hf_xet.hash_files([str(file)])[0].hash
    return hash


class KnownHashes:
    """Hashes by path, each true as long as the file's stamp is the same. Safe to use from many threads.

    They are kept in a file of lines that is only ever added to, so that several servers may add to it; a line that was
    cut off is worth nothing, and its file is hashed again.

    Args:
        file: Where they are kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._read_to = 0
        self._lines = 0
        self._known: dict[str, tuple[Stamp, str]] = {}
        self._by_hash: dict[str, set[str]] = {}

    def get(self, found: Found) -> str | None:
        """Gives the hash that is known of a file; None if none is."""
        if not found.stamp.size:
            return EMPTY
        with self._lock:
            self._read_new()
            known = self._known.get(found.path)
        return known[1] if known is not None and known[0] == found.stamp else None

    def compute(self, found: Found) -> str | None:
        """Gives the hash of a file, computed and noted if it is not known; None where hf_xet is not installed.

        Raises:
            ChangedWhileRead: The file is not the one that was found any more.
            Refusal: It can't be read.
        """
        known = self.get(found)
        if known is not None:
            return known
        while not settled(found.stamp, time.time_ns()):
            time.sleep(0.01)  # a change that comes now would not show
        try:
            hash = xet_hash(found.file)
            after = Stamp.of(found.file.stat())
        except FileNotFoundError as error:
            raise ChangedWhileRead(found.path) from error
        except OSError as error:
            raise unreadable(found.path, error) from error
        if after != found.stamp:
            raise ChangedWhileRead(found.path)
        if hash is not None:
            self.note([(found.path, found.stamp, hash)])
        return hash

    def paths(self, hash: str) -> list[str]:
        """Lists the paths of files that had this hash when they were last looked at."""
        with self._lock:
            self._read_new()
            return sorted(self._by_hash.get(hash, ()))

    def note(self, items: Iterable[tuple[str, Stamp, str]]) -> None:
        """Notes hashes of files; where they can't be kept, they are hashed again after the next start."""
        self._append([_line(path, stamp, hash) for path, stamp, hash in items])

    def drop(self, path: str) -> None:
        """Forgets a file that was removed."""
        self._append([json.dumps([path])])

    def compact(self) -> None:
        """Leaves out lines that later ones have overtaken; the bucket must not be written to meanwhile."""
        with self._lock, contextlib.suppress(OSError):
            self._read_new()
            if self._lines < 2 * len(self._known) + _SPARE_LINES:
                return
            temporary = temporary_name(self._file)
            with temporary.open("w", encoding="utf-8") as target:
                target.writelines(f"{_line(path, *known)}\n" for path, known in self._known.items())
            temporary.replace(self._file)
            self._forget()

    def _append(self, lines: list[str]) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._file.parent.mkdir(exist_ok=True)
            handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                # The first line end closes a line that a killed process left open.
                os.write(handle, ("\n" + "\n".join(lines) + "\n").encode())
            finally:
                os.close(handle)

    def _forget(self) -> None:
        self._read_to, self._lines, self._known, self._by_hash = 0, 0, {}, {}

    def _read_new(self) -> None:
        try:
            with self._file.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < self._read_to:
                    self._forget()  # written anew
                if size == self._read_to:
                    return
                stream.seek(self._read_to)
                for line in stream:
                    if line.endswith(b"\n"):
                        self._read_to += len(line)
                        self._take(line)
        except OSError:
            return  # nothing is known then, and hashes are computed

    def _take(self, line: bytes) -> None:
        self._lines += 1
        try:
            path, *numbers = json.loads(line)
            hash = numbers.pop() if numbers else None
            stamp = Stamp(*(int(number) for number in numbers)) if hash is not None else None
        except (ValueError, TypeError):
            return
        before = self._known.pop(path, None)
        if before is not None:
            self._by_hash[before[1]].discard(path)
        if stamp is not None and isinstance(hash, str):
            self._known[path] = (stamp, hash)
            self._by_hash.setdefault(hash, set()).add(path)


def _line(path: str, stamp: Stamp, hash: str) -> str:
    numbers = stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns
    return json.dumps([path, *numbers, hash], separators=(",", ":"))
