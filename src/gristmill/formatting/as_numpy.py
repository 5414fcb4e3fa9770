"""Arrow to numpy: a column of numbers in one step, lists of numbers as views of one flat array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.formatting.python_rows import PythonFormatter, Row, make_rows

Array = npt.NDArray[Any]


class NumpyFormatter:
    """Columns, rows and batches as numpy arrays: integers int64, floats float32 unless `dtype` says otherwise.

    Args:
        features: The feature of each column.
        dtype: Type of all numbers.
    """

    def __init__(self, features: Mapping[str, Any], dtype: Any = None) -> None:
        self._python = PythonFormatter(features)
        self._dtype = dtype

    def column(self, name: str, values: pa.ChunkedArray) -> Array:
        """Converts one column."""
        return self._tidy(self._raw(name, values))

    def batch(self, table: pa.Table) -> dict[str, Array]:
        """Converts a table to arrays by column."""
        return {name: self.column(name, table.column(name)) for name in table.column_names}

    def rows(self, table: pa.Table) -> list[Row]:
        """Converts a table to row dicts; single numbers are numpy scalars in the precision they are stored in."""
        columns = []
        for name in table.column_names:
            values = table.column(name)
            raw = self._tidy(self._raw(name, values), lists_only=values.type not in _INTEGERS)
            columns.append(_without_missing(raw, values))
        return make_rows(table.column_names, columns, table.num_rows)

    def _raw(self, name: str, values: pa.ChunkedArray) -> Array:
        kind = values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return np.array(values.to_numpy())
        if pa.types.is_temporal(kind):
            return np.array(values.to_numpy())
        if _is_list(kind) and values.null_count == 0:
            return self._lists(values)
        plain = self._python.column(name, values)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return np.array(plain) if plain and values.null_count == 0 else _objects(plain)
        return _objects([_nested(value) for value in plain])

    def _lists(self, values: pa.ChunkedArray) -> Array:
        array = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        if isinstance(array, pa.ChunkedArray):
            return _objects([_nested(value) for value in values.to_pylist()])
        inner = array.flatten()
        numeric = pa.types.is_integer(inner.type) or pa.types.is_floating(inner.type)
        if not numeric or inner.null_count:
            return _objects([_nested(value) for value in array.to_pylist()])
        flat = self._tidy(np.array(inner.to_numpy(zero_copy_only=False)))
        lengths = array.value_lengths().to_numpy(zero_copy_only=False)
        if len(lengths) and (lengths == lengths[0]).all():
            return flat.reshape(len(lengths), int(lengths[0]))
        return _objects(np.split(flat, np.cumsum(lengths)[:-1]) if len(lengths) else [])

    def _tidy(self, array: Array, lists_only: bool = False) -> Array:
        if lists_only and array.ndim == 1 and self._dtype is None:
            return array
        if array.dtype.kind in "iuf" and self._dtype is not None:
            return array.astype(self._dtype, copy=False)
        if array.dtype.kind == "i":
            return array.astype(np.int64, copy=False)
        return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


_INTEGERS = {pa.int8(), pa.int16(), pa.int32(), pa.int64()}


def _without_missing(array: Array, values: pa.ChunkedArray) -> Any:
    # A column of integers with nulls became floats as a whole; a single row can say which ones are integers.
    if values.null_count and pa.types.is_integer(values.type):
        return [np.nan if value is None else np.int64(value) for value in values.to_pylist()]
    return array


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _objects(values: list[Any]) -> Array:
    # numpy would try to build a matrix out of a list of lists.
    array = np.empty(len(values), dtype=object)
    array[:] = values if not values or not isinstance(values[0], np.ndarray) else None
    for position, value in enumerate(values):
        array[position] = value
    return array


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _nested(item) for name, item in value.items()}
    if isinstance(value, list):
        kinds = set(map(type, value))
        if kinds <= {int}:
            return np.array(value, np.int64)
        if kinds <= {int, float}:
            return np.array(value, np.float32)
        return _objects([_nested(item) for item in value])
    return value
