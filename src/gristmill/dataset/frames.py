"""Rows as polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from gristmill.optional import require
from gristmill.table.view import View


def to_polars(
    view: View, batch_size: int | None, schema_overrides: Mapping[str, Any] | None, rechunk: bool
) -> Any:
    """Gives rows as a polars frame, or as an iterator of frames.

    Args:
        view: The rows.
        batch_size: Rows a frame; None for one frame of all.
        schema_overrides: Types of columns in polars.
        rechunk: Join the pieces of each column.

    Raises:
        MissingDependencyError: polars is not installed.
    """
    polars = require("polars", "to_polars")

    def frame(table: pa.Table) -> Any:
        return polars.from_arrow(table, schema_overrides=schema_overrides, rechunk=rechunk)

    def frames(size: int) -> Iterator[Any]:
        return (frame(table) for table in view.blocks(size))

    return frame(view.table()) if batch_size is None else frames(batch_size)
