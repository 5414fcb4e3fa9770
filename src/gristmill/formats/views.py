"""Bytes of files in memory that Arrow uses again, and looking into them: a view lacks what `bytes` can do.

What Python reads goes to new memory for each file, and each page of that is asked of the system and cleared.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["count_byte", "has_byte", "is_space", "read_view", "read_whole"]

# Pieces that stay in a processor's cache are looked through several times faster.
_LOOK = 1 << 20
_COPIED = 1 << 18
_HEAD = 1 << 10


def read_whole(stream: Any, size: int) -> Any:
    """Reads so many bytes that are all there is left, into memory that Arrow uses again.

    Args:
        stream: A stream of bytes.
        size: How many are expected.

    Returns:
        A view of them; None if there are none, if they are not all, or if the stream is no file of its own.
    """
    if not size or not isinstance(stream, io.BufferedReader):
        return None
    data = read_view(stream, size)
    return data if len(data) == size and not stream.read(1) else None


def read_view(stream: io.BufferedReader, size: int) -> Any:
    """Reads up to so many bytes, fewer only at the end, into memory that Arrow uses again; gives a view of them."""
    data = memoryview(pa.allocate_buffer(size)).cast("B")
    filled = 0
    while filled < size and (count := stream.readinto(data[filled:])):
        filled += count
    return data[:filled]


def has_byte(data: bytes | memoryview, byte: bytes) -> bool:
    r"""Says whether a byte is in some data, in which the operator ``in`` would look for a number where it is a view.

    Example:
        >>> has_byte(b"a\r", b"\r"), has_byte(memoryview(b"ab"), b"\r")
        (True, False)
    """
    if isinstance(data, bytes):
        return byte in data
    # Copies of pieces in a processor's cache: faster than to compare all of it with numpy.
    return any(byte in bytes(data[at : at + _COPIED]) for at in range(0, len(data), _COPIED))


def is_space(data: bytes | memoryview) -> bool:
    r"""Says whether there is nothing but white space.

    Example:
        >>> is_space(b""), is_space(memoryview(b" \n")), is_space(b" \na")
        (True, True, False)
    """
    return not bytes(data[:_HEAD]).strip() and not bytes(data[_HEAD:]).strip()


def count_byte(data: bytes | memoryview, byte: int) -> int:
    """Counts a byte that is frequent, by the piece: three times as fast as `bytes.count`."""
    codes = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(codes[at : at + _LOOK] == byte)) for at in range(0, len(codes), _LOOK))
