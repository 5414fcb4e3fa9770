"""`check`: everything in a Parquet file is decoded and counted, until the first fault."""

from __future__ import annotations

import contextlib
import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gristmill.files.temporary import temporary_prefix
from gristmill.parquet.decoding import BATCH_ROWS, find_fault
from gristmill.parquet.encoded import check_dictionary, check_values
from gristmill.parquet.footer import Chunk, ParquetFile, Place, open_parquet
from gristmill.parquet.levels import DictionaryPage, PageLevels, iter_decoded_pages
from gristmill.parquet.pages import Page
from gristmill.parquet.records import BloomFilterHeader, DataPageHeaderV2
from gristmill.parquet.source import LocalSource
from gristmill.parquet.statistics import check_statistics
from gristmill.parquet.thrift import decode
from gristmill.progress import progress

_CLOSE_ROWS = 4096
"""Steps in which the rows of a chunk are gone through to find the page of a fault."""
_BLOOM_HEADER = 256
_PIECE = 16 << 20


@dataclass
class CheckReport:
    """What a check went through.

    Attributes:
        file: The file.
        rows: Rows of all row groups.
        row_groups: Number of row groups.
        chunks: Column chunks.
        data_pages: Data pages.
        dictionary_pages: Dictionary pages.
        checksums: Pages whose checksum was there and right.
        entries: Level entries of all leaves.
        compressed: Bytes of all pages as they are in the file, headers left out.
        decompressed: Bytes of all pages decompressed.
        fetched: Bytes read from a server; 0 for a file on this machine.
        remarks: What is odd and harms nobody who reads the rows: counts in the footer that are off.
    """

    file: str
    rows: int = 0
    row_groups: int = 0
    chunks: int = 0
    data_pages: int = 0
    dictionary_pages: int = 0
    checksums: int = 0
    entries: int = 0
    compressed: int = 0
    decompressed: int = 0
    fetched: int = 0
    remarks: list[str] = field(default_factory=list)


def check(name: str | os.PathLike[str]) -> CheckReport:
    """Decodes a whole Parquet file, and compares all counts and sizes that it states.

    Each page has to have its stated size, compressed and not, and its checksum, if it has one; the level entries of a
    chunk have to add up to its count and their rows to those of the row group; null counts and the page index have to
    be true; every value has to decode. Arrow decodes the values in a process of its own, bounded in memory and time.

    Args:
        name: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``; a remote file is fetched whole.

    Returns:
        What was counted.

    Raises:
        FileFormatError: The first fault, with row group, column and page as far as it has them.
        FileMissingError: No such file.
        HubError: A server refuses, or can't be reached.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"a": [1, None, 3]}), f"{folder.name}/checked.parquet")
        >>> report = check(f"{folder.name}/checked.parquet")
        >>> report.rows, report.data_pages, report.remarks
        (3, 1, [])
        >>> folder.cleanup()
    """
    with open_parquet(name) as file, _whole(file) as local:
        report = _check(local)
        report.fetched = file.source.fetched if file.source.remote else 0
        return report


@contextlib.contextmanager
def _whole(file: ParquetFile) -> Iterator[ParquetFile]:
    """Gives a file that is on this machine; all of one that is not is fetched."""
    if not file.source.remote:
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix=temporary_prefix("parquet"), suffix=".parquet") as copy:
        for at in range(0, file.source.size, _PIECE):
            copy.write(file.source.read_at(at, min(_PIECE, file.source.size - at)))
        copy.flush()
        with ParquetFile(LocalSource(Path(copy.name), file.source.name)) as local:
            yield local


def _chunks(file: ParquetFile) -> Iterator[Chunk]:
    for group in range(len(file.metadata.row_groups)):
        for index in range(len(file.leaves)):
            yield file.chunk(group, index)


def _check(file: ParquetFile) -> CheckReport:
    groups = file.metadata.row_groups
    report = CheckReport(file.source.name, sum(group.num_rows for group in groups), len(groups))
    if report.rows != file.metadata.num_rows:
        report.remarks.append(
            f"{file.place.file}: the footer counts {file.metadata.num_rows:,} rows, its row groups {report.rows:,}"
        )
    chunks = list(_chunks(file))
    total = sum(chunk.meta.total_compressed_size for chunk in chunks)
    with progress(f"Checking {Path(file.source.name).name}", total, "B") as bar:
        for chunk in chunks:
            _check_chunk(file, chunk, report)
            bar.update(chunk.meta.total_compressed_size)
    fault = find_fault(file, chunks)
    if fault is not None:
        page = None
        if fault.group is not None and fault.index is not None:
            page = _page_of_fault(file, file.chunk(fault.group, fault.index))
        raise fault.error(file, page)
    return report


