"""A view given to the user as one of the documented table classes, and such a table taken in."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from gristmill.features.columnless import with_metadata
from gristmill.table.arrow_file import open_arrow
from gristmill.table.classes import InMemoryTable, MemoryMappedTable, Table
from gristmill.table.concatenation import ConcatenationTable
from gristmill.table.steps import Step, apply_step
from gristmill.table.view import Part, View


def table_of_view(view: View, metadata: Mapping[bytes, bytes]) -> Table:
    """Gives the table behind a view: all rows, also those not selected, if it is one part or nothing is selected.

    Args:
        view: What to give.
        metadata: Metadata of its schema.

    Returns:
        A table that maps the view's files wherever it has some; rows that are selected differently from column to column
        are gathered into memory.

    Example:
        >>> table_of_view(View.from_table(pa.table({"a": [1]})), {b"k": b"v"}).schema.metadata
        {b'k': b'v'}
    """
    if len(view.parts) > 1 and any(part.selection is not None for part in view.parts):
        return InMemoryTable(with_metadata(view.table(), metadata))
    part_of = {name: part for part in view.parts for name in part.table.column_names}
    runs = [list(run) for _, run in groupby(view.names, key=lambda name: id(part_of[name]))]
    tables = [_table_of_part(part_of[run[0]].choose(run)) for run in runs]
    if not tables:
        return InMemoryTable(with_metadata(view.table(), metadata))
    made = tables[0] if len(tables) == 1 else ConcatenationTable.from_tables(list(tables), axis=1)
    described: Table = made.replace_schema_metadata(metadata)
    return described


def _table_of_part(part: Part) -> Table:
    if not part.files:
        return InMemoryTable(part.table)
    steps: list[Step] = [
        ("select", (list(part.file_columns),), {}),
        ("rename_columns", (part.table.column_names,), {}),
    ]
    if len(part.files) == 1:
        stored = open_arrow(part.files[0]) if part.files[0].is_file() else None
        same = stored is not None and _can_repeat(stored, part)
        return MemoryMappedTable(part.table, str(part.files[0]), steps) if same else InMemoryTable(part.table)
    if not all(file.is_file() for file in part.files):
        return InMemoryTable(part.table)
    blocks = []
    for file in part.files:
        stored = open_arrow(file)
        if not _can_repeat(stored, part):
            return InMemoryTable(part.table)
        for step in steps:
            stored = apply_step(stored, step)
        blocks.append(MemoryMappedTable(stored, str(file), steps))
    if sum(map(len, blocks)) != part.num_rows:
        return InMemoryTable(part.table)
    return ConcatenationTable.from_blocks(list(blocks))


def _can_repeat(stored: pa.Table, part: Part) -> bool:
    """Whether the part's columns are those of the file, and not cast since."""
    there = dict(zip(stored.column_names, stored.schema.types, strict=True))
    return [there.get(name) for name in part.file_columns] == part.table.schema.types and (
        len(part.files) > 1 or stored.num_rows == part.table.num_rows
    )


def plain_table(table: Table | pa.Table) -> tuple[pa.Table, tuple[Path, ...]]:
    """Takes in a table of any class.

    Returns:
        (its rows, the Arrow files whose rows in order they are exactly, if there are such files).

    Example:
        >>> plain_table(InMemoryTable.from_pydict({"a": [1]}))[1]
        ()
    """
    if not isinstance(table, Table):
        return table, ()
    rows = table.blocks if isinstance(table, ConcatenationTable) else [[table]]
    files = []
    for row in rows:
        block = row[0]
        if len(row) > 1 or not isinstance(block, MemoryMappedTable) or block.replays:
            return table.table, ()
        files.append(Path(block.path))
    return table.table, tuple(files)
