"""CSV as blocks of whole rows, so that several can be parsed at once and reading can go on from any of them.

Where rows end is a question of quotes. The answer used here is exact as long as every quote that opens a cell stands
where a cell begins; a file with quotes elsewhere is left to a parser that goes from row to row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gristmill.errors import DataError
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import RECORD_LIMIT
from gristmill.formats.views import read_whole

__all__ = ["RowBlock", "StrayQuote", "end_of_rows", "has_rows", "iter_row_blocks"]

_NEWLINE, _RETURN = b"\n\r"


_WHOLE = 3
"""A file that is not longer than so many blocks is one: to find out where rows end costs half of what parsing them does."""


class StrayQuote(Exception):
    """A quote stands inside a cell: where rows end can't be told without reading them one after another."""


class RowBlock(NamedTuple):
    """Some whole rows.

    Attributes:
        data: Their bytes, or a view of them.
        offset: Bytes of the stream before them.
        line: Lines of the stream before them.
    """

    data: Any
    offset: int
    line: int


def end_of_rows(data: bytes, separator: str, quote: str | None) -> int:
    r"""Finds where the last whole row ends, in data that begins with a row; 0 if there is none.

    Args:
        data: Text.
        separator: What stands between cells, one byte.
        quote: What stands around cells, one byte, doubled inside them; None if nothing does.

    Raises:
        StrayQuote: A quote opens a cell elsewhere than at its beginning.

    Example:
        >>> end_of_rows(b'a,"b\nc"\nd', ",", '"')
        8
    """
    newline = b"\n" if b"\n" in data else b"\r"
    # A return at the very end may be half of a line end.
    end = data.rfind(newline) if newline == b"\n" else data.rfind(newline, 0, len(data) - 1)
    if quote is None or quote.encode() not in data:
        return end + 1
    text = np.frombuffer(data, np.uint8)
    quotes = _places(text, ord(quote))
    opening = quotes[::2]
    before = text[opening - 1]
    begins = (before == ord(separator)) | (before == _NEWLINE) | (before == _RETURN)
    begins[0] |= opening[0] == 0
    begins[1:] |= opening[1:] - 1 == quotes[1:-1:2] if len(quotes) % 2 else opening[1:] - 1 == quotes[1:-2:2]
    if not begins.all():
        raise StrayQuote
    # Of the ends of lines, the last that is not inside quotes.
    while end >= 0 and (count := int(np.searchsorted(quotes, end))) % 2:
        end = data.rfind(newline, 0, int(quotes[count - 1]))
    return end + 1


def iter_row_blocks(
    stream: Any,
    rest: bytes,
    offset: int,
    line: int,
    file: SourceFile,
    *,
    plain: bool,
    size: int,
    separator: str,
    quote: str | None,
) -> Iterator[RowBlock]:
    """Cuts a stream into blocks.

    Args:
        stream: The stream, behind `rest`.
        rest: What was read of it and is not done.
        offset: Bytes of the stream before `rest`.
        line: Lines of the stream before `rest`.
        file: The file, for errors.
        plain: Whether one can go anywhere in the stream.
        size: Bytes of a block; more only for a longer row, or if all is not much longer.
        separator: See `end_of_rows`.
        quote: See `end_of_rows`.

    Raises:
        StrayQuote: See `end_of_rows`; blocks before it are right.
        DataError: A row is longer than `RECORD_LIMIT`.
    """
    if plain:
        # Reading those bytes once more costs less than a copy of the block with them in front.
        left = stream.seek(0, os.SEEK_END) - offset
        stream.seek(offset)
        rest = b""
        if left <= size * _WHOLE:
            size = max(size, left + 1)
            data = read_whole(stream, left)
            if data is not None:
                yield RowBlock(data, offset, line)
                return
            stream.seek(offset)
    wanted, ended = size, False
    while True:
        if len(rest) < wanted and not ended:
            rest, ended = _filled(stream, rest, wanted)
        if not rest:
            return
        done = ended and len(rest) <= wanted
        data = rest if len(rest) <= wanted else rest[:wanted]
        # What goes up to the end needs no cut: the parser, which begins at a row, tells rows apart by itself.
        end = len(data) if done else end_of_rows(data, separator, quote)
        if not end:
            if len(data) > RECORD_LIMIT:
                raise DataError.at(
                    f"a record is longer than {RECORD_LIMIT >> 20} MB, or a quote does not end",
                    file=file.name,
                    line=line + 1,
                )
            wanted = max(size, len(data)) * 4
            continue
        block = data if end == len(data) else data[:end]
        yield RowBlock(block, offset, line)
        if done:
            return
        rest, wanted = rest[end:], size
        offset += end
        line += _count(block, _NEWLINE) or _count(block, _RETURN)


def _filled(stream: Any, rest: bytes, wanted: int) -> tuple[bytes, bool]:
    """Reads until there are so many bytes; says whether the stream ended."""
    parts, missing = [rest] if rest else [], wanted - len(rest)
    while missing > 0:
        more = stream.read(missing)
        if not more:
            return b"".join(parts), True
        parts.append(more)
        missing -= len(more)
    return parts[0] if len(parts) == 1 else b"".join(parts), False


# Pieces that stay in a processor's cache are looked through several times faster.
_LOOK = 1 << 17
_SOMETHING = re.compile(rb"[^\r\n]")


def has_rows(data: bytes | memoryview) -> bool:
    r"""Says whether there is more than line ends.

    Example:
        >>> has_rows(b"\n\r\n"), has_rows(b"\n1")
        (False, True)
    """
    return _SOMETHING.search(data) is not None


def _count(data: bytes, byte: int) -> int:
    """Counts a byte; faster than `bytes.count` where there are many of it."""
    text = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(text[at : at + _LOOK] == byte)) for at in range(0, len(text), _LOOK))


def _places(text: Any, byte: int) -> Any:
    """Gives the positions of a byte."""
    starts = range(0, len(text), _LOOK)
    return np.concatenate([np.flatnonzero(text[start : start + _LOOK] == byte) + start for start in starts])
