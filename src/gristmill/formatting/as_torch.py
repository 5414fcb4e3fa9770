"""Tensors of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill.formatting.as_tensors import Framework, own, standard
from gristmill.formatting.structure import Array, Ragged, keeps_types
from gristmill.optional import require


class Torch(Framework):
    """Makes tensors of PyTorch: integers int64, other numbers float32, unless `dtype` says otherwise.

    Args:
        options: Arguments of `torch.tensor`, for example ``dtype`` and ``device``. A dtype of ``"keep"`` leaves numbers
            in the type of their column.
    """

    name = "torch"

    def __init__(self, **options: Any) -> None:
        self._torch: Any = require("torch", 'The format "torch"')
        self._keeps = keeps_types(options.get("dtype"))
        self._options = {
            name: value for name, value in options.items() if not (self._keeps and name == "dtype")
        }
        self._floating = None if options.get("dtype") is not None else np.float32

    def tensor(self, array: Array) -> Any:
        """Makes a tensor in memory of its own."""
        numbers = array if self._keeps else standard(array, np.int64, self._floating, self.name)
        if self._options:
            return self._torch.tensor(numbers, **self._options)
        return self._torch.from_numpy(own(numbers))

    def tensors(self, array: Array) -> Sequence[Any]:
        """Makes a tensor of each row."""
        if self._options.get("requires_grad"):
            return super().tensors(array)  # each is to be a leaf
        rows: Sequence[Any] = self.tensor(array).unbind()
        return rows

    def pieces(self, ragged: Ragged) -> Sequence[Any]:
        """Makes a tensor of each row, of different lengths."""
        if self._options.get("requires_grad"):
            return super().pieces(ragged)
        pieces: Sequence[Any] = self.tensor(ragged.flat).split(ragged.lengths.tolist())
        return pieces

    def picture(self, array: Array) -> Any:
        """Makes a tensor with the axes channel, height, width, as torchvision has them."""
        return self.tensor(np.moveaxis(array, -1, 0) if array.ndim == 3 else array[np.newaxis])

    def stack(self, items: list[Any]) -> Any:
        """Makes one tensor of tensors of one shape and type."""
        return self._torch.stack(items)
