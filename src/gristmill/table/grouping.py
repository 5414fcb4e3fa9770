"""Rows that follow each other joined into lists: where groups end, and the lists."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.features import Features, List
from gristmill.table.selection import IndexVector


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


def lists(offsets: pa.Array, column: pa.ChunkedArray) -> pa.Array:
    """Makes lists of the values of a column.

    Args:
        offsets: Where each list begins, and where the last one ends.
        column: The values.
    """
    values: Any = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # newer pyarrow keeps what one array can't hold in several
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], column.type)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(column.type))


def batch_features(features: Features) -> Features:
    """Gives the features of rows joined into lists."""
    return Features({name: List(feature) for name, feature in features.items()})
