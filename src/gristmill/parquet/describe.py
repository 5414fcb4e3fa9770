"""`inspect`: what a Parquet file holds, as plain records; the footer suffices for most of it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from gristmill.features import Features
from gristmill.parquet.footer import ParquetFile, open_parquet
from gristmill.parquet.names import CODECS, ENCODINGS, ORDERS, PAGES, name_of
from gristmill.parquet.pages import iter_pages
from gristmill.parquet.records import ColumnMetaData
from gristmill.parquet.schema import SchemaNode
from gristmill.parquet.statistics import ColumnStatistics, read_statistics

LARGE_GROUP = 512 << 20
"""Bytes of a row group, compressed, above which partial reads stop helping."""
GOOD_GROUP = 64 << 20
"""Bytes that a row group had better have."""


@dataclass(frozen=True)
class PageCounts:
    """How many pages a column chunk has.

    Attributes:
        dictionary: Dictionary pages.
        data: Data pages.
        source: Who says so: ``"pages"`` (their headers were read) or ``"footer"`` (its encoding statistics).
    """

    dictionary: int
    data: int
    source: str


@dataclass(frozen=True)
class PageIndex:
    """What the page index of a column chunk holds.

    Attributes:
        pages: Pages in the offset index; None if it was not read or is not there.
        offset_index: Bytes of the offset index; 0 if there is none.
        column_index: Bytes of the column index; 0 if there is none.
        order: Order of the pages' bounds: ``"ASCENDING"``, ``"DESCENDING"``, ``"UNORDERED"``; None if not read.
    """

    pages: int | None
    offset_index: int
    column_index: int
    order: str | None


@dataclass(frozen=True)
class ColumnChunkInfo:
    """One column of one row group.

    Attributes:
        path: Dotted path of the leaf.
        encrypted: Whether it is encrypted; sizes may then be unknown (0).
        codec: Compression.
        encodings: Encodings of pages and levels.
        values: Level entries: values, nulls and empty lists.
        compressed: Bytes in the file, page headers included.
        uncompressed: Bytes decompressed, page headers included.
        offset: Where the chunk begins in the file.
        pages: Page counts, if they are known.
        statistics: Statistics, if there are any.
        index: Page index, if there is one.
        bloom_filter: Where a Bloom filter begins, if there is one.
    """

    path: str
    encrypted: bool
    codec: str
    encodings: list[str]
    values: int
    compressed: int
    uncompressed: int
    offset: int
    pages: PageCounts | None
    statistics: ColumnStatistics | None
    index: PageIndex | None
    bloom_filter: int | None

    @property
    def ratio(self) -> float | None:
        """Bytes decompressed per byte in the file; None for an empty chunk."""
        return self.uncompressed / self.compressed if self.compressed else None


@dataclass(frozen=True)
class RowGroupInfo:
    """One row group.

    Attributes:
        rows: Number of rows.
        compressed: Bytes of all its columns in the file.
        uncompressed: Bytes of all its columns decompressed.
        sorted_by: Columns it is sorted by, such as ``"id"`` or ``"id descending"``.
        columns: Its columns, in the order of the leaves.
    """

    rows: int
    compressed: int
    uncompressed: int
    sorted_by: list[str]
    columns: list[ColumnChunkInfo]


@dataclass(frozen=True)
class FileInfo:
    """What a Parquet file holds.

    Attributes:
        name: The file; one on the Hub with its commit.
        size: Bytes of the file.
        fetched: Bytes that were read to know all this.
        version: Version of the format.
        writer: What wrote it, in its own words; None if it does not say.
        rows: Number of rows.
        footer_size: Bytes of the footer.
        schema: The schema as a tree.
        row_groups: The row groups.
        metadata: Key-value metadata.
        features: Columns and features that the ``huggingface`` metadata names, if it does.
        remarks: What is odd about the file, each in one line.
    """

    name: str
    size: int
    fetched: int
    version: int
    writer: str | None
    rows: int
    footer_size: int
    schema: SchemaNode
    row_groups: list[RowGroupInfo]
    metadata: dict[str, str | None]
    features: dict[str, str] | None
    remarks: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Gives everything as plain values that JSON can hold."""
        groups = [asdict(group) for group in self.row_groups]
        for group, info in zip(groups, self.row_groups, strict=True):
            for column, chunk in zip(group["columns"], info.columns, strict=True):
                column["ratio"] = chunk.ratio
        plain = {key: getattr(self, key) for key in self.__dataclass_fields__}
        return plain | {"schema": _plain_node(self.schema), "row_groups": groups}


