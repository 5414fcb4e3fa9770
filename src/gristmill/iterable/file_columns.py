"""Columns that the file being read lacks: looked for in the other files of a stream, as far as that costs little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError
from gristmill.formats.filtering import type_in_schemas
from gristmill.formats.loose import read_loosely
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile
from gristmill.iterable.file_plan import FilePlan, Piece

__all__ = ["COLUMNS_ARE_FIXED", "SCHEMA_IN_FILE", "columns_of_others", "type_in_others"]

COLUMNS_ARE_FIXED = frozenset({"arrow", "csv", "parquet"})
"""Formats of which each row has all columns; in the others one may begin in a later row."""
SCHEMA_IN_FILE = frozenset({"arrow", "parquet"})
"""Formats that say what their columns are without being read."""
_MOST_LOOKED_AT = 8
"""Files that are not on this machine in which a column is looked for that the one being read does not have."""


def columns_of_others(node: FilePlan, piece: Piece, known: set[str]) -> set[str]:
    """Looks for columns asked for that the file being read does not begin with: they have to be in another one.

    Args:
        node: What is read; its columns were not known before.
        piece: Where its file is.
        known: Columns of files looked at already.

    Returns:
        `known`, with those of the files that had to be looked at.

    Raises:
        ColumnNotFoundError: No file has one of them, as far as its first rows say.
    """
    format = get_format(node.format)
    for file in _files(node, piece):
        if known.issuperset(node.columns or ()):
            break
        known |= set(format.first_columns(file, node.options))
    for name in node.columns or ():
        if name not in known:
            raise _nowhere(node, piece, name, known)
    return known


def type_in_others(node: FilePlan, piece: Piece, types: dict[str, Any], name: str) -> pa.DataType:
    """Finds the type of a column that a filter looks at and that the file being read lacks.

    Args:
        node: What is read.
        piece: Where its file is.
        types: What was found before; taken from and added to.
        name: The column.

    Raises:
        ColumnNotFoundError: No file has it, as far as its first rows say.
    """
    if name in types:
        return types[name]
    if node.schema is not None and name in node.schema.names:
        types[name] = node.schema.field(name).type
        return types[name]
    found, seen = type_in_schemas(name, (_first_schema(node, file) for file in _files(node, piece)))
    if found is None:
        raise _nowhere(node, piece, name, set(seen))
    types[name] = found
    return found


def _files(node: FilePlan, piece: Piece) -> Iterator[SourceFile]:
    """Yields the file being read, those that are here, and a few of those that are not."""
    others = [file for number, file in enumerate(node.files) if number != piece.file]
    far = [file for file in others if file.path is None][:_MOST_LOOKED_AT]
    for file in [node.files[piece.file], *(file for file in others if file.path is not None), *far]:
        yield file.local()


def _first_schema(node: FilePlan, file: SourceFile) -> pa.Schema:
    format = get_format(node.format)
    if node.format in SCHEMA_IN_FILE:
        return format.infer_schema(file, node.options)
    # Of text, the head tells types; what begins further down has none yet.
    schema = pa.schema([])
    for _, rows in read_loosely(format, file, options=node.options):
        for _, part in rows.parts:
            if isinstance(part, pa.RecordBatch):
                schema = pa.unify_schemas([schema, part.schema], promote_options="permissive")
        break
    names = [name for name in format.first_columns(file, node.options) if name not in schema.names]
    return pa.schema([*schema, *(pa.field(name, pa.null()) for name in names)])


def _nowhere(node: FilePlan, piece: Piece, name: str, known: set[str]) -> ColumnNotFoundError:
    where = node.files[piece.file].name
    where = where if node.format in COLUMNS_ARE_FIXED else f"the first rows of {where}"
    if len(node.files) > 1:
        where = f"{where} and {len(node.files) - 1} other files"
    return ColumnNotFoundError.from_name(name, sorted(known), where)
