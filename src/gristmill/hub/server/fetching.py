"""Contents that come in from another Hub: each is fetched once however many ask, checked by its hash, then kept.

A content comes into ``.gristmill/tmp/HASH.part``, which nothing refers to, and takes its name when it is whole and right;
one that was broken off is gone on with. While it comes in, those who asked for the whole of it are sent what is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from gristmill.errors import GristmillError
from gristmill.hub.server.errors import Refusal, unwritable
from gristmill.hub.server.mirror_room import MirrorRoom
from gristmill.hub.server.mirrored import MirroredRepo
from gristmill.hub.server.snapshots import Entry, Kept
from gristmill.hub.server.upstream import Upstream, as_refusal
from gristmill.hub.transfer import Cancelled, Download, Watch, fetch
from gristmill.hub.tree import RepoFile
from gristmill.logging import get_logger

__all__ = ["Fetch", "Fetches", "download_of", "origin_of"]

_log = get_logger(__name__)
_AT_ONCE = 8
_MOST_WAITING = 256
# Longer than clients go on trying to continue a body that broke off: what they have may be wrong.
_DISTRUST_FOR = 60.0
_FORGET_AFTER = 5.0
_LOOK_AGAIN = 0.1


def download_of(
    upstream: Upstream, type: str, id: str, commit: str, history_folder: Path, file: RepoFile
) -> Download:
    """Says how a content gets into a repository's history.

    Args:
        upstream: The Hub it comes from.
        type: ``datasets`` or ``models``.
        id: The repository's id there.
        commit: The commit it is of.
        history_folder: ``.gristmill`` in the repository's folder.
        file: Path, size and hash.
    """
    oid = file.etag
    return Download(
        upstream.url(type, id, commit, file.path),
        file,
        history_folder / "tmp" / f"{oid}.part",
        history_folder / "objects" / oid[:2] / oid,
        history_folder / "tmp" / f"{oid}.lock",
        upstream.target(type, id, commit, file.path).refuse,
    )


def origin_of(entry: Entry) -> tuple[str, str]:
    """Gives the path and commit under which the other Hub has a file; here it may have a second name."""
    assert isinstance(entry.found, Kept)
    return entry.found.path, entry.found.commit.id


class Fetch:
    """One content that comes in.

    Attributes:
        download: What and where to.
        done: Bytes that are in the part; those of a body that is not whole yet are not checked.
        finished: Whether it ended, in one way or the other.
        failure: Why it did not come to be, if it did not.
        restarts: How often bytes that had come in were thrown away; whoever sent some of them has to stop.
    """

    def __init__(self, download: Download) -> None:
        self.download = download
        self.done = 0
        self.finished = False
        self.failure: Refusal | None = None
        self.restarts = 0
        self.ended = 0.0

    def came(self, size: int) -> None:
        """Counts bytes; negative numbers are bytes that are to come again, or were wrong."""
        self.done += size
        if size < 0 and not self._kept():
            self.restarts += 1

    def _kept(self) -> bool:
        try:
            return self.download.part.stat().st_size > 0
        except OSError:
            return False


class Fetches:
    """The contents that come in at present. Safe to use from many threads.

    Args:
        upstream: The Hub they come from.
        room: Bounds what they take of the disk; None for no bound.
    """

    def __init__(self, upstream: Upstream, room: MirrorRoom | None = None) -> None:
        self.upstream = upstream
        self.room = room
        self._stop = threading.Event()
        self._slots = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()
        self._running: dict[Path, Fetch] = {}
        self._wrong: dict[Path, float] = {}
        self._passed: dict[Path, int] = {}

    def close(self) -> None:
        """Stops all of them at their next piece."""
        self._stop.set()

    def running(self, entry: Entry) -> Fetch | None:
        """Gives the fetch of a file's content, if it runs."""
        return self._running.get(entry.found.file)

    def passed(self, entry: Entry, size: int) -> int:
        """Counts bytes of a file that were handed on without being kept; gives their number."""
        with self._lock:
            if len(self._passed) > 10_000:
                self._passed.clear()
            self._passed[entry.found.file] = self._passed.get(entry.found.file, 0) + size
            return self._passed[entry.found.file]

    def start(self, repo: MirroredRepo, entry: Entry) -> Fetch:
        """Begins to fetch a file's content, unless that is being done.

        Raises:
            Refusal: What came last time was wrong and part of it was sent, a short time ago; or too many wait already.
        """
        key = entry.found.file
        with self._lock:
            self._tidy()
            if key in self._wrong:
                message = f"What {self.upstream.endpoint} sent for this file had another hash; try again in a minute."
                raise Refusal(502, message, headers={"Retry-After": str(int(_DISTRUST_FOR))})
            known = self._running.get(key)
            if known is not None and not (known.finished and (known.failure is not None or not key.exists())):
                return known
            if len(self._running) >= _MOST_WAITING:
                raise Refusal(
                    503, "Too many files are being fetched; try again.", headers={"Retry-After": "5"}
                )
            path, commit = origin_of(entry)
            file = RepoFile(path, entry.size, entry.blob_id, entry.sha256)
            id = repo.state().id
            made = Fetch(download_of(self.upstream, repo.type, id, commit, repo.kept.folder, file))
            self._running[key] = made
        thread = threading.Thread(
            target=self._run, args=(repo, made, key, commit), name="gristmill-mirror", daemon=True
        )
        thread.start()
        return made

    def _tidy(self) -> None:
        now = time.monotonic()
        self._wrong = {key: until for key, until in self._wrong.items() if until > now}
        old = [key for key, one in self._running.items() if one.finished and one.ended + _FORGET_AFTER < now]
        for key in old:
            del self._running[key]

    def _run(self, repo: MirroredRepo, made: Fetch, key: Path, commit: str) -> None:
        try:
            with self._slots:
                self._receive(repo, made, self._report(made, key))
        except Cancelled:
            made.failure = Refusal(503, "The server is being stopped.", headers={"Retry-After": "5"})
        except FileNotFoundError as error:
            path = made.download.file.path
            made.failure = as_refusal(error, self.upstream.endpoint, repo.id, path, commit)
        except GristmillError as error:
            made.failure = (
                unwritable("to its disk", error.__cause__)
                if isinstance(error.__cause__, OSError) and not hasattr(error, "status")
                else as_refusal(error, self.upstream.endpoint, repo.id, made.download.file.path, commit)
            )
        except Exception:  # noqa: BLE001  # told to those who wait
            _log.exception("fetching %s failed", made.download.url)
            made.failure = Refusal(500, "Something went wrong inside the server; its log says more.")
        finally:
            made.ended = time.monotonic()
            made.finished = True

    def _report(self, made: Fetch, key: Path) -> Callable[[int], None]:
        def report(size: int) -> None:
            before = made.restarts
            made.came(size)
            if made.restarts > before:
                with self._lock:
                    self._wrong[key] = time.monotonic() + _DISTRUST_FOR

        return report

    def _receive(self, repo: MirroredRepo, made: Fetch, report: Callable[[int], None]) -> None:
        download = made.download
        repo.kept.temporary()  # makes the folder, and tidies it
        repo.kept.inside("objects", download.final.parent.name)
        _check_room(download)
        if self.room is not None:
            while not self.room.take(download.final, download.file.size):
                if self._stop.wait(_LOOK_AGAIN):
                    raise Cancelled
        try:
            fetch(self.upstream.files, download, Watch(report, self._stop))
        finally:
            if self.room is not None:
                self.room.done(download.final)
        _log.info("%s of %s is here now", download.file.path, repo.id)


def _check_room(download: Download) -> None:
    import errno
    import shutil

    free = shutil.disk_usage(download.part.parent).free
    if download.file.size > free:
        cause = OSError(errno.ENOSPC, f"No room for {download.file.size:,} bytes")
        raise GristmillError("The disk is full.") from cause
