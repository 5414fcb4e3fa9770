"""``--mirror-max``: how much of the disk the contents that a mirror fetched may take; the least recently used ones go.

Only what can be fetched again goes: contents of copies of the mirror's own upstream that no revision needs which was copied
as a whole (`gristmill hub mirror`); those do not count either. A content goes whole, by losing its name: who reads it at that
moment reads on.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import GristmillError
from gristmill.hub.server.history import FOLDER, History
from gristmill.hub.server.mirrored import mirror_file, read_state
from gristmill.logging import get_logger

__all__ = ["MirrorRoom"]

_log = get_logger(__name__)
_TYPES = ("datasets", "models")
# More than needed goes at a time, so that not every fetch has to look at everything.
_SHARE_LEFT = 0.9
_NOTE_USE_AFTER = 60.0
_PART = ".part"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A content, or a part of one that broke off: where it is, what it is to become, its bytes, and when it was used."""

    path: Path
    final: Path
    size: int
    used: float


class MirrorRoom:
    """The room on the disk for what a mirror fetches. Safe to use from many threads.

    Args:
        root: The served folder.
        upstream: Endpoint of the Hub that contents can be fetched from again.
        most: Bytes that they may take.
    """

    def __init__(self, root: Path, upstream: str, most: int) -> None:
        self.most = most
        self._root = root
        self._upstream = upstream
        self._lock = threading.Lock()
        self._taken: dict[Path, int] = {}
        self._held: Counter[Path] = Counter()
        self._kept: int | None = None
        self._freed = 0
        self._full: tuple[int, int] | None = None

    def take(self, final: Path, size: int) -> bool:
        """Takes room for a content that is about to be fetched; others go if there is too little.

        Args:
            final: Where it is going to be.
            size: Its bytes, `most` at the most.

        Returns:
            Whether there is room; if not, there will be when others have been fetched or are not held any more.
        """
        with self._lock:
            coming = sum(self._taken.values()) + size
            if self._full is not None and self._full[0] == self._freed and coming >= self._full[1]:
                return False  # nothing has become free since, so there is no need to look at everything again
            if self._kept is None or self._kept + coming > self.most:
                self._kept = self._make_room(coming)
            if self._kept + coming > self.most and (self._taken or self._held):
                self._full = (self._freed, coming)
                return False
            self._taken[final] = size
            return True

    def done(self, final: Path) -> None:
        """Says that a fetch is over, whether the content is there now or not."""
        with self._lock:
            size = self._taken.pop(final, 0)
            self._freed += 1
            if self._kept is not None:
                self._kept += size

    @contextlib.contextmanager
    def hold(self, paths: Iterable[Path]) -> Iterator[None]:
        """Keeps contents from going for the length of a ``with`` block."""
        paths = list(paths)
        with self._lock:
            self._held.update(paths)
        try:
            yield
        finally:
            with self._lock:
                self._held -= Counter(paths)
                self._freed += 1

    def used(self, path: Path) -> None:
        """Notes that a content was asked for."""
        with contextlib.suppress(OSError):
            status, now = path.stat(), time.time_ns()
            if now - status.st_atime_ns > _NOTE_USE_AFTER * 1e9:
                os.utime(path, ns=(now, status.st_mtime_ns))

    def _make_room(self, coming: int) -> int:
        """Removes what was not used for the longest time; gives the bytes that are left."""
        found = sorted(self._all(), key=lambda each: each.used)
        left = sum(each.size for each in found)
        if left + coming <= self.most:
            return left
        goal, gone = self.most * _SHARE_LEFT - coming, 0
        for each in found:
            if left <= goal:
                break
            if each.final not in self._held and each.final not in self._taken:
                with contextlib.suppress(OSError):  # what can't be removed is there the next time
                    each.path.unlink()
                    left -= each.size
                    gone += 1
        _log.info(
            "%d contents that were not used for the longest time were removed; %d bytes stay", gone, left
        )
        return left

    def _all(self) -> Iterator[_Kept]:
        for repo in (path for type in _TYPES for path in self._root.glob(f"{type}/*/*")):
            # One that is damaged, or goes meanwhile, is left as it is.
            with contextlib.suppress(OSError, GristmillError):
                state = read_state(mirror_file(repo))
                if state.upstream == self._upstream:
                    history = History(repo)
                    whole = [commit for commit, whole in state.commits.items() if whole]
                    needed = {file.object for commit in whole for file in history.tree(commit).values()}
                    yield from (
                        each for each in self._contents(repo / FOLDER) if each.final.name not in needed
                    )

    def _contents(self, folder: Path) -> Iterator[_Kept]:
        for path in (*folder.glob("objects/*/*"), *folder.glob(f"tmp/*{_PART}")):
            name = path.name.removesuffix(_PART)
            final = folder / "objects" / name[:2] / name
            if name[0] == "." or (path != final and final in self._taken):
                continue  # it counts as a whole already
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                yield _Kept(path, final, status.st_size, max(status.st_atime, status.st_mtime))
