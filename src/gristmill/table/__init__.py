"""Arrow tables on disk and in memory: files, selections of rows, gathering, where each row came from."""

from gristmill.errors import CastError
from gristmill.table.casting import (
    array_cast,
    cast_array_to_feature,
    cast_table_to_features,
    cast_table_to_schema,
    embed_table_storage,
    table_cast,
)
from gristmill.table.classes import InMemoryTable, MemoryMappedTable, Table
from gristmill.table.concatenation import ConcatenationTable, concat_tables, list_table_cache_files

__all__ = [
    "CastError",
    "ConcatenationTable",
    "InMemoryTable",
    "MemoryMappedTable",
    "Table",
    "array_cast",
    "cast_array_to_feature",
    "cast_table_to_features",
    "cast_table_to_schema",
    "concat_tables",
    "embed_table_storage",
    "list_table_cache_files",
    "table_cast",
]
