"""Rows of blocks: tables beside each other, and what is done to their columns by position."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.table.classes import InMemoryTable, Table

Row: TypeAlias = "list[Table]"
"""Blocks beside each other, all with the same number of rows."""


def check_lengths(row: Row) -> None:
    """Checks that blocks beside each other have the same number of rows.

    Raises:
        InvalidArgumentError: They have not.
    """
    lengths = {len(block) for block in row}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"Tables beside each other need the same number of rows; these have {sorted(lengths)}."
        )


def schema_of(row: Row) -> pa.Schema:
    """Gives the columns of a row of blocks; the first block's metadata wins."""
    if len(row) == 1:
        return row[0].schema
    metadata: dict[bytes, bytes] = {}
    for block in reversed(row):
        metadata.update(block.schema.metadata or {})
    return pa.schema([field for block in row for field in block.schema], metadata or None)


def joined(row: Row) -> pa.Table:
    """Gives a row of blocks as one table, without a copy."""
    if len(row) == 1:
        return row[0].table
    schema = schema_of(row)
    if not schema.names:
        return row[0].table
    return pa.Table.from_arrays([column for block in row for column in block.columns], schema=schema)


def pick(row: Row, positions: Sequence[int]) -> Row:
    """Chooses columns of a row of blocks by position: neighbours in one block stay one block."""
    if not len(positions):
        return [row[0].select([])]
    where = [(number, local) for number, block in enumerate(row) for local in range(block.num_columns)]
    picked = []
    for number, run in groupby((where[position] for position in positions), key=lambda place: place[0]):
        local = [place[1] for place in run]
        whole = local == list(range(row[number].num_columns))
        picked.append(row[number] if whole else row[number].select(local))
    return picked


def fitted(row: Row, schema: pa.Schema, *args: Any, **kwargs: Any) -> Row:
    """Gives a row of blocks the columns of a schema, in its order; those it lacks are null."""
    names = schema_of(row).names
    lacking = [field for field in schema if field.name not in names]
    if lacking:
        nulls = [pa.nulls(len(row[0]), field.type) for field in lacking]
        row = [*row, InMemoryTable(pa.Table.from_arrays(nulls, schema=pa.schema(lacking)))]
        names = [*names, *(field.name for field in lacking)]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(f"Several columns have the same name: {sorted(names)}.")
    row = pick(row, [names.index(field.name) for field in schema])
    fitted, start = [], 0
    for block in row:
        mine = pa.schema([schema.field(n) for n in range(start, start + block.num_columns)])
        start += block.num_columns
        fitted.append(block if block.schema.equals(mine) else block.cast(mine, *args, **kwargs))
    return fitted


def consolidated(rows: list[Row]) -> list[Row]:
    """Makes one block of neighbours that are in memory: fewer blocks, and nothing is lost."""
    narrow: list[Row] = []
    for row in rows:
        merged: Row = []
        for in_memory, run in groupby(row, key=_in_memory):
            blocks = list(run)
            merged.extend([InMemoryTable(joined(blocks))] if in_memory and len(blocks) > 1 else blocks)
        narrow.append(merged)
    short: list[Row] = []
    for in_memory, group in groupby(narrow, key=lambda row: len(row) == 1 and _in_memory(row[0])):
        stack = list(group)
        if in_memory and len(stack) > 1 and stack[0][0].num_columns:
            short.append([InMemoryTable(pa.concat_tables([row[0].table for row in stack]))])
        else:
            short.extend(stack)
    return short


def _in_memory(table: Table) -> bool:
    return isinstance(table, InMemoryTable)
