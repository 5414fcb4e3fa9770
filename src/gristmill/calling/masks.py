"""What a function of batches answered to `filter`: one True or False a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import TransformOutputError, shorten


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
    if isinstance(answer, str | bytes | dict) or not hasattr(answer, "__len__"):
        raise TransformOutputError(
            f"{name} returned {shorten(answer)} (row {start}); with batched=True it must be a list of one True or False "
            "a row."
        )
    if len(answer) != rows:
        raise TransformOutputError(
            f"{name} returned {len(answer)} answers for the {rows} rows from row {start} on."
        )
    if isinstance(answer, np.ndarray):
        return answer.astype(np.bool_)
    return np.fromiter(map(bool, answer), np.bool_, rows)
