"""A sparse local file of a remote one's full length, filled range by range.

::

    FOLDER/KEY/             KEY is a hash over the remote file's identity: another version is another folder
      data.parquet          full length; holes where nothing was fetched
      data.ranges           which bytes are truly there, see `gristmill.partial.record`
      source.json           where they are from, for people
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from gristmill import config
from gristmill.errors import InvalidArgumentError
from gristmill.files.atomic import write_json
from gristmill.files.borders import writing
from gristmill.files.forks import renew_in_children
from gristmill.files.lock import lock
from gristmill.files.temporary import sweep_temporary, temporary_prefix
from gristmill.formats.source import SourceFile
from gristmill.hub.transfer import run_parallel
from gristmill.partial.intervals import Interval, merged, missing, plan_requests, total
from gristmill.partial.record import MemoryRecord, RangeRecord
from gristmill.partial.source import RangeSource

__all__ = ["MIRRORS_FOLDER", "Mirror", "ScratchMirror", "scratch_file"]

MIRRORS_FOLDER = "partial"
"""Where mirrors are kept in the datasets cache."""
_GAP = 1 << 18
_WASTE = 0.02
_LARGEST = 8 << 20


class Mirror:
    """The local part of one remote file. Threads and processes may share it.

    Attributes:
        unsynced: Bytes that are written before the disk is asked to keep them, and so not yet on record.

    Args:
        source: The remote file.
        folder: Where mirrors are kept.
        workers: Most requests at a time.
    """

    unsynced = 64 << 20

    def __init__(self, source: RangeSource, folder: Path, workers: int = 8) -> None:
        self.source = source
        self.workers = workers
        self.folder = folder / hashlib.sha256(source.identity.encode()).hexdigest()[:32]
        self.path = self.folder / "data.parquet"
        self.record: RangeRecord | MemoryRecord = RangeRecord(self.folder / "data.ranges", source.size)
        self.bytes_fetched = len(source.tail)
        self._start()
        self._prepare()

    def _start(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Forgets what other threads are fetching: they do not come along into a forked process."""
        self._changed = threading.Condition()
        self._pending: list[Interval] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_changed": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _prepare(self) -> None:
        size = self.source.size
        with lock(self.folder.with_name(f"{self.folder.name}.lock")), writing(self.path):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.path.is_file() or self.path.stat().st_size != size:
                # The record speaks of a file that is not there any more.
                (self.folder / "data.ranges").unlink(missing_ok=True)
                with self.path.open("wb") as file:
                    file.truncate(size)
                write_json(self.folder / "source.json", {"url": self.source.name, "size": size})
            # Tells `gristmill cache` when it was last used.
            os.utime(self.folder)
        tail = self.source.tail
        if tail and missing([(size - len(tail), size)], self.record.here()):
            self._write(size - len(tail), tail)
            self._settle([(size - len(tail), size)])

    def here(self) -> list[Interval]:
        """Gives the ranges that are here."""
        return self.record.here()

    def ensure(self, wanted: Iterable[Interval]) -> None:
        """Makes sure that ranges are here; what is missing is fetched, near ranges by one request.

        Args:
            wanted: Half-open ranges of bytes.

        Raises:
            InvalidArgumentError: One leaves the file.
            HubError: The server refuses or can't be reached, after all attempts; what came is kept.
            FileError: The local file can't be written.
        """
        wanted = merged(wanted)
        if wanted and not (wanted[0][0] >= 0 and wanted[-1][1] <= self.source.size):
            expected = f"ranges within the {self.source.size:,} bytes of {self.source.name}"
            raise InvalidArgumentError.from_value("wanted", wanted, expected)
        while requests := self._claim(wanted):
            try:
                self._fetch_all(requests)
            finally:
                with self._changed:
                    self._pending = [request for request in self._pending if request not in requests]
                    self._changed.notify_all()

    def _claim(self, wanted: list[Interval]) -> list[Interval]:
        """Gives the requests to make now; waits for those that other threads make. None if all is here."""
        with self._changed:
            while lacking := missing(wanted, self.record.here()):
                own = missing(lacking, self._pending)
                if own:
                    requests = plan_requests(own, [], gap=_GAP, waste=_WASTE, largest=_LARGEST)
                    self._pending += requests
                    return requests
                self._changed.wait()
        return []

    def _fetch_all(self, requests: list[Interval]) -> None:
        done: list[Interval] = []
        lock_done = threading.Lock()

        def one(request: Interval, stop: threading.Event) -> None:
            start, end = request
            data = self.source.read(start, end - start)
            self._write(start, data)
            with lock_done:
                self.bytes_fetched += len(data)
                done.append(request)
                ready, done[:] = (done[:], []) if total(done) >= self.unsynced else ([], done)
            if ready:
                self._settle(ready)

        try:
            run_parallel(one, requests, self.workers)
        finally:
            with lock_done:
                ready = list(done)
            if ready:
                self._settle(ready)

    def _write(self, start: int, data: bytes) -> None:
        with writing(self.path), self.path.open("r+b", buffering=0) as file:
            file.seek(start)
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]

    def _settle(self, intervals: list[Interval]) -> None:
        """Puts what was written on the disk, then on record."""
        with writing(self.path), self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.record.append(intervals)

    def write_unrecorded(self, start: int, data: bytes) -> None:
        """Puts bytes into the file that are known without being fetched; the record does not count them."""
        if missing([(start, start + len(data))], self.record.here()):
            self._write(start, data)


class ScratchMirror(Mirror):
    """A mirror for one reading: nothing waits for the disk, and the file goes when nobody holds the mirror any more.

    Args:
        source: The remote file.
        folder: Where its folder goes. What killed processes left there is swept.
        workers: Most requests at a time.
    """

    unsynced = 0
    _file: IO[bytes] | None = None

    def __init__(self, source: RangeSource, folder: Path, workers: int = 8) -> None:
        self.source = source
        self.workers = workers
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            sweep_temporary(folder)
            self.folder = Path(tempfile.mkdtemp(prefix=temporary_prefix("stream"), dir=folder))
        weakref.finalize(self, _remove, self.folder, os.getpid())
        self.path = self.folder / "data.parquet"
        self.record = MemoryRecord()
        self.bytes_fetched = len(source.tail)
        self._start()
        with writing(self.path):
            # Kept open: a forked child goes on with it, though the process whose file it is may take its name away.
            file = self._file = self.path.open("x+b", buffering=0)
            weakref.finalize(self, file.close)
            file.truncate(source.size)
        if source.tail:
            self._write(source.size - len(source.tail), source.tail)
            self._settle([(source.size - len(source.tail), source.size)])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_file": None}

    def _write(self, start: int, data: bytes) -> None:
        if self._file is None or not hasattr(os, "pwrite"):
            super()._write(start, data)
            return
        view = memoryview(data)
        with writing(self.path):
            while view:
                written = os.pwrite(self._file.fileno(), view, start)
                view, start = view[written:], start + written

    def _settle(self, intervals: list[Interval]) -> None:
        with self._changed:
            self.record.append(intervals)
            self._changed.notify_all()


def scratch_file(source: RangeSource, name: str) -> SourceFile:
    """Gives a remote file as readers take it that tell which bytes they will look at.

    Args:
        source: The file.
        name: What to call it in errors.
    """
    mirror = ScratchMirror(source, config.HF_DATASETS_CACHE / MIRRORS_FOLDER)
    return SourceFile(mirror.path, name, fetch=mirror.ensure, version=source.identity)


def _remove(folder: Path, pid: int) -> None:
    # A forked child ends before the process whose file it is.
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
