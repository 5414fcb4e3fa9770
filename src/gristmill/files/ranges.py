"""Parts of remote files: what a 206 answer says it holds, and whether that is what was asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gristmill.errors import RangeIgnoredError, shorten

_CONTENT_RANGE = re.compile(r"bytes (?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})/(?P<total>[0-9]{1,18}|\*)")


@dataclass(frozen=True)
class ContentRange:
    """What a 206 answer holds: bytes `first` to `last` (inclusive) of `total` (None if the server does not know)."""

    first: int
    last: int
    total: int | None


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


def check_range(status: int, headers: Mapping[str, str], url: str, start: int, length: int) -> int:
    """Gives the number of bytes that a 206 answer announces, if it is the range asked for.

    Args:
        status: The answer's status.
        headers: Its headers.
        url: What was asked, for the error.
        start: First byte asked for.
        length: Number of bytes asked for.

    Raises:
        RangeIgnoredError: It is anything else; reading on could mean reading the whole file.
    """
    asked = f"bytes {start} to {start + length - 1} were asked for"
    header = headers.get("content-range")
    got = parse_content_range(header)
    if status != 206 or got is None or "content-encoding" in headers:
        said = f" (Content-Range: {shorten(header)})" if header else ""
        raise RangeIgnoredError.at_url(f"{asked} and something else was answered{said}", url, status)
    end = start + length if got.total is None else min(start + length, got.total)
    if got.first != start or got.last != end - 1:
        problem = f"{asked} and {got.first} to {got.last} of {got.total} were answered"
        raise RangeIgnoredError.at_url(problem, url, status)
    return end - start
