"""Arrays of objects brought to one object a line by looking at quotes and brackets alone, without parsing them.

What is not plainly such an array (items that are no objects, anything but one comma between two of them) is left to
`json_document`, which looks at one value after another and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Items", "find_items"]

Positions = npt.NDArray[np.int64]
_PIECE = 1 << 16
_QUOTE, _BACKSLASH, _COMMA, _OPEN, _CLOSE, _BLANK = b'"\\,{} '
_ONE_LINE = bytes(ord(" ") if byte in b"\r\n" else byte for byte in range(256))


class Items(NamedTuple):
    """Whole items at the beginning of some text.

    Attributes:
        lines: The items, one on each line; b"" if there is none.
        rows: How many.
        end: Where the text after them begins.
        closed: The array ends there, behind its bracket.
    """

    lines: bytes
    rows: int
    end: int
    closed: bool


def find_items(data: bytes, first: bool) -> Items | None:
    r"""Finds the whole items at the beginning of a text that lies inside an array.

    Args:
        data: UTF-8 text, from behind the array's opening bracket or behind an item on.
        first: It lies behind the bracket; otherwise a comma is due.

    Returns:
        The items; None if it is not plain what they are.

    Example:
        >>> find_items(b' {"a":\n[1]}, {"b": "]"} , {"c"', True)
        Items(lines=b'{"a": [1]}\n {"b": "]"}', rows=2, end=23, closed=False)
    """
    bytes_ = np.frombuffer(data, np.uint8)
    quotes = _quotes(bytes_)
    if _inside(quotes, _where(bytes_, lambda piece: piece < _BLANK)).any():
        return None  # line ends and the like must not stand in strings
    brackets, steps = _brackets(bytes_, quotes)
    depth = np.cumsum(steps, dtype=np.int32)
    below = np.flatnonzero(depth < 0)
    closed = bool(len(below))
    end = int(brackets[below[0]]) if closed else 0
    if closed:
        brackets, steps, depth = brackets[: below[0]], steps[: below[0]], depth[: below[0]]
    ends = brackets[(depth == 0) & (steps < 0)]
    starts = brackets[(depth == 1) & (steps > 0)][: len(ends)]
    if not closed and len(ends):
        end = int(ends[-1]) + 1
    if not len(ends):
        plain = not data[:end].strip() if closed else _may_begin_item(data, first)
        return Items(b"", 0, end + closed, closed) if plain else None
    # What lies before, between and behind the items.
    found = _commas(bytes_, np.concatenate([[0], ends + 1]), np.concatenate([starts, [end]]))
    if found is None or (bytes_[starts] != _OPEN).any():
        return None
    commas, counts = found
    if counts[0] != (not first) or counts[-1] or (counts[1:-1] != 1).any():
        return None
    lines = np.frombuffer(bytearray(data[:end].translate(_ONE_LINE)), np.uint8)
    lines[commas] = ord("\n")
    return Items(lines[int(starts[0]) : int(ends[-1]) + 1].tobytes(), len(ends), end + closed, closed)


def _may_begin_item(data: bytes, first: bool) -> bool:
    text = data.lstrip()
    if not first:
        if text[:1] not in (b"", b","):
            return False
        text = text[1:].lstrip()
    return text[:1] in (b"", b"{")


def _quotes(data: Any) -> Positions:
    """Finds the quotes that begin and end strings."""
    quotes = _where(data, lambda piece: piece == _QUOTE)
    escapes = _where(data, lambda piece: piece == _BACKSLASH)
    return quotes[~_escaped(quotes, escapes)] if len(escapes) else quotes


def _inside(quotes: Positions, places: Positions) -> npt.NDArray[np.bool_]:
    """Says which places lie in strings."""
    inside: npt.NDArray[np.bool_] = (np.searchsorted(quotes, places) & 1) == 1
    return inside


def _brackets(data: Any, quotes: Positions) -> tuple[Positions, npt.NDArray[np.int8]]:
    """Finds brackets and braces outside strings, with 1 for those that open and -1 for those that close."""
    # The bit in which [ and { differ is the one in which ] and } do.
    opening = _where(data, lambda piece: (piece | 0x20) == _OPEN)
    closing = _where(data, lambda piece: (piece | 0x20) == _CLOSE)
    places = np.concatenate([opening, closing])
    steps = np.concatenate([np.ones(len(opening), np.int8), np.full(len(closing), -1, np.int8)])
    outside = ~_inside(quotes, places)
    places, steps = places[outside], steps[outside]
    order = np.argsort(places, kind="stable")
    return places[order], steps[order]


def _where(data: Any, test: Callable[[Any], Any]) -> Positions:
    # By the piece, so that what is compared stays in the processor's cache.
    found = [np.flatnonzero(test(data[at : at + _PIECE])) + at for at in range(0, len(data), _PIECE)]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _escaped(quotes: Positions, escapes: Positions) -> npt.NDArray[np.bool_]:
    """Says which quotes stand behind an odd number of backslashes."""
    begins = np.concatenate([[True], np.diff(escapes) > 1])
    run_start = escapes[np.maximum.accumulate(np.where(begins, np.arange(len(escapes)), 0))]
    last = np.searchsorted(escapes, quotes) - 1
    touching = (last >= 0) & (escapes[last] == quotes - 1)
    escaped: npt.NDArray[np.bool_] = touching & (((quotes - run_start[last]) & 1) == 1)
    return escaped


def _commas(data: Any, left: Positions, right: Positions) -> tuple[Positions, Positions] | None:
    """Finds the commas between items: their places, and how many there are in each gap; None if there is anything else."""
    lengths = right - left
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(left - offsets[:-1], lengths) + np.arange(offsets[-1])
    between = data[places]
    filled = ~np.isin(between, np.frombuffer(b" \t\r\n", np.uint8))
    if (between[filled] != _COMMA).any():
        return None
    gaps = np.repeat(np.arange(len(lengths)), lengths)[filled]
    return places[filled], np.bincount(gaps, minlength=len(lengths))
