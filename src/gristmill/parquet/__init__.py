"""Look inside Parquet files.

Footer, page headers and levels are read by Gristmill's own reader; values are decoded by Arrow, in a process of its own.
Everything takes a path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``; of remote files only the
ranges needed are fetched.
"""

from gristmill.parquet.check import CheckReport, check
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
