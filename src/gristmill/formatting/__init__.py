"""How rows and batches look to the user: Python values, arrays, tensors, frames, Arrow tables, or a transform."""

from gristmill.formatting.formatting import _register_formatter, format_table, get_formatter, query_table
from gristmill.formatting.lazy import LazyBatch, LazyRow
from gristmill.formatting.reader import Reader
from gristmill.formatting.spec import FormatSpec

__all__ = [
    "FormatSpec",
    "LazyBatch",
    "LazyRow",
    "Reader",
    "_register_formatter",
    "format_table",
    "get_formatter",
    "query_table",
]
