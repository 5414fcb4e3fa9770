"""Runs of bytes of a remote file as files of their own, and a reader that leaps from one of them to the next."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from gristmill.partial.source import RangeSource

__all__ = ["LeapingFile", "RangeSlice"]

_FIRST = 64 << 10
_LEAP = 4 << 10
# What a leap may cost in bytes that lie between, and bytes in all: with more, fetching everything is no worse.
_FREE_LEAPS = 32
_BYTES_PER_LEAP = 128 << 10
_FREE_BYTES = 1 << 20
_SHARE = 4


@dataclass(frozen=True)
class RangeSlice:
    """Some bytes of a remote file, as a file.

    Attributes:
        source: The file they are in.
        start: The first of them.
        size: How many.
        identity: What tells this content from another.
        name: What to call it.
        tail: Always empty.
    """

    source: RangeSource = field(repr=False)
    start: int
    size: int
    identity: str
    name: str
    tail: bytes = b""

    def read(self, start: int, length: int) -> bytes:
        """Reads bytes, none beyond its end; errors are those of the file that it is in."""
        length = min(length, self.size - start)
        return self.source.read(self.start + start, length) if length > 0 else b""


class LeapingFile(io.BufferedIOBase):
    """A remote file of which little is read in many places, one after another: after a seek, only a little is fetched.

    Args:
        source: The file.
    """

    def __init__(self, source: RangeSource) -> None:
        super().__init__()
        self._source = source
        self._at = self._start = 0
        self._held = b""
        self._requests = self._fetched = 0

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place."""
        return True

    def tell(self) -> int:
        """Gives where the next byte is."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves; nothing is fetched before it is read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads exactly `size` bytes, fewer only at the end; everything if negative or None.

        Raises:
            HubError: The server refuses or can't be reached, after all attempts, or has another file by now.
            FileError: The file system refuses.
        """
        left = max(0, self._source.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        end = self._start + len(self._held)
        if not self._start <= self._at <= end:
            self._start, self._held = self._at, b""
        missing = self._at + wanted - self._start - len(self._held)
        if missing > 0:
            # What follows at once is read in larger pieces: the parts are small, and there will be more of them.
            is_near = bool(self._held) or not self._requests
            more = min(
                max(missing, _FIRST if is_near else _LEAP), self._source.size - self._start - len(self._held)
            )
            kept = self._held[self._at - self._start :]
            data = self._source.read(self._start + len(self._held), more)
            self._requests += 1
            self._fetched += len(data)
            self._start, self._held = self._at, kept + data
        first = self._at - self._start
        self._at += wanted
        return self._held[first : first + wanted]

    @property
    def is_worth_it(self) -> bool:
        """Whether less came over so far, in fewer requests, than reading all of it up to here would have cost."""
        return (
            self._requests <= _FREE_LEAPS + self._at // _BYTES_PER_LEAP
            and self._fetched <= _FREE_BYTES + self._at // _SHARE
        )
