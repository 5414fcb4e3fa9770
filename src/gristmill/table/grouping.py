"""Rows that follow each other joined into lists: where groups end, and the lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.arguments import check_columns, column_list
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features, List
from gristmill.table.selection import IndexVector


def grouping_columns(by_column: str | Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Gives the columns that decide where batches end.

    Args:
        by_column: A column, or several.
        names: The columns there are; None if they are not known.

    Raises:
        InvalidArgumentError: They are no names, or none.
        ColumnNotFoundError: There is no such column.
    """
    found = column_list(by_column) if names is None else check_columns(by_column, names)
    if not found:
        raise InvalidArgumentError.from_value("by_column", by_column, "a column's name, or several")
    return list(dict.fromkeys(found))


def changes(column: pa.ChunkedArray) -> IndexVector:
    """Gives the rows whose value is not that of the row before; None equals None."""
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    try:
        changed = pc.fill_null(pc.not_equal(before, after), False)
        changed = pc.or_(changed, pc.xor(pc.is_null(before), pc.is_null(after)))
        mask = changed.to_numpy()
    except pa.ArrowNotImplementedError:
        values = column.to_pylist()
        mask = np.array([one != other for one, other in pairwise(values)], np.bool_)
    found: IndexVector = (np.flatnonzero(mask) + 1).astype(np.int64)
    return found


def changes_in_any(columns: Iterable[pa.ChunkedArray]) -> IndexVector:
    """Gives the rows whose value is not that of the row before in one or more of the columns, in order.

    Args:
        columns: At least one column.
    """
    found: IndexVector = reduce(np.union1d, map(changes, columns))
    return found


def lists(offsets: pa.Array, column: pa.ChunkedArray) -> pa.Array:
    """Makes lists of the values of a column.

    Args:
        offsets: Where each list begins, and where the last one ends.
        column: The values.
    """
    values: Any = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # newer pyarrow keeps what one array can't hold in several
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, column.type)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(column.type))


def batch_features(features: Features) -> Features:
    """Gives the features of rows joined into lists."""
    return Features({name: List(feature) for name, feature in features.items()})
