"""What flows through a stream: rows with the same columns, or groups of such rows.

How rows are cut into blocks depends on how fast they come, so nothing may depend on it: a row that lacks a column, or
holds an object where others hold a number of Arrow's, does not change what the rows around it are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.features import Features
from gristmill.features.build import table_from_rows
from gristmill.iterable.columnar import Columns, Row, check_names, is_arrow
from gristmill.iterable.origin import Origin, grouped_origins, joined_origins
from gristmill.table.selection import IndexVector

__all__ = ["Block", "Columns", "Examples", "Row", "gathered", "is_arrow", "join", "parts_of"]


class Examples:
    """Some rows that need not have the same columns, or not of the same kind.

    Args:
        groups: Rows that have.
        group: For each row, the number of its group.
        place: For each row, its place in its group.
    """

    __slots__ = ("_group", "_groups", "_place", "num_rows")

    def __init__(self, groups: Sequence[Columns], group: IndexVector, place: IndexVector) -> None:
        self._groups = groups
        self._group = group
        self._place = place
        self.num_rows = len(group)

    @staticmethod
    def of_rows(rows: Sequence[Row], origin: Origin | None = None) -> Block:
        """Makes a block of dicts of Python objects, which come from `origin`."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, row in enumerate(rows):
            groups.setdefault(tuple(row), []).append(number)
        parts = []
        for names, numbers in groups.items():
            here = np.array(numbers, np.int64)
            columns = {name: [rows[number][name] for number in numbers] for name in names}
            whole = origin is None or len(numbers) == len(rows)
            mine = origin if origin is None or whole else origin.take(here)
            parts.append((here, Columns(columns, len(numbers), None, mine)))
        return gathered(parts, len(rows))

    @property
    def origin(self) -> Origin | None:
        """Where the rows come from, if known."""
        return grouped_origins([group.origin for group in self._groups], self._group, self._place)

    def parts(self) -> list[tuple[IndexVector, Columns]]:
        """Gives rows that have the same columns, each time with their places in this block."""
        found = []
        for number in np.unique(self._group).tolist():
            mine = np.flatnonzero(self._group == number)
            found.append((mine, self._groups[number].take(self._place[mine])))
        return found

    def slice(self, start: int, stop: int) -> Block:
        """Gives the rows from `start` to before `stop`."""
        return self._chosen(slice(start, stop))

    def take(self, rows: IndexVector) -> Block:
        """Gives rows in the order asked for."""
        return self._chosen(rows)

    def _chosen(self, rows: Any) -> Block:
        group, place = self._group[rows], self._place[rows]
        if len(group) and (group == group[0]).all():
            return self._groups[int(group[0])].take(place)
        return Examples(self._groups, group, place)

    def _changed(self, change: Callable[[Columns], Columns]) -> Block:
        return gathered([(rows, change(part)) for rows, part in self.parts()], self.num_rows)

    def choose(self, names: Sequence[str]) -> Block:
        """Keeps some columns; a row that lacks one is an error, see `Columns.choose`."""
        return self._changed(lambda part: part.choose(names))

    def without(self, names: Sequence[str]) -> Block:
        """Leaves out some columns."""
        return self._changed(lambda part: part.without(names))

    def rename(self, mapping: Mapping[str, str]) -> Block:
        """Gives columns other names."""
        return self._changed(lambda part: part.rename(mapping))

    def table(self, features: Features | None = None) -> tuple[pa.Table, Features]:
        """Gives the rows as a table, see `Columns.table`; a value that a row lacks is None."""
        if features is None and (alike := self.columns()) is not None:
            return alike.table()
        if features is not None:
            there = {name: None for _, part in self.parts() for name in part.columns}
            check_names(there, features, missing=False)
        table = table_from_rows(self.rows(), features)
        return table, Features.from_arrow_schema(table.schema) if features is None else features

    def values(self, name: str) -> Sequence[Any]:
        """Gives the values of a column, see `Columns.values`."""
        return self._placed(lambda part: part.values(name))

    def rows(self) -> list[Row]:
        """Gives the rows."""
        return self._placed(lambda part: part.rows())

    def _placed(self, values_of: Callable[[Columns], Sequence[Any]]) -> list[Any]:
        placed: list[Any] = [None] * self.num_rows
        for rows, part in self.parts():
            for row, value in zip(rows.tolist(), values_of(part), strict=True):
                placed[row] = value
        return placed

    def columns(self) -> Columns | None:
        """Gives the same rows by column if all have the same ones; else None."""
        parts = self.parts()
        names = parts[0][1].names if parts else []
        if any(part.columns.keys() != set(names) for _, part in parts):
            return None
        return Columns({name: self.values(name) for name in names}, self.num_rows, None, self.origin)


