"""Reading one step ahead: while what was read is being written, a thread reads on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["read_ahead"]

T = TypeVar("T")
_END: Any = object()


def read_ahead(items: Iterator[T], in_thread: bool = True) -> Generator[T, None, None]:
    """Draws the next item in a thread while the caller works on the one before.

    Decoding and writing both leave the interpreter's lock alone most of the time, so two cores share the work. There is
    never more than one item waiting.

    Args:
        items: What to draw from; it runs in one thread at a time, and is closed when the caller stops early.
        in_thread: False draws each item when it is asked for, where other threads keep the processors busy.

    Yields:
        The items, in order; an error comes where it would have come.

    Example:
        >>> list(read_ahead(iter([1, 2, 3])))
        [1, 2, 3]
    """
    try:
        if not in_thread:
            yield from items
            return
        with ThreadPoolExecutor(1, thread_name_prefix="gristmill-read-ahead") as pool:
            coming = pool.submit(next, items, _END)
            while (item := coming.result()) is not _END:
                coming = pool.submit(next, items, _END)
                yield item
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()
