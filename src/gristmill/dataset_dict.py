"""`DatasetDict` and `IterableDatasetDict`: datasets by split name."""

from gristmill.dataset.splits_dict import DatasetDict
from gristmill.iterable.splits_dict import IterableDatasetDict

__all__ = ["DatasetDict", "IterableDatasetDict"]
