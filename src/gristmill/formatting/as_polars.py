"""Batches as polars frames."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gristmill.optional import require


class PolarsFormatter:
    """Batches and rows as polars frames, columns as series; Arrow's memory is used as it is."""

    def __init__(self) -> None:
        self._polars: Any = require("polars", 'The format "polars"')

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to a series."""
        return self._polars.from_arrow(pa.table({name: values}), rechunk=False).to_series()

    def batch(self, table: pa.Table) -> Any:
        """Converts a table to a frame."""
        return self._polars.from_arrow(table, rechunk=False)

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts a table to frames of one row."""
        frame = self.batch(table)
        return [frame.slice(row, 1) for row in range(table.num_rows)]
