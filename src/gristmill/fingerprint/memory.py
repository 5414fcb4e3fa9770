"""Arrays and tables fed to a hash as the memory they are, without a copy of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_COPIED_AT_ONCE = 4 << 20
_ROWS_AT_ONCE = 1 << 16

Update = Callable[[Any], object]
"""Takes the next bytes of what is hashed."""


def feed_array(array: Any, update: Update) -> None:
    r"""Feeds the items of a numpy array in C order.

    Args:
        array: Of a type whose items are plain memory.
        update: Takes the bytes.

    Example:
        >>> import numpy as np
        >>> feed_array(np.array([[1, 2], [3, 4]], "u1").T, lambda piece: print(bytes(piece)))
        b'\x01\x03\x02\x04'
    """
    for piece in _contiguous(array):
        update(memoryview(piece.reshape(-1).view("u1")))


def feed_table(table: Any, update: Update) -> None:
    """Feeds the rows of an Arrow table as an IPC stream of batches of one size, however they are cut in the table.

    Args:
        table: An Arrow table.
        update: Takes the bytes.
    """
    import pyarrow as pa

    with pa.ipc.new_stream(pa.PythonFile(_Sink(update), mode="w"), table.schema) as stream:
        for start in range(0, table.num_rows, _ROWS_AT_ONCE):
            for batch in table.slice(start, _ROWS_AT_ONCE).combine_chunks().to_batches():
                stream.write_batch(_compact(batch))


class _Sink:
    """A write-only file that hashes what is written to it."""

    closed = False

    def __init__(self, update: Update) -> None:
        self._update = update

    def write(self, data: Any) -> int:
        self._update(memoryview(data))
        return len(data)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        return None


def _contiguous(array: Any) -> Iterator[Any]:
    """Gives an array in C order in pieces; only those are copied that do not lie so, and are small."""
    if not array.size:
        return
    if array.flags.c_contiguous:
        yield array
    elif array.nbytes <= _COPIED_AT_ONCE or array.ndim == 0:
        yield array.copy(order="C")
    elif len(array) == 1:
        yield from _contiguous(array[0])
    else:
        rows = max(1, len(array) * _COPIED_AT_ONCE // array.nbytes)
        for start in range(0, len(array), rows):
            yield from _contiguous(array[start : start + rows])


def _compact(batch: Any) -> Any:
    """Gives a batch whose buffers hold its rows and nothing else: the stream form pads with what comes after them."""
    import pyarrow as pa

    columns = [
        column
        if column.nbytes == column.get_total_buffer_size()
        else pa.concat_arrays([column, column.slice(0, 0)])
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema) if columns else batch
