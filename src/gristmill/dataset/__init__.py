"""`Dataset`: rows in named columns, chosen and transformed without copying, reading from memory-mapped files."""

from gristmill.dataset.column import Column
from gristmill.dataset.core import Dataset
from gristmill.dataset.splits_dict import DatasetDict

__all__ = ["Column", "Dataset", "DatasetDict"]
