"""Batches as polars frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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


class PolarsFormatter:
    """Batches and rows as polars frames, columns as series; Arrow's memory is used as it is."""

    def __init__(self) -> None:
        self._polars: Any = require("polars", 'The format "polars"')

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to a series."""
        return self.batch(pa.table({name: values})).to_series()

    def batch(self, table: pa.Table) -> Any:
        """Converts a table to a frame."""
        with _taken_by_polars(table):
            return self._polars.from_arrow(table, rechunk=False)

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts a table to frames of one row."""
        frame = self.batch(table)
        return [frame.slice(row, 1) for row in range(table.num_rows)]
