"""Teaches uvicorn the ASGI extension for sending from open files, by what asyncio has for it (`loop.sendfile`)."""

from __future__ import annotations

import asyncio
import os
from typing import IO, Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from gristmill.hub.server.hashing import ChangedWhileRead
from gristmill.hub.server.sending import ZERO_COPY

__all__ = ["with_zero_copy"]


class _Bytes:
    """Stands for bytes that are sent past h11, which only counts them."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count


def with_zero_copy(app: ASGIApp) -> ASGIApp:
    """Offers an app ``http.response.zerocopysend`` where it can be had: over plain sockets, not over TLS.

    Args:
        app: An ASGI app.

    Returns:
        One that does the same.
    """

    async def offering(scope: Scope, receive: Receive, send: Send) -> None:
        cycle = getattr(send, "__self__", None)
        if scope["type"] != "http" or not _is_plain(cycle):
            await app(scope, receive, send)
            return

        async def send_or_copy(message: Message) -> None:
            if message["type"] == ZERO_COPY:
                await _copy(cycle, message)
            else:
                await send(message)

        scope["extensions"] = {**(scope.get("extensions") or {}), ZERO_COPY: {}}
        await app(scope, receive, send_or_copy)

    return offering


def _is_plain(cycle: object) -> bool:
    return isinstance(cycle, RequestResponseCycle) and cycle.transport.get_extra_info("sslcontext") is None


async def _copy(cycle: Any, message: Message) -> None:
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected or cycle.transport.is_closing():
        return  # as uvicorn does with a body that nobody waits for
    count = message["count"]
    cycle.conn.send_with_data_passthrough(h11.Data(data=_Bytes(count)))  # type: ignore[arg-type]  # as h11 says
    loop, file, offset = asyncio.get_running_loop(), message["file"], message["offset"]
    try:
        sent = _at_once(cycle.transport, file, offset, count)
        if sent < count:
            # Where the file system has no sendfile, asyncio reads and writes instead.
            sent += await loop.sendfile(cycle.transport, file, offset + sent, count - sent)
    except ConnectionError:
        cycle.disconnected = True
        cycle.transport.abort()
        return
    if sent < count:
        raise ChangedWhileRead("a file became shorter while it was being sent")
    if not message.get("more_body"):
        await cycle.send({"type": "http.response.body", "body": b"", "more_body": False})


def _at_once(transport: asyncio.WriteTransport, file: IO[bytes], offset: int, count: int) -> int:
    """Sends what the socket takes without waiting, which is often all; gives how many bytes that was."""
    if transport.get_write_buffer_size():
        return 0  # what was written before comes first
    try:
        return os.sendfile(transport.get_extra_info("socket").fileno(), file.fileno(), offset, count)
    except ConnectionError:
        raise
    except OSError:
        return 0  # it takes nothing now, or the file system can't
