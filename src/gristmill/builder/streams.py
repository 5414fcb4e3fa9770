"""A builder's rows as streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill.errors import NotThereYetError

if TYPE_CHECKING:
    from gristmill.builder.core import DatasetBuilder


def stream(builder: DatasetBuilder, split: Any, base_path: str | None) -> Any:
    """Gives the rows of a builder's splits as streams; see `DatasetBuilder.as_streaming_dataset`."""
    raise NotThereYetError.from_name("DatasetBuilder.as_streaming_dataset")
