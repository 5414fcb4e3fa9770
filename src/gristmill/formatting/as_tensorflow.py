"""Tensors of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill.formatting.as_tensors import Framework, standard
from gristmill.formatting.structure import Array, Ragged, keeps_types
from gristmill.optional import require


class TensorFlow(Framework):
    """Makes tensors of TensorFlow: integers int64, other numbers float32, text as tensors of strings.

    Args:
        options: Arguments of `tensorflow.convert_to_tensor`, for example ``dtype``. A dtype of ``"keep"`` leaves numbers
            in the type of their column.
    """

    name = "tensorflow"

    def __init__(self, **options: Any) -> None:
        self._tf: Any = require("tensorflow", 'The format "tensorflow"')
        self._keeps = keeps_types(options.get("dtype"))
        self._options = {
            name: value for name, value in options.items() if not (self._keeps and name == "dtype")
        }
        self._dtype = self._options.get("dtype")

    def tensor(self, array: Array) -> Any:
        """Makes a tensor."""
        floating = np.float32 if self._dtype is None else None
        numbers = array if self._keeps else standard(array, np.int64, floating, self.name)
        if self._dtype is None:
            return self._tf.convert_to_tensor(numbers, **self._options)
        # TensorFlow does not convert between types while it makes a tensor.
        rest = {name: value for name, value in self._options.items() if name != "dtype"}
        return self._tf.cast(self._tf.convert_to_tensor(numbers, **rest), self._dtype)

    def tensors(self, array: Array) -> Sequence[Any]:
        """Makes a tensor of each row."""
        rows: Sequence[Any] = self._tf.unstack(self.tensor(array)) if len(array) else []
        return rows

    def ragged(self, ragged: Ragged) -> Any:
        """Makes a ragged tensor."""
        return self._tf.RaggedTensor.from_row_lengths(self.tensor(ragged.flat), ragged.lengths)

    def value(self, value: Any) -> Any:
        """Makes a tensor of text."""
        return self._tf.constant(value) if isinstance(value, str | bytes) else value

    def texts(self, values: list[Any]) -> Any:
        """Makes one tensor of texts; a list with None in it can't become one."""
        if None in values or not values:
            return [self.value(value) for value in values]
        return self._tf.constant(values)

    def join(self, items: list[Any]) -> Any:
        """Makes one tensor of tensors of one type, ragged if their lengths differ."""
        joined = super().join(items)
        vectors = [item for item in items if self._tf.is_tensor(item) and item.shape.rank == 1]
        kinds = {item.dtype for item in vectors}
        if joined is not items or len(kinds) != 1:
            return joined
        # An empty list of texts does not say of what it is empty; the others do.
        empty = self._tf.constant([], kinds.pop())
        filled = [empty if type(item) is list and not item else item for item in items]
        whole = all(self._tf.is_tensor(item) and item.shape.rank == 1 for item in filled)
        return self._tf.ragged.stack(filled) if whole else joined

    def stack(self, items: list[Any]) -> Any:
        """Makes one tensor of tensors of one shape and type."""
        return self._tf.stack(items)
