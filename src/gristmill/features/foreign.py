"""Extension types that another library has registered with Arrow in this process."""

from __future__ import annotations

import pyarrow as pa

from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_field, to_arrow_field, to_arrow_type
from gristmill.features.visit import has_extension

__all__ = ["own_types"]


def own_types(table: pa.Table) -> pa.Table:
    """Puts the storage of extension types that another library has registered in their place; no value is copied.

    With `datasets` in the same process, Arrow reads columns of arrays as the types of that library.

    Args:
        table: A table as Arrow read it.

    Example:
        >>> own_types(pa.table({"a": [1]})).schema
        a: int64
    """
    for position, field in enumerate(table.schema):
        if not has_extension(field.type):
            continue
        feature = from_arrow_field(field)
        if to_arrow_type(feature) != field.type:
            column = cast_array(table.column(position), feature)
            table = table.set_column(position, to_arrow_field(field.name, feature), column)
    return table
