"""Row groups that the index of their pages rules out: none of whose runs of rows can hold a row that matches.

The statistics of a row group are those of all its rows, and say little of a column whose values lie far apart. The
index has the least and the largest value of each page. Pages of different columns begin at different rows, so a row
group is cut where any page begins; what is known of each run is held against the filter.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import GristmillError
from gristmill.partial.intervals import Interval, total

__all__ = ["groups_by_pages"]

_LARGEST_FOOTER = 4 << 20
_LARGEST_INDEX = 4 << 20
_MOST_RUNS = 10_000


class Pages(Protocol):
    """A Parquet file whose bytes can be fetched."""

    name: str
    size: int
    path: Path

    def fetch(self, ranges: Sequence[Interval]) -> None:
        """Makes sure that bytes are here."""
        ...


class _Bytes:
    """The file as the reader of indexes takes it."""

    remote = True

    def __init__(self, file: Pages) -> None:
        self._file = file
        self.name, self.size, self.fetched = file.name, file.size, 0

    def read_at(self, offset: int, length: int) -> bytes:
        self._file.fetch([(offset, offset + length)])
        with self._file.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def close(self) -> None:
        pass


def groups_by_pages(
    file: Pages, schema: pa.Schema, footer_bytes: int, groups: Sequence[int], predicate: Any
) -> list[int]:
    """Leaves out row groups of which no run of rows can match.

    Args:
        file: The file; its footer is here, its indexes are fetched.
        schema: Its columns.
        footer_bytes: Size of its footer.
        groups: The row groups in question.
        predicate: The filter, as an expression.

    Returns:
        Those that may hold a row that matches; all where there is no index, or a damaged one.
    """
    from gristmill.parquet.footer import ParquetFile

    text = str(predicate)
    if not groups or footer_bytes > _LARGEST_FOOTER:
        return list(groups)
    try:
        parsed = ParquetFile(_Bytes(file))
        columns = [
            (index, leaf.path[0], schema.field(leaf.path[0]).type)
            for index, leaf in enumerate(parsed.leaves)
            if len(leaf.path) == 1 and leaf.path[0] in text and leaf.path[0] in schema.names
        ]
        ranges = list(_index_ranges(parsed, groups, [index for index, _, _ in columns]))
        if not ranges or total(ranges) > _LARGEST_INDEX:
            return list(groups)
        file.fetch(ranges)
        return [group for group in groups if _may_match(parsed, group, columns, schema, predicate)]
    except (GristmillError, ValueError, OverflowError, pa.ArrowException) as error:
        if isinstance(error, OSError):
            raise  # the server can't be reached
        return list(groups)


def _index_ranges(parsed: Any, groups: Sequence[int], columns: Sequence[int]) -> Iterator[Interval]:
    for group in groups:
        for column in columns:
            at = parsed.metadata.row_groups[group].columns[column]
            for offset, length in (
                (at.column_index_offset, at.column_index_length),
                (at.offset_index_offset, at.offset_index_length),
            ):
                if (
                    offset is not None
                    and length is not None
                    and 0 < offset < offset + length <= parsed.source.size
                ):
                    yield offset, offset + length


def _may_match(
    parsed: Any, group: int, columns: Sequence[tuple[int, str, Any]], schema: pa.Schema, predicate: Any
) -> bool:
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    rows = parsed.metadata.row_groups[group].num_rows
    asked = [_pages(parsed, group, index, name, type_, rows) for index, name, type_ in columns]
    known = [pages for pages in asked if pages]
    starts = sorted({start for pages in known for start, _ in pages})
    if not starts or len(starts) > _MOST_RUNS:
        return True
    format, system = ds.ParquetFileFormat(), LocalFileSystem()
    runs = []
    for start in starts:
        said = [next(guarantee for first, guarantee in reversed(pages) if first <= start) for pages in known]
        said = [guarantee for guarantee in said if guarantee is not None]
        if not said:
            return True
        whole = said[0]
        for more in said[1:]:
            whole = whole & more
        # Nothing is read of it: what counts is whether the filter contradicts what is known.
        runs.append(format.make_fragment(parsed.source.name, filesystem=system, partition_expression=whole))
    data = ds.FileSystemDataset(runs, schema, format, system)
    return next(iter(data.get_fragments(filter=predicate)), None) is not None


def _pages(
    parsed: Any, group: int, index: int, name: str, type_: Any, rows: int
) -> list[tuple[int, Any]] | None:
    """Gives the first row of each page of a column, and what is known of its values; None if it has no index."""
    bounds, places = parsed.column_index(group, index), parsed.offset_index(group, index)
    if bounds is None or places is None:
        return None
    starts = [place.first_row_index for place in places.page_locations]
    lists = [bounds.null_pages, bounds.min_values, bounds.max_values]
    if bounds.null_counts is not None:
        lists.append(bounds.null_counts)
    ordered = all(one < other for one, other in itertools.pairwise([*starts, rows]))
    if not starts or starts[0] != 0 or not ordered or any(len(values) != len(starts) for values in lists):
        return None
    return [(start, _known(bounds, page, name, type_)) for page, start in enumerate(starts)]


def _known(bounds: Any, page: int, name: str, type_: Any) -> Any:
    import pyarrow.compute as pc

    field: Any = pc.field(name)
    if bounds.null_pages[page]:
        return field.is_null()
    least, largest = _value(bounds.min_values[page], type_), _value(bounds.max_values[page], type_)
    if least is None or largest is None:
        return None
    within = (field >= least) & (field <= largest)
    has_nulls = bounds.null_counts is None or bounds.null_counts[page] > 0
    return within | field.is_null() if has_nulls else within


def _value(raw: bytes, type_: Any) -> pa.Scalar | None:
    """Reads a bound; None for types whose bounds are not used."""
    try:
        if pt.is_integer(type_) and len(raw) in (4, 8):
            return pa.scalar(int.from_bytes(raw, "little", signed=not pt.is_unsigned_integer(type_)), type_)
        if pt.is_date32(type_) and len(raw) == 4:
            return pa.scalar(int.from_bytes(raw, "little", signed=True), pa.int32()).cast(type_)
        if pt.is_float64(type_) and len(raw) == 8:
            number = struct.unpack("<d", raw)[0]
            return None if number != number else pa.scalar(number, type_)  # NaN
        if pt.is_string(type_) or pt.is_large_string(type_):
            return pa.scalar(raw.decode(), type_)
        if pt.is_binary(type_) or pt.is_large_binary(type_):
            return pa.scalar(raw, type_)
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    return None
