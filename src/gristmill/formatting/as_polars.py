"""Batches as polars frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from gristmill.errors import DataError
from gristmill.optional import require


@contextlib.contextmanager
def _taken_by_polars(table: pa.Table) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # Its panics are no subclass of Exception.
        if not type(error).__module__.startswith(("polars", "pyo3_runtime")):
            raise
        kinds = ", ".join(sorted({str(kind) for kind in table.schema.types})[:10])
        raise DataError.at(
            f"polars can't hold the columns, of the types {kinds} ({error})",
            remedy="Cast them first, or leave some out with columns=.",
        ) from error


def _has_fixed_lists(kind: Any) -> bool:
    if pa.types.is_fixed_size_list(kind):
        return True
    return pa.types.is_nested(kind) and any(
        _has_fixed_lists(kind.field(i).type) for i in range(kind.num_fields)
    )


def _begun_anew(table: pa.Table) -> pa.Table:
    """Copies columns with lists of a fixed length: polars can't take those that lie amid the memory of other rows."""
    for position, column in enumerate(table.columns):
        if _has_fixed_lists(column.type):
            chunks = [chunk.take(pa.array(range(len(chunk)), pa.int64())) for chunk in column.chunks]
            table = table.set_column(position, table.field(position), pa.chunked_array(chunks, column.type))
    return table


def to_frame(
    table: pa.Table, schema_overrides: Mapping[str, Any] | None = None, rechunk: bool = False
) -> Any:
    """Makes a polars frame; Arrow's memory is used as it is.

    Args:
        table: The rows.
        schema_overrides: Types of columns in polars.
        rechunk: Join the pieces of each column.

    Raises:
        DataError: polars can't hold a column.
        MissingDependencyError: polars is not installed.
    """
    polars = require("polars", "Rows as polars frames")
    with _taken_by_polars(table):
        frame = polars.from_arrow(_begun_anew(table), schema_overrides=schema_overrides, rechunk=rechunk)
    if frame.columns != table.column_names and len(frame.columns) == table.num_columns:
        frame.columns = table.column_names  # polars calls a column without a name "column_0"
    return frame


class PolarsFormatter:
    """Batches and rows as polars frames, columns as series; Arrow's memory is used as it is."""

    def __init__(self) -> None:
        require("polars", 'The format "polars"')

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to a series."""
        return self.batch(pa.table({name: values})).to_series()

    def batch(self, table: pa.Table) -> Any:
        """Converts a table to a frame."""
        return to_frame(table)

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts a table to frames of one row."""
        frame = self.batch(table)
        return [frame.slice(row, 1) for row in range(table.num_rows)]
