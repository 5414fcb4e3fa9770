"""Look inside Parquet files.

Footer, page headers and levels are read by Gristmill's own reader; values are decoded by Arrow, in a process of its own.
Everything takes a path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``; of remote files only the
ranges needed are fetched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.parquet.checking import CheckReport, check
    from gristmill.parquet.compare import SchemaDifference, compare_schemas
    from gristmill.parquet.describe import (
        ColumnChunkInfo,
        FileInfo,
        PageCounts,
        PageIndex,
        RowGroupInfo,
        inspect,
        schema_lines,
    )
    from gristmill.parquet.footer import ParquetFile, open_parquet
    from gristmill.parquet.leaf import LeafBatch, read_leaf
    from gristmill.parquet.plain import plain_values
    from gristmill.parquet.schema import SchemaNode
    from gristmill.parquet.statistics import Bound, ColumnStatistics

# The process that decodes values imports this package for two small modules: nothing is imported before it is used.
_HOMES = {
    "Bound": "statistics",
    "CheckReport": "checking",
    "ColumnChunkInfo": "describe",
    "ColumnStatistics": "statistics",
    "FileInfo": "describe",
    "LeafBatch": "leaf",
    "PageCounts": "describe",
    "PageIndex": "describe",
    "ParquetFile": "footer",
    "RowGroupInfo": "describe",
    "SchemaDifference": "compare",
    "SchemaNode": "schema",
    "check": "checking",
    "compare_schemas": "compare",
    "inspect": "describe",
    "open_parquet": "footer",
    "plain_values": "plain",
    "read_leaf": "leaf",
    "schema_lines": "describe",
}

__all__ = [
    "Bound",
    "CheckReport",
    "ColumnChunkInfo",
    "ColumnStatistics",
    "FileInfo",
    "LeafBatch",
    "PageCounts",
    "PageIndex",
    "ParquetFile",
    "RowGroupInfo",
    "SchemaDifference",
    "SchemaNode",
    "check",
    "compare_schemas",
    "inspect",
    "open_parquet",
    "plain_values",
    "read_leaf",
    "schema_lines",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
