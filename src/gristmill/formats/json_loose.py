"""JSON rows of a stream: types by the head of the file, rows that do not fit with types of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import CastError, DataError, FileFormatError, SchemaConflictError
from gristmill.features.build import table_from_rows
from gristmill.features.schema import Features
from gristmill.formats.base import one_batch
from gristmill.formats.json_parse import parse_rows
from gristmill.formats.loose import Bad, Part, fitted, in_turn
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import Block

Row = dict[str, Any]

__all__ = ["good_rows", "rows_as", "rows_by_head"]


def rows_by_head(
    rows: Iterable[tuple[int, Row]], file: SourceFile, head: pa.Schema, mixed: bool, bad: Bad | None
) -> tuple[int, list[Part]]:
    """Makes values of rows: Arrow's of those that fit the types of the head.

    Args:
        rows: The rows with their indices in the file.
        file: The file, for errors.
        head: The types.
        mixed: Rows may have values of other types.
        bad: Takes rows that have other types where they must not.

    Returns:
        (how many rows, the rows in parts).

    Raises:
        SchemaConflictError: A value does not fit, and `bad` is None.
    """
    types = {field.name: field.type for field in head}
    fit: tuple[list[int], list[Row]] = ([], [])
    odd: tuple[list[int], list[Row]] = ([], [])
    place, first = 0, 0
    for number, one in rows:
        if one.keys() <= types.keys() and all(_fits(value, types[name]) for name, value in one.items()):
            places, there = fit
        else:
            error = None if mixed else _conflict(one, types, file, number)
            if error is not None:
                if bad is None:
                    raise error
                bad.add(error)
                continue
            places, there = odd
        first = first if place else number
        places.append(place)
        there.append(one if there is fit[1] else _own(one, types))
        place += 1
    parts: list[Part] = []
    if fit[0]:
        features = Features.from_arrow_schema(head)
        table = table_from_rows(fit[1], features, file=file.name, first_row=first)
        parts.append((np.array(fit[0], np.int64), one_batch(table)))
    if odd[0]:
        parts.append((np.array(odd[0], np.int64), odd[1]))
    return place, parts


def rows_as(
    rows: Sequence[tuple[int, Row]], file: SourceFile, features: Features, bad: Bad
) -> tuple[int, list[Part]]:
    """Makes values of the rows that fit features; see `rows_by_head`."""

    def make(start: int, stop: int) -> pa.RecordBatch:
        several = [one for _, one in rows[start:stop]]
        first = rows[start][0] if start < stop else 0
        return one_batch(table_from_rows(several, features, file=file.name, first_row=first))

    made = in_turn(list(fitted(make, len(rows), bad)), len(rows))
    return made.num_rows, list(made.parts)


def good_rows(block: Block, file: SourceFile, row: int, bad: Bad | None) -> Iterator[tuple[int, Row]]:
    """Gives the rows of a block with their indices; with `bad`, a line that is no JSON is left out."""
    try:
        yield from enumerate(parse_rows(block, file, row), row)
        return
    except FileFormatError:
        if bad is None or block.source:
            raise
    line = block.line
    for text in block.data.split(b"\n"):
        try:
            for one in parse_rows(Block(text, block.offset, line), file, row):
                yield row, one
                row += 1
        except (FileFormatError, CastError) as error:
            bad.add(error)
            row += 1
        line += 1


def _fits(value: Any, kind: Any) -> bool:
    """Says whether a value is one of a type, and not only like one."""
    if value is None:
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return True
    found = type(value)
    if found is str:
        return bool(pt.is_string(kind))
    if found is bool:
        return bool(pt.is_boolean(kind))
    if found is int:
        if pt.is_floating(kind):
            return bool(-_EXACT <= value <= _EXACT)
        low, high = (0, 1 << 64) if pt.is_uint64(kind) else (-(1 << 63), 1 << 63)
        return bool(pt.is_integer(kind)) and low <= value < high
    if found is float:
        return bool(pt.is_floating(kind))
    if found is list:
        return bool(pt.is_list(kind)) and all(_fits(item, kind.value_type) for item in value)
    if found is dict and pt.is_struct(kind):
        inner = {field.name: field.type for field in kind}
        return value.keys() <= inner.keys() and all(_fits(item, inner[name]) for name, item in value.items())
    return False


_EXACT = 1 << 53


def _own(row: Row, types: dict[str, Any]) -> Row:
    """Gives a row that does not fit: the values that do as the others have them, the rest as they stand there."""
    known = {
        name: _as(row[name], kind) if name in row and _fits(row[name], kind) else row.get(name)
        for name, kind in types.items()
    }
    return {**known, **{name: value for name, value in row.items() if name not in types}}


def _as(value: Any, kind: Any) -> Any:
    if value is None or isinstance(kind, pa.BaseExtensionType):
        return value
    if pt.is_floating(kind):
        return float(value)
    if pt.is_list(kind):
        return [_as(item, kind.value_type) for item in value]
    if pt.is_struct(kind):
        return {field.name: _as(value.get(field.name), field.type) for field in kind}
    return value


def _conflict(row: Row, types: dict[str, Any], file: SourceFile, number: int) -> DataError | None:
    """Words the error for a value of a type that can't stand beside those of the head; None if each can."""
    for name, value in row.items():
        kind = types.get(name)
        if kind is None or pt.is_null(kind) or _fits(value, kind):
            continue
        if type(value) in (int, float) and (pt.is_integer(kind) or pt.is_floating(kind)):
            continue
        found = table_from_rows([{name: value}]).schema.field(0).type
        return SchemaConflictError.from_types(name, kind, found, file=file.name, row=number)
    return None
