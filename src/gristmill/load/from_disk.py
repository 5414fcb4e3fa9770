"""`load_from_disk`: whatever `save_to_disk` saved."""

from __future__ import annotations

from typing import Any

from gristmill.dataset import Dataset, saving
from gristmill.dataset_dict import DatasetDict

__all__ = ["load_from_disk"]


def load_from_disk(
    dataset_path: Any, keep_in_memory: bool | None = None, storage_options: dict[str, Any] | None = None
) -> Dataset | DatasetDict:
    """Opens what `save_to_disk` saved, here or with `datasets`.

    Args:
        dataset_path: The folder, or its URL on another file system.
        keep_in_memory: Read the rows into memory; by default what is smaller than
            ``HF_DATASETS_IN_MEMORY_MAX_SIZE``.
        storage_options: Options of that file system.

    Returns:
        A `Dataset` or a `DatasetDict`, as was saved.

    Raises:
        FileMissingError: It is no folder that `save_to_disk` made.
        FileFormatError: A file in it is damaged.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     DatasetDict({"train": Dataset.from_dict({"a": [1]})}).save_to_disk(folder + "/saved")
        ...     load_from_disk(folder + "/saved")["train"][0]
        {'a': 1}
    """
    with saving.fetched(dataset_path, storage_options) as folder:
        if saving.is_saved_dict(folder):
            return DatasetDict.load_from_disk(folder, keep_in_memory)
        if not saving.is_saved(folder):
            raise saving.not_saved(folder, "Dataset or DatasetDict")
        return Dataset.load_from_disk(folder, keep_in_memory)
