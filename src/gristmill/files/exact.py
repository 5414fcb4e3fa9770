"""Reading as many bytes as were asked for, from what gives as many as it has at hand."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["read_exactly"]


def read_exactly(read1: Callable[[int], bytes], size: int | None) -> bytes:
    """Reads until there are enough bytes, or no more.

    Args:
        read1: Gives at most so many bytes, or what comes next for -1; none only at the end.
        size: How many; everything if negative or None.

    Example:
        >>> import io
        >>> read_exactly(io.BytesIO(b"abc").read1, 2)
        b'ab'
    """
    left = -1 if size is None else size
    parts: list[bytes] = []
    while left:
        data = read1(left)
        if not data:
            break
        parts.append(data)
        left -= len(data) if left > 0 else 0
    return parts[0] if len(parts) == 1 else b"".join(parts)
