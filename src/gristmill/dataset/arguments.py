"""Arguments that several methods take: brought to one form, or refused by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from gristmill.errors import InvalidArgumentError

MOST_ROWS = 1 << 48
"""More rows than any file system holds: a number beyond is a mistake."""


def whole_number(name: str, value: Any, least: int | None = None) -> int:
    """Gives a whole number as Python's own.

    Args:
        name: Of the argument.
        value: What was passed; numpy's integers count, booleans, text and fractions do not.
        least: Smallest one allowed.

    Raises:
        InvalidArgumentError: It is none, or too small.

    Example:
        >>> whole_number("n", 3)
        3
    """
    wanted = "a whole number" if least is None else f"a whole number, {least} or more"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        raise InvalidArgumentError.from_value(name, value, wanted)
    return number


def column_list(names: Any) -> list[str]:
    """Gives one name or several as a list.

    Raises:
        InvalidArgumentError: They are neither text nor a collection of text.

    Example:
        >>> column_list("a"), column_list(("a", "b"))
        (['a'], ['a', 'b'])
    """
    if isinstance(names, str):
        return [names]
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, bytes) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise InvalidArgumentError.from_value("column_names", names, "a column's name, or a list of names")
    return listed
