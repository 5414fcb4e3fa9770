"""Repetition and definition levels of a leaf, read from its pages.

A repetition level of 0 begins a row; a definition level below the leaf's maximum says how much of the path is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gristmill.parquet.footer import Chunk, ParquetFile, Place
from gristmill.parquet.hybrid import Numbers, decode_bit_packed, decode_hybrid
from gristmill.parquet.names import ENCODINGS, name_of
from gristmill.parquet.pages import Page, iter_pages, read_body
from gristmill.parquet.records import DataPageHeaderV2

CHUNK_AT_ONCE = 64 << 20
"""Chunks up to this size are read with one request; pages of larger ones one by one."""


@dataclass(frozen=True)
class PageLevels:
    """What one data page holds.

    Attributes:
        page: The page.
        repetition: Repetition level of each entry.
        definition: Definition level of each entry.
        values: Encoded values, behind the levels.
        present: Number of entries whose value is there.
        rows: Number of rows that begin in the page.
    """

    page: Page
    repetition: Numbers
    definition: Numbers
    values: memoryview
    present: int
    rows: int


@dataclass(frozen=True)
class DictionaryPage:
    """The dictionary of a chunk, encoded.

    Attributes:
        page: The page.
        values: Its values, encoded.
    """

    page: Page
    values: bytes


def iter_decoded_pages(file: ParquetFile, chunk: Chunk) -> Iterator[PageLevels | DictionaryPage | Page]:
    """Decompresses the pages of a chunk one after another, and decodes their levels.

    Args:
        file: The file.
        chunk: The chunk.

    Yields:
        A data page with its levels, a dictionary page, or a page of another kind as it is.

    Raises:
        FileFormatError: A page is not what its header says; names the page.
    """
    size = chunk.meta.total_compressed_size
    data = None
    if chunk.meta.num_values and size <= CHUNK_AT_ONCE:
        data = file.source.read_at(chunk.start, size)
    base = file.chunk_place(chunk.group, chunk.index)
    first = True
    for page in iter_pages(file, chunk, data):
        if page.is_data:
            levels, body = read_body(file, chunk, page, data)
            place = Place(base.file, base.group, base.column, page.number)
            with place.parsing("it"):
                decoded = _decode(chunk, page, levels, body)
                if first and len(decoded.repetition) and decoded.repetition[0]:
                    raise ValueError(
                        f"the first row begins with repetition level {decoded.repetition[0]}, not 0"
                    )
            first = first and not len(decoded.repetition)
            yield decoded
        elif page.kind == "DICTIONARY_PAGE":
            yield DictionaryPage(page, read_body(file, chunk, page, data)[1])
        else:
            yield page


def _decode(chunk: Chunk, page: Page, levels: bytes, body: bytes) -> PageLevels:
    part, leaf = page.data, chunk.leaf
    count = part.num_values
    if isinstance(part, DataPageHeaderV2):
        split = part.repetition_levels_byte_length
        repetition, _ = _level_run(memoryview(levels)[:split], leaf.max_repetition, count)
        definition, _ = _level_run(memoryview(levels)[split:], leaf.max_definition, count)
        rest = memoryview(body)
    else:
        rest = memoryview(body)
        repetition, used = _prefixed(rest, leaf.max_repetition, part.repetition_level_encoding, count)
        rest = rest[used:]
        definition, used = _prefixed(rest, leaf.max_definition, part.definition_level_encoding, count)
        rest = rest[used:]
    for name, values, most in (
        ("repetition", repetition, leaf.max_repetition), ("definition", definition, leaf.max_definition),
    ):  # fmt: skip
        if count and int(values.max()) > most:
            raise ValueError(f"a {name} level is {int(values.max())}, and the column has at most {most}")
    present = count if not leaf.max_definition else int(np.count_nonzero(definition == leaf.max_definition))
    rows = count if not leaf.max_repetition else count - int(np.count_nonzero(repetition))
    return PageLevels(page, repetition, definition, rest, present, rows)


def _prefixed(data: memoryview, most: int, encoding: int, count: int) -> tuple[Numbers, int]:
    """Decodes levels of a page of version 1: behind their length, or in the retired encoding without one."""
    if not most:
        return _level_run(data, 0, count)
    name = name_of(ENCODINGS, encoding)
    if name == "BIT_PACKED":
        return decode_bit_packed(data, most.bit_length(), count)
    if name != "RLE":
        raise ValueError(f"its levels are said to be encoded as {name}")
    if len(data) < 4:
        raise ValueError("its levels are cut off")
    length = int.from_bytes(data[:4], "little")
    if length > len(data) - 4:
        raise ValueError(f"its levels are said to take {length:,} bytes, and {len(data) - 4:,} are left")
    return _level_run(data[4 : 4 + length], most, count)[0], 4 + length


def _level_run(data: memoryview, most: int, count: int) -> tuple[Numbers, int]:
    # Nothing is stored for levels that can only be 0.
    if not most:
        return decode_bit_packed(b"", 0, count)
    return decode_hybrid(data, most.bit_length(), count)
