"""Where pyarrow cuts a column into pages by content, found without encoding it.

Its chunker goes on from one row group to the next, so where it cuts depends on all rows before. To write a row group apart
from those before it, the chunker has to be brought into the state that it would be in. After a cut that the content
gave, that is always the same one but for a hash of a few bytes, which is lost after the next cut. So it is enough to
write the rows since the last but one such cut once more, in front.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.formats.parquet_pieces import abandon, copied
from gristmill.formats.parquet_walk import read_varint, walk

__all__ = ["CutFinder", "Primer"]

_ALL_IN_ONE = 1 << 30
_MOST_KEPT = 64 << 20
"""Bytes of rows that are kept where the content gives no cut."""
_BACK = (2, 3, 6, 12)
"""From how many cuts back rows are written once more, the next one where one does not do.

The hash may take bytes for a cut that are none, and small chunks have a cut every few hundred bytes.
"""
_PER_VALUE = 4
"""Bytes that the chunker counts for the levels of a value, besides its own."""
# Numbers of fields: of a page's header, and in what is told of data pages of version 2.
_UNCOMPRESSED, _COMPRESSED, _DATA_PAGE_V2, _VALUES, _ROWS = 2, 3, 8, 1, 3


class Primer(NamedTuple):
    """Rows that bring the chunker into the state that it has behind them.

    Attributes:
        rows: The rows.
        cuts: Where among them it has to have cut then.
    """

    rows: pa.Table
    cuts: list[int]


class _Page(NamedTuple):
    rows: int
    size: int
    """Bytes that the chunker has counted at most."""


class CutFinder:
    """Finds the cuts of one column that has one leaf.

    Args:
        schema: The column.
        options: Of `pyarrow.parquet.ParquetWriter`, with the sizes of what is cut by content.
    """

    def __init__(self, schema: pa.Schema, options: Mapping[str, Any]) -> None:
        self._sink = _Pages()
        self._largest = options["use_content_defined_chunking"]["max_chunk_size"]
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), schema.remove_metadata(), **_cheapest(options)
        )
        self._rows = 0
        self._carried = 0
        self._cuts: list[int] = []
        self._given: list[int] = []  # those of them that the content gave, and not the largest size
        self._kept: list[tuple[int, pa.Table]] = []

    def add(self, table: pa.Table) -> list[Primer]:
        """Goes through the next row group.

        Args:
            table: Its rows.

        Returns:
            What to write before the row group that follows: one of them, or where that does not lead to the cuts that
            it says, the next one.
        """
        self._writer.write_table(table.replace_schema_metadata(), row_group_size=table.num_rows)
        pages = self._sink.taken()
        at = self._rows
        for page in pages[:-1]:
            at += page.rows
            self._cuts.append(at)
            if page.size + self._carried < self._largest:
                self._given.append(at)
            self._carried = 0
        self._carried += pages[-1].size
        self._kept.append((self._rows, table))
        self._rows += table.num_rows
        starts = [self._given[-back] if len(self._given) >= back else 0 for back in _BACK]
        self._forget(starts[-1])
        first = self._kept[0][0]
        return [self._primer(max(start, first)) for start in dict.fromkeys(starts)]

    def _primer(self, start: int) -> Primer:
        parts = [table.slice(max(0, start - at)) for at, table in self._kept if at + table.num_rows > start]
        return Primer(pa.concat_tables(parts), [cut - start for cut in self._cuts if cut > start])

    def _forget(self, before: int) -> None:
        """Forgets rows that no primer needs."""
        while len(self._kept) > 1 and (
            self._kept[1][0] <= before or sum(table.nbytes for _, table in self._kept) > _MOST_KEPT
        ):
            del self._kept[0]
        at, table = self._kept[0]
        if at < before:
            self._kept[0] = before, table.slice(before - at)
        self._cuts = [cut for cut in self._cuts if cut >= self._kept[0][0]]
        self._given = self._given[-_BACK[-1] :]

    def close(self) -> None:
        """Ends the writer."""
        self._sink.has_ended = True  # the footer that follows is no page
        abandon(self._writer)


def _cheapest(options: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the options that cut where others do, one page a cut, with the least work."""
    given = {
        **copied(options),
        "compression": "none",
        "data_page_size": _ALL_IN_ONE,
        "data_page_version": "2.0",
        "store_schema": False,
        "use_dictionary": False,
        "write_page_checksum": False,
        "write_page_index": False,
        "write_statistics": False,
    }
    if "max_rows_per_page" in pq.ParquetWriter.__init__.__code__.co_varnames:
        given["max_rows_per_page"] = _ALL_IN_ONE
    for name in ("bloom_filter_options", "column_encoding", "compression_level", "use_byte_stream_split"):
        given.pop(name, None)
    return given


class _Pages:
    """A file that keeps only what the headers of its pages say."""

    closed = False

    def __init__(self) -> None:
        self.has_ended = False
        self._pages: list[_Page] = []
        self._passed = 4  # bytes up to the next header: before the first, there is the magic

    def write(self, data: Any) -> int:
        size = len(data)
        if self._passed or self.has_ended:
            self._passed -= min(self._passed, size)
            return size
        header = bytes(data)
        found: dict[int, int] = {}
        inner: dict[int, int] = {}

        def number(field: int, into: dict[int, int]) -> Any:
            def read(at: int, _: int) -> int:
                value, end = read_varint(header, at)
                into[field] = value >> 1  # none is negative
                return end

            return read

        in_page = {field: number(field, inner) for field in (_VALUES, _ROWS)}
        walk(
            header,
            0,
            {
                _UNCOMPRESSED: number(_UNCOMPRESSED, found),
                _COMPRESSED: number(_COMPRESSED, found),
                _DATA_PAGE_V2: lambda at, _: walk(header, at, in_page),
            },
        )
        self._pages.append(_Page(inner[_ROWS], found[_UNCOMPRESSED] + _PER_VALUE * inner[_VALUES]))
        self._passed = found[_COMPRESSED]
        return size

    def flush(self) -> None:
        """There is nothing to wait for."""

    def taken(self) -> list[_Page]:
        pages, self._pages = self._pages, []
        return pages
