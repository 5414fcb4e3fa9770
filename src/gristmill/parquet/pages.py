"""Pages of a column chunk: their headers one after another, and their bodies decompressed and checked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from gristmill.errors import FileFormatError
from gristmill.parquet.codecs import LARGEST_PAGE, decompress
from gristmill.parquet.footer import Chunk, ParquetFile, Place
from gristmill.parquet.names import CODECS, ENCODINGS, PAGES, name_of
from gristmill.parquet.records import DataPageHeader, DataPageHeaderV2, DictionaryPageHeader, PageHeader
from gristmill.parquet.thrift import decode

_WINDOW = 1 << 12
_LARGEST_HEADER = 16 << 20
SLACK = 100
"""Bytes by which old writers state a chunk too short: they left a page header out."""


@dataclass(frozen=True)
class Page:
    """A page that was found.

    Attributes:
        number: Counted from 0 in the chunk, a dictionary page included.
        kind: ``"DATA_PAGE"``, ``"DATA_PAGE_V2"``, ``"DICTIONARY_PAGE"``, ``"INDEX_PAGE"``, or ``"unknown (n)"``.
        offset: Where its header begins in the file.
        body: Where its body begins.
        header: The header.
    """

    number: int
    kind: str
    offset: int
    body: int
    header: PageHeader

    @property
    def is_data(self) -> bool:
        """Whether it holds rows."""
        return self.kind in ("DATA_PAGE", "DATA_PAGE_V2")

    @property
    def end(self) -> int:
        """Where the next page begins."""
        return self.body + self.header.compressed_page_size

    @property
    def data(self) -> DataPageHeader | DataPageHeaderV2:
        """The part of a data page's header that counts values."""
        found = self.header.data_page_header if self.kind == "DATA_PAGE" else self.header.data_page_header_v2
        assert found is not None  # `iter_pages` refuses a page without it
        return found

    @property
    def encoding(self) -> str:
        """How its values are encoded; ``""`` for a page that holds none."""
        if self.is_data:
            return name_of(ENCODINGS, self.data.encoding)
        found = self.header.dictionary_page_header
        return "" if found is None else name_of(ENCODINGS, found.encoding)


def iter_pages(file: ParquetFile, chunk: Chunk, data: bytes | None = None) -> Iterator[Page]:
    """Reads the headers of a chunk's pages, in order, until its values are all announced.

    Args:
        file: The file.
        chunk: The chunk.
        data: The chunk's bytes, if they were read already; headers are read one by one otherwise.

    Yields:
        Each page; its body has not been looked at.

    Raises:
        FileFormatError: A header can't be read or does not fit the chunk; names the page.
    """
    place = file.chunk_place(chunk.group, chunk.index)
    position, end = chunk.start, chunk.start + chunk.meta.total_compressed_size
    # Up to the footer, for the writers that state a chunk too short.
    limit = min(end + SLACK, file.source.size - 8 - file.footer_size)
    values = number = 0
    while values < chunk.meta.num_values:
        here = Place(place.file, place.group, place.column, number)
        if position >= end:
            counted = f"{values:,} of {chunk.meta.num_values:,} values"
            raise here.error(f"the chunk's {chunk.meta.total_compressed_size:,} bytes end with {counted}")
        header, body = _read_header(file, here, position, limit, data, chunk.start)
        page = Page(number, name_of(PAGES, header.type), position, body, header)
        _check_header(here, page, limit)
        yield page
        if page.is_data:
            values += page.data.num_values
            if values > chunk.meta.num_values:
                raise here.error(
                    f"with it there are {values:,} values, and the chunk has {chunk.meta.num_values:,}"
                )
        position, number = page.end, number + 1


