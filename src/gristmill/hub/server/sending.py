"""The body of a file: straight from the page cache to the socket where the server can do that, else in pieces."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gristmill.hub.server.hashing import ChangedWhileRead

__all__ = ["ZERO_COPY", "FileBody"]

ZERO_COPY = "http.response.zerocopysend"
"""The extension of ASGI by which a server sends from an open file."""

_BLOCK = 512 * 1024
_PIECE = 4 * 1024 * 1024
_LOOKS = 256 * 1024
_SMALL = 128 * 1024
_NOT_WAITING = getattr(os, "RWF_NOWAIT", 0)
# Not in memory, or the file system can't say.
_NOT_AT_HAND = (errno.EAGAIN, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class FileBody(Response):
    """Sends a part of an open file and closes it. No lock is held, and the disk is waited for in threads only.

    Args:
        handle: The open file, which this object closes once it is called.
        status: The answer's status.
        headers: Its headers, ``Content-Length`` among them.
        start: First byte of the part.
        length: Bytes of the part.
        request: What is answered.
        reads: The threads that may read files at the same time.
    """

    def __init__(
        self,
        handle: int,
        status: int,
        headers: Mapping[str, str],
        start: int,
        length: int,
        request: Request,
        reads: anyio.CapacityLimiter,
    ) -> None:
        self._handle = handle
        self._start = start
        self._length = length
        self._request = request
        self._reads = reads
        super().__init__(None, status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the answer, as ASGI wants it."""
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            at_hand = self._small()
            if at_hand is not None:
                await send({"type": "http.response.body", "body": at_hand})
            elif ZERO_COPY in scope.get("extensions", {}):
                await self._send_pages(send)
            else:
                await self._send_blocks(send)
        finally:
            os.close(self._handle)

    def _small(self) -> bytes | None:
        """Reads a part that is so small that a copy costs less than doing without, if it is in memory."""
        if self._length > _SMALL:
            return None
        try:
            block = bytearray(self._length)
            read = (
                os.preadv(self._handle, [block], self._start, _NOT_WAITING) if _NOT_WAITING and block else 0
            )
        except OSError as error:
            if error.errno not in _NOT_AT_HAND:
                raise
            return None
        return bytes(block) if read == self._length else None

    async def _send_pages(self, send: Send) -> None:
        offset, left = self._start, self._length
        with open(self._handle, "rb", buffering=0, closefd=False) as file:  # noqa: ASYNC230  # it is open already
            while left:
                size = min(left, _PIECE)
                # Sending must not wait for the disk, or all others would wait as well.
                if not _at_hand(self._handle, offset, size):
                    await anyio.to_thread.run_sync(_fetch, self._handle, offset, size, limiter=self._reads)
                left -= size
                message = {"type": ZERO_COPY, "file": file, "offset": offset, "count": size}
                await send({**message, "more_body": left > 0})
                offset += size

    async def _send_blocks(self, send: Send) -> None:
        offset, left = self._start, self._length
        while left:
            block = await anyio.to_thread.run_sync(
                os.pread, self._handle, min(left, _BLOCK), offset, limiter=self._reads
            )
            if not block:
                # Cut short while being sent: breaking off tells the client, padding would not.
                raise ChangedWhileRead("a file became shorter while it was being sent")
            offset, left = offset + len(block), left - len(block)
            await send({"type": "http.response.body", "body": block, "more_body": left > 0})
            if left and await self._request.is_disconnected():
                return  # nobody is listening: do not read the rest of a large file for nothing


def _at_hand(handle: int, offset: int, size: int) -> bool:
    """Says whether a part of a file is in memory, as far as a byte here and there tells."""
    byte = bytearray(1)
    try:
        return all(
            os.preadv(handle, [byte], at, _NOT_WAITING)
            for at in (*range(offset, offset + size, _LOOKS), offset + size - 1)
        )
    except OSError as error:
        if error.errno not in _NOT_AT_HAND:
            raise
        return False


def _fetch(handle: int, offset: int, size: int) -> None:
    """Reads a part of a file, so that it is in memory."""
    end = offset + size
    while offset < end and (block := os.pread(handle, min(_BLOCK, end - offset), offset)):
        offset += len(block)
