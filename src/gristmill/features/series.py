"""Columns that come as a series of pandas: what is missing in them is None, and their memory stays their own."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["is_series", "values_of_series"]


def is_series(values: Any) -> bool:
    """Says whether values are a series, an index or an array of pandas.

    Example:
        >>> is_series([1])
        False
    """
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "isna")


def values_of_series(series: Any, *, typed: bool) -> Any:
    """Gives what a series holds, with None for what is missing; the floats of numpy keep their NaN.

    Args:
        series: A series, an index or an array of pandas.
        typed: Its type counts: an Arrow array will do where there is one.

    Returns:
        A list of Python values, an array of numpy, or an Arrow array, none of which changes with the series.
    """
    of_numpy = isinstance(series.dtype, np.dtype) and series.dtype.kind != "O"
    if of_numpy:
        return series.to_numpy()
    if series.dtype == object or not typed:
        return [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]
    array = pa.array(series, from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type):
        with contextlib.suppress(pa.ArrowInvalid):  # more text than the offsets of `string` reach
            return array.cast(pa.string())
    return pa.concat_arrays([array, pa.nulls(0, array.type)])  # a copy: pandas changes its memory in place
