"""Parquet's packed integers, decoded with numpy run by run: the RLE/bit-packed hybrid, and the older BIT_PACKED."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MOST_ENTRIES = 1 << 26
"""Values of one page that are decoded at most."""
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
    _check(width, count)
    # First the heads of all runs, then all values at once: a run may have as few as eight values.
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
            repeated.append(int.from_bytes(data[position : position + bytes_of_value], "little"))
            position += bytes_of_value
        lengths.append(length)
        packed.append(bool(head & 1))
        found += length
    return _assemble(lengths, packed, repeated, pieces, width), position


def _assemble(
    lengths: list[int], packed: list[bool], repeated: list[int], pieces: list[Any], width: int
) -> Numbers:
    """Puts the values of all runs in order; packed runs are whole groups of eight, so their bytes can be joined."""
    kind = _kind(width)
    sizes = np.asarray(lengths, dtype=np.int64)
    is_packed = np.asarray(packed, dtype=bool)
    if repeated and max(repeated) >> width:
        raise ValueError(f"a run repeats {max(repeated)}, which does not fit {width} bits")
    runs = np.repeat(np.asarray(repeated, dtype=kind), sizes[~is_packed])
    if not pieces:
        return runs
    # Only the last run may be short of a whole group.
    filled = b"".join(pieces)
    groups = int(((sizes[is_packed] + 7) // 8).sum())
    unpacked = (
        _unpack(filled + bytes(groups * width - len(filled)), width, kind)
        if width
        else np.zeros(groups * 8, kind)
    )
    if not repeated:
        return unpacked[: int(sizes.sum())]
    of_packed = np.repeat(is_packed, sizes)
    values = np.empty(len(of_packed), dtype=kind)
    values[of_packed] = unpacked[: len(of_packed) - len(runs)]
    values[~of_packed] = runs
    return values


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
