"""Arrow to numpy: a column of numbers in one step, lists of numbers as one array or views of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features.arrays import ArrayND
from gristmill.features.unheld import converted
from gristmill.formatting.python_rows import PythonFormatter, Row, make_rows
from gristmill.formatting.structure import Array, Ragged, is_list, keeps_types, structure_of


class NumpyFormatter:
    """Columns, rows and batches as numpy arrays: integers int64, floats float32 unless `dtype` says otherwise.

    Lists of one shape are one array; others an array of arrays. Nulls among numbers are NaN, elsewhere None.

    Args:
        features: The feature of each column.
        dtype: Type of all numbers; ``"keep"`` leaves them in the type of their column.
    """

    def __init__(self, features: Mapping[str, Any], dtype: Any = None) -> None:
        self._features = features
        self._python = PythonFormatter(features)
        self._keeps = keeps_types(dtype)
        try:
            self._dtype = None if dtype is None or self._keeps else np.dtype(dtype)
        except TypeError as error:
            raise InvalidArgumentError.from_value("dtype", dtype, 'a type of numpy, or "keep"') from error

    def column(self, name: str, values: pa.ChunkedArray) -> Array:
        """Converts one column."""
        return self._whole(self._structure(name, values, False))

    def batch(self, table: pa.Table) -> dict[str, Array]:
        """Converts a table to arrays by column."""
        return {name: self.column(name, table.column(name)) for name in table.column_names}

    def rows(self, table: pa.Table) -> list[Row]:
        """Converts a table to row dicts; single numbers are numpy scalars in the precision they are stored in."""
        columns: list[Sequence[Any]] = []
        for name in table.column_names:
            values = table.column(name)
            structure: Any = self._structure(name, values, True)
            single = isinstance(structure, np.ndarray) and self._dtype is None and not is_list(values.type)
            if isinstance(structure, list) and set(map(type, structure)) == {str, type(None)}:
                # As if it were alone: one that is missing does not make another kind of text of the others.
                structure = [None if value is None else np.str_(value) for value in structure]
            elif not single and not (isinstance(structure, list) and set(map(type, structure)) <= _SCALARS):
                structure = self._whole(structure)
            columns.append(structure)
        return make_rows(table.column_names, columns, table.num_rows)

    def _structure(self, name: str, values: pa.ChunkedArray, by_row: bool) -> Any:
        feature = self._features.get(name)
        if isinstance(feature, ArrayND):
            return feature.to_numpy(values)
        if name in self._python.decoded:
            return self._python.column(name, values)
        return converted(values, partial(structure_of, by_row=by_row), column=name, row=None, target="numpy")

    def _whole(self, structure: Any) -> Array:
        if isinstance(structure, list) and structure and set(map(type, structure)) == {str}:
            return np.array(structure)
        made: Array = self._convert(structure)
        return made

    def _convert(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype == np.object_:
                return _objects([self._convert(item) for item in value])
            tidy = self._tidy(value)
            # Arrow's memory can't be written to.
            return tidy if tidy.flags.writeable else tidy.copy()
        if isinstance(value, Ragged):
            return _objects(Ragged(self._convert(value.flat), value.lengths).pieces())
        if isinstance(value, list):
            return _objects([self._convert(item) for item in value])
        if isinstance(value, dict):
            return {name: self._convert(item) for name, item in value.items()}
        if type(value) in _NUMBERS or isinstance(value, np.generic):
            return self._tidy(np.asarray(value))[()]
        return value

    def _tidy(self, array: Array) -> Array:
        kind = array.dtype.kind
        if self._keeps:
            return array
        if kind in "iuf" and self._dtype is not None:
            return array.astype(self._dtype, copy=False)
        if kind == "f":
            return array.astype(np.float32, copy=False)
        small = kind == "i" or (kind == "u" and (array.dtype.itemsize < 8 or not (array > _LARGEST).any()))
        return array.astype(np.int64, copy=False) if small else array


_LARGEST = np.uint64(np.iinfo(np.int64).max)
_NUMBERS = frozenset({bool, int, float})
_SCALARS = frozenset({np.int64, np.float64, type(None)})


def _objects(values: Sequence[Any]) -> Array:
    # numpy would try to build a matrix out of a list of lists.
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array
