"""Parts of remote files: only the byte ranges that are needed, kept in a sparse file with a record of what is there."""

from __future__ import annotations

from gristmill.partial.parquet import RemoteParquet

__all__ = ["RemoteParquet"]
