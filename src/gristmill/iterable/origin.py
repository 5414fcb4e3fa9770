"""Where the rows of a block come from: told to users when a row is wrong, wherever in the stream that shows.

An origin is made with every block, so it is cheap: how rows were cut, chosen and joined is kept, and worked out for the
one row that somebody asks about.
"""

from __future__ import annotations

import bisect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from gristmill.errors import DataError
from gristmill.table.selection import IndexVector

__all__ = ["Origin", "Place", "Run", "grouped_origins", "joined_origins", "located", "locating"]


class Place(NamedTuple):
    """Where one row comes from.

    Attributes:
        source: The file, or what else gave the row.
        row: Its number there; None if nobody counted, as where a filter left rows out while reading.
        is_file: Whether the source is a data file.
    """

    source: str
    row: int | None
    is_file: bool

    def __str__(self) -> str:
        return self.source if self.row is None else f"row {self.row} of {self.source}"


class Origin(ABC):
    """Where the rows of a block come from."""

    __slots__ = ()

    @abstractmethod
    def at(self, row: int) -> Place | None:
        """Says where a row comes from, if that is known."""

    def slice(self, start: int) -> Origin:
        """Gives that of the rows from `start` on."""
        return _Later(self, start)

    def take(self, rows: IndexVector) -> Origin:
        """Gives that of some rows."""
        return _Chosen(self, rows)


@dataclass(frozen=True, slots=True)
class Run(Origin):
    """Rows that follow each other in their source.

    Attributes:
        source: The file, or what else gave the rows.
        first: Number of the first row there, if known.
        is_file: Whether the source is a data file.

    Example:
        >>> Run("a.csv", 100).slice(20).at(3)
        Place(source='a.csv', row=123, is_file=True)
    """

    source: str
    first: int | None
    is_file: bool = True

    def at(self, row: int) -> Place:
        """Counts on from the first."""
        return Place(self.source, None if self.first is None else self.first + row, self.is_file)

    def slice(self, start: int) -> Origin:
        """Begins later."""
        return self if self.first is None else Run(self.source, self.first + start, self.is_file)


@dataclass(frozen=True, slots=True)
class _Later(Origin):
    whole: Origin
    start: int

    def at(self, row: int) -> Place | None:
        return self.whole.at(self.start + row)

    def slice(self, start: int) -> Origin:
        return _Later(self.whole, self.start + start)


@dataclass(frozen=True, slots=True)
class _Chosen(Origin):
    whole: Origin
    rows: IndexVector

    def at(self, row: int) -> Place | None:
        return self.whole.at(int(self.rows[row]))

    def slice(self, start: int) -> Origin:
        return _Chosen(self.whole, self.rows[start:])


@dataclass(frozen=True, slots=True)
class _Joined(Origin):
    sizes: Sequence[int]
    parts: Sequence[Origin | None]

    def at(self, row: int) -> Place | None:
        ends = list(itertools.accumulate(self.sizes))
        part = bisect.bisect_right(ends, row)
        origin = self.parts[part]
        return None if origin is None else origin.at(row - ends[part] + self.sizes[part])


@dataclass(frozen=True, slots=True)
class _Grouped(Origin):
    origins: Sequence[Origin | None]
    group: IndexVector
    place: IndexVector

    def at(self, row: int) -> Place | None:
        origin = self.origins[int(self.group[row])]
        return None if origin is None else origin.at(int(self.place[row]))


def joined_origins(sizes: Sequence[int], parts: Sequence[Origin | None]) -> Origin | None:
    """Joins the origins of blocks that follow each other.

    Args:
        sizes: How many rows each has.
        parts: The origin of each, if known.
    """
    return None if all(part is None for part in parts) else _Joined(sizes, parts)


def grouped_origins(
    origins: Sequence[Origin | None], group: IndexVector, place: IndexVector
) -> Origin | None:
    """Gives the origin of rows that lie in several groups; see `block.Examples`."""
    return None if all(origin is None for origin in origins) else _Grouped(origins, group, place)


def located(error: DataError, origin: Origin | None, counted: int | None = None) -> DataError:
    """Says in an error where the row comes from that it knows by its place in a block only.

    Args:
        error: The error.
        origin: That of the block.
        counted: Number in the stream of the block's first row, if known.

    Example:
        >>> from gristmill.errors import CastError
        >>> print(located(CastError.at("too large", row=1, column="n"), Run("b.csv", 20), 320))
        b.csv, row 21 (row 321 of the stream), column "n": too large.
    """
    if error.is_located:
        return error
    index = error.row_in_block
    number = None if index is None or counted is None else counted + index
    place = None if origin is None else origin.at(index or 0)
    if place is None or (not place.is_file and (index is None or place.row == number)):
        return error if number is None else error.located(None, number)
    if index is None:
        return error.located(place.source, None)
    in_stream = "" if number in (None, place.row) else f" (row {number} of the stream)"
    if place.row is None:
        return error.located(f"{place.source}{in_stream}", None)
    return error.located(place.source, f"{place.row}{in_stream}")


T = TypeVar("T")


def locating(work: Callable[..., T], origin: Origin | None, *arguments: Any, counted: int | None = None) -> T:
    """Calls a function that works on a block, and says in its errors where rows come from.

    Args:
        work: The function.
        origin: Where the rows of the block come from.
        *arguments: What it is called with.
        counted: Number in the stream of the block's first row, if known.
    """
    try:
        return work(*arguments)
    except DataError as error:
        raise located(error, origin, counted) from error.__cause__
