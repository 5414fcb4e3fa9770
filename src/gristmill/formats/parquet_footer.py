"""Whether a Parquet footer's account of its column chunks fits its schema: where it does not, pyarrow ends the process.

Reading columns is safe: an error is raised. Only asking the footer for a chunk, or for row groups that can match a
filter, is not. pyarrow has no way to find out before, so the bytes are looked through here; nothing else is taken from
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["has_sound_chunks"]

_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_LENGTH = 8
"""Bytes behind a footer: its length, and the magic."""
# Types of values in Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1,
    2,
    3,
    4,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
)
# Numbers of fields: of a footer, a row group, a column chunk, and what is said of it.
_GROUPS, _COLUMNS, _META, _ENCRYPTION, _OWN_KEY, _TYPE = 4, 1, 3, 8, 2, 1


def has_sound_chunks(path: Path, footer: Any) -> bool:
    """Says whether pyarrow can be asked for the column chunks of a footer, and for the statistics in it.

    Args:
        path: The file; only its end is read.
        footer: Its `pyarrow.parquet.FileMetaData`.

    Returns:
        False if a chunk is of another type than its column or encrypted, or if the footer can't be told to be sound.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.parquet")
        ...     pq.write_table(pa.table({"a": [1], "b": ["x"]}), path)
        ...     has_sound_chunks(path, pq.read_metadata(path))
        True
    """
    wanted = [_TYPES.index(footer.schema.column(i).physical_type) for i in range(len(footer.schema))]
    try:
        groups = _types_of_chunks(_read(path))
    except (IndexError, ValueError, RecursionError):
        return False
    return len(groups) == footer.num_row_groups and all(types == wanted for types in groups)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - _LENGTH))
        length = int.from_bytes(file.read(_LENGTH)[:4], "little")
        if length > end - _LENGTH:
            raise ValueError("the footer is longer than the file")
        file.seek(end - _LENGTH - length)
        return file.read(length)


def _types_of_chunks(data: bytes) -> list[list[int | None]]:
    """Gives the physical type of each chunk of each row group; None for one that says none or has a key of its own."""
    groups: list[list[int | None]] = []
    usual: Any = None

    def group(at: int) -> int:
        groups.append([])
        return _walk(data, at, {_COLUMNS: columns})

    def columns(at: int, kind: int) -> int:
        nonlocal usual
        count, at = _structs(data, at, kind)
        if usual is None and len(groups) * count > _MANY:
            usual = _usual_chunk().match
        types = groups[-1]
        for _ in range(count):
            found = None if usual is None else usual(data, at)
            if found is None:
                at = chunk(at)
            else:
                types.append(found[1][0] >> 1)
                at = found.end()
        return at

    def chunk(at: int) -> int:
        said: list[int | None] = []

        def meta(at: int, kind: int) -> int:
            said.append(None)
            return _walk(data, at, {_TYPE: physical_type}) if kind == _STRUCT else _skip(data, at, kind)

        def physical_type(at: int, kind: int) -> int:
            said[-1] = data[at] >> 1  # zigzag; numbers of types are small
            return _skip(data, at, kind)

        def encryption(at: int, kind: int) -> int:
            return _walk(data, at, {_OWN_KEY: own_key}) if kind == _STRUCT else _skip(data, at, kind)

        def own_key(at: int, kind: int) -> int:
            said.append(None)
            return _skip(data, at, kind)

        at = _walk(data, at, {_META: meta, _ENCRYPTION: encryption})
        groups[-1].append(said[0] if len(said) == 1 else None)
        return at

    _walk(data, 0, {_GROUPS: lambda at, kind: _each(data, at, kind, group)})
    return groups


_MANY = 500
"""Chunks from which on it pays to compile a pattern for them."""
_LONGEST = 40
"""Bytes of a name or of a least value that the pattern knows."""


@lru_cache(maxsize=1)
def _usual_chunk() -> re.Pattern[bytes]:
    """Makes the pattern of a column chunk as writers make it, whose one group is the byte of its physical type.

    What it matches, the functions below read alike, and many times slower; what it does not match is left to them. Each
    byte says what the next ones are, so there is one way to match and nothing to go back for.
    """

    def head(*kinds: int) -> bytes:
        """Begins a field, which has a number that is 1 to 15 higher than the one before."""
        return _one_of(step << 4 | kind for step in range(1, 16) for kind in kinds)

    def list_of(kinds: Sequence[int], item: bytes, most: int) -> bytes:
        """Has from no to so many items, whose number the first byte says."""
        return _either(
            _one_of(count << 4 | kind for kind in kinds) + rb"(?:%b){%d}" % (item, count)
            for count in range(most + 1)
        )

    numbers, integer = (_I16, 5, _I64), rb"[\x80-\xff]{0,9}[\x00-\x7f]"
    data = _either(_one_of([size]) + rb".{%d}" % size for size in range(_LONGEST))
    simple = [head(*numbers) + integer, head(_TRUE, _FALSE), head(_BINARY) + data]
    integers = head(_LIST) + list_of(numbers, integer, 14)

    def struct(*fields: bytes) -> bytes:
        return _either(fields) + rb"*\x00"

    meta = [
        *simple,
        integers,
        head(_LIST) + list_of([_BINARY], data, 4),
        head(_STRUCT) + struct(*simple, integers),
        head(_LIST) + list_of([_STRUCT], struct(simple[0]), 6),
    ]
    # The offset (field 2), perhaps with the name of another file before it, then what is said of the chunk (3): its
    # type (1) and the rest. Behind it, keys would be structs: with numbers only, there are none.
    begin = _either([rb"\x26" + integer, rb"\x18" + data + rb"\x16" + integer]) + rb"\x1c\x15([\x00-\x7f])"
    # Encodings, path, codec and three sizes, which are the next fields for every writer: they are found
    # almost twice as fast as any fields are.
    first = [rb"\x19" + list_of([5], integer, 14), rb"\x19" + list_of([_BINARY], data, 4)]
    first += [head + integer for head in (rb"\x15", rb"\x16", rb"\x16", rb"\x16", rb"\x26")]
    return re.compile(begin + b"".join(first) + struct(*meta) + struct(simple[0]), re.DOTALL)


def _one_of(values: Iterable[int]) -> bytes:
    return b"[" + b"".join(rb"\x%02x" % value for value in values) + b"]"


def _either(patterns: Iterable[bytes]) -> bytes:
    return b"(?:" + b"|".join(patterns) + b")"


def _walk(data: bytes, at: int, readers: Mapping[int, Callable[[int, int], int]]) -> int:
    """Goes through a struct; a reader gets where a value begins and its type, and gives where the next field begins.

    Fields whose numbers do not ascend could be there twice, and which one counts is up to the reader: no writer does it.
    """
    number = 0
    while head := data[at]:
        if head < 16:
            raise ValueError("fields out of order")
        number += head >> 4
        reader = readers.get(number)
        at = _skip(data, at + 1, head & 15) if reader is None else reader(at + 1, head & 15)
    return at + 1


def _structs(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Gives how many structs a list has, and where the first begins."""
    if kind != _LIST or data[at] & 15 != _STRUCT:
        raise ValueError("no list of structs where one has to be")
    return (data[at] >> 4, at + 1) if data[at] >> 4 < 15 else _varint(data, at + 1)


