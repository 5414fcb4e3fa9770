"""Goes through the metadata of Parquet files, which is in Thrift's compact protocol, without making anything of it.

A reader is given where the value of a field begins, and tells where the next field begins. What bytes that are no such
metadata do: they end in an IndexError or a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["each", "read_varint", "skip", "structs", "walk"]

# Types of values on the wire.
TRUE, FALSE, BYTE, I16, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12


def walk(data: bytes, at: int, readers: Mapping[int, Callable[[int, int], int]]) -> int:
    """Goes through a struct; a reader gets where a value begins and its type, and gives where the next field begins.

    Fields whose numbers do not ascend could be there twice, and which one counts is up to the reader: no writer does it.
    """
    number = 0
    while head := data[at]:
        if head < 16:
            raise ValueError("fields out of order")
        number += head >> 4
        reader = readers.get(number)
        at = skip(data, at + 1, head & 15) if reader is None else reader(at + 1, head & 15)
    return at + 1


def structs(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Gives how many structs a list has, and where the first begins."""
    if kind != LIST or data[at] & 15 != STRUCT:
        raise ValueError("no list of structs where one has to be")
    return (data[at] >> 4, at + 1) if data[at] >> 4 < 15 else read_varint(data, at + 1)


def each(data: bytes, at: int, kind: int, read: Callable[[int], int]) -> int:
    """Goes through a list of structs."""
    count, at = structs(data, at, kind)
    for _ in range(count):
        at = read(at)
    return at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Gives a number without a sign, and where the next value begins."""
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
    return value | byte << shift, at + 1


def skip(data: bytes, at: int, kind: int) -> int:
    """Gives where the value behind this one begins; an IndexError tells that the bytes end inside it."""
    if kind == STRUCT:
        while head := data[at]:
            at += 1
            if head < 16:
                at = read_varint(data, at)[1]
            inner = head & 15
            if I16 <= inner <= I64:  # by far the most
                while data[at] >= 128:
                    at += 1
                at += 1
            elif inner == BINARY and data[at] < 128:
                at += 1 + data[at]
            elif inner > FALSE:
                at = skip(data, at, inner)
        return at + 1
    if kind in (LIST, SET):
        head, at = data[at], at + 1
        count, at = (head >> 4, at) if head >> 4 < 15 else read_varint(data, at)
        inner = head & 15
        if inner in (TRUE, FALSE):
            return at + count
        for _ in range(count):
            at = skip(data, at, inner)
        return at
    if kind == BINARY:
        size, at = read_varint(data, at)
        return at + size
    if I16 <= kind <= I64:
        return read_varint(data, at)[1]
    if kind in (TRUE, FALSE):
        return at
    if kind == MAP:
        count, at = read_varint(data, at)
        kinds = data[at] if count else 0
        at += bool(count)
        for _ in range(count):
            for inner in (kinds >> 4, kinds & 15):
                at = at + 1 if inner in (TRUE, FALSE) else skip(data, at, inner)
        return at
    if kind in (BYTE, DOUBLE):
        return at + (1 if kind == BYTE else 8)
    raise ValueError(f"no type {kind}")
