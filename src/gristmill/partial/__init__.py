"""Parts of remote files: only the byte ranges that are needed, kept in a sparse file with a record of what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.partial.parquet import RemoteParquet

__all__ = ["RemoteParquet"]


def __getattr__(name: str) -> Any:
    # What else is here serves files of any format, which need no reader of Parquet.
    if name == "RemoteParquet":
        from gristmill.partial.parquet import RemoteParquet

        return RemoteParquet
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
