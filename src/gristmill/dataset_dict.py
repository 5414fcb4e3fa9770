"""`DatasetDict` and `IterableDatasetDict`: datasets by split name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill.dataset.splits_dict import DatasetDict

if TYPE_CHECKING:
    from gristmill.iterable.splits_dict import IterableDatasetDict

__all__ = ["DatasetDict", "IterableDatasetDict"]


def __getattr__(name: str) -> Any:
    # Streams are loaded when they are asked for: most datasets are none.
    if name == "IterableDatasetDict":
        from gristmill.iterable.splits_dict import IterableDatasetDict

        return IterableDatasetDict
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
