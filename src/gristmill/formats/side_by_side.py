"""Pieces of a file read by several threads at a time, given out in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from gristmill.errors import GristmillError
from gristmill.files.forks import renew_in_children

__all__ = ["side_by_side"]

T = TypeVar("T")
_HELD_BYTES = 32 << 20
_END: Any = object()
_FORKED = "The process was forked while threads were reading a file, and they did not come along. Read it again here."


def side_by_side(
    pieces: Sequence[Callable[[], Iterator[T]]],
    workers: int,
    size_of: Callable[[T], int],
    held_bytes: int = _HELD_BYTES,
) -> Generator[T, None, None]:
    """Draws from several iterators in threads and yields what each gives, one iterator after another.

    Args:
        pieces: Make the iterators; each is made and drawn from in one thread, and closed there if nobody wants more.
        workers: How many of them are drawn from at a time; with one it is done by the caller, without a thread.
        size_of: Gives the bytes that an item takes.
        held_bytes: No further item is drawn while those that wait to be yielded take this much; one that is waited for
            always is. So no more than this and one item for each worker is held.

    Yields:
        The items; an error comes where it would have come one by one, after the items before it.

    Example:
        >>> list(side_by_side([lambda: iter([1, 2]), lambda: iter([3])], 2, lambda _: 8))
        [1, 2, 3]
    """
    if workers <= 1 or len(pieces) <= 1:
        for piece in pieces:
            yield from piece()
        return
    shelf = _Shelf(len(pieces), size_of, held_bytes)
    with ThreadPoolExecutor(workers, thread_name_prefix="gristmill-read") as pool:
        try:
            for number, piece in enumerate(pieces):
                pool.submit(shelf.fill, number, piece)
            for number in range(len(pieces)):
                yield from shelf.taken(number)
        finally:
            shelf.stop()
            pool.shutdown(cancel_futures=True)


class _Shelf(Generic[T]):
    """What threads have drawn and nobody has taken yet."""

    def __init__(self, count: int, size_of: Callable[[T], int], most: int) -> None:
        self._waiting: list[deque[tuple[T, int]]] = [deque() for _ in range(count)]
        self._ended: list[BaseException | bool] = [False] * count
        self._size_of, self._most = size_of, most
        self._held = 0
        self._wanted = 0
        self._stopped = False
        self._changed = threading.Condition()
        renew_in_children(self)

    def renew(self) -> None:
        """Says so where items are waited for that nobody draws any more: threads do not come along into a forked process."""
        self._changed = threading.Condition()
        left = GristmillError(_FORKED)
        self._ended = [left if end is False else end for end in self._ended]

    def fill(self, number: int, piece: Callable[[], Iterator[T]]) -> None:
        """Draws all items of a piece; pieces are begun in order, so the one that is waited for is never held up."""
        end: BaseException | bool = True
        try:
            if self._has_room(number):
                items = piece()
                try:
                    while self._has_room(number) and (item := next(items, _END)) is not _END:
                        self._put(number, item)
                        del item  # it is not held here while there is no room
                finally:
                    close = getattr(items, "close", None)
                    if close is not None:
                        close()
        except BaseException as error:  # noqa: BLE001  # raised where the items are taken
            end = error
        with self._changed:
            self._ended[number] = end
            self._changed.notify_all()

    def _has_room(self, number: int) -> bool:
        """Waits until one more item may be drawn; False if no more are wanted at all."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._stopped
                    or self._held < self._most
                    or (number == self._wanted and not self._waiting[number])
                )
            )
            return not self._stopped

    def _put(self, number: int, item: T) -> None:
        size = self._size_of(item)
        with self._changed:
            self._waiting[number].append((item, size))
            self._held += size
            self._changed.notify_all()

    def taken(self, number: int) -> Iterator[T]:
        """Takes the items of a piece as they come."""
        while True:
            with self._changed:
                self._wanted = number
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting[number] or self._ended[number] is not False)
                if not self._waiting[number]:
                    break
                item, size = self._waiting[number].popleft()
                self._held -= size
                self._changed.notify_all()
            yield item
            del item
        end = self._ended[number]
        if isinstance(end, BaseException):
            raise end

    def stop(self) -> None:
        """Lets nobody draw any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