def inspect(name: str | os.PathLike[str], pages: bool | None = None) -> FileInfo:
    """Tells what a Parquet file holds, from its footer.

    Args:
        name: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``.
        pages: Whether to count pages by reading all their headers, and to read the page index: by default only of
            files on this machine. The footer's own count of pages is used otherwise, where it has one.

    Returns:
        Schema, row groups, column chunks, statistics, metadata.

    Raises:
        FileFormatError: It is no Parquet file, is damaged, or its footer is encrypted.
        FileMissingError: No such file.
        HubError: A server refuses, can't be reached, or does not answer ranges.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"text": ["one", "two", None]}), f"{folder.name}/looked_at.parquet")
        >>> info = inspect(f"{folder.name}/looked_at.parquet")
        >>> column = info.row_groups[0].columns[0]
        >>> info.rows, column.path, column.codec, column.pages.data, column.statistics.max.value
        (3, 'text', 'SNAPPY', 1, 'two')
        >>> folder.cleanup()
    """
    with open_parquet(name) as file:
        return describe(file, pages)


def describe(file: ParquetFile, pages: bool | None = None) -> FileInfo:
    """As `inspect`, for a file that is open.

    Args:
        file: The file.
        pages: As for `inspect`.

    Returns:
        What it holds.
    """
    count = not file.source.remote if pages is None else pages
    groups = []
    for number, group in enumerate(file.metadata.row_groups):
        columns = [_chunk(file, number, index, count) for index in range(len(file.leaves))]
        order = [
            file.leaves[s.column_idx].dotted + (" descending" if s.descending else "")
            for s in group.sorting_columns or ()
            if 0 <= s.column_idx < len(file.leaves)
        ]
        sizes = (sum(c.compressed for c in columns), sum(c.uncompressed for c in columns))
        groups.append(RowGroupInfo(group.num_rows, *sizes, order, columns))
    metadata = {pair.key: pair.value for pair in file.metadata.key_value_metadata or ()}
    meta = file.metadata
    return FileInfo(
        file.source.name, file.source.size, file.source.fetched, meta.version, meta.created_by, meta.num_rows,
        file.footer_size, file.schema, groups, metadata, _features(metadata), list(_remarks(file, groups)),
    )  # fmt: skip


def _chunk(file: ParquetFile, group: int, index: int, count: bool) -> ColumnChunkInfo:
    pointers = file.metadata.row_groups[group].columns[index]
    leaf, meta = file.leaves[index], pointers.meta_data
    encrypted = pointers.crypto_metadata is not None or meta is None
    if meta is None:
        return ColumnChunkInfo(leaf.dotted, True, "", [], 0, 0, 0, 0, None, None, None, None)
    readable = not encrypted and not pointers.file_path
    statistics = None if meta.statistics is None else read_statistics(meta.statistics, leaf)
    return ColumnChunkInfo(
        leaf.dotted, encrypted, name_of(CODECS, meta.codec), [name_of(ENCODINGS, code) for code in meta.encodings],
        meta.num_values, meta.total_compressed_size, meta.total_uncompressed_size,
        file.chunk(group, index).start if readable else 0,
        _count_pages(file, group, index) if count and readable else _counted_pages(meta),
        statistics, _page_index(file, group, index, count and readable), meta.bloom_filter_offset,
    )  # fmt: skip


def _count_pages(file: ParquetFile, group: int, index: int) -> PageCounts:
    kinds = Counter(page.kind for page in iter_pages(file, file.chunk(group, index)))
    return PageCounts(kinds["DICTIONARY_PAGE"], kinds["DATA_PAGE"] + kinds["DATA_PAGE_V2"], "pages")


