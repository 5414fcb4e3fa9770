"""What a function of batches answered to `filter`: one True or False a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.errors import TransformOutputError, shorten
from gristmill.features.value_types import types_of


def mask_of(name: str, answer: Any, start: int, rows: int) -> Any:
    """Gives an answer as a numpy array of booleans.

    Args:
        name: What to call the function in messages.
        answer: What it returned.
        start: Number of the batch's first row.
        rows: Rows of the batch.

    Raises:
        TransformOutputError: It is no list with one answer a row.

    Example:
        >>> mask_of("f", [1, 0], 0, 2).tolist()
        [True, False]
    """
    if isinstance(answer, pa.Array | pa.ChunkedArray):
        answer = answer.to_pylist()
    odd = isinstance(answer, str | bytes | Mapping) or hasattr(type(answer), "columns")
    count = None if odd else length_of(answer)
    if count is None:
        raise TransformOutputError(
            f"{name} returned {shorten(answer)} (row {start}); with batched=True it must be a list of one True or False "
            "a row."
        )
    if count != rows or (isinstance(answer, np.ndarray) and answer.size != rows):
        found = answer.size if isinstance(answer, np.ndarray) else count
        raise TransformOutputError(
            f"{name} returned {found} answers for the {rows} rows from row {start} on."
        )
    return truths(name, answer.reshape(-1) if isinstance(answer, np.ndarray) else answer, start)


def length_of(answer: Any) -> int | None:
    """Counts the values of a column that a function returned; None if it is no column.

    Example:
        >>> length_of([1, 2]), length_of(iter([])), length_of(np.array(1))
        (2, None, None)
    """
    try:
        return len(answer)
    except TypeError:  # arrays without dimensions have a `__len__` as well
        return None


def truths(name: str, answers: Any, start: int) -> npt.NDArray[np.bool_]:
    """Gives answers, one a row, as booleans.

    Args:
        name: What to call the function in messages.
        answers: What it returned.
        start: Row number of the first.

    Raises:
        TransformOutputError: One is neither true nor false, as a frame or what is still to be awaited.

    Example:
        >>> truths("f", [1, None, "x"], 0).tolist()
        [True, False, True]
    """
    found: list[bool] = []
    try:
        if isinstance(answers, np.ndarray) and answers.dtype.kind in "biuf":
            return answers.astype(np.bool_)
        if type(answers) is list and types_of(answers) == {bool}:
            return np.frombuffer(bytes(answers), np.bool_)  # a third of what `numpy.array` takes
        found.extend(map(_truth, answers))
    except Exception as error:
        row = start + len(found)
        raise TransformOutputError(
            f"{name} returned {shorten(answers[len(found)])} for row {row}, which is neither true nor false ({error})."
        ) from error
    return np.array(found, np.bool_)


def _truth(answer: Any) -> bool:
    if type(answer) in _PLAIN:
        return bool(answer)
    if hasattr(answer, "__await__"):
        if hasattr(answer, "close"):
            answer.close()
        raise TypeError("it has to be awaited: make the function async")
    return bool(answer)


_PLAIN = {bool, int, float, str, type(None), np.bool_}
