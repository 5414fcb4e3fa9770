"""Columns of text on their way into a text file: found, replaced and joined without a look at each in Python.

All texts here are `large_string` arrays, whose 64-bit offsets any number of joined rows fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "TEXT",
    "bytes_of",
    "constant",
    "edge_bytes",
    "holding_bytes",
    "join",
    "lengths_of",
    "overwritten",
    "pieces_of",
    "replaced",
    "texts_with_bytes",
    "view_of",
]

TEXT = pa.large_string()
_PIECE = 1 << 16
_SPARSE = 512
Positions = npt.NDArray[np.int64]


def constant(text: str | None) -> Any:
    """Makes a scalar that stands for a column of equal texts."""
    return pa.scalar(text, TEXT)


def join(pieces: Sequence[Any], between: str = "") -> Any:
    """Joins texts and constants, row by row, with `between` between them; null where one of them is.

    Example:
        >>> join([constant("<"), pa.array(["a", None], TEXT), constant(">")]).to_pylist()
        ['<a>', None]
    """
    return pc.binary_join_element_wise(*pieces, constant(between))


def bytes_of(texts: Any) -> bytes:
    """Gives all texts of an array without nulls, one after another, as UTF-8."""
    return bytes(view_of(texts))


def view_of(texts: Any) -> memoryview:
    """Gives the same as `bytes_of`, without a copy."""
    _, data = _buffers(texts)
    return data.data


def texts_with_bytes(texts: Any, odd: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.bool_]]) -> Positions:
    """Finds the texts that hold certain bytes.

    Args:
        texts: The texts.
        odd: Given the UTF-8 bytes of all texts, says which ones are meant.

    Returns:
        The positions of those texts that hold one, in order; a null never does.

    Example:
        >>> texts_with_bytes(pa.array(["a", None, "bx", "x"], TEXT), lambda data: data == ord("x")).tolist()
        [2, 3]
    """
    offsets, data = _buffers(texts)
    if not len(data):
        return np.empty(0, np.int64)
    # By the piece, so that what `odd` compares stays in the processor's cache.
    found_in = [
        (start, places)
        for start in range(0, len(data), _PIECE)
        if len(places := np.flatnonzero(odd(data[start : start + _PIECE])))
    ]
    if not found_in:
        return np.empty(0, np.int64)
    at = np.concatenate([places + start for start, places in found_in])
    found = np.unique(np.searchsorted(offsets, at, side="right") - 1)
    # A null can lie over bytes.
    return found[texts.is_valid().to_numpy(zero_copy_only=False)[found]] if texts.null_count else found


def holding_bytes(texts: Any, wanted: bytes) -> npt.NDArray[np.bool_]:
    """Says which texts hold one of some bytes; for bytes that few texts hold.

    Args:
        texts: The texts.
        wanted: The bytes, each once.

    Returns:
        One value a text; False for a null.

    Example:
        >>> holding_bytes(pa.array(["a", None, "b,", '"'], TEXT), b',"').tolist()
        [False, False, True, True]
    """
    offsets, data = _buffers(texts)
    holding = np.zeros(len(texts), np.bool_)
    # By the piece: a copy of all would be memory that the system has to hand out, which takes longer than the search.
    found = [
        places + start
        for start in range(0, len(data), _PIECE)
        for places in _places(data[start : start + _PIECE], wanted)
    ]
    if found:
        holding[np.searchsorted(offsets, np.concatenate(found), side="right") - 1] = True
        if texts.null_count:  # a null can lie over bytes
            holding &= texts.is_valid().to_numpy(zero_copy_only=False)
    return holding


def _places(data: npt.NDArray[np.uint8], wanted: bytes) -> Iterator[Positions]:
    """Gives the places of each of some bytes."""
    content = data.tobytes()
    most = len(content) // _SPARSE
    for byte in wanted:
        places: list[int] = []
        # A search for each place is quickest as long as it leaps over much; from there on, comparing all bytes is.
        at = content.find(byte)
        while at >= 0 and len(places) <= most:
            places.append(at)
            at = content.find(byte, at + 1)
        if at >= 0:
            yield np.flatnonzero(data == byte)
        elif places:
            yield np.array(places, np.int64)


def edge_bytes(texts: Any) -> tuple[Positions, npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Gives the first and the last byte of each text that is not empty.

    Returns:
        (positions of those texts, their first bytes, their last bytes).
    """
    offsets, data = _buffers(texts)
    is_filled = offsets[1:] > offsets[:-1]
    if is_filled.all():
        return np.arange(len(is_filled)), data[offsets[:-1]], data[offsets[1:] - 1]
    filled = np.flatnonzero(is_filled)
    return filled, data[offsets[filled]], data[offsets[filled + 1] - 1]


def replaced(texts: Any, positions: Positions, values: Any) -> Any:
    """Puts other texts at some positions.

    Args:
        texts: The texts.
        positions: Where, in order.
        values: The new ones: a list of str or None, or an array.
    """
    new = pa.array(values, TEXT) if isinstance(values, list) else values
    # Half of what `replace_with_mask` takes, which goes text by text.
    order = np.arange(len(texts))
    order[positions] = np.arange(len(texts), len(texts) + len(new))
    return pa.concat_arrays([texts, new]).take(pa.array(order))


def overwritten(texts: Any, positions: Positions, byte: int) -> Any:
    """Puts the same byte over each byte of some texts; what comes of it need not be UTF-8.

    Args:
        texts: The texts.
        positions: Of texts that are not null.
        byte: What to put there.

    Returns:
        Texts of the same lengths; the others as they were.

    Example:
        >>> overwritten(pa.array(["ab", None, "cde"], TEXT), np.array([2]), ord("-")).to_pylist()
        ['ab', None, '---']
    """
    offsets, data = _buffers(texts)
    # Arrow keeps memory that was given back for the next; the system hands out the same much more slowly.
    content = pa.allocate_buffer(len(data))
    over = np.frombuffer(content, np.uint8)
    over[:] = data
    starts, lengths = offsets[positions], lengths_of(texts, positions)
    before = np.cumsum(lengths) - lengths
    over[np.arange(lengths.sum()) + np.repeat(starts - before, lengths)] = byte
    # A bitmap begins at a whole byte, so as many texts lie before the first one.
    skipped = texts.offset % 8 if texts.null_count else 0
    bitmap = texts.buffers()[0].slice(texts.offset // 8) if texts.null_count else None
    places = np.concatenate([np.zeros(skipped, np.int64), offsets])
    buffers = [bitmap, pa.py_buffer(places), content]
    return pa.Array.from_buffers(TEXT, len(texts), buffers, texts.null_count, skipped)


def lengths_of(texts: Any, positions: Positions) -> Positions:
    """Gives the bytes that some texts take, none of which is null."""
    offsets, _ = _buffers(texts)
    lengths: Positions = offsets[positions + 1] - offsets[positions]
    return lengths


def pieces_of(texts: Any) -> list[bytes]:
    """Gives each text of an array without nulls, as UTF-8.

    Example:
        >>> pieces_of(pa.array(["a", "bc"], TEXT))
        [b'a', b'bc']
    """
    offsets, data = _buffers(texts)
    content, places = data.tobytes(), offsets.tolist()
    return [content[start:stop] for start, stop in itertools.pairwise(places)]


def _buffers(texts: Any) -> tuple[Positions, npt.NDArray[np.uint8]]:
    """Gives the bytes of all texts and where in them each begins, one more for the end."""
    _, offsets_buffer, data_buffer = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(offsets_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data_buffer is None:
        return offsets, np.empty(0, np.uint8)
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0] if offsets[0] else offsets, data
