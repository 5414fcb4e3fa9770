"""The number of the epoch, which worker processes that are already running see change."""

from __future__ import annotations

import mmap
import struct
from multiprocessing import context
from multiprocessing.heap import BufferWrapper
from typing import Any

_NUMBER = struct.Struct("q")


class Epoch:
    """A whole number in memory that is shared with processes forked or spawned by `multiprocessing`.

    A `DataLoader` with persistent workers hands the dataset over once; `set_epoch` after that has to reach them.

    Args:
        value: The number at first.

    Example:
        >>> epoch = Epoch(3)
        >>> epoch.value
        3
    """

    def __init__(self, value: int = 0) -> None:
        self._cell: Any = mmap.mmap(-1, _NUMBER.size)
        self._shared: Any = None
        self.value = value

    @property
    def value(self) -> int:
        """The number."""
        number: int = _NUMBER.unpack_from(self._cell)[0]
        return number

    @value.setter
    def value(self, number: int) -> None:
        _NUMBER.pack_into(self._cell, 0, number)

    def __reduce__(self) -> Any:
        if context.get_spawning_popen() is None:
            return Epoch, (self.value,)
        # A process that is spawned can't see this memory; from here on both use some that it can.
        if self._shared is None:
            shared = BufferWrapper(_NUMBER.size)
            value, self._cell, self._shared = self.value, shared.create_memoryview(), shared
            self.value = value
        return _of_shared, (self._shared,)


def _of_shared(shared: Any) -> Epoch:
    epoch = Epoch.__new__(Epoch)
    epoch._shared, epoch._cell = shared, shared.create_memoryview()
    return epoch