Block = Columns | Examples


def parts_of(block: Block) -> list[tuple[IndexVector, Columns]]:
    """Gives rows of a block that have the same columns, each time with their places in it."""
    return block.parts() if isinstance(block, Examples) else [(np.arange(block.num_rows), block)]


def gathered(parts: Sequence[tuple[IndexVector, Columns]], num_rows: int) -> Block:
    """Makes a block of rows that come from several.

    Args:
        parts: Rows, each time with their places in the block.
        num_rows: How many places there are.
    """
    kinds: list[list[tuple[IndexVector, Columns]]] = []
    for rows, part in parts:
        if not len(rows):
            continue
        alike = next((several for several in kinds if _alike(several[0][1], part)), None)
        if alike is None:
            kinds.append([(rows, part)])
        else:
            alike.append((rows, part))
    groups = [_concatenated([part for _, part in several]) for several in kinds]
    places = [np.concatenate([rows for rows, _ in several]) for several in kinds]
    if not groups:
        return parts[0][1].slice(0, 0) if parts else Columns({}, num_rows)
    if len(groups) == 1:
        order = places[0]
        in_order = bool((order[1:] > order[:-1]).all())
        return groups[0] if in_order else groups[0].take(np.argsort(order, kind="stable"))
    group, place = np.empty(num_rows, np.int64), np.empty(num_rows, np.int64)
    for number, rows in enumerate(places):
        group[rows], place[rows] = number, np.arange(len(rows))
    return Examples(groups, group, place)


def join(blocks: Sequence[Block]) -> Block:
    """Puts blocks one after another.

    Args:
        blocks: At least one.
    """
    if len(blocks) == 1:
        return blocks[0]
    parts, first = [], 0
    for block in blocks:
        parts += [(rows + first, part) for rows, part in parts_of(block)]
        first += block.num_rows
    return gathered(parts, first)


def _alike(one: Columns, other: Columns) -> bool:
    """Says whether the rows of two can stand in one block without a change."""
    if one.names != other.names:
        return False
    for name, values in one.columns.items():
        beside = other.columns[name]
        if is_arrow(values) != is_arrow(beside) or (is_arrow(values) and values.type != beside.type):
            return False
    if one.features is other.features:
        return True
    return all(
        one.features.get(name) == other.features.get(name)
        for name, values in one.columns.items()
        if is_arrow(values)
    )


def _concatenated(several: Sequence[Columns]) -> Columns:
    first = several[0]
    if len(several) == 1:
        return first
    columns = {name: _joined([part.columns[name] for part in several]) for name in first.columns}
    sizes = [part.num_rows for part in several]
    return Columns(
        columns, sum(sizes), first.features, joined_origins(sizes, [part.origin for part in several])
    )


def _joined(pieces: list[Any]) -> Any:
    if is_arrow(pieces[0]):
        return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pieces[0].type)
    if (
        all(isinstance(piece, np.ndarray) for piece in pieces)
        and len({(piece.dtype, piece.shape[1:]) for piece in pieces}) == 1
    ):
        return np.concatenate(pieces)
    return [value for piece in pieces for value in piece]
