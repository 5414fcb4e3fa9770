"""Tables that have rows and no columns: Arrow loses the number of their rows in several steps, these functions do not.

And those that have columns and no rows, which Arrow can't make of every schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import InvalidArgumentError

__all__ = ["concat_tables", "refuse_columnless", "with_metadata", "without_columns", "without_rows"]


def without_columns(rows: int, metadata: Mapping[Any, Any] | None = None) -> pa.Table:
    """Makes a table that has rows and no columns.

    Args:
        rows: How many.
        metadata: Of its schema.

    Example:
        >>> without_columns(3).num_rows
        3
    """
    return pa.table({"": pa.nulls(rows)}, metadata=metadata).select([])


def without_rows(schema: pa.Schema) -> pa.Table:
    """Makes a table that has columns and no rows; with ``schema.empty_table()``, no list may hold `Json`.

    Args:
        schema: Its schema.

    Example:
        >>> without_rows(pa.schema({"a": pa.list_(pa.json_())})).num_rows
        0
    """
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def with_metadata(table: pa.Table, metadata: Mapping[Any, Any] | None) -> pa.Table:
    """Gives a table other metadata.

    Args:
        table: The table.
        metadata: Of its schema.

    Example:
        >>> with_metadata(without_columns(3), {"a": "b"}).num_rows
        3
    """
    if table.num_columns:
        return table.replace_schema_metadata(metadata)
    return without_columns(table.num_rows, metadata)


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Puts tables of one schema one after another.

    Args:
        tables: At least one.

    Example:
        >>> concat_tables([without_columns(3), without_columns(2)]).num_rows
        5
    """
    if tables[0].num_columns:
        return pa.concat_tables(tables)
    return without_columns(sum(table.num_rows for table in tables), tables[0].schema.metadata)


def refuse_columnless(rows: int, kind: str) -> None:
    """Says that a kind of file can't hold rows without columns.

    Args:
        rows: How many there are.
        kind: What was to be written.

    Raises:
        InvalidArgumentError: There are some.
    """
    if rows:
        raise InvalidArgumentError(
            f"There are rows and no columns: {kind} can't hold that. Add a column first, or write JSON, or use save_to_disk."
        )
