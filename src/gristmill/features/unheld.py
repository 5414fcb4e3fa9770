"""Values that Arrow holds and Python does not: dates after the year 9999, times of a zone that nobody here knows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import DataError

__all__ = ["NO_PYTHON_VALUE", "converted", "first_failing", "no_python_value"]

T = TypeVar("T")

NO_PYTHON_VALUE = (pa.ArrowException, OverflowError, ValueError, LookupError)
"""What is raised for a value that can't be held."""


def converted(
    array: Any,
    convert: Callable[[Any], T],
    *,
    column: str,
    row: int | None = 0,
    target: str = "Python",
) -> T:
    """Converts a column; an error of Arrow's becomes one that names the row.

    Args:
        array: The values.
        convert: Takes them, and slices of them.
        column: Name of the column, for the error.
        row: Row of the first value, for the error; None if that is not known.
        target: What they become, for the error.

    Raises:
        DataError: A value can't be held.

    Example:
        >>> far = pa.array([0, 2**62], pa.timestamp("us"))
        >>> converted(far, lambda values: values.to_pylist(), column="t")
        Traceback (most recent call last):
        gristmill.errors.DataError: row 1, column "t": 4611686018427387904 of type timestamp[us] can't be a value of \
Python (date value out of range). with_format("arrow") shows it as it is stored.
    """
    try:
        return convert(array)
    except DataError:
        raise
    except NO_PYTHON_VALUE as error:
        first = first_failing(array, convert)
        at = None if row is None else row + first
        problem = no_python_value(array.slice(first, 1), error, column=column, row=at, target=target)
        if row is None:
            problem.index = first
        raise problem from error


def no_python_value(
    values: Any, error: Exception, *, column: str, row: int | None = None, target: str = "Python"
) -> DataError:
    """Words that a column has a value that Python can't hold.

    Args:
        values: The value, as an array of one.
        error: What was raised for it.
        column: Name of the column.
        row: Its row, if known.
        target: What can't hold it.
    """
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    if "zoneinfo" in reason or "time zone" in reason:
        reason = "this machine does not know the time zone"
    problem: DataError = DataError.at(
        f"{_stored(values)}of type {values.type} can't be a value of {target} ({reason})",
        row=row,
        column=column,
        remedy='with_format("arrow") shows it as it is stored.',
    )
    return problem


def first_failing(array: Any, convert: Callable[[Any], object]) -> int:
    """Finds the first value that can't be converted, by halves.

    Args:
        array: Values, one of which can't.
        convert: Takes slices of them.
    """
    start, stop = 0, len(array)
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            convert(array.slice(start, middle - start))
        except NO_PYTHON_VALUE:
            stop = middle
        else:
            start = middle
    return start


def _stored(values: Any) -> str:
    if pt.is_temporal(values.type) and len(values) == 1:
        width = pa.int32() if values.type.bit_width == 32 else pa.int64()
        with contextlib.suppress(pa.ArrowException):
            chunk = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
            return f"{chunk.view(width)[0].as_py()} "
    return "a value "
