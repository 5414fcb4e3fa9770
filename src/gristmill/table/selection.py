"""Which rows, in which order: everything (None), a range, or a vector of row numbers.

A selection is data, never rows: choosing, shuffling and splitting only make new selections.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gristmill.errors import InvalidArgumentError, RowIndexError

IndexVector: TypeAlias = npt.NDArray[np.int64]
Selection: TypeAlias = "range | IndexVector | None"


def parse_indices(indices: Iterable[Any], rows: int, *, negative: bool = False) -> range | IndexVector:
    """Checks row numbers from a user and puts them into one of the two compact forms.

    Args:
        indices: Whole numbers: a range, list, array, Arrow array, generator, ...
        rows: How many rows there are.
        negative: Whether -1 means the last row; otherwise negative numbers are refused.

    Returns:
        A range if a range was given, or the numbers form one; else an int64 vector.

    Raises:
        RowIndexError: A number is out of range.
        InvalidArgumentError: Something is not a whole number.

    Example:
        >>> parse_indices([3, 4, 5], 10)
        range(3, 6)
    """
    if isinstance(indices, range):
        vector: Any = indices
        if not len(vector):
            return range(0)
        lowest, highest = min(vector[0], vector[-1]), max(vector[0], vector[-1])
    else:
        vector = _as_vector(indices)
        if not vector.size:
            return range(0)
        lowest, highest = int(vector.min()), int(vector.max())
    if highest >= rows:
        raise RowIndexError.from_index(highest, rows, negative=negative)
    if lowest < (-rows if negative else 0):
        raise RowIndexError.from_index(lowest, rows, negative=negative)
    if lowest < 0:
        vector = np.asarray(vector, dtype=np.int64)
        vector = np.where(vector < 0, vector + rows, vector)
    return vector if isinstance(vector, range) else compact(vector)


def _as_vector(indices: Any) -> IndexVector:
    if hasattr(indices, "to_numpy") and not isinstance(indices, np.ndarray):
        indices = indices.to_numpy(zero_copy_only=False) if hasattr(indices, "type") else indices.to_numpy()
    if not isinstance(indices, np.ndarray):
        if not isinstance(indices, Iterable) or isinstance(indices, str | bytes):
            raise InvalidArgumentError.from_value("indices", indices, "a range, list or array of row numbers")
        values = indices if isinstance(indices, list | tuple) else list(indices)
        # numpy would turn a list of large or mixed values into floats or objects without a word.
        indices = np.asarray(values) if len(values) else np.empty(0, np.int64)
    if not indices.size and indices.ndim == 1:
        indices = indices.astype(np.int64)  # numpy makes floats of an empty list
    if indices.dtype == np.bool_:
        raise InvalidArgumentError(
            "indices are row numbers, not booleans: pass `numpy.flatnonzero(mask)` for a mask."
        )
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise InvalidArgumentError.from_value("indices", indices.tolist(), "whole numbers, one a row")
    return np.ascontiguousarray(indices, dtype=np.int64)


def compact(vector: IndexVector) -> range | IndexVector:
    """Gives the range that a vector of ascending neighbours amounts to, or the vector itself.

    Example:
        >>> import numpy as np
        >>> compact(np.array([7, 8, 9])), compact(np.array([2, 1]))
        (range(7, 10), array([2, 1]))
    """
    size = vector.size
    if size == 0:
        return range(0)
    first, last = int(vector[0]), int(vector[-1])
    if last - first == size - 1 and (size < 3 or bool((np.diff(vector) == 1).all())):
        return range(first, last + 1)
    return vector


def compose(selection: Selection, chosen: range | IndexVector) -> Selection:
    """Chooses from what is already a selection.

    Args:
        selection: The selection in force.
        chosen: Row numbers counted in the selected rows, already checked.

    Returns:
        The selection counted in the underlying rows.

    Example:
        >>> compose(range(10, 20), range(2, 4))
        range(12, 14)
    """
    if selection is None:
        return chosen
    if isinstance(chosen, range):
        if isinstance(selection, range):
            start = selection.start + chosen.start * selection.step
            step = selection.step * chosen.step
            return range(start, start + len(chosen) * step, step)
        return selection[as_vector(chosen)] if chosen.step != 1 else selection[chosen.start : chosen.stop]
    if isinstance(selection, range):
        return compact(chosen * selection.step + selection.start)
    return selection[chosen]


def resolve(selection: Selection, start: int, stop: int) -> range | IndexVector:
    """Gives the underlying row numbers of the selected rows from `start` to before `stop`."""
    if selection is None:
        return range(start, stop)
    return selection[start:stop]


def selected_rows(selection: Selection, rows: int) -> int:
    """Counts the rows of a selection over `rows` rows."""
    return rows if selection is None else len(selection)


def as_vector(rows: range | IndexVector) -> IndexVector:
    """Writes a range out as a vector; a vector is given back as it is."""
    return np.arange(rows.start, rows.stop, rows.step, dtype=np.int64) if isinstance(rows, range) else rows
