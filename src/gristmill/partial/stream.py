"""A remote file as a binary file object: read forward in pieces, the next ones fetched while one is read; seekable."""

from __future__ import annotations

import collections
import io
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gristmill import config
from gristmill.files.forks import renew_in_children
from gristmill.partial.ahead import Ahead
from gristmill.partial.source import RangeSource

__all__ = ["KeptHead", "RangedStream"]

_FIRST = 256 << 10
_LARGEST = 8 << 20
# Who has read so much in one go will go on; before that, it may be a look at the beginning.
_GOES_ON = 1 << 20
_KEPT = 2 << 20


@dataclass
class _Piece:
    """Some bytes that are being fetched, or here."""

    start: int
    size: int
    data: bytes | None = None
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def end(self) -> int:
        return self.start + self.size

    def give_up(self) -> None:
        if not self.done.is_set():
            self.error = ValueError("the file was closed")
            self.done.set()

    def fetch(self, read: Callable[[int, int], bytes]) -> None:
        try:
            self.data = read(self.start, self.size)
        except Exception as error:  # noqa: BLE001  # raised where the bytes are asked for
            self.error = error
        finally:
            self.done.set()

    def wait(self) -> bytes:
        self.done.wait()
        if self.error is not None:
            raise self.error
        assert self.data is not None  # one of both is set before `done`
        return self.data


class KeptHead:
    """A remote file whose first two megabytes are fetched once, however often the file is opened to look at its beginning.

    Args:
        source: The file.
    """

    tail = b""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        self._head = b""

    @property
    def name(self) -> str:
        """What to call it."""
        return self._source.name

    @property
    def size(self) -> int:
        """Bytes."""
        return self._source.size

    @property
    def identity(self) -> str:
        """What tells its content from another."""
        return self._source.identity

    def read(self, start: int, length: int) -> bytes:
        """Reads bytes, the first ones from memory."""
        head = self._head[start : start + length]
        data = head
        if len(head) < length:
            more = self._source.read(start + len(head), length - len(head))
            data = head + more if head else more
        if start <= len(self._head) < min(start + length, _KEPT):
            self._head = self._head[:start] + data[: _KEPT - start]
        return data


class RangedStream(io.BufferedIOBase):
    """Reads a remote file by ranges, in bounded memory.

    Pieces grow from 256 KB to 8 MB as long as they are read one after another; then the next ones are fetched ahead, up to
    `config.GRISTMILL_READ_AHEAD` bytes. A seek elsewhere drops them and begins with small pieces again. What goes wrong
    while a piece is fetched ahead is told when its bytes are asked for.

    Args:
        source: The file.
    """

    def __init__(self, source: RangeSource) -> None:
        super().__init__()
        self._source = source
        self._at = 0
        self._here = _Piece(0, 0, b"")
        self._coming: collections.deque[_Piece] = collections.deque()
        self._ahead = Ahead()
        # Also where nobody closes it.
        weakref.finalize(self, self._ahead.close)
        renew_in_children(self)

    def renew(self) -> None:
        """Forgets what is being fetched: the threads that do it did not come along into a forked process."""
        self._coming.clear()
        if not self._here.done.is_set():
            self._here = _Piece(self._at, 0, b"")

    @property
    def name(self) -> str:
        """What the file is called."""
        return self._source.name

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
        if base + offset < 0:
            raise ValueError("there is nothing before the first byte")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads exactly `size` bytes, fewer only at the end; everything if negative or None.

        Raises:
            HubError: The server refuses or can't be reached, after all attempts, or has another file by now.
            FileError: The file system refuses.
        """
        left = self._source.size - self._at if size is None or size < 0 else size
        parts: list[bytes] = []
        while left > 0 and (data := self.read1(left)):
            parts.append(data)
            left -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Reads at most `size` bytes, whatever is here or comes next; b"" only at the end."""
        if not size:
            return b""
        data, first = self._piece(size), self._at - self._here.start
        end = len(data) if size < 0 else min(len(data), first + size)
        self._at += end - first
        return data if end - first == len(data) else data[first:end]

    def peek(self, size: int = 0, /) -> bytes:
        """Gives what comes next without moving on: at least a byte, unless it is the end; perhaps more than `size`."""
        return self._piece(size)[self._at - self._here.start :]

    def readinto(self, buffer: Any, /) -> int:
        """Reads into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _piece(self, size: int) -> bytes:
        """Gives the piece that the next byte lies in, fetched if need be; one that is empty at the end."""
        if self.closed:
            raise ValueError("the file is closed")
        here = self._here
        if here.data is not None and here.start <= self._at < here.end:
            return here.data
        if self._at >= self._source.size:
            self._here = _Piece(self._at, 0, b"")
            return b""
        follows = self._at == here.end and here.size > 0
        if not (self._coming and self._coming[0].start == self._at):
            self._coming.clear()
            self._ask(self._at, min(here.size * 2, _LARGEST) if follows else max(_FIRST, min(size, _LARGEST)))
        self._here = self._coming.popleft()
        if follows and here.size >= _GOES_ON:
            self._ask_ahead()
        try:
            return self._here.wait()
        except BaseException:
            # Another attempt begins anew.
            self._here = _Piece(self._at, 0, b"")
            self._coming.clear()
            raise

    def _ask_ahead(self) -> None:
        room = config.GRISTMILL_READ_AHEAD - sum(piece.size for piece in self._coming)
        last = self._coming[-1] if self._coming else self._here
        while room > 0 and last.end < self._source.size:
            last = self._ask(last.end, min(last.size * 2, _LARGEST, max(room, _FIRST)))
            room -= last.size

    def _ask(self, start: int, size: int) -> _Piece:
        piece = _Piece(start, min(size, self._source.size - start))
        read = self._source.read
        if self._coming or (self._here.end == start and self._here.size):
            self._ahead.submit(lambda: piece.fetch(read))
        else:
            piece.fetch(read)
        self._coming.append(piece)
        return piece

    def close(self) -> None:
        """Ends it; what is being fetched is dropped."""
        if not self.closed:
            for piece in (self._here, *self._coming):
                piece.give_up()
            self._coming.clear()
            self._here = _Piece(0, 0, b"")
            self._ahead.close()
        super().close()
