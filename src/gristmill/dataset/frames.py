"""Polars frames to tables and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.cast import cast_table
from gristmill.optional import require
from gristmill.table.view import View


def from_polars(frame: Any, features: Features | None) -> pa.Table:
    """Makes a table of a polars frame; the memory is shared where the types are Arrow's own.

    Args:
        frame: The frame; a lazy one is computed.
        features: What the columns shall be.

    Raises:
        InvalidArgumentError: It is none.
        CastError: A value does not fit its feature.
    """
    frame = frame.collect() if hasattr(frame, "collect") else frame
    if not hasattr(frame, "to_arrow"):
        raise InvalidArgumentError.from_value("df", frame, "a polars.DataFrame")
    table = frame.to_arrow()
    # Categories and views are ways to store text; the column is the text.
    wanted = Features.from_arrow_schema(table.schema) if features is None else features
    return cast_table(table, wanted)


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
