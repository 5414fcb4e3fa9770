"""Arguments that several methods take: brought to one form, or refused by name."""

from __future__ import annotations

import contextlib
import math
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError

MOST_ROWS = 1 << 48
"""More rows than any file system holds: a number beyond is a mistake."""

_STRATEGIES = ("first_exhausted", "all_exhausted", "all_exhausted_without_replacement")
_ROUNDING = 1e-8
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGTP]?)(?P<binary>i?)B?", re.IGNORECASE)


def skips_errors(on_error: object) -> bool:
    """Says whether rows with errors are left out.

    Args:
        on_error: ``"raise"`` or ``"skip"``.

    Raises:
        InvalidArgumentError: It is neither.

    Example:
        >>> skips_errors("skip")
        True
    """
    if on_error not in ("raise", "skip"):
        raise InvalidArgumentError.from_choice("on_error", str(on_error), ["raise", "skip"])
    return on_error == "skip"


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


def file_path(name: str, value: Any) -> str:
    """Gives a path as text.

    Args:
        name: Of the argument.
        value: What was passed: text, bytes or a path object.

    Raises:
        InvalidArgumentError: It is none of them, or empty, or has a character that no path has.

    Example:
        >>> file_path("file", b"a/b")
        'a/b'
    """
    text = os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else ""
    if not text or "\0" in text:
        raise InvalidArgumentError.from_value(name, value, "the path of a file")
    return text


def row_count(name: str, value: Any) -> int | None:
    """Gives the number of rows of a batch; None where the default is wanted, which 0 says as well.

    Raises:
        InvalidArgumentError: It is no whole number above 0.

    Example:
        >>> row_count("batch_size", 10), row_count("batch_size", 0)
        (10, None)
    """
    if value is None:
        return None
    try:
        return whole_number(name, value, 0) or None
    except InvalidArgumentError:
        raise InvalidArgumentError.from_value(name, value, "a whole number of rows, 1 or more") from None


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


def check_columns(names: str | Sequence[str], existing: Sequence[str]) -> list[str]:
    """Checks column names from a user.

    Args:
        names: One name or several.
        existing: The columns that exist.

    Raises:
        ColumnNotFoundError: One does not exist.

    Example:
        >>> check_columns("a", ["a", "b"])
        ['a']
    """
    wanted = column_list(names)
    known = set(existing)
    for name in wanted:
        if name not in known:
            raise ColumnNotFoundError.from_name(name, existing)
    return wanted


def check_column(name: Any, existing: Sequence[str]) -> str:
    """Checks the name of one column from a user.

    Args:
        name: The name.
        existing: The columns that exist.

    Raises:
        ColumnNotFoundError: It does not exist.
        InvalidArgumentError: It is no text.

    Example:
        >>> check_column("a", ["a", "b"])
        'a'
    """
    if not isinstance(name, str):
        raise InvalidArgumentError.from_value("column", name, "a column's name")
    [checked] = check_columns(name, existing)
    return checked


def check_renaming(mapping: Mapping[str, Any], existing: Sequence[str]) -> dict[str, str]:
    """Checks old and new column names.

    Args:
        mapping: New name by old name.
        existing: The columns that exist.

    Raises:
        ColumnNotFoundError: An old name does not exist.
        InvalidArgumentError: A new name is empty, or two columns would have it.
    """
    if not isinstance(mapping, Mapping):
        raise InvalidArgumentError.from_value("column_mapping", mapping, "a dict of new names by old names")
    check_columns(list(mapping), existing)
    after = [mapping.get(name, name) for name in existing]
    for name in mapping.values():
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError.from_value("new name", name, "a non-empty string")
        if after.count(name) > 1:
            raise InvalidArgumentError(f'Two columns would be named "{name}".')
    return dict(mapping)


def stopping_strategy(value: Any) -> str:
    """Checks when `interleave_datasets` shall stop.

    Raises:
        InvalidArgumentError: There is no such way.

    Example:
        >>> stopping_strategy("first_exhausted")
        'first_exhausted'
    """
    if not isinstance(value, str) or value not in _STRATEGIES:
        raise InvalidArgumentError.from_choice("stopping_strategy", str(value), list(_STRATEGIES))
    return value


def mixing_chances(probabilities: Any, count: int) -> tuple[float, ...] | None:
    """Checks the probabilities of `interleave_datasets`.

    Args:
        probabilities: One for each dataset, or None.
        count: How many datasets there are.

    Raises:
        InvalidArgumentError: There are more or fewer, one is no number from 0 to 1, or they do not sum to 1.

    Example:
        >>> mixing_chances([0.25, 0.75], 2)
        (0.25, 0.75)
    """
    if probabilities is None:
        return None
    listed = isinstance(probabilities, Iterable) and not isinstance(
        probabilities, str | bytes | Mapping | AbstractSet
    )
    chances: list[float] = []
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        # Text that reads as a number is no number.
        chances = [
            math.nan if isinstance(one, str | bytes) else float(one) for one in probabilities if listed
        ]
    if len(chances) != count or not all(0 <= chance <= 1 for chance in chances):
        raise InvalidArgumentError.from_value(
            "probabilities", probabilities, f"one for each of the {count} datasets, from 0 to 1"
        )
    if abs(math.fsum(chances) - 1) > _ROUNDING:
        raise InvalidArgumentError(f"The probabilities sum to {math.fsum(chances)}; they must sum to 1.")
    return tuple(chances)


def parse_size(size: int | str) -> int:
    """Reads a number of bytes.

    Args:
        size: A number, or text such as ``"500MB"`` or ``"2GiB"``.

    Raises:
        InvalidArgumentError: It is neither, or below 1.

    Example:
        >>> parse_size("1.5KB"), parse_size("1MiB")
        (1500, 1048576)
    """
    value = size
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        base = 1024 if match["binary"] else 1000
        value = int(float(match["number"]) * base ** " KMGTP".index(match["unit"].upper() or " "))
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgumentError.from_value("max_shard_size", size, 'a size such as "500MB" or 2_000_000')
    return value
