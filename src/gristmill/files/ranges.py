"""Parts of remote files: what a 206 answer says it holds, and whether that is what was asked for."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gristmill.errors import RangeIgnoredError, shorten

WANT_DIGEST = {"Want-Content-Digest": "sha-256=1"}
"""Headers that ask a server to say what the body should hash to."""
NOT_AS_SENT = "The bytes that came are not those the server says it sent"
"""What is wrong where they do not."""
_CONTENT_RANGE = re.compile(r"bytes (?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})/(?P<total>[0-9]{1,18}|\*)")

_SHA256 = re.compile(r"(?:^|[,\s])sha-256=:(?P<digest>[A-Za-z0-9+/=]{44}):")


@dataclass(frozen=True)
class ContentRange:
    """What a 206 answer holds: bytes `first` to `last` (inclusive) of `total` (None if the server does not know)."""

    first: int
    last: int
    total: int | None


CheckPart = Callable[[ContentRange, Mapping[str, str]], None]
"""Looks at which bytes an answer holds, and its headers, and raises what is wrong with them."""


def accept_part(part: ContentRange, headers: Mapping[str, str]) -> None:
    """Finds nothing wrong; the check of whoever has none of their own."""


def parse_content_range(value: str | None) -> ContentRange | None:
    """Reads a ``Content-Range`` header; None if it is absent or not a range of bytes.

    Example:
        >>> parse_content_range("bytes 0-9/100")
        ContentRange(first=0, last=9, total=100)
    """
    match = _CONTENT_RANGE.fullmatch(value.strip()) if value is not None else None
    if match is None or int(match["last"]) < int(match["first"]):
        return None
    total = None if match["total"] == "*" else int(match["total"])
    return ContentRange(int(match["first"]), int(match["last"]), total)


def check_part(
    status: int, headers: Mapping[str, str], url: str, expected: tuple[int, int] | int
) -> ContentRange:
    """Gives which bytes a 206 answer announces, if they are those asked for.

    Args:
        status: The answer's status.
        headers: Its headers.
        url: What was asked, for the error.
        expected: First byte and number of bytes asked for; or a number of bytes at the end of the file.

    Returns:
        The range; its total is known where the end was asked for.

    Raises:
        RangeIgnoredError: It is anything else; reading on could mean reading the whole file.
    """
    from_end = isinstance(expected, int)
    start, length = (0, expected) if isinstance(expected, int) else expected
    asked = f"the last {length} bytes" if from_end else f"bytes {start} to {start + length - 1}"
    asked += " were asked for"
    header = headers.get("content-range")
    got = parse_content_range(header)
    if status != 206 or got is None or "content-encoding" in headers:
        said = f" (Content-Range: {shorten(header)})" if header else ""
        raise RangeIgnoredError.at_url(f"{asked} and something else was answered{said}", url, status)
    if isinstance(expected, int):
        right = (
            got.total is not None and got.last == got.total - 1 and got.first == max(0, got.total - expected)
        )
    else:
        end = start + length if got.total is None else min(start + length, got.total)
        right = got.first == start and got.last == end - 1
    if not right:
        problem = f"{asked} and {got.first} to {got.last} of {got.total} were answered"
        raise RangeIgnoredError.at_url(problem, url, status)
    return got


def has_digest(body: bytes, header: str | None) -> bool:
    """Says whether bytes have the SHA-256 that a ``Content-Digest`` header (RFC 9530) gives; True if it gives none.

    Example:
        >>> has_digest(b"a", "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:"), has_digest(b"a", None)
        (True, True)
    """
    return header is None or is_digest(hashlib.sha256(body).digest(), header)


def is_digest(digest: bytes, header: str | None) -> bool:
    """Says whether a SHA-256 is the one that a ``Content-Digest`` header gives; True if it gives none."""
    match = _SHA256.search(header or "")
    return match is None or base64.b64encode(digest).decode() == match["digest"]
