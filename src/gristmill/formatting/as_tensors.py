"""Columns, rows and batches as the tensors of a framework; what the frameworks have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CastError
from gristmill.features.arrays import ArrayND
from gristmill.features.unheld import converted
from gristmill.formatting.python_rows import PythonFormatter, Row, make_rows
from gristmill.formatting.structure import Array, Ragged, structure_of


class Framework:
    """How one framework makes tensors of numpy arrays.

    Attributes:
        name: What users call it.
    """

    name = "?"

    def tensor(self, array: Array) -> Any:
        """Makes a tensor of numbers or booleans, in memory of its own."""
        raise NotImplementedError

    def tensors(self, array: Array) -> Sequence[Any]:
        """Makes a tensor of each row of an array."""
        return [self.tensor(row) for row in array]

    def pieces(self, ragged: Ragged) -> Sequence[Any]:
        """Makes a tensor of each row, of different lengths."""
        return [self.tensor(piece) for piece in ragged.pieces()]

    def ragged(self, ragged: Ragged) -> Any:
        """Makes what stands for rows of different lengths in a batch."""
        return list(self.pieces(ragged))

    def value(self, value: Any) -> Any:
        """Converts what is no number: text, bytes, None, other objects."""
        return value

    def texts(self, values: list[Any]) -> Any:
        """Converts a list of texts, or of bytes."""
        return values

    def picture(self, array: Array) -> Any:
        """Makes a tensor of a picture with the axes height, width and, if it has several, channel."""
        return self.tensor(array)

    def join(self, items: list[Any]) -> Any:
        """Makes one tensor of converted items if they are tensors of one shape and type; else gives the list."""
        kinds = {(type(item), getattr(item, "dtype", None), _shape(item)) for item in items}
        if len(kinds) == 1 and _shape(items[0]) is not None and hasattr(items[0], "dtype"):
            return self.stack(items)
        return items

    def stack(self, items: list[Any]) -> Any:
        """Makes one tensor of tensors of one shape and type."""
        raise NotImplementedError


def _shape(item: Any) -> tuple[int, ...] | None:
    shape = getattr(item, "shape", None)
    return None if shape is None else tuple(shape)


class TensorFormatter:
    """Columns, rows and batches as tensors.

    Numbers and booleans, and lists of them that have one shape, are one tensor a column; nulls among numbers are NaN. Lists
    of different lengths are a list of tensors (or what the framework has for that), text stays text unless the framework
    has tensors of it, a dict is a dict of tensors, None stays None.

    Args:
        features: The feature of each column.
        framework: How to make tensors.
    """

    def __init__(self, features: Mapping[str, Any], framework: Framework) -> None:
        self._features = features
        self._python = PythonFormatter(features)
        self._framework = framework

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column.

        Raises:
            CastError: The framework has no tensors of its type.
        """
        return self._convert(name, self._structure(name, values, False))

    def batch(self, table: pa.Table) -> dict[str, Any]:
        """Converts a table to tensors by column."""
        names = table.column_names
        return {name: self.column(name, values) for name, values in zip(names, table.columns, strict=True)}

    def rows(self, table: pa.Table) -> list[Row]:
        """Converts a table to row dicts of tensors; the tensors of one column may share memory, never values."""
        columns: list[Sequence[Any]] = []
        for name, values in zip(table.column_names, table.columns, strict=True):
            structure = self._structure(name, values, True)
            if isinstance(structure, np.ndarray):
                self._check(name, structure)
                columns.append(self._framework.tensors(structure))
            elif isinstance(structure, Ragged):
                columns.append(self._framework.pieces(structure))
            else:
                columns.append([self._convert(name, value) for value in structure])
        return make_rows(table.column_names, columns, table.num_rows)

    def _structure(self, name: str, values: pa.ChunkedArray, by_row: bool) -> Any:
        feature = self._features.get(name)
        if isinstance(feature, ArrayND):
            made = feature.to_numpy(values)
            return list(made) if made.dtype == np.object_ else made
        if name in self._python.decoded:
            return self._python.column(name, values)
        return converted(values, partial(structure_of, by_row=by_row), column=name, row=None, target="numpy")

    def _convert(self, name: str, value: Any) -> Any:
        framework = self._framework
        if isinstance(value, np.ndarray | np.generic | bool | int | float):
            array = np.asarray(value)
            self._check(name, array)
            return framework.tensor(array)
        if isinstance(value, Ragged):
            return framework.ragged(value)
        if isinstance(value, list):
            kinds = set(map(type, value))
            if kinds <= {str, type(None)} or kinds <= {bytes, type(None)}:
                return framework.texts(value)
            return framework.join([self._convert(name, item) for item in value])
        if isinstance(value, dict):
            return {key: self._convert(name, item) for key, item in value.items()}
        if type(value).__module__.startswith("PIL."):
            return framework.picture(np.asarray(value))
        return framework.value(value)

    def _check(self, name: str, array: Array) -> None:
        if array.dtype.kind not in "iufb":
            raise CastError(
                f'Column "{name}" holds {array.dtype}, of which {self._framework.name} has no tensors. '
                "Name the other columns with `columns=`, or cast it to numbers."
            )


def standard(array: Array, integer: Any, floating: Any, framework: str) -> Array:
    """Brings numbers to the types a framework uses unless told otherwise; booleans stay.

    Args:
        array: Numbers or booleans.
        integer: Type of whole numbers.
        floating: Type of others, None to keep it.
        framework: Its name, for the error.

    Returns:
        An array; the same one if it has that type.

    Raises:
        CastError: A whole number is too large for the type.

    Example:
        >>> standard(np.array([1], np.uint8), np.int64, np.float32, "torch").dtype
        dtype('int64')
    """
    kind = array.dtype.kind
    if kind == "f":
        return array if floating is None else array.astype(floating, copy=False)
    if kind == "b":
        return array
    wanted = np.dtype(integer)
    if array.size and not np.can_cast(array.dtype, wanted):
        bounds = np.iinfo(wanted)
        if int(array.max()) > bounds.max or int(array.min()) < bounds.min:
            worst = int(array.max()) if int(array.max()) > bounds.max else int(array.min())
            raise CastError(
                f"{worst} is out of the range of {wanted}, the integers of the format {framework}. "
                "Ask for another `dtype`."
            )
    return array.astype(wanted, copy=False)


def own(array: Array) -> Array:
    """Gives an array that may be written to: itself, or a copy if it shares the memory of a column."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")
