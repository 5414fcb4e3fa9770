"""Answers about files whose content is on its way here from another Hub, or stays there but for some bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gristmill.errors import GristmillError, HubResponseError
from gristmill.files.ranges import parse_content_range
from gristmill.files.retry import Transient
from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.fetching import Fetch, origin_of
from gristmill.hub.server.hashing import ChangedWhileRead
from gristmill.hub.server.mirrored import MirroredRepo
from gristmill.hub.server.resolve import ByteRange, body_plan, file_response, needs_content
from gristmill.hub.server.snapshots import Entry
from gristmill.hub.server.upstream import as_refusal

if TYPE_CHECKING:
    import httpx

    from gristmill.hub.server.mirror import Mirror

__all__ = ["missing_response"]

_SMALL = 32 * 1024 * 1024
_BLOCK = 512 * 1024
_LOOK_AGAIN = 0.02


async def missing_response(
    mirror: Mirror,
    request: Request,
    repo: MirroredRepo,
    entry: Entry,
    headers: Mapping[str, str],
    reads: anyio.CapacityLimiter,
) -> Response:
    """Answers for a file whose content is not here.

    Small files, and those of which most is asked for, are fetched whole; of a large one, a range is handed on from the
    other Hub, and the whole is fetched once as many bytes were handed on as half of it. What is larger than all that may be
    kept is handed on and not kept.

    Args:
        mirror: Fetches.
        request: GET or HEAD, with its conditions and range.
        repo: The copy.
        entry: The file.
        headers: Those about the file.
        reads: The threads that may read files at the same time.

    Raises:
        Refusal: The content can't be had.
        ChangedWhileRead: It came to be here meanwhile.
    """
    if not needs_content(request, entry):
        return await file_response(request, entry, headers, reads)
    byte_range, status, about = body_plan(request, entry, headers)
    about["Content-Length"] = str(byte_range.length)
    running = mirror.fetches.running(entry)
    at_hand = running is not None and running.done >= byte_range.start and byte_range.length * 2 >= entry.size
    too_large = mirror.room is not None and entry.size > mirror.room.most
    if too_large or (entry.size > _SMALL and byte_range.length * 2 < entry.size and not at_hand):
        passed = await anyio.to_thread.run_sync(
            _Passed, mirror, repo, entry, byte_range, limiter=mirror.passing
        )
        if not too_large and mirror.fetches.passed(entry, byte_range.length) * 2 >= entry.size:
            mirror.fetches.start(repo, entry)
        return _PassedBody(passed, status, about, byte_range, request, mirror.passing)
    fetch = mirror.fetches.start(repo, entry)
    if entry.size > _SMALL:
        await _begun(fetch, byte_range)
        return _Growing(fetch, status, about, byte_range, request, reads)
    while not fetch.finished:
        await anyio.sleep(_LOOK_AGAIN)
        if await request.is_disconnected():
            break
    if fetch.failure is not None:
        raise _again(fetch.failure)
    return await file_response(request, entry, headers, reads)


def _again(refusal: Refusal) -> Refusal:
    return Refusal(refusal.status, refusal.message, refusal.code, refusal.headers)


async def _begun(fetch: Fetch, part: ByteRange) -> None:
    """Waits for the first bytes, so that what fails at once is answered with its status."""
    while not fetch.finished and fetch.done <= part.start:  # noqa: ASYNC110  # a thread counts
        await anyio.sleep(_LOOK_AGAIN)
    if fetch.failure is not None:
        raise _again(fetch.failure)


class _Growing(Response):
    """Sends a content while it comes in; the last byte when it is whole and its hash is right."""

    def __init__(
        self,
        fetch: Fetch,
        status: int,
        headers: Mapping[str, str],
        part: ByteRange,
        request: Request,
        reads: anyio.CapacityLimiter,
    ) -> None:
        super().__init__(None, status, headers)
        self._fetch = fetch
        self._part = part
        self._request = request
        self._reads = reads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fetch, restarts = self._fetch, self._fetch.restarts
        handle = await anyio.to_thread.run_sync(_open, fetch, limiter=self._reads)
        try:
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(start)
            offset, end = self._part.start, self._part.start + self._part.length
            while offset < end:
                finished = fetch.finished
                if fetch.restarts != restarts or fetch.failure is not None:
                    raise ChangedWhileRead("what had come in was wrong, or no more came")
                ready = end if finished else min(end, fetch.download.file.size - 1)
                block = b""
                if ready > offset:
                    size = min(_BLOCK, ready - offset)
                    block = await anyio.to_thread.run_sync(
                        os.pread, handle, size, offset, limiter=self._reads
                    )
                if block and fetch.restarts == restarts:
                    offset += len(block)
                    await send({"type": "http.response.body", "body": block, "more_body": offset < end})
                elif finished:
                    raise ChangedWhileRead("a content ended before its end")
                else:
                    await anyio.sleep(_LOOK_AGAIN)
                if await self._request.is_disconnected():
                    return  # what comes in is kept for the next one
        finally:
            os.close(handle)


def _open(fetch: Fetch) -> int:
    # Taken before the rename or after it, it is the same file.
    for path in (fetch.download.part, fetch.download.final, fetch.download.part):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    raise ChangedWhileRead(Path(fetch.download.file.path).name)


class _Passed:
    """A range of a file at another Hub, opened: the first bytes are on their way.

    Args:
        mirror: Knows that Hub.
        repo: The copy.
        entry: The file.
        part: The range.

    Raises:
        Refusal: That Hub refuses, or answers with something else.
    """

    def __init__(self, mirror: Mirror, repo: MirroredRepo, entry: Entry, part: ByteRange) -> None:
        upstream = mirror.upstream
        path, commit = origin_of(entry)
        self._stack = contextlib.ExitStack()
        state, last = repo.state(), part.start + part.length - 1
        url = upstream.url(repo.type, state.id, commit, path)
        asked = {"Range": f"bytes={part.start}-{last}", "Accept-Encoding": "identity"}
        refuse = upstream.target(repo.type, state.id, commit, path).refuse

        def attempt() -> httpx.Response:
            answer = self._stack.enter_context(
                upstream.session.open(url, headers=asked, accept=(206,), refuse=refuse)
            )
            got = parse_content_range(answer.headers.get("content-range"))
            if got is None or (got.first, got.last) != (part.start, last) or got.total != entry.size:
                raise HubResponseError.at_url("The answer is not the range that was asked for", url, 206)
            return answer

        try:
            answer = upstream.session.policy.run(attempt, f"GET {url}")
        except (GristmillError, FileNotFoundError) as error:
            self.close()
            raise as_refusal(error, upstream.endpoint, repo.id, path, commit) from error
        except BaseException:
            self.close()
            raise
        self._pieces: Iterator[bytes] = answer.iter_bytes(_BLOCK)

    def read(self) -> bytes:
        """Gives the next piece; none at the end.

        Raises:
            ChangedWhileRead: The connection broke off.
        """
        try:
            return next(self._pieces, b"")
        except Exception as error:
            raise ChangedWhileRead("the other Hub broke off") from error

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(Transient, GristmillError, OSError):
            self._stack.close()


class _PassedBody(Response):
    """Hands a range on, no byte more than was asked for."""

    def __init__(
        self,
        passed: _Passed,
        status: int,
        headers: Mapping[str, str],
        part: ByteRange,
        request: Request,
        threads: anyio.CapacityLimiter,
    ) -> None:
        super().__init__(None, status, headers)
        self._passed = passed
        self._part = part
        self._request = request
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(start)
            left = self._part.length
            while left:
                block = await anyio.to_thread.run_sync(self._passed.read, limiter=self._threads)
                if not block or len(block) > left:
                    raise ChangedWhileRead("the other Hub sent less or more than was asked for")
                left -= len(block)
                await send({"type": "http.response.body", "body": block, "more_body": left > 0})
                if left and await self._request.is_disconnected():
                    return
        finally:
            self._passed.close()
