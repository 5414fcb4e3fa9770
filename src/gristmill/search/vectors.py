"""Vectors as indexes want them: blocks of rows of one width, read from a column or an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gristmill.arguments import check_column
from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features import LargeList, List, Value

Matrix: TypeAlias = npt.NDArray[Any]


class VectorBlocks:
    """Vectors read block by block.

    Args:
        source: A dataset, or the vectors themselves: an array of shape (rows, width), a list of lists.
        column: The dataset's column of vectors; None if `source` is the vectors.
        dtype: The numbers wanted, ``float32`` by default.

    Raises:
        InvalidArgumentError: The column does not hold lists of numbers.

    Example:
        >>> VectorBlocks([[1, 2], [3, 4]]).block(1, 2)
        array([[3., 4.]], dtype=float32)
    """

    def __init__(self, source: Any, column: str | None = None, dtype: Any = np.float32) -> None:
        self.dtype = _float_type(dtype)
        self.column = column
        self.width: int | None = None
        if column is not None:
            check_column(column, source.column_names)
            _check_feature(column, source.features[column])
            source = source.with_format("numpy", columns=[column], dtype=self.dtype)
        elif not hasattr(source, "__len__") or isinstance(source, str | bytes | dict):
            raise InvalidArgumentError.from_value("vectors", source, "an array with one vector a row")
        self._source = source

    def __len__(self) -> int:
        return len(self._source)

    def block(self, start: int, stop: int) -> Matrix:
        """Reads the vectors of some rows.

        Args:
            start: First row.
            stop: Row to stop before.

        Returns:
            An array of shape (rows, width) in C order; a row without a vector is all NaN.

        Raises:
            CastError: A vector is not as wide as the others, or not made of numbers; names the row.
        """
        values = self._source[start:stop]
        if self.column is not None:
            values = values[self.column]
        if not isinstance(values, np.ndarray) or values.dtype == np.object_ or values.ndim != 2:
            values = self._stack(list(values), start)
        if self.width is None:
            self.width = int(values.shape[1])
        elif values.shape[1] != self.width:
            raise self._odd(start, values.shape[1])
        try:
            return np.ascontiguousarray(values, dtype=self.dtype)
        except (TypeError, ValueError) as error:
            raise CastError.at(f"not vectors of numbers: {error}", row=start, column=self.column) from error

    def _stack(self, values: Sequence[Any], start: int) -> Matrix:
        width = self.width
        for position, value in enumerate(values):
            if value is None:
                continue
            if not hasattr(value, "__len__") or isinstance(value, str | bytes | dict):
                raise CastError.at(
                    f"{value!r:.80} is not a vector of numbers", row=start + position, column=self.column
                )
            width = len(value) if width is None else width
            if len(value) != width:
                raise self._odd(start + position, len(value), width)
        # The width is not known as long as no row has a vector.
        matrix = np.full((len(values), width or 0), np.nan, dtype=self.dtype)
        for position, value in enumerate(values):
            if value is not None:
                try:
                    matrix[position] = value
                except (TypeError, ValueError) as error:
                    raise CastError.at(
                        f"not a vector of numbers: {error}", row=start + position, column=self.column
                    ) from error
        self.width = width
        return matrix if width is not None else matrix.reshape(len(values), 0)

    def _odd(self, row: int, found: int, width: int | None = None) -> CastError:
        error: CastError = CastError.at(
            f"the vector has {found} numbers; those before have {self.width if width is None else width}",
            row=row,
            column=self.column,
        )
        return error


def _float_type(dtype: Any) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise InvalidArgumentError.from_value("dtype", dtype, "a floating point type of numpy") from error
    if kind.kind != "f":
        raise InvalidArgumentError.from_value("dtype", dtype, "a floating point type of numpy")
    return kind


def _check_feature(column: str, feature: Any) -> None:
    item = feature.feature if isinstance(feature, List | LargeList) else None
    if not isinstance(item, Value) or item.dtype.startswith(_NOT_NUMBERS):
        raise InvalidArgumentError(
            f'The column "{column}" is {feature!r:.200}; vectors are lists of numbers, for example '
            'List(Value("float32")).'
        )


_NOT_NUMBERS = (
    "string",
    "large_string",
    "binary",
    "large_binary",
    "bool",
    "date",
    "time",
    "duration",
    "null",
)


def query_matrix(queries: Any, width: int | None, single: bool, dtype: Any = np.float32) -> Matrix:
    """Brings what was asked to the form of the vectors.

    Args:
        queries: A vector, or an array or list of several.
        width: Numbers a vector in the index; None if it is empty.
        single: One vector is expected: of shape (width,) or (1, width).
        dtype: The numbers wanted.

    Returns:
        An array of shape (queries, width) in C order.

    Raises:
        InvalidArgumentError: It is not made of numbers, or has another shape.

    Example:
        >>> query_matrix([1, 2], 2, single=True)
        array([[1., 2.]], dtype=float32)
    """
    name = "query" if single else "queries"
    matrix: Matrix | None = None
    try:
        array = np.asarray(queries)
        if array.dtype.kind in "iuf" and array.ndim:  # ascontiguousarray gives a number a dimension
            matrix = np.ascontiguousarray(array, dtype=dtype)
    except (TypeError, ValueError):  # ragged
        pass
    if matrix is not None and single and matrix.ndim == 1:
        matrix = matrix.reshape(1, -1)
    shaped = matrix is not None and matrix.ndim == 2 and (not single or len(matrix) == 1)
    if matrix is None or not shaped or (width is not None and matrix.shape[1] != width and matrix.size):
        shape = f"{'' if width is None else width} numbers".strip()
        wanted = f"a vector of {shape}" if single else f"an array of vectors of {shape}, one a row"
        raise InvalidArgumentError.from_value(name, queries, wanted)
    return matrix
