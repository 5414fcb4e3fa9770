"""`DatasetDict`: datasets by split name."""

from gristmill.dataset.splits_dict import DatasetDict

__all__ = ["DatasetDict"]
