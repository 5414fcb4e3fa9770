"""Downloads by xet: a file of a bucket told as runs of chunks, and those runs.

Nothing is kept in chunks here: the runs are made up of a file as they are asked for, unpacked, in pieces of one size.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PIECE = 64 * 1024
"""Bytes of a file in one chunk."""
RUN = 512
"""Chunks in one run, so 32 MiB of a file."""
_HEADER = 8


@dataclass(frozen=True, slots=True)
class Run:
    """A run of chunks: the bytes of a file from `start`, `length` of them."""

    number: int
    start: int
    length: int

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return -(-self.length // PIECE)

    @property
    def size(self) -> int:
        """Bytes of it as it is sent."""
        return self.length + self.chunks * _HEADER


def run_of(size: int, number: int) -> Run:
    """Gives one run of a file.

    Example:
        >>> run_of(100_000_000, 2).length
        32891136
    """
    start = number * RUN * PIECE
    return Run(number, start, min(RUN * PIECE, size - start))


def reconstruction(hash: str, size: int, first: int, end: int, urls: dict[int, str]) -> dict[str, Any]:
    """Says of which chunks a part of a file is made.

    Args:
        hash: Xet hash of the file.
        size: Its bytes.
        first: The first byte wanted.
        end: The byte after the last one wanted.
        urls: Where each run is to be had, by its number.
    """
    terms, fetch = [], {}
    for number, url in urls.items():
        run = run_of(size, number)
        begin = max(first - run.start, 0) // PIECE
        stop = -(-min(end - run.start, run.length) // PIECE)
        name = hashlib.sha256(f"{hash} {number}".encode()).hexdigest()
        chunks = {"start": begin, "end": stop}
        length = min(stop * PIECE, run.length) - begin * PIECE
        terms.append({"hash": name, "unpacked_length": length, "range": chunks})
        at = begin * (PIECE + _HEADER)
        last = at + length + (stop - begin) * _HEADER - 1
        fetch[name] = [{"range": chunks, "url": url, "url_range": {"start": at, "end": last}}]
    return {"offset_into_first_range": first % PIECE, "terms": terms, "fetch_info": fetch}


def runs_between(first: int, end: int) -> range:
    """Gives the numbers of the runs that hold some bytes of a file."""
    return range(first // (RUN * PIECE), -(-end // (RUN * PIECE)))


def read_run(handle: int, run: Run, first: int, length: int) -> Iterator[bytes]:
    """Gives bytes of a run as it is sent: for each chunk its header and its bytes of the file.

    Args:
        handle: Of the open file.
        run: The run.
        first: The first byte of it.
        length: How many.

    Raises:
        EOFError: The file is shorter than it was.
    """
    end = first + length
    for number in range(first // (PIECE + _HEADER), run.chunks):
        at = number * (PIECE + _HEADER)
        if at >= end:
            return
        size = min(PIECE, run.length - number * PIECE)
        data = os.pread(handle, size, run.start + number * PIECE)
        if len(data) != size:
            raise EOFError("a file became shorter while it was being sent")
        packed = size.to_bytes(3, "little")
        chunk = b"\0" + packed + b"\0" + packed + data
        yield chunk[max(first - at, 0) : end - at]
