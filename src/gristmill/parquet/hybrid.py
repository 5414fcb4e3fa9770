"""Parquet's packed integers, decoded with numpy run by run: the RLE/bit-packed hybrid, and the older BIT_PACKED."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_ENTRIES = 1 << 26
"""Values of one page that are decoded at most."""
MOST_RUNS = 1 << 22
"""Runs of one page that are decoded at most."""
_BLOCK = 1 << 17

Numbers = npt.NDArray[np.unsignedinteger[Any]]


def decode_hybrid(data: bytes | memoryview, width: int, count: int) -> tuple[Numbers, int]:
    """Decodes runs of repeated and bit-packed values.

    Args:
        data: Bytes that begin with the first run.
        width: Bits of a value, 0 to 32.
        count: How many values there have to be.

    Returns:
        The values, and the number of bytes their runs take.

    Raises:
        ValueError: The runs end before `count` values, or one can't be; or `count` is more than `MOST_ENTRIES`.

    Example:
        >>> decode_hybrid(bytes([8, 7]), 3, 4)[0].tolist()
        [7, 7, 7, 7]
    """
    runs = _read_runs(data, width, count)
    return _assemble(runs), runs.end


def highest(data: bytes | memoryview, width: int, count: int) -> int:
    """Gives the largest of the values that `decode_hybrid` would give, without making them all.

    Args:
        data: Bytes that begin with the first run.
        width: Bits of a value, 0 to 32.
        count: How many values there have to be; at least one.

    Returns:
        The largest value.

    Raises:
        ValueError: As for `decode_hybrid`.

    Example:
        >>> highest(bytes([8, 7, 4, 2]), 3, 6)
        7
    """
    runs = _read_runs(data, width, count)
    found = runs.repeated
    if runs.pieces:
        found = [*found, int(_unpacked(runs).max())]
    return max(found)


@dataclass(frozen=True)
class _Runs:
    """Runs in order: how long each is, whether it is packed, and what the repeated and the packed ones hold."""

    lengths: list[int]
    packed: list[bool]
    repeated: list[int]
    pieces: list[Any]
    width: int
    end: int


def _read_runs(data: bytes | memoryview, width: int, count: int) -> _Runs:
    """Reads the heads of all runs: values are then made all at once, as a run may have as few as eight."""
    _check(width, count)
    lengths: list[int] = []
    packed: list[bool] = []
    repeated: list[int] = []
    pieces: list[bytes | memoryview] = []
    size, bytes_of_value = len(data), (width + 7) // 8
    position = found = 0
    while found < count:
        head = shift = 0
        while True:
            if position >= size or shift > 28:
                raise ValueError(
                    f"{count:,} levels or indices are stated, and their runs end after {found:,}"
                )
            byte = data[position]
            position += 1
            head |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        wanted = count - found
        if head & 1:
            length = min((head >> 1) * 8, wanted)
            if not length:
                raise ValueError("a run has no values")
            whole = (head >> 1) * width
            # The last run is padded to eight values; some writers leave the padding out.
            if position + min(whole, (length * width + 7) // 8) > size:
                raise ValueError(f"a run of {length:,} packed values is longer than what is left")
            piece = data[position : position + min(whole, (length + 7) // 8 * width)]
            position = min(position + whole, size)
            pieces.append(piece)
        else:
            length = min(head >> 1, wanted)
            if not length:
                raise ValueError("a run has no values")
            if position + bytes_of_value > size:
                raise ValueError("a run's value is cut off")
            value = int.from_bytes(data[position : position + bytes_of_value], "little")
            if value >> width:
                raise ValueError(f"a run repeats {value}, which does not fit {width} bits")
            repeated.append(value)
            position += bytes_of_value
        if len(lengths) == MOST_RUNS:
            raise ValueError(f"there are more than {MOST_RUNS:,} runs")
        lengths.append(length)
        packed.append(bool(head & 1))
        found += length
    return _Runs(lengths, packed, repeated, pieces, width, position)


def _assemble(runs: _Runs) -> Numbers:
    sizes = np.asarray(runs.lengths, dtype=np.int64)
    is_packed = np.asarray(runs.packed, dtype=bool)
    repeated = np.repeat(np.asarray(runs.repeated, dtype=_kind(runs.width)), sizes[~is_packed])
    if not runs.pieces:
        return repeated
    unpacked = _unpacked(runs)
    if not runs.repeated:
        return unpacked
    of_packed = np.repeat(is_packed, sizes)
    values = np.empty(len(of_packed), dtype=repeated.dtype)
    values[of_packed] = unpacked
    values[~of_packed] = repeated
    return values


def _unpacked(runs: _Runs) -> Numbers:
    """Unpacks the values of all packed runs: these are whole groups of eight, so that their bytes can be joined."""
    lengths = [length for length, packed in zip(runs.lengths, runs.packed, strict=True) if packed]
    # Only the last run may be short of a whole group.
    groups = sum((length + 7) // 8 for length in lengths)
    if not runs.width:
        return np.zeros(sum(lengths), _kind(0))
    filled = b"".join(runs.pieces)
    whole = filled + bytes(groups * runs.width - len(filled))
    return _unpack(whole, runs.width, _kind(runs.width))[: sum(lengths)]


def _unpack(data: bytes, width: int, kind: Any) -> Numbers:
    """Unpacks whole groups of eight values, lowest bit first: one column of all groups at a time."""
    groups = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
    values = np.empty((len(groups), 8), dtype=kind)
    for first in range(0, len(groups), _BLOCK):
        block = groups[first : first + _BLOCK]
        for place in range(8):
            byte, shift = divmod(place * width, 8)
            value = block[:, byte].astype(np.uint64)
            for further in range(1, (shift + width + 7) // 8):
                value |= block[:, byte + further].astype(np.uint64) << np.uint64(8 * further)
            values[first : first + _BLOCK, place] = (value >> np.uint64(shift)) & np.uint64((1 << width) - 1)
    return values.reshape(-1)


def decode_bit_packed(data: bytes | memoryview, width: int, count: int) -> tuple[Numbers, int]:
    """Decodes the retired encoding BIT_PACKED of levels: values one after another, highest bit first.

    Args:
        data: Bytes that begin with the first value.
        width: Bits of a value, 0 to 32.
        count: How many values there have to be.

    Returns:
        The values, and the number of bytes they take.

    Raises:
        ValueError: The bytes do not suffice, or `count` is more than `MOST_ENTRIES`.

    Example:
        >>> decode_bit_packed(bytes([0b00011011]), 2, 4)[0].tolist()
        [0, 1, 2, 3]
    """
    _check(width, count)
    size = (count * width + 7) // 8
    if size > len(data):
        raise ValueError(f"{count:,} packed levels take {size:,} bytes, and {len(data):,} are left")
    if not width:
        return np.zeros(count, dtype=_kind(width)), 0
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8, count=size), count=count * width)
    values = np.zeros(count, dtype=_kind(width))
    for bit in range(width):
        values |= bits[bit::width].astype(values.dtype) << values.dtype.type(width - 1 - bit)
    return values, size


def _check(width: int, count: int) -> None:
    if not 0 <= width <= 32:
        raise ValueError(f"values of {width} bits are stated; there are none above 32")
    if not 0 <= count <= MOST_ENTRIES:
        raise ValueError(f"{count:,} levels or indices are stated, and at most {MOST_ENTRIES:,} are decoded")


def _kind(width: int) -> Any:
    return np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32
