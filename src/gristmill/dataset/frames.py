"""Rows as polars frames."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gristmill.formatting.as_polars import to_frame
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
    require("polars", "to_polars")
    frame = partial(to_frame, schema_overrides=schema_overrides, rechunk=rechunk)
    return frame(view.table()) if batch_size is None else map(frame, view.blocks(batch_size))
