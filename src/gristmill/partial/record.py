"""The ``.ranges`` record beside a sparse file: which of its bytes are truly there.

Text, one range a line: ``START END CHECK``, START and END in decimal, CHECK the CRC-32 of ``START END`` in hex. Lines are
only appended, and only after the bytes they speak of are on the disk, so that a crash at any moment leaves a record
that is true. A line that was cut off fails its check and counts as not written: its bytes are fetched again.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from gristmill.files.borders import writing
from gristmill.partial.intervals import Interval, merged

__all__ = ["MemoryRecord", "RangeRecord", "format_range", "parse_ranges"]

_LINE = re.compile(rb"([0-9]{1,19}) ([0-9]{1,19}) ([0-9a-f]{8})")


def format_range(interval: Interval) -> bytes:
    r"""Gives the line for a range.

    Example:
        >>> format_range((0, 4))
        b'\n0 4 6f1aec95\n'
    """
    text = b"%d %d" % interval
    # The newline in front ends whatever a writer that was killed may have left.
    return b"\n%s %08x\n" % (text, zlib.crc32(text))


def parse_ranges(data: bytes, size: int) -> list[Interval]:
    """Reads a record; lines that are not whole, or can't be true of a file of `size` bytes, are passed over.

    Example:
        >>> parse_ranges(format_range((0, 4)) + b"4 9 00000000" + format_range((8, 10)), 100)
        [(0, 4), (8, 10)]
    """
    found: list[Interval] = []
    for line in data.split(b"\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        start, end = int(match[1]), int(match[2])
        if start < end <= size and int(match[3], 16) == zlib.crc32(b"%d %d" % (start, end)):
            found.append((start, end))
    return merged(found)


class RangeRecord:
    """The record of one sparse file; several processes may read and append to it at the same time.

    Args:
        path: The record.
        size: Size of the file it is about, in bytes.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self._read = -1
        self._here: list[Interval] = []

    def here(self) -> list[Interval]:
        """Gives the ranges that are there by now, whoever fetched them."""
        try:
            length = self.path.stat().st_size
        except OSError:
            return []
        if length != self._read:
            data = self.path.read_bytes()
            self._here, self._read = parse_ranges(data, self.size), len(data)
        return self._here

    def append(self, intervals: Iterable[Interval]) -> None:
        """Records ranges whose bytes are on the disk.

        Raises:
            FileError: The record can't be written.
        """
        lines = b"".join(map(format_range, intervals))
        with writing(self.path):
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, lines)
            finally:
                os.close(handle)


class MemoryRecord:
    """What a `RangeRecord` says, for a file that ends with its process.

    Example:
        >>> record = MemoryRecord()
        >>> record.append([(0, 4), (4, 6)])
        >>> record.here()
        [(0, 6)]
    """

    def __init__(self) -> None:
        self._here: list[Interval] = []

    def here(self) -> list[Interval]:
        """Gives the ranges that are there by now."""
        return self._here

    def append(self, intervals: Iterable[Interval]) -> None:
        """Records ranges."""
        self._here = merged([*self._here, *intervals])
