"""Files over HTTP: whole, in ranges, or only their headers; read in pieces by worker threads, with no lock held."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Literal
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from gristmill.hub.server.digests import DIGEST, LARGEST_PART, digest_of_hex, digest_of_part, wants_digest
from gristmill.hub.server.errors import Refusal, unreadable
from gristmill.hub.server.hashing import ChangedWhileRead
from gristmill.hub.server.sending import FileBody
from gristmill.hub.server.snapshots import Entry, Kept
from gristmill.hub.server.walk import Found

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]*)\s*-\s*([0-9]*)\s*", re.IGNORECASE)

# A repository's files come from anybody: a browser must neither guess a type nor run what they hold.
_BROWSER_SAFETY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file: from `start`, `length` of them."""

    start: int
    length: int


def parse_range(header: str | None, size: int) -> ByteRange | Literal["whole", "unsatisfiable"]:
    """Reads a ``Range`` header.

    Args:
        header: Its value; None if there is none.
        size: Bytes of the file.

    Returns:
        The range, cut at the end of the file; ``"whole"`` if there is none, or it is of a kind that may be ignored
        (several ranges, other units); ``"unsatisfiable"`` if no byte of the file is in it.

    Example:
        >>> parse_range("bytes=2-", 10)
        ByteRange(start=2, length=8)
        >>> parse_range("bytes=-3", 10)
        ByteRange(start=7, length=3)
        >>> parse_range("bytes=10-", 10)
        'unsatisfiable'
    """
    match = _RANGE.fullmatch(header) if header is not None else None
    if match is None or not (match[1] or match[2]):
        return "whole"
    # Numbers beyond any file size stay comparable, and huge ones cheap to read.
    first, last = (int(text[:30].ljust(min(len(text), 30), "0")) if text else None for text in match.groups())
    if first is None:
        assert last is not None
        start, end = max(size - last, 0), size
    elif last is None:
        start, end = first, size
    elif last < first:
        return "whole"
    else:
        start, end = first, min(last + 1, size)
    return ByteRange(start, end - start) if start < end else "unsatisfiable"


def file_headers(entry: Entry, commit: str | None) -> dict[str, str]:
    """Makes the headers that describe a file, the same on every answer about it.

    Args:
        entry: The file.
        commit: The commit it was found at; None for a file that is in no repository.
    """
    headers = {
        "ETag": entry.etag,
        "Accept-Ranges": "bytes",
        "Last-Modified": formatdate(entry.modified, usegmt=True),
    }
    if commit is not None:
        headers["X-Repo-Commit"] = commit
    if entry.sha256 is not None:
        headers |= {"X-Linked-ETag": entry.etag, "X-Linked-Size": str(entry.size)}
    return headers


async def file_response(
    request: Request, entry: Entry, headers: Mapping[str, str], reads: anyio.CapacityLimiter
) -> Response:
    """Answers a request for a file in a thread of `reads`; see `file_answer`."""
    return await anyio.to_thread.run_sync(file_answer, request, entry, headers, reads, limiter=reads)


def file_answer(
    request: Request, entry: Entry, headers: Mapping[str, str], reads: anyio.CapacityLimiter
) -> Response:
    """Answers a request for a file: 200, 206, 304 or 416. Reads the disk.

    Args:
        request: GET or HEAD, with its conditions and range.
        entry: The file.
        headers: What `file_headers` made.
        reads: The threads that may read files at the same time.

    Raises:
        ChangedWhileRead: The file is not the one of the entry any more.
        Refusal: It can't be read, or has no byte of those asked for.
    """
    asked = request.headers
    if "if-none-match" in asked and _matches(asked["if-none-match"], entry.etag):
        return Response(None, 304, headers)
    part, status, about = body_plan(request, entry, headers)
    if request.method == "HEAD":
        return Response(None, status, {**about, "Content-Length": str(entry.size)})
    handle = open_found(entry.found)
    try:
        about["Content-Length"] = str(part.length)
        if wants_digest(request):
            if part.length == entry.size and entry.sha256 is not None:
                about[DIGEST] = digest_of_hex(entry.sha256)
            elif part.length <= LARGEST_PART:
                about[DIGEST] = digest_of_part(handle, part.start, part.length)
        return FileBody(handle, status, about, part.start, part.length, request, reads)
    except BaseException:
        os.close(handle)
        raise


def needs_content(request: Request, entry: Entry) -> bool:
    """Says whether an answer about a file has some of it in its body."""
    condition = request.headers.get("if-none-match")
    return request.method == "GET" and (condition is None or not _matches(condition, entry.etag))


def body_plan(
    request: Request, entry: Entry, headers: Mapping[str, str]
) -> tuple[ByteRange, int, dict[str, str]]:
    """Says which bytes of a file answer a request, with which status and headers (but for ``Content-Length``).

    Raises:
        Refusal: None of its bytes do (416).
    """
    asked = request.headers
    # A range is only defined for GET; HEAD describes the whole.
    byte_range: ByteRange | str = "whole"
    if request.method == "GET" and _range_counts(asked.get("if-range"), headers):
        byte_range = parse_range(asked.get("range"), entry.size)
    if byte_range == "unsatisfiable":
        message = f"The file has {entry.size} bytes; the range asked for is outside."
        raise Refusal(416, message, headers={**headers, "Content-Range": f"bytes */{entry.size}"})
    name = entry.path.rpartition("/")[2]
    about = {
        **headers,
        **_BROWSER_SAFETY,
        "Content-Type": "text/plain; charset=utf-8" if entry.sha256 is None else "application/octet-stream",
        "Content-Disposition": f"inline; filename*=UTF-8''{quote(name, safe='')}; filename=\"{_ascii(name)}\";",
    }
    if isinstance(byte_range, ByteRange):
        last = byte_range.start + byte_range.length - 1
        about["Content-Range"] = f"bytes {byte_range.start}-{last}/{entry.size}"
        return byte_range, 206, about
    return ByteRange(0, entry.size), 200, about


def _matches(condition: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in condition.split(",")]
    return "*" in tags or etag in tags


def _range_counts(condition: str | None, headers: Mapping[str, str]) -> bool:
    return condition is None or condition.strip() in (headers["ETag"], headers["Last-Modified"])


def _ascii(name: str) -> str:
    return re.sub(r'[^\x20-\x7e]|["\\]', "_", name)


def open_found(found: Found | Kept) -> int:
    """Opens a file that was found and is still the same; gives its handle.

    Raises:
        ChangedWhileRead: It is not.
        Refusal: It can't be opened.
    """
    try:
        # Non-blocking, so that a pipe put in the file's place can't hang a thread before it is recognised.
        handle = os.open(found.file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError as error:
        raise ChangedWhileRead(found.path) from error
    except OSError as error:
        raise unreadable(found.path, error) from error
    if not found.same(os.fstat(handle)):
        os.close(handle)
        if isinstance(found, Kept):
            raise Refusal(500, f"{found.path} was changed on the server's disk after it was committed.")
        raise ChangedWhileRead(found.path)
    return handle
