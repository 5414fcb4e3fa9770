"""One Parquet file of the column chunks of others: their bytes are copied, and only what says where they lie is changed.

pyarrow writes a file in one thread. What it writes of a column of a row group does not depend on the other columns and
row groups, though, but for where it lies. So a file can be put together from files that were written apart, and has the
bytes that pyarrow would have given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gristmill.formats.parquet_pieces import Piece, Source
from gristmill.formats.parquet_walk import each, read_varint, skip, structs, walk

__all__ = ["Splice", "first_rows"]

_MAGIC = b"PAR1"
# Numbers of fields: of a footer, a row group, a column chunk, what is said of the chunk, an offset index, a page in it.
_NUM_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_SIZE, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_COMPRESSED, _ORDINAL = 1, 2, 3, 5, 6, 7
_FILE_OFFSET, _META, _OFFSET_INDEX, _OFFSET_LENGTH, _COLUMN_INDEX, _COLUMN_LENGTH = 2, 3, 4, 5, 6, 7
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM, _BLOOM_LENGTH = 9, 10, 11, 14, 15
_LOCATIONS, _PAGE_OFFSET, _FIRST_ROW = 1, 1, 3

_Edit = tuple[int, int, bytes]
"""Where something begins and ends, and what comes in its place."""
_Reader = Callable[[int, int], int]


class _Number(NamedTuple):
    """A number in metadata, and where it stands."""

    start: int
    end: int
    value: int

    def becomes(self, value: int) -> _Edit:
        return self.start, self.end, _zigzag(value)


class _Extra(NamedTuple):
    """What lies behind the row groups for a column chunk, and the numbers that say where, and of how many bytes."""

    place: _Number
    length: _Number
    data: bytes


class _Chunk(NamedTuple):
    """A column chunk: where it is told of, what is changed there, what lies behind the row groups for it."""

    footer: bytes
    start: int
    end: int
    edits: list[_Edit]
    bloom: _Extra | None
    column_index: _Extra | None
    offset_index: _Extra | None


class _Told(NamedTuple):
    """A row group: what is told of it before its chunks and behind them, and the chunks."""

    before: bytes
    chunks: list[_Chunk]
    behind: bytes


class Splice:
    """A Parquet file that is put together from others.

    Args:
        out: A binary file object.

    Example:
        >>> import io, pyarrow as pa, pyarrow.parquet as pq
        >>> from gristmill.formats.parquet_pieces import PieceWriter
        >>> table = pa.table({"a": [1, 2], "b": ["x", "y"]})
        >>> out, expected, empty = io.BytesIO(), io.BytesIO(), io.BytesIO()
        >>> writers = [PieceWriter(table.select([name]).schema, {}) for name in "ab"]
        >>> splice = Splice(out)
        >>> for _ in range(3):
        ...     splice.add_group([w.write(table.select([name])) for w, name in zip(writers, "ab")])
        >>> for writer in writers:
        ...     writer.close()
        >>> pq.ParquetWriter(empty, table.schema).close()
        >>> splice.close(empty.getvalue())
        >>> pq.write_table(pa.concat_tables([table] * 3), expected, row_group_size=2)
        >>> out.getvalue() == expected.getvalue()
        True
    """

    def __init__(self, out: Any) -> None:
        self._out = out
        self._at = 0
        # Of each row group: where it begins and ends, and of each piece its file, its number there, and how many bytes
        # further back than there it lies.
        self._groups: list[tuple[int, int, list[tuple[Source, int, int]]]] = []
        self._write(_MAGIC)

    def add_group(self, pieces: Iterable[Piece]) -> None:
        """Writes the next row group.

        Args:
            pieces: What lies beside each other in it.
        """
        start = self._at
        moved = []
        for piece in pieces:
            moved.append((piece.source, piece.group, self._at - piece.start))
            for data in piece.data:
                self._write(data)
        self._groups.append((start, self._at, moved))

    def close(self, empty: bytes) -> None:
        """Writes what lies behind the row groups; leaves the file object open.

        Args:
            empty: A Parquet file with all columns and no row group, whose schema and metadata this one gets.
        """
        found: dict[int, list[_SourceGroup]] = {}
        rows = 0
        groups: list[_Told] = []
        for ordinal, (start, end, moved) in enumerate(self._groups):
            parts = []
            for source, number, _ in moved:
                if id(source) not in found:
                    found[id(source)] = _read_source(source)
                parts.append(found[id(source)][number])
            rows += parts[0].numbers[_GROUP_ROWS].value
            groups.append(_told(parts, [shift for _, _, shift in moved], start, end, ordinal))
        chunks = [chunk for group in groups for chunk in group.chunks]
        self._write_extras((chunk.edits, chunk.bloom) for chunk in chunks)
        self._write_extras((chunk.edits, chunk.column_index) for chunk in chunks)
        self._write_extras((chunk.edits, chunk.offset_index) for chunk in chunks)
        told = [_list_head(len(groups))]
        for group in groups:
            told.append(group.before)
            told += [_edited(chunk.footer, chunk.start, chunk.end, chunk.edits) for chunk in group.chunks]
            told.append(group.behind)
        footer = _with_groups(_footer_of(empty), rows, b"".join(told))
        self._write(footer + len(footer).to_bytes(4, "little") + _MAGIC)

    def _write_extras(self, extras: Iterable[tuple[list[_Edit], _Extra | None]]) -> None:
        for edits, extra in extras:
            if extra is not None:
                edits += [extra.place.becomes(self._at), extra.length.becomes(len(extra.data))]
                self._write(extra.data)

    def _write(self, data: bytes | memoryview) -> None:
        self._out.write(data)
        self._at += len(data)


def first_rows(piece: Piece) -> list[list[int]]:
    """Tells the first row of each page of each column chunk; without a page index, of none.

    Args:
        piece: Written by a writer that has been closed.
    """
    chunks = _read_source(piece.source)[piece.group].chunks(0)
    return [
        [] if chunk.offset_index is None else [row.value for row in _pages(chunk.offset_index.data)[1]]
        for chunk in chunks
    ]


def _told(parts: Sequence[_SourceGroup], shifts: Sequence[int], start: int, end: int, ordinal: int) -> _Told:
    """Makes what is told of a row group."""
    first = parts[0]
    becomes = {
        _GROUP_SIZE: sum(part.numbers[_GROUP_SIZE].value for part in parts),
        _GROUP_OFFSET: start,
        _GROUP_COMPRESSED: end - start,
        _ORDINAL: (ordinal + (1 << 15)) % (1 << 16) - (1 << 15),  # of 16 bits; pyarrow 26 tells none
    }
    edits = [
        first.numbers[field].becomes(value) for field, value in becomes.items() if field in first.numbers
    ]
    chunks = [chunk for part, shift in zip(parts, shifts, strict=True) for chunk in part.chunks(shift)]
    list_start, list_end = first.columns
    before = first.footer[first.start : list_start] + _list_head(len(chunks))
    return _Told(before, chunks, _edited(first.footer, list_end, first.end, edits))


def _with_groups(footer: bytes, rows: int, groups: bytes) -> bytes:
    """Puts the list of row groups, and how many rows they have, into a footer."""
    edits: list[_Edit] = []

    def becomes(data: bytes) -> _Reader:
        def replace(at: int, kind: int) -> int:
            end = skip(footer, at, kind)
            edits.append((at, end, data))
            return end

        return replace

    walk(footer, 0, {_NUM_ROWS: becomes(_zigzag(rows)), _GROUPS: becomes(groups)})
    return _edited(footer, 0, len(footer), edits)


class _SourceGroup:
    """What a footer tells of a row group.

    Attributes:
        footer: The footer.
        start: Where the row group begins in it.
        end: Where it ends.
        columns: Where the list of its chunks begins and ends.
        numbers: The numbers that are told of the row group, by field.
    """

    def __init__(self, source: Source, footer: bytes, at: int) -> None:
        self.footer = footer
        self.columns = (0, 0)
        self.numbers: dict[int, _Number] = {}
        self._source = source
        # Of each chunk: where it begins and ends, and the numbers it tells, those in its metadata apart.
        self._found: list[tuple[int, int, dict[int, _Number], dict[int, _Number]]] = []
        fields = (_GROUP_SIZE, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_COMPRESSED, _ORDINAL)
        readers = _numbers(footer, self.numbers, fields)
        self.start, self.end = at, walk(footer, at, {_COLUMNS: self._read_columns, **readers})

    def _read_columns(self, at: int, kind: int) -> int:
        start = at
        count, at = structs(self.footer, at, kind)
        for _ in range(count):
            at = self._read_chunk(at)
        self.columns = start, at
        return at

    def _read_chunk(self, at: int) -> int:
        chunk: dict[int, _Number] = {}
        meta: dict[int, _Number] = {}
        fields = (_FILE_OFFSET, _OFFSET_INDEX, _OFFSET_LENGTH, _COLUMN_INDEX, _COLUMN_LENGTH)
        in_meta = (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM, _BLOOM_LENGTH)
        readers = _numbers(self.footer, chunk, fields)
        inner = _numbers(self.footer, meta, in_meta)
        end = walk(self.footer, at, {**readers, _META: lambda at, _: walk(self.footer, at, inner)})
        self._found.append((at, end, chunk, meta))
        return end

    def chunks(self, shift: int) -> Iterable[_Chunk]:
        """Tells of the chunks where their pages lie so many bytes further back."""
        for start, end, chunk, meta in self._found:
            moved = [meta.get(field) for field in (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE)]
            moved.append(chunk.get(_FILE_OFFSET))
            # Writers put 0 for what is not there, and today for the file's offset in any case.
            edits = [number.becomes(number.value + shift) for number in moved if number and number.value]
            pages = self._extra(chunk.get(_OFFSET_INDEX), chunk.get(_OFFSET_LENGTH))
            yield _Chunk(
                self.footer,
                start,
                end,
                edits,
                self._extra(meta.get(_BLOOM), meta.get(_BLOOM_LENGTH)),
                self._extra(chunk.get(_COLUMN_INDEX), chunk.get(_COLUMN_LENGTH)),
                pages and pages._replace(data=_moved(pages.data, shift)),
            )

    def _extra(self, place: _Number | None, length: _Number | None) -> _Extra | None:
        if place is None or length is None:
            return None
        at = place.value - self._source.tail_start
        return _Extra(place, length, self._source.tail[at : at + length.value])


def _read_source(source: Source) -> list[_SourceGroup]:
    footer = _footer_of(source.tail)
    found: list[_SourceGroup] = []

    def group(at: int) -> int:
        found.append(_SourceGroup(source, footer, at))
        return found[-1].end

    walk(footer, 0, {_GROUPS: lambda at, kind: each(footer, at, kind, group)})
    return found


def _moved(index: bytes, shift: int) -> bytes:
    """Changes an offset index for pages that lie so many bytes further back."""
    offsets, _ = _pages(index)
    return _edited(index, 0, len(index), [offset.becomes(offset.value + shift) for offset in offsets])


def _pages(index: bytes) -> tuple[list[_Number], list[_Number]]:
    """Finds in an offset index where each page begins, and its first row."""
    offsets: list[_Number] = []
    rows: list[_Number] = []

    def location(at: int) -> int:
        numbers: dict[int, _Number] = {}
        end = walk(index, at, _numbers(index, numbers, (_PAGE_OFFSET, _FIRST_ROW)))
        offsets.append(numbers[_PAGE_OFFSET])
        rows.append(numbers[_FIRST_ROW])
        return end

    walk(index, 0, {_LOCATIONS: lambda at, kind: each(index, at, kind, location)})
    return offsets, rows


def _footer_of(file: bytes) -> bytes:
    length = int.from_bytes(file[-8:-4], "little")
    return file[-8 - length : -8]


def _numbers(data: bytes, found: dict[int, _Number], fields: Iterable[int]) -> dict[int, _Reader]:
    """Gives readers that note the numbers of some fields."""

    def reader(field: int) -> _Reader:
        def read(at: int, _: int) -> int:
            found[field] = number = _number(data, at)
            return number.end

        return read

    return {field: reader(field) for field in fields}


def _number(data: bytes, at: int) -> _Number:
    value, end = read_varint(data, at)
    return _Number(at, end, value >> 1 ^ -(value & 1))


def _edited(data: bytes, start: int, end: int, edits: Iterable[_Edit]) -> bytes:
    """Gives a piece of metadata with what is changed in it."""
    parts = []
    for begin, behind, new in sorted(edits):
        parts += [data[start:begin], new]
        start = behind
    parts.append(data[start:end])
    return b"".join(parts)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~(value << 1))


def _list_head(count: int) -> bytes:
    """Begins a list of structs."""
    return bytes([count << 4 | 12]) if count < 15 else b"\xfc" + _varint(count)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)
