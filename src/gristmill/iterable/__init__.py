"""Streams: rows read one after another, resumed exactly, shared evenly. See `gristmill.iterable.node` for how."""

from gristmill.iterable.column import IterableColumn
from gristmill.iterable.core import IterableDataset
from gristmill.iterable.splits_dict import IterableDatasetDict

__all__ = ["IterableColumn", "IterableDataset", "IterableDatasetDict"]