def _counted_pages(meta: ColumnMetaData) -> PageCounts | None:
    if meta.encoding_stats is None:
        return None
    kinds: Counter[str] = Counter()
    for stats in meta.encoding_stats:
        kinds[name_of(PAGES, stats.page_type)] += stats.count
    return PageCounts(kinds["DICTIONARY_PAGE"], kinds["DATA_PAGE"] + kinds["DATA_PAGE_V2"], "footer")


def _page_index(file: ParquetFile, group: int, index: int, read: bool) -> PageIndex | None:
    pointers = file.metadata.row_groups[group].columns[index]
    sizes = (pointers.offset_index_length or 0, pointers.column_index_length or 0)
    if not any(sizes):
        return None
    offsets = file.offset_index(group, index) if read else None
    columns = file.column_index(group, index) if read else None
    return PageIndex(
        None if offsets is None else len(offsets.page_locations),
        *sizes,
        None if columns is None else name_of(ORDERS, columns.boundary_order),
    )


def _features(metadata: dict[str, str | None]) -> dict[str, str] | None:
    text = metadata.get("huggingface")
    if text is None:
        return None
    try:
        found = json.loads(text)["info"]["features"]
        return {name: repr(feature) for name, feature in Features.from_dict(found).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # said among the remarks


def _remarks(file: ParquetFile, groups: list[RowGroupInfo]) -> Iterator[str]:
    rows = sum(group.rows for group in groups)
    if rows != file.metadata.num_rows:
        yield f"the footer counts {file.metadata.num_rows:,} rows, its row groups {rows:,}"
    if file.encrypted_columns:
        yield f"encrypted columns: {', '.join(file.encrypted_columns)}"
    largest = max(groups, key=lambda group: group.compressed, default=None)
    if largest is not None and largest.compressed > LARGE_GROUP:
        better = max(1, largest.rows * GOOD_GROUP // largest.compressed)
        which = "its one row group" if len(groups) == 1 else "its largest row group"
        yield (
            f"{which} has {largest.compressed:,} bytes: reading part of the rows fetches nearly as much as all of it; "
            f"row groups of about {better:,} rows ({GOOD_GROUP >> 20} MB) would serve better"
        )
    metadata = {pair.key: pair.value for pair in file.metadata.key_value_metadata or ()}
    if "huggingface" in metadata and _features(metadata) is None:
        yield "its huggingface metadata can't be read"


def _plain_node(node: SchemaNode) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "name": node.name,
        "repetition": node.repetition,
        "logical": node.logical or None,
    }
    if node.physical is None:
        return plain | {"children": [_plain_node(child) for child in node.children]}
    return plain | {
        "path": node.dotted, "physical": node.physical, "length": node.length,
        "max_definition": node.max_definition, "max_repetition": node.max_repetition,
    }  # fmt: skip


def schema_lines(schema: SchemaNode) -> list[str]:
    r"""Draws the schema as a tree, a line a node.

    Args:
        schema: The root.

    Returns:
        Lines; those of leaves end with the maximum definition and repetition level.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"tags": [["a"], []]}), f"{folder.name}/drawn.parquet")
        >>> print("\n".join(schema_lines(inspect(f"{folder.name}/drawn.parquet").schema)))
        schema
        └── tags: OPTIONAL group, LIST
            └── list: REPEATED group
                └── element: OPTIONAL BYTE_ARRAY, STRING (definition 3, repetition 1)
        >>> folder.cleanup()
    """
    return [schema.name or "schema", *_branches(schema, "")]


def _branches(node: SchemaNode, indent: str) -> Iterator[str]:
    for child in node.children:
        last = child is node.children[-1]
        kind = child.physical or "group"
        if child.physical == "FIXED_LEN_BYTE_ARRAY":
            kind += f"({child.length})"
        words = f"{child.repetition} {kind}" + (f", {child.logical}" if child.logical else "")
        if child.physical is not None:
            words += f" (definition {child.max_definition}, repetition {child.max_repetition})"
        yield f"{indent}{'└── ' if last else '├── '}{child.name}: {words}"
        yield from _branches(child, indent + ("    " if last else "│   "))