def _check_chunk(file: ParquetFile, chunk: Chunk, report: CheckReport) -> None:
    base = file.chunk_place(chunk.group, chunk.index)
    pages: list[tuple[Page, int]] = []
    entries = rows = nulls = decompressed = 0
    dictionary = None
    end = chunk.start
    for found in iter_decoded_pages(file, chunk):
        page = found if isinstance(found, Page) else found.page
        place = Place(base.file, base.group, base.column, page.number)
        end = page.end
        report.compressed += page.header.compressed_page_size
        report.checksums += page.header.crc is not None
        decompressed += page.header.uncompressed_page_size + page.body - page.offset
        report.decompressed += page.header.uncompressed_page_size
        if isinstance(found, PageLevels):
            with place.parsing("it"):
                check_values(chunk, found, dictionary)
            _remark_on_header(found, place, report)
            pages.append((page, rows))
            entries += len(found.definition)
            rows += found.rows
            nulls += len(found.definition) - found.present
        elif isinstance(found, DictionaryPage):
            if dictionary is not None or pages:
                raise place.error("a dictionary page has to be the first of its chunk")
            with place.parsing("it"):
                dictionary = check_dictionary(chunk, found)
            report.dictionary_pages += 1
    if entries != chunk.meta.num_values:
        raise base.error(
            f"its pages hold {entries:,} level entries, and the footer says {chunk.meta.num_values:,}"
        )
    if rows != chunk.rows:
        raise base.error(f"its pages hold {rows:,} rows, and the row group {chunk.rows:,}")
    statistics = chunk.meta.statistics
    # Writers differ in whether an empty list counts as a null.
    if (
        statistics is not None
        and not chunk.leaf.max_repetition
        and statistics.null_count not in (None, nulls)
    ):
        raise base.error(f"{nulls:,} entries are null, and the statistics say {statistics.null_count:,}")
    with base.parsing("the footer's account of it"):
        if statistics is not None:
            check_statistics(statistics, chunk.leaf)
    _check_indexes(file, chunk, pages, base)
    _check_bloom_filter(file, chunk, base)
    if chunk.meta.num_values:
        _remark_on_sizes(chunk, end - chunk.start, decompressed, base, report)
    report.chunks += 1
    report.data_pages += len(pages)
    report.entries += entries


def _remark_on_header(found: PageLevels, place: Place, report: CheckReport) -> None:
    header = found.page.data
    if isinstance(header, DataPageHeaderV2):
        nulls = len(found.definition) - found.present
        if (header.num_rows, header.num_nulls) != (found.rows, nulls):
            said = f"{header.num_rows:,} rows and {header.num_nulls:,} nulls"
            held = f"{found.rows:,} and {nulls:,}"
            report.remarks.append(str(place.error(f"its header counts {said}, its levels {held}")))


def _remark_on_sizes(
    chunk: Chunk, compressed: int, decompressed: int, place: Place, report: CheckReport
) -> None:
    for name, said, counted in (
        ("compressed", chunk.meta.total_compressed_size, compressed),
        ("uncompressed", chunk.meta.total_uncompressed_size, decompressed),
    ):
        if said != counted:
            report.remarks.append(
                str(place.error(f"the footer says {said:,} bytes {name}, its pages have {counted:,}"))
            )


def _check_indexes(file: ParquetFile, chunk: Chunk, pages: list[tuple[Page, int]], place: Place) -> None:
    """Compares the page index, if there is one, with the pages."""
    offsets = file.offset_index(chunk.group, chunk.index)
    if offsets is not None:
        said = [(at.offset, at.compressed_page_size, at.first_row_index) for at in offsets.page_locations]
        found = [(page.offset, page.end - page.offset, row) for page, row in pages]
        if len(said) != len(found):
            raise place.error(f"the offset index lists {len(said):,} pages, and there are {len(found):,}")
        for (page, _), one, other in zip(pages, said, found, strict=True):
            if one != other:
                problem = "the offset index puts it at byte {:,} with {:,} bytes and first row {:,}".format(
                    *one
                )
                here = Place(place.file, place.group, place.column, page.number)
                raise here.error(problem + ", and it is at {:,} with {:,} and {:,}".format(*other))
    column = file.column_index(chunk.group, chunk.index)
    if column is not None:
        lengths = {len(column.null_pages), len(column.min_values), len(column.max_values)}
        if lengths != {len(pages)}:
            raise place.error(
                f"the column index is about {max(lengths):,} pages, and there are {len(pages):,}"
            )


def _check_bloom_filter(file: ParquetFile, chunk: Chunk, place: Place) -> None:
    offset, end = chunk.meta.bloom_filter_offset, file.source.size - 8 - file.footer_size
    if offset is None:
        return
    if not 4 <= offset < end:
        raise place.error(f"its Bloom filter is said to be at byte {offset:,}, outside the file's data")
    with place.parsing("the header of its Bloom filter"):
        header, size = decode(
            BloomFilterHeader, file.source.read_at(offset, min(_BLOOM_HEADER, end - offset))
        )
    # Blocks of 32 bytes; readers take the number of blocks for granted.
    if header.numBytes < 32 or header.numBytes % 32 or offset + size + header.numBytes > end:
        raise place.error(f"its Bloom filter is said to have {header.numBytes:,} bytes, which can't be")


def _page_of_fault(file: ParquetFile, chunk: Chunk) -> int | None:
    """Finds the page whose values can't be decoded: that of the first row that can't be."""
    numbers: list[int] = []
    starts: list[int] = []
    row = 0
    for found in iter_decoded_pages(file, chunk):
        if isinstance(found, PageLevels):
            numbers.append(found.page.number)
            starts.append(row)
            row += found.rows
    fault = find_fault(file, [chunk], rows=max(1, min(BATCH_ROWS, row // _CLOSE_ROWS)))
    if fault is None or not numbers:
        return None
    return numbers[max(0, bisect_right(starts, fault.row) - 1)]
