"""Values that the user's code may fill again before they are stored: they are copied when they are handed over.

Functions and generators are called for some rows before the first of these is stored, so a list or array that they fill
anew for each row would give the last values for all of them. What can't be changed passes as it is.
"""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import sys
from array import array
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gristmill.formatting.lazy import LazyBatch, LazyRow

__all__ = [
    "UNCHANGEABLE",
    "owned",
    "owned_answer",
    "owned_arrays",
    "owned_batch",
    "owned_later",
    "owned_rows",
]

UNCHANGEABLE = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, decimal.Decimal),
        *(dt.date, dt.datetime, dt.time, dt.timedelta),
        *(np.bool_, np.str_, np.bytes_, np.datetime64, np.timedelta64),
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64),
    }
)
"""Types of which no value can be changed."""

_LOOKED_AT = 16


def owned(value: Any) -> Any:
    """Gives a value that nobody else can change: lists, tuples, dicts, arrays, tensors and buffers are copied.

    Objects of other types are given as they are.

    Args:
        value: What a function returned, or a generator gave, for one row and column.

    Example:
        >>> buffer = [1, [2]]
        >>> mine = owned(buffer)
        >>> buffer[1][0] = 3
        >>> mine
        [1, [2]]
    """
    try:
        return _owned(value)
    except RecursionError:
        return value  # it holds itself, which is found, and told, where it is to be stored


def _owned(value: Any) -> Any:
    kind = type(value)
    if kind in UNCHANGEABLE:
        return value
    copies = _COPIES.get(kind)
    if copies is not None:
        return copies(value)
    return _of_other_type(value)


def _list(values: list[Any]) -> list[Any]:
    # The items of a column's lists are of one kind, so some of them say what all are.
    first = values[:_LOOKED_AT]
    if UNCHANGEABLE.issuperset(map(type, first)) and (
        len(values) <= _LOOKED_AT
        or (first[0] is not None and type(values[-1]) in UNCHANGEABLE)
        or UNCHANGEABLE.issuperset(map(type, values))
    ):
        return values.copy()
    return list(map(_owned, values))


def _tuple(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values if UNCHANGEABLE.issuperset(map(type, values)) else tuple(map(_owned, values))


def _dict(values: dict[Any, Any]) -> dict[Any, Any]:
    # A copy of all and a look at each takes a third of a call for each.
    mine = values.copy()
    for key, value in values.items():
        if type(value) not in UNCHANGEABLE:
            mine[key] = _owned(value)
    return mine


def _numpy(values: Any) -> Any:
    copied = values.copy()
    if values.dtype.hasobject and values.dtype.names is None:
        for position, value in enumerate(values.flat):
            copied.flat[position] = _owned(value)
    return copied


def _of_other_type(value: Any) -> Any:
    """Copies what is of a type derived from one of those known, or of a library that need not be there."""
    if isinstance(value, np.ndarray):
        return _numpy(value)
    if isinstance(value, dict):
        mapping = copy.copy(value)
        for key, item in value.items():
            mapping[key] = _owned(item)
        return mapping
    if isinstance(value, list):
        items = copy.copy(value)
        items[:] = map(_owned, value)
        return items
    if isinstance(value, tuple):
        return value if UNCHANGEABLE.issuperset(map(type, value)) else _tuple_like(value)
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    tensors: Any = getattr(torch, "Tensor", ())
    frames: Any = (getattr(pandas, "Series", ()), getattr(pandas, "DataFrame", ()))
    if isinstance(value, tensors):
        return value.clone()
    return value.copy() if isinstance(value, frames) else value


def _tuple_like(value: Any) -> Any:
    make = getattr(type(value), "_make", None)
    return value if make is None else make(map(_owned, value))


_COPIES: dict[type, Callable[[Any], Any]] = {
    list: _list,
    tuple: _tuple,
    dict: _dict,
    np.ndarray: _numpy,
    bytearray: bytearray.copy,
    set: set.copy,
    array: copy.copy,
}


def owned_answer(answer: Any, row: Any = None) -> Any:
    """Gives what a function returned for one row as something that the function can't change any more.

    Args:
        answer: What it returned.
        row: What it was given. Where that is what it returned, it stays that object, and its values are copied.

    Example:
        >>> buffer = {"a": [1]}
        >>> mine = owned_answer(buffer)
        >>> buffer["a"][0] = 2
        >>> mine
        {'a': [1]}
    """
    if type(answer) is LazyRow:
        answer.own(owned)
        return answer
    if answer is row and isinstance(answer, dict):
        for key, value in answer.items():
            if type(value) not in UNCHANGEABLE:
                answer[key] = owned(value)
        return answer
    return owned(answer)


def owned_rows(answers: Iterable[Any], rows: Iterable[Any]) -> Iterator[Any]:
    """Gives answers as `owned_answer` does, each before the next one is asked for.

    Args:
        answers: What a function returns, as it is called.
        rows: What it is given for each.
    """
    for answer, row in zip(answers, rows, strict=False):
        if type(answer) is dict and answer is not row:
            # Nearly all are this, and most hold plain values: no call is made for them.
            mine = answer.copy()
            for key, value in answer.items():
                if type(value) not in UNCHANGEABLE:
                    mine[key] = owned(value)
            yield mine
        elif type(answer) in UNCHANGEABLE:
            yield answer
        else:
            yield owned_answer(answer, row)


async def owned_later(answer: Awaitable[Any], row: Any = None) -> Any:
    """Waits for the answer of an async function, and gives it as `owned_answer` does."""
    return owned_answer(await answer, row)


def owned_batch(answer: Any) -> Any:
    """Gives what a function returned for a batch as something that the function can't change any more.

    Args:
        answer: What it returned: a dict of columns, a batch that it was given, or a table.

    Example:
        >>> buffer = [1, 2]
        >>> mine = owned_batch({"a": buffer})
        >>> buffer[0] = 3
        >>> mine
        {'a': [1, 2]}
    """
    return _batch(answer, owned)


def owned_arrays(answer: Any) -> Any:
    """Gives what a function returned for a batch, for one who makes Arrow arrays of it at once.

    Those share the memory of arrays and tensors, which are copied; lists of plain values stay.
    """
    return _batch(answer, _array)


def _array(values: Any) -> Any:
    is_list = type(values) is list and (not values or type(values[0]) in _ARROW_COPIES)
    return values if is_list else owned(values)


_ARROW_COPIES = UNCHANGEABLE | {list, dict}


def _batch(answer: Any, column: Callable[[Any], Any]) -> Any:
    if isinstance(answer, LazyBatch):
        answer.own(column)
        return answer
    if type(answer) is dict:
        return {name: column(values) for name, values in answer.items()}
    return owned(answer)