def _read_header(
    file: ParquetFile, place: Place, position: int, limit: int, data: bytes | None, start: int
) -> tuple[PageHeader, int]:
    if data is not None and position - start < len(data):
        try:
            with place.parsing("its header"):
                header, end = decode(PageHeader, data, position - start)
            return header, start + end
        except FileFormatError as error:
            # It may lie across the stated end of the chunk.
            if not isinstance(error.__cause__, EOFError):
                raise
    window = _WINDOW
    while True:
        size = min(window, limit - position)
        try:
            with place.parsing("its header"):
                header, end = decode(PageHeader, file.source.read_at(position, size))
            return header, position + end
        except FileFormatError as error:
            if not isinstance(error.__cause__, EOFError) or size < window or window >= _LARGEST_HEADER:
                raise
        window *= 16


def _check_header(place: Place, page: Page, limit: int) -> None:
    header = page.header
    packed, size = header.compressed_page_size, header.uncompressed_page_size
    if packed < 0 or size < 0:
        raise place.error(f"its header states {packed:,} bytes, {size:,} decompressed")
    if page.end > limit:
        raise place.error(f"its header states {packed:,} bytes, and the chunk ends before them")
    parts = {
        "DATA_PAGE": header.data_page_header,
        "DATA_PAGE_V2": header.data_page_header_v2,
        "DICTIONARY_PAGE": header.dictionary_page_header,
    }
    part = parts.get(page.kind, header)
    if part is None:
        raise place.error(f"its header says {page.kind} and lacks what such a page needs")
    if isinstance(part, DataPageHeader | DataPageHeaderV2 | DictionaryPageHeader) and part.num_values < 0:
        raise place.error(f"its header counts {part.num_values:,} values")
    if isinstance(part, DataPageHeaderV2):
        levels = part.definition_levels_byte_length + part.repetition_levels_byte_length
        if min(part.definition_levels_byte_length, part.repetition_levels_byte_length) < 0:
            raise place.error("its header gives its levels a negative length")
        if levels > min(packed, size):
            raise place.error(
                f"its header gives its levels {levels:,} bytes, and the page {min(packed, size):,}"
            )
        if not 0 <= part.num_nulls <= part.num_values or not 0 <= part.num_rows <= part.num_values:
            raise place.error(
                f"its header counts {part.num_rows:,} rows and {part.num_nulls:,} nulls in {part.num_values:,} values"
            )


def read_body(file: ParquetFile, chunk: Chunk, page: Page, data: bytes | None = None) -> tuple[bytes, bytes]:
    """Reads and decompresses a page, its checksum compared if it has one.

    Args:
        file: The file.
        chunk: The chunk.
        page: One of its pages.
        data: The chunk's bytes, if they were read already.

    Returns:
        The levels of a page of version 2, which are never compressed (``b""`` for other pages), and everything else
        decompressed.

    Raises:
        FileFormatError: The checksum differs, or other than the stated size comes out; names the page.
    """
    base = file.chunk_place(chunk.group, chunk.index)
    place = Place(base.file, base.group, base.column, page.number)
    header = page.header
    if header.uncompressed_page_size > LARGEST_PAGE:
        raise place.error(
            f"{header.uncompressed_page_size:,} bytes are stated, and pages of at most {LARGEST_PAGE:,} are decoded",
            "The file may be whole; it was written with pages larger than this tool takes apart.",
        )
    begin = page.body - chunk.start
    if data is not None and begin + header.compressed_page_size <= len(data):
        raw = data[begin : begin + header.compressed_page_size]
    else:
        raw = file.source.read_at(page.body, header.compressed_page_size)
    if header.crc is not None and zlib.crc32(raw) != header.crc & 0xFFFFFFFF:
        raise place.error(
            f"its checksum is {zlib.crc32(raw):08x}, and its header says {header.crc & 0xFFFFFFFF:08x}"
        )
    codec, levels = name_of(CODECS, chunk.meta.codec), 0
    if page.kind == "DATA_PAGE_V2":
        part = page.data
        assert isinstance(part, DataPageHeaderV2)  # by its kind
        levels = part.definition_levels_byte_length + part.repetition_levels_byte_length
        codec = codec if part.is_compressed else "UNCOMPRESSED"
    with place.parsing("it"):
        return raw[:levels], decompress(codec, raw[levels:], header.uncompressed_page_size - levels)
