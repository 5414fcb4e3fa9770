"""Downloads that end whole or not at all: `.part`, resumed, checked by size and hash, synced, renamed."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gristmill.errors import HubResponseError, IncompleteBodyError
from gristmill.files.atomic import sync_folder
from gristmill.files.borders import writing
from gristmill.files.http import HttpSession, Refusal
from gristmill.files.lock import lock
from gristmill.files.ranges import NOT_AS_SENT, WANT_DIGEST, is_digest, parse_content_range
from gristmill.files.retry import Transient
from gristmill.hub.tree import RepoFile

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
R = TypeVar("R")
_CHUNK = 1 << 20


class Cancelled(Exception):
    """Tells a worker thread to stop; never leaves `run_parallel`."""


@dataclass(frozen=True)
class Watch:
    """How a download tells its progress, and is told to stop.

    Attributes:
        report: Called with the number of bytes that came in (negative when they had to be thrown away).
        stop: Once set, the download ends at the next piece with `Cancelled`.
    """

    report: Callable[[int], object] = lambda _: None
    stop: threading.Event | None = None

    def came(self, size: int) -> None:
        """Reports `size` bytes, unless it is time to stop."""
        if self.stop is not None and self.stop.is_set():
            raise Cancelled
        self.report(size)


@dataclass(frozen=True)
class Download:
    """One file to fetch.

    Attributes:
        url: Where from.
        file: What has to come: size and hash.
        part: Where it comes in; what is there already is not fetched again.
        final: Where it ends.
        lock: Held while writing.
        refuse: Words the error when the server refuses.
    """

    url: str
    file: RepoFile
    part: Path
    final: Path
    lock: Path
    refuse: Callable[[Refusal], Exception]


def new_hash(file: RepoFile) -> Any:
    """Starts the hash that identifies a file's content: sha256, or git's sha1 over a header and the content.

    Example:
        >>> new_hash(RepoFile("empty", 0, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")).hexdigest()
        'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    if file.sha256 is not None:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)


def is_whole(path: Path, file: RepoFile) -> bool:
    """Says whether a file is there with the size it should have (its hash was checked before it got its name)."""
    try:
        return path.is_file() and path.stat().st_size == file.size
    except OSError:
        return False


def fetch(session: HttpSession, download: Download, watch: Watch, again: bool = False) -> None:
    """Fetches one file unless it is there, going on from what an earlier attempt or process left.

    Args:
        session: Where requests go through; its policy says how often.
        download: What to fetch.
        watch: Progress and stop.
        again: Fetch it also if it is there.

    Raises:
        IncompleteBodyError: Other bytes than announced came, in every attempt.
        HubError: The server refuses or can't be reached.
        FileError: The file can't be written.
    """
    with lock(download.lock):
        if not again and is_whole(download.final, download.file):
            watch.came(download.file.size)
            return
        with writing(download.final):
            try:
                session.policy.run(lambda: _attempt(session, download, watch), f"GET {download.url}")
            except BaseException:
                if download.part.is_file() and not download.part.stat().st_size:
                    download.part.unlink()  # nothing came that could be gone on with
                raise
            download.part.replace(download.final)
            sync_folder(download.final.parent)


def _attempt(session: HttpSession, download: Download, watch: Watch) -> None:
    file = download.file
    with download.part.open("ab") as out:
        if out.tell() > file.size:
            out.truncate(0)
        state = new_hash(file)
        done = _hash_file(download.part, state)
        watch.came(done)
        if done < file.size:
            state, done = _receive(session, download, out, state, done, watch)
        out.flush()
        os.fsync(out.fileno())
    if done < file.size:
        watch.report(-done)
        problem = f"The file ends after {done:,} of {file.size:,} bytes"
        raise Transient(IncompleteBodyError.at_url(problem, download.url))
    if state.hexdigest() != file.etag:
        _start_over(download, watch, done, f"The content has the hash {state.hexdigest()}, not {file.etag}")


def _start_over(download: Download, watch: Watch, done: int, problem: str) -> None:
    download.part.unlink(missing_ok=True)
    watch.report(-done)
    raise Transient(IncompleteBodyError.at_url(problem, download.url))


def _hash_file(path: Path, state: Any) -> int:
    size = 0
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            state.update(piece)
            size += len(piece)
    return size


def _receive(
    session: HttpSession, download: Download, out: Any, state: Any, done: int, watch: Watch
) -> tuple[Any, int]:
    """Reads the rest of a file; gives the hash and number of all bytes that are there now."""
    headers = {"Accept-Encoding": "identity"}
    if done:
        headers |= {"Range": f"bytes={done}-", "If-Range": f'"{download.file.etag}"'}
    size = download.file.size
    try:
        with session.open(
            download.url, headers=headers, accept=(200, 206, 416), refuse=download.refuse
        ) as answer:
            if done and not _goes_on(answer, done, size):
                out.truncate(0)
                watch.came(-done)
                state, done = new_hash(download.file), 0
            if answer.status_code != (206 if done else 200):
                problem = "The answer is not the part of the file that was asked for"
                raise Transient(HubResponseError.at_url(problem, download.url, answer.status_code))
            for piece in answer.iter_bytes():
                if done + len(piece) > size:
                    _start_over(download, watch, done, f"More than the {size:,} bytes of the file came")
                out.write(piece)
                state.update(piece)
                done += len(piece)
                watch.came(len(piece))
    except Transient:
        # The next attempt reports again what is kept.
        if download.part.exists():
            watch.report(-done)
        raise
    return state, done


def _goes_on(answer: httpx.Response, done: int, size: int) -> bool:
    got = parse_content_range(answer.headers.get("content-range"))
    return answer.status_code == 206 and got is not None and got.first == done and got.total in (size, None)


def fetch_url(session: HttpSession, url: str, part: Path, etag: str | None) -> tuple[bool, str | None]:
    """Fetches a file whose size and hash nobody told, unless it is the one that is here.

    Args:
        session: Where requests go through; its policy says how often.
        url: Where from.
        part: Where it comes in, from the start.
        etag: What the server called the content that is here, if some is.

    Returns:
        Whether new content is in `part`, and what the server calls it.

    Raises:
        HubError: The server refuses or can't be reached.
        FileError: The file can't be written.
    """
    headers = {"Accept-Encoding": "identity", **WANT_DIGEST} | ({"If-None-Match": etag} if etag else {})

    def attempt() -> tuple[bool, str | None]:
        with session.open(url, headers=headers, accept=(200, 304) if etag else (200,)) as answer:
            if answer.status_code == 304:
                return False, etag
            state = hashlib.sha256()
            with part.open("wb") as out:
                for piece in answer.iter_bytes():
                    out.write(piece)
                    state.update(piece)
                out.flush()
                os.fsync(out.fileno())
            if not is_digest(state.digest(), answer.headers.get("content-digest")):
                raise Transient(IncompleteBodyError.at_url(NOT_AS_SENT, url, 200))
            return True, answer.headers.get("etag")

    with writing(part):
        return session.policy.run(attempt, f"GET {url}")


def run_parallel(function: Callable[[T, threading.Event], R], items: Sequence[T], workers: int) -> list[R]:
    """Calls a function for each item in several threads; the first failure, or Ctrl-C, stops them all.

    The threads are daemons: one that waits for a silent server must not keep the process from ending.

    Args:
        function: Called with an item and the event that is set when it is time to stop.
        items: What to call it with.
        workers: Most threads at a time.

    Returns:
        The results, in the order of `items`.

    Raises:
        Exception: What the first call to fail raised.
    """
    stop = threading.Event()
    if min(workers, len(items)) <= 1:
        return [function(item, stop) for item in items]
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, R | None, BaseException | None]] = queue.SimpleQueue()
    for number in range(len(items)):
        todo.put(number)

    def work() -> None:
        while not stop.is_set():
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, function(items[number], stop), None))
            except BaseException as error:  # noqa: BLE001  # handed to the thread that waits
                done.put((number, None, error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(items)))]
    results: dict[int, Any] = {}
    try:
        for thread in threads:
            thread.start()
        for _ in items:
            number, result, error = done.get()
            if error is not None:
                raise error
            results[number] = result
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=0.5)
    return [results[number] for number in range(len(items))]