def _each(data: bytes, at: int, kind: int, read: Callable[[int], int]) -> int:
    """Goes through a list of structs."""
    count, at = _structs(data, at, kind)
    for _ in range(count):
        at = read(at)
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
    return value | byte << shift, at + 1


def _skip(data: bytes, at: int, kind: int) -> int:
    """Gives where the value behind this one begins; an IndexError tells that the bytes end inside it."""
    if kind == _STRUCT:
        while head := data[at]:
            at += 1
            if head < 16:
                at = _varint(data, at)[1]
            inner = head & 15
            if _I16 <= inner <= _I64:  # by far the most
                while data[at] >= 128:
                    at += 1
                at += 1
            elif inner == _BINARY and data[at] < 128:
                at += 1 + data[at]
            elif inner > _FALSE:
                at = _skip(data, at, inner)
        return at + 1
    if kind in (_LIST, _SET):
        head, at = data[at], at + 1
        count, at = (head >> 4, at) if head >> 4 < 15 else _varint(data, at)
        inner = head & 15
        if inner in (_TRUE, _FALSE):
            return at + count
        for _ in range(count):
            at = _skip(data, at, inner)
        return at
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if _I16 <= kind <= _I64:
        return _varint(data, at)[1]
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _MAP:
        count, at = _varint(data, at)
        kinds = data[at] if count else 0
        at += bool(count)
        for _ in range(count):
            for inner in (kinds >> 4, kinds & 15):
                at = at + 1 if inner in (_TRUE, _FALSE) else _skip(data, at, inner)
        return at
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise ValueError(f"no type {kind}")
