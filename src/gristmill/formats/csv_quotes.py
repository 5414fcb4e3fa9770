"""Which cells of CSV are quoted or escaped, and how."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import CastError
from gristmill.formats.csv_dialect import ESCAPES, Dialect
from gristmill.formats.csv_missing import MISSING
from gristmill.formats.text_columns import (
    TEXT,
    Positions,
    constant,
    edge_bytes,
    holding_bytes,
    join,
    lengths_of,
    replaced,
)

__all__ = ["LETTERS_OF_NUMBERS", "NO_TEXT", "in_quotes", "need_quotes", "put_in_quotes", "quoted"]

LETTERS_OF_NUMBERS = frozenset("0123456789.-+einfTrualsF")
"""What numbers and truth values are written with."""
NO_TEXT = b"\xff"
"""A byte that no UTF-8 has; a text that has it all the same is quoted."""
_BLANK, _MISSING = 1, 2
_LONGEST_MISSING = max(len(word) for word in MISSING)


def _marks(missing: Iterable[str]) -> bytes:
    """Makes a table of what a byte at the edge of a text can mean."""
    table = bytearray(256)
    for characters, mark in (("\t\n\f\r ", _BLANK), (missing, _MISSING)):
        for character in characters:
            table[ord(character)] = mark
    return bytes(table)


_FIRST = _marks(word[0] for word in MISSING if word)
_LAST = _marks(word[-1] for word in MISSING if word)


def need_quotes(text: Any, dialect: Dialect, numbers: bool = False) -> Positions:
    """Finds the cells that would not read back equal as they are.

    Args:
        text: The text of the cells; a null is none of them.
        dialect: How CSV is written.
        numbers: Whether they are numbers, which are not taken for missing values.

    Returns:
        Their positions, in order.
    """
    needs = holding_bytes(text, bytes(set(_special(dialect).encode()) | set(NO_TEXT)))
    if not numbers and dialect.quoting != csv.QUOTE_NONE:
        filled, first, last = edge_bytes(text)
        if len(filled) < len(text):
            empty = np.ones(len(text), np.bool_)
            empty[filled] = False
            needs |= empty
        starts, ends = _meaning(first, _FIRST), _meaning(last, _LAST)
        blank = (starts | ends) & _BLANK
        if blank.any():
            needs[filled[blank.view(np.bool_)]] = True
        like_missing = filled[(starts & ends & _MISSING).astype(np.bool_)]
        like_missing = like_missing[lengths_of(text, like_missing) <= _LONGEST_MISSING]
        if len(like_missing):
            is_missing = pc.is_in(text.take(pa.array(like_missing)), pa.array(MISSING, TEXT))
            needs[like_missing[is_missing.to_numpy(zero_copy_only=False)]] = True
        if text.null_count:
            needs &= text.is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(needs)


def _meaning(edges: Any, table: bytes) -> Any:
    # A quarter of what indexing a table of numpy's takes.
    return np.frombuffer(edges.tobytes().translate(table), np.uint8)


def _special(dialect: Dialect) -> str:
    return f"\n\r{dialect.quotechar}{dialect.sep}{dialect.lineterminator}{dialect.escapechar or ''}"


def quoted(text: Any, dialect: Dialect, numbers: bool = False) -> Any:
    """Quotes or escapes cells as the dialect says.

    Args:
        text: The text of the cells; null stays null.
        dialect: How CSV is written.
        numbers: Whether they are numbers or truth values.

    Raises:
        CastError: A cell can be neither quoted nor escaped.
    """
    if dialect.quoting == csv.QUOTE_ALL or (dialect.quoting == csv.QUOTE_NONNUMERIC and not numbers):
        return in_quotes(text, dialect)
    if numbers and dialect.sep not in LETTERS_OF_NUMBERS and dialect.decimal == ".":
        return text
    odd = need_quotes(text, dialect, numbers)
    if not len(odd):
        return text
    if dialect.quoting == csv.QUOTE_NONE:
        return _escaped_only(text, odd, dialect)
    return put_in_quotes(text, odd, dialect)


def put_in_quotes(text: Any, odd: Positions, dialect: Dialect) -> Any:
    """Quotes the cells at some positions."""
    return replaced(text, odd, in_quotes(text.take(pa.array(odd)), dialect)) if len(odd) else text


def in_quotes(text: Any, dialect: Dialect) -> Any:
    """Puts quotes around cells, and doubles or escapes those inside.

    Raises:
        CastError: There is a quote inside, and no way to write it.
    """
    quote, escape = dialect.quotechar, dialect.escapechar
    if escape is not None:
        text = pc.replace_substring(text, escape, escape * 2)
    if dialect.doublequote:
        text = pc.replace_substring(text, quote, quote * 2)
    elif escape is not None:
        text = pc.replace_substring(text, quote, escape + quote)
    elif len(odd := text.filter(pc.fill_null(pc.match_substring(text, quote), False))):
        raise CastError.at(f"{odd[0].as_py()!r} can't be quoted with doublequote=False", remedy=ESCAPES)
    return join([constant(quote), text, constant(quote)])


def _escaped_only(text: Any, odd: Positions, dialect: Dialect) -> Any:
    cells = text.take(pa.array(odd))
    if dialect.escapechar is None:
        raise CastError.at(f"{cells[0].as_py()!r} can't be written without quotes", remedy=ESCAPES)
    marks = {ord(character): dialect.escapechar + character for character in _special(dialect)}
    return replaced(text, odd, [value.translate(marks) for value in cells.to_pylist()])
