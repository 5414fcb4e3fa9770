"""Batches as tables: Arrow as it is, or pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from gristmill.formatting.python_rows import PythonFormatter
from gristmill.optional import require


class ArrowFormatter:
    """Batches and rows as Arrow tables, columns as Arrow arrays."""

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Gives one column as it is."""
        return values

    def batch(self, table: pa.Table) -> Any:
        """Gives a table as it is."""
        return table

    def rows(self, table: pa.Table) -> list[Any]:
        """Gives tables of one row."""
        return [table.slice(position, 1) for position in range(table.num_rows)]


class PandasFormatter:
    """Batches and rows as data frames, columns as series.

    Args:
        features: The feature of each column.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        require("pandas", 'Dataset.set_format("pandas")')
        self._python = PythonFormatter(features)

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to a series."""
        return values.to_pandas().rename(name)

    def batch(self, table: pa.Table) -> Any:
        """Converts a table to a frame."""
        return table.to_pandas()

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts a table to frames of one row."""
        frame = table.to_pandas()
        return [frame.iloc[position : position + 1].reset_index(drop=True) for position in range(len(frame))]
