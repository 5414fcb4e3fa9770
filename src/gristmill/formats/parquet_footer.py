"""Whether a Parquet footer's account of its column chunks fits its schema: where it does not, pyarrow ends the process.

Reading columns is safe: an error is raised. Only asking the footer for a chunk, or for row groups that can match a
filter, is not. pyarrow has no way to find out before, so the bytes are looked through here; nothing else is taken from
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gristmill.formats.parquet_walk import (
    BINARY,
    FALSE,
    I16,
    I64,
    LIST,
    STRUCT,
    TRUE,
    each,
    skip,
    structs,
    walk,
)

__all__ = ["has_sound_chunks"]

_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_LENGTH = 8
"""Bytes behind a footer: its length, and the magic."""
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
        return walk(data, at, {_COLUMNS: columns})

    def columns(at: int, kind: int) -> int:
        nonlocal usual
        count, at = structs(data, at, kind)
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
            return walk(data, at, {_TYPE: physical_type}) if kind == STRUCT else skip(data, at, kind)

        def physical_type(at: int, kind: int) -> int:
            said[-1] = data[at] >> 1  # zigzag; numbers of types are small
            return skip(data, at, kind)

        def encryption(at: int, kind: int) -> int:
            return walk(data, at, {_OWN_KEY: own_key}) if kind == STRUCT else skip(data, at, kind)

        def own_key(at: int, kind: int) -> int:
            said.append(None)
            return skip(data, at, kind)

        at = walk(data, at, {_META: meta, _ENCRYPTION: encryption})
        groups[-1].append(said[0] if len(said) == 1 else None)
        return at

    walk(data, 0, {_GROUPS: lambda at, kind: each(data, at, kind, group)})
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

    numbers, integer = (I16, 5, I64), rb"[\x80-\xff]{0,9}[\x00-\x7f]"
    data = _either(_one_of([size]) + rb".{%d}" % size for size in range(_LONGEST))
    simple = [head(*numbers) + integer, head(TRUE, FALSE), head(BINARY) + data]
    integers = head(LIST) + list_of(numbers, integer, 14)

    def struct(*fields: bytes) -> bytes:
        return _either(fields) + rb"*\x00"

    meta = [
        *simple,
        integers,
        head(LIST) + list_of([BINARY], data, 4),
        head(STRUCT) + struct(*simple, integers),
        head(LIST) + list_of([STRUCT], struct(simple[0]), 6),
    ]
    # The offset (field 2), perhaps with the name of another file before it, then what is said of the chunk (3): its
    # type (1) and the rest. Behind it, keys would be structs: with numbers only, there are none.
    begin = _either([rb"\x26" + integer, rb"\x18" + data + rb"\x16" + integer]) + rb"\x1c\x15([\x00-\x7f])"
    # Encodings, path, codec and three sizes, which are the next fields for every writer: they are found
    # almost twice as fast as any fields are.
    first = [rb"\x19" + list_of([5], integer, 14), rb"\x19" + list_of([BINARY], data, 4)]
    first += [head + integer for head in (rb"\x15", rb"\x16", rb"\x16", rb"\x16", rb"\x26")]
    return re.compile(begin + b"".join(first) + struct(*meta) + struct(simple[0]), re.DOTALL)


def _one_of(values: Iterable[int]) -> bytes:
    return b"[" + b"".join(rb"\x%02x" % value for value in values) + b"]"


def _either(patterns: Iterable[bytes]) -> bytes:
    return b"(?:" + b"|".join(patterns) + b")"
