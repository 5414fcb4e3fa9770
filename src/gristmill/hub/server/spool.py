"""Request bodies of any size, to disk piece by piece: never whole in memory, bounded, hashed on the way."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO

from starlette.requests import ClientDisconnect, Request

from gristmill.hub.server.errors import Refusal, broke_off
from gristmill.hub.server.served import Served

_PIECE = 1024 * 1024


def open_spool(served: Served) -> IO[bytes]:
    """Opens a file without a name, for a body that is read again; it is gone when closed, or when the process dies."""
    return tempfile.TemporaryFile(dir=served.hub.temporary())


async def receive(request: Request, served: Served, target: IO[bytes], limit: int) -> tuple[int, str]:
    """Writes a request's body to a file.

    Args:
        request: The request.
        served: Does the writing in its threads.
        target: An open file.
        limit: Most bytes to take.

    Returns:
        The number of bytes, and their sha256.

    Raises:
        Refusal: It is larger (413), it broke off (400), or the disk can't be written.
    """
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or len(announced) > 18 or int(announced) > limit:
        raise _too_large(limit)
    size, digest, waiting = 0, hashlib.sha256(), bytearray()

    def flush() -> None:
        digest.update(waiting)
        target.write(waiting)
        waiting.clear()

    try:
        async for block in request.stream():
            size += len(block)
            if size > limit:
                raise _too_large(limit)
            waiting += block
            if len(waiting) >= _PIECE:
                await served.save(flush)
    except ClientDisconnect as error:
        raise broke_off() from error
    await served.save(flush)
    return size, digest.hexdigest()


async def receive_file(
    request: Request, served: Served, path: Path, limit: int, durable: bool = True
) -> tuple[int, str]:
    """Writes a request's body to a new file; it is removed if that fails.

    Args:
        request: The request.
        served: Does the writing in its threads.
        path: Where there is no file yet.
        limit: Most bytes to take.
        durable: Wait until the disk has it.

    Returns:
        As `receive`.

    Raises:
        Refusal: As `receive`.
    """
    file = await served.save(path.open, "xb")
    try:
        with file:
            result = await receive(request, served, file, limit)
            if durable:
                await served.save(_sync, file)
    except BaseException:
        path.unlink(missing_ok=True)  # noqa: ASYNC240  # at once, also when the task is being cancelled
        raise
    return result


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"The request's body may have {limit} bytes at most.")
