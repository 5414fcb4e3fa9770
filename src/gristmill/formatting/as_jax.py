"""Arrays of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from gristmill.errors import InvalidArgumentError
from gristmill.formatting.as_tensors import Framework, standard
from gristmill.formatting.structure import Array, keeps_types
from gristmill.optional import require


class Jax(Framework):
    """Makes arrays of JAX: integers int32 (int64 where JAX has 64 bits enabled), other numbers float32.

    Args:
        device: Where they go, as ``str(jax.devices()[0])`` gives it; JAX's default device if left out.
        options: Arguments of `jax.numpy.array`, for example ``dtype``. A dtype of ``"keep"`` leaves numbers in the type
            of their column, as far as JAX has it: without 64 bits enabled, those of 64 bits become 32.

    Raises:
        InvalidArgumentError: There is no such device, or it is not given as text.
    """

    name = "jax"

    def __init__(self, device: str | None = None, **options: Any) -> None:
        self._jax: Any = require("jax", 'The format "jax"')
        self._numpy: Any = require("jax.numpy", 'The format "jax"')
        keeps = keeps_types(options.get("dtype"))
        self._options = {name: value for name, value in options.items() if not (keeps and name == "dtype")}
        # Sizes in bytes from which on numbers are brought to the types of JAX.
        self._from = (9 if self._jax.config.jax_enable_x64 else 8) if keeps else 1
        self._device = None if device is None else self._find(device)
        self._integer = np.int64 if self._jax.config.jax_enable_x64 or "dtype" in self._options else np.int32
        self._floating = None if "dtype" in self._options else np.float32

    def _find(self, device: str) -> Any:
        # A device itself could not travel to another process with the dataset.
        devices = {str(found): found for found in self._jax.devices()}
        if not isinstance(device, str):
            raise InvalidArgumentError.from_value("device", device, f"its name as text: {str(device)!r}")
        if device not in devices:
            raise InvalidArgumentError.from_choice("device", device, list(devices))
        return devices[device]

    def tensor(self, array: Array) -> Any:
        """Makes an array on the device."""
        numbers = array
        if array.dtype.itemsize >= self._from:
            numbers = standard(array, self._integer, self._floating, self.name)
        with self._jax.default_device(self._device or self._jax.config.jax_default_device):
            return self._numpy.array(numbers, **self._options)

    def stack(self, items: list[Any]) -> Any:
        """Makes one array of arrays of one shape and type."""
        return self._numpy.stack(items)
