"""What ``dataset[key]`` means."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from gristmill.errors import InvalidArgumentError, RowIndexError
from gristmill.table.selection import IndexVector, parse_indices


def parse_key(key: Any, rows: int) -> tuple[bool, range | IndexVector]:
    """Reads a key that names rows.

    Args:
        key: A whole number, a slice, or an iterable of whole numbers; negative ones count from the end.
        rows: How many rows there are.

    Returns:
        (whether a single row was named, the row numbers).

    Raises:
        RowIndexError: A row does not exist.
        InvalidArgumentError: The key is something else.

    Example:
        >>> parse_key(-1, 3), parse_key(slice(1, None), 3)
        ((True, range(2, 3)), (False, range(1, 3)))
    """
    if isinstance(key, bool | np.bool_):
        raise InvalidArgumentError.from_value(
            "key", key, "a row number, slice, column name or list of row numbers"
        )
    if isinstance(key, slice):
        try:
            return False, range(rows)[key]
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError.from_value(
                "key", key, f"a slice of whole numbers ({error})"
            ) from error
    if not isinstance(key, Iterable) or getattr(key, "ndim", 1) == 0:
        try:
            index = operator.index(key)
        except TypeError as error:
            raise InvalidArgumentError.from_value(
                "key", key, "a row number, slice, column name or list of row numbers"
            ) from error
        if not -rows <= index < rows:
            raise RowIndexError.from_index(index, rows)
        index %= rows
        return True, range(index, index + 1)
    return False, parse_indices(key, rows, negative=True)
