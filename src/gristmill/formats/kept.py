"""What settling the types of a small file has parsed, kept for the reading that follows at once."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from typing_extensions import Self

__all__ = ["Keeping", "Kept"]

_LIMIT = 64 << 20


class Kept:
    """Holds parsed pieces of a few files; each is handed out once, the oldest go when room is needed.

    Args:
        limit: Bytes to hold at most, over all files.

    Example:
        >>> kept = Kept()
        >>> with kept.keeping("file") as keeping:
        ...     keeping.add("piece", 5)
        >>> kept.take("file"), kept.take("file")
        (['piece'], None)
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self.limit = limit
        self._held: dict[Hashable, tuple[list[Any], int]] = {}
        self._lock = threading.Lock()

    def keeping(self, key: Hashable) -> Keeping:
        """Begins to keep the pieces of one file."""
        return Keeping(self, key)

    def put(self, key: Hashable, pieces: list[Any], size: int) -> None:
        """Keeps the pieces of a file.

        Args:
            key: Says which file, in which state, read how.
            pieces: All of them.
            size: Their bytes.
        """
        with self._lock:
            self._held.pop(key, None)
            while self._held and size + sum(held for _, held in self._held.values()) > self.limit:
                self._held.pop(next(iter(self._held)))
            self._held[key] = (pieces, size)

    def take(self, key: Hashable) -> list[Any] | None:
        """Hands out the pieces of a file and forgets them; None if they are not there."""
        with self._lock:
            return self._held.pop(key, (None, 0))[0]


class Keeping:
    """Collects pieces while a file is parsed; a file that is too large, or fails, is not kept."""

    def __init__(self, kept: Kept, key: Hashable) -> None:
        self._kept = kept
        self._key = key
        self._pieces: list[Any] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._size <= self._kept.limit:
            self._kept.put(self._key, self._pieces, self._size)

    def add(self, piece: Any, size: int) -> None:
        """Adds one piece of so many bytes."""
        self._size += size
        if self._size <= self._kept.limit:
            self._pieces.append(piece)
        else:
            self._pieces.clear()
