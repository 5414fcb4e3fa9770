"""The footer of a Parquet file: found from the end, parsed, and held against the file before anyone relies on it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from typing_extensions import Self

from gristmill.errors import FileFormatError, GristmillError
from gristmill.parquet.names import TYPES, name_of
from gristmill.parquet.records import ColumnChunk, ColumnIndex, ColumnMetaData, FileMetaData, OffsetIndex
from gristmill.parquet.schema import SchemaNode, build_schema
from gristmill.parquet.source import Source, open_source
from gristmill.parquet.thrift import decode

_T = TypeVar("_T")
MAGIC, ENCRYPTED = b"PAR1", b"PARE"
LARGEST_FOOTER = 256 << 20
"""Bytes of a footer or index that are read at most."""


@dataclass(frozen=True)
class Place:
    """Where in a file something is; it words errors.

    Attributes:
        file: The file's name.
        group: Row group, counted from 0.
        column: Dotted path of the leaf.
        page: Page of the column chunk, counted from 0, a dictionary page included.
    """

    file: str
    group: int | None = None
    column: str | None = None
    page: int | None = None

    def error(self, problem: str, remedy: str = "") -> FileFormatError:
        """Makes the error for something wrong here."""
        file = self.file if self.group is None else f"{self.file}, row group {self.group}"
        if self.page is not None:
            problem = f"page {self.page}: {problem}"
        error: FileFormatError = FileFormatError.at(problem, file=file, column=self.column, remedy=remedy)
        return error

    @contextlib.contextmanager
    def parsing(self, what: str) -> Iterator[None]:
        """Turns what the parsers raise (ValueError, EOFError) into an error that names this place."""
        try:
            yield
        except GristmillError:
            raise
        except (ValueError, EOFError) as error:
            raise self.error(f"{what} can't be used: {error}") from error


@dataclass(frozen=True)
class Chunk:
    """One column of one row group, checked against the file.

    Attributes:
        group: Index of the row group.
        leaf: The leaf of the schema.
        index: Index of the leaf.
        meta: What the footer says of it.
        pointers: Where its indexes are.
        start: Where its first page begins.
        rows: Rows of the row group.
    """

    group: int
    leaf: SchemaNode
    index: int
    meta: ColumnMetaData
    pointers: ColumnChunk
    start: int
    rows: int


class ParquetFile:
    """A Parquet file whose footer has been read and checked; opened by `open_parquet`.

    Attributes:
        source: Where its bytes come from.
        metadata: The footer.
        footer_size: Bytes of the footer.
        schema: The schema as a tree.
        leaves: The schema's leaves; column chunks are in this order.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"a": [1, 2, 3]}), f"{folder.name}/three.parquet")
        >>> with open_parquet(f"{folder.name}/three.parquet") as file:
        ...     file.metadata.num_rows, file.leaves[0].max_definition
        (3, 1)
        >>> folder.cleanup()
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.place = Place(source.name)
        raw = _read_footer(source, self.place)
        self.footer_size = len(raw)
        with self.place.parsing("the footer"):
            self.metadata, _ = decode(FileMetaData, raw)
            self.schema = build_schema(self.metadata.schema)
        self.leaves = tuple(self.schema.leaves())
        _check_groups(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the source."""
        self.source.close()

    def chunk(self, group: int, index: int) -> Chunk:
        """Gives one column chunk, if its bytes are in this file and not encrypted.

        Args:
            group: Index of the row group.
            index: Index of the leaf.

        Raises:
            FileFormatError: It is encrypted, in another file, or the footer's account of it can't be.
        """
        leaf, row_group = self.leaves[index], self.metadata.row_groups[group]
        place = self.chunk_place(group, index)
        pointers = row_group.columns[index]
        meta = pointers.meta_data
        if meta is None or pointers.crypto_metadata is not None:
            raise place.error("the column is encrypted, and Gristmill has no keys")
        if pointers.file_path:
            raise place.error(f"its bytes are in another file, {pointers.file_path!r}")
        return Chunk(group, leaf, index, meta, pointers, chunk_start(meta), row_group.num_rows)

    def chunk_place(self, group: int, index: int) -> Place:
        """Words where a chunk is."""
        return Place(self.source.name, group, self.leaves[index].dotted)

    def offset_index(self, group: int, index: int) -> OffsetIndex | None:
        """Reads where the pages of a chunk are, if the file says so; None otherwise."""
        pointers = self.metadata.row_groups[group].columns[index]
        return self._index(
            OffsetIndex,
            pointers.offset_index_offset,
            pointers.offset_index_length,
            group,
            index,
            "the offset index",
        )

    def column_index(self, group: int, index: int) -> ColumnIndex | None:
        """Reads the smallest and largest value of each page of a chunk, if the file has them; None otherwise."""
        pointers = self.metadata.row_groups[group].columns[index]
        return self._index(
            ColumnIndex,
            pointers.column_index_offset,
            pointers.column_index_length,
            group,
            index,
            "the column index",
        )

    def _index(
        self, record: type[_T], offset: int | None, length: int | None, group: int, index: int, what: str
    ) -> _T | None:
        if offset is None or length is None:
            return None
        place = self.chunk_place(group, index)
        if length <= 0 or offset < 4 or offset + length > self.source.size or length > LARGEST_FOOTER:
            raise place.error(f"{what} is said to be {length:,} bytes at {offset:,}, outside the file")
        with place.parsing(what):
            return decode(record, self.source.read_at(offset, length))[0]

    @cached_property
    def encrypted_columns(self) -> tuple[str, ...]:
        """Paths of columns that are encrypted in some row group."""
        return tuple(
            leaf.dotted
            for index, leaf in enumerate(self.leaves)
            if any(group.columns[index].crypto_metadata is not None for group in self.metadata.row_groups)
        )


def chunk_start(meta: ColumnMetaData) -> int:
    """Gives where a chunk's first page begins.

    Some writers put 0 for a dictionary page that is not there, and others no offset for one that is: then the data
    pages' offset is that of the dictionary page.
    """
    dictionary = meta.dictionary_page_offset
    return dictionary if dictionary and 0 < dictionary < meta.data_page_offset else meta.data_page_offset


def open_parquet(name: str | os.PathLike[str]) -> ParquetFile:
    """Opens a Parquet file and reads its footer; nothing else is read until it is asked for.

    Args:
        name: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``.

    Returns:
        The file, to be closed or used in a ``with`` block.

    Raises:
        FileFormatError: It is no Parquet file, is cut off or damaged, or its footer is encrypted.
        FileMissingError: No such file.
        HubError: A server refuses, can't be reached, or does not answer ranges.
    """
    source = open_source(name)
    try:
        return ParquetFile(source)
    except BaseException:
        source.close()
        raise


def _read_footer(source: Source, place: Place) -> bytes:
    size = source.size
    if size < 12:
        raise place.error(
            f"it has {size} bytes, too few for a Parquet file; it is cut off, or another format"
        )
    end = source.read_at(size - 8, 8)
    if end[4:] == ENCRYPTED:
        raise place.error("its footer is encrypted, and Gristmill has no keys")
    if end[4:] != MAGIC:
        first = source.read_at(0, 4)
        cut = first == MAGIC
        raise place.error(
            f"it ends with {end[4:]!r} and not {MAGIC!r}: "
            + ("its end, with the footer, is cut off or damaged" if cut else "it is no Parquet file"),
            "Fetch or write it again." if cut else "",
        )
    length = int.from_bytes(end[:4], "little")
    if length > size - 12 or length == 0:
        raise place.error(
            f"its footer is said to have {length:,} bytes, in a file of {size:,}; it is cut off or damaged"
        )
    if length > LARGEST_FOOTER:
        raise place.error(f"its footer has {length:,} bytes; at most {LARGEST_FOOTER:,} are read")
    return source.read_at(size - 8 - length, length)


def _check_groups(file: ParquetFile) -> None:
    metadata, place = file.metadata, file.place
    if metadata.num_rows < 0:
        raise place.error(f"the footer counts {metadata.num_rows:,} rows")
    data_end = file.source.size - 8 - file.footer_size
    for number, group in enumerate(metadata.row_groups):
        here = Place(place.file, number)
        if group.num_rows < 0:
            raise here.error(f"the footer counts {group.num_rows:,} rows")
        if len(group.columns) != len(file.leaves):
            raise here.error(f"it has {len(group.columns):,} columns, and the schema {len(file.leaves):,}")
        for leaf, chunk in zip(file.leaves, group.columns, strict=True):
            if chunk.meta_data is not None:
                _check_chunk(Place(place.file, number, leaf.dotted), leaf, chunk, data_end)


def _check_chunk(place: Place, leaf: SchemaNode, chunk: ColumnChunk, data_end: int) -> None:
    meta = chunk.meta_data
    assert meta is not None  # the caller looked
    if tuple(meta.path_in_schema) != leaf.path:
        raise place.error(f"the footer calls its chunk {'.'.join(meta.path_in_schema)!r}")
    if name_of(TYPES, meta.type) != leaf.physical:
        raise place.error(f"the schema says {leaf.physical}, and its chunk is {name_of(TYPES, meta.type)}")
    counts = (meta.num_values, meta.total_compressed_size, meta.total_uncompressed_size)
    if min(counts) < 0:
        raise place.error("the footer gives a negative count or size")
    if chunk.file_path:
        return
    start = chunk_start(meta)
    if meta.num_values and not 4 <= start <= start + meta.total_compressed_size <= data_end:
        raise place.error(
            f"its {meta.total_compressed_size:,} bytes at {start:,} are not within the file's data (4 to {data_end:,})"
        )
