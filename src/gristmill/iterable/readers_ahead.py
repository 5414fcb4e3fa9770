"""Readers of the shards that come next, begun in threads: so that a network's latency passes while rows are used."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from gristmill import config
from gristmill.files.forks import renew_in_children
from gristmill.partial.ahead import Ahead

__all__ = ["MOST_AHEAD", "ReadersAhead", "how_many"]

MOST_AHEAD = 8
"""Most shards that are begun at a time."""
_END: Any = object()

Batches = Generator[Any, None, None]


def how_many(sizes: Sequence[int]) -> int:
    """Says how many of the shards that come next to begin: small ones several, a large one alone.

    Args:
        sizes: Bytes of each.

    Example:
        >>> how_many([1_000_000] * 20), how_many([10**9] * 20)
        (8, 1)
    """
    room, number = config.GRISTMILL_READ_AHEAD, 0
    for size in sizes[:MOST_AHEAD]:
        if room <= 0:
            break
        room -= max(1, size)
        number += 1
    return number


class _Begun:
    """A reader that was begun, or will be: by whoever comes first."""

    def __init__(self, open: Callable[[], Batches]) -> None:
        self._open = open
        self._closed = False
        self._anew()
        renew_in_children(self)

    def _anew(self) -> None:
        self._lock = threading.Lock()
        self._reader: Batches | None = None
        self._first: Any = _END
        self._error: BaseException | None = None
        self._done = False

    def renew(self) -> None:
        """Begins anew if a thread was at it: it did not come along into a forked process."""
        if self._lock.locked():
            self._anew()

    def run(self) -> None:
        """Reads up to the first batch, unless that is done."""
        with self._lock:
            if self._done:
                return
            self._done = True
            try:
                if not self._closed:
                    self._reader = self._open()
                    self._first = next(self._reader, _END)
            except Exception as error:  # noqa: BLE001  # raised where the batch is asked for
                self._error = error
            finally:
                if self._closed and self._reader is not None:
                    self._reader.close()

    def batches(self) -> Iterator[Any]:
        """Gives all batches."""
        try:
            self.run()
            if self._error is not None:
                raise self._error
            first, self._first = self._first, _END
            if first is not _END and self._reader is not None:
                yield first
                del first
                yield from self._reader
        finally:
            self.close()

    def close(self) -> None:
        """Ends it; at once, or as soon as the thread that is in it notices."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._done = True
                if self._reader is not None:
                    self._reader.close()
            finally:
                self._lock.release()


class ReadersAhead:
    """Begins the readers of shards before their turn.

    Args:
        open: Gives the batches of a shard, by its number.
    """

    def __init__(self, open: Callable[[int], Batches]) -> None:
        self._open = open
        self._ahead = Ahead(MOST_AHEAD)
        self._begun: dict[int, _Begun] = {}
        # Also where nobody closes it.
        weakref.finalize(self, _close, self._ahead, self._begun)

    def begin(self, shards: Sequence[int]) -> None:
        """Has some shards begun.

        Args:
            shards: Their numbers, in the order in which they will be taken.
        """
        for shard in shards:
            if shard not in self._begun:
                begun = self._begun[shard] = _begin(self._open, shard)
                self._ahead.submit(begun.run)

    def take(self, shard: int) -> Iterator[Any]:
        """Gives the batches of a shard, begun or not; closing the iterator ends its reading."""
        begun = self._begun.pop(shard, None)
        return (_begin(self._open, shard) if begun is None else begun).batches()

    def close(self) -> None:
        """Ends all that was begun and not taken."""
        _close(self._ahead, self._begun)


def _begin(open: Callable[[int], Batches], shard: int) -> _Begun:
    return _Begun(lambda: open(shard))


def _close(ahead: Ahead, begun: dict[int, _Begun]) -> None:
    for one in begun.values():
        one.close()
    begun.clear()
    ahead.close()
