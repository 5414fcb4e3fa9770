"""Builders: a user's own class that says where files are and yields examples or tables; here it becomes a dataset.

Derive from `GeneratorBasedBuilder` (``_info``, ``_split_generators``, ``_generate_examples``) or `ArrowBasedBuilder`
(``_generate_tables``), make an instance, and call ``download_and_prepare()`` and ``as_dataset()``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gristmill.errors import DatasetGenerationError, InvalidConfigName, ManualDownloadError
from gristmill.prepared import has_sufficient_disk_space

if TYPE_CHECKING:
    from gristmill.builder.config import BuilderConfig
    from gristmill.builder.core import DatasetBuilder
    from gristmill.builder.kinds import ArrowBasedBuilder, GeneratorBasedBuilder

__all__ = [
    "ArrowBasedBuilder",
    "BuilderConfig",
    "DatasetBuilder",
    "DatasetGenerationError",
    "GeneratorBasedBuilder",
    "InvalidConfigName",
    "ManualDownloadError",
    "has_sufficient_disk_space",
]

_HOMES = {
    "ArrowBasedBuilder": "builder.kinds",
    "BuilderConfig": "builder.config",
    "DatasetBuilder": "builder.core",
    "GeneratorBasedBuilder": "builder.kinds",
}


def __getattr__(name: str) -> Any:
    # Each is loaded when it is asked for: most datasets are loaded without a builder of their own.
    if name in _HOMES:
        return getattr(importlib.import_module(f"gristmill.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
