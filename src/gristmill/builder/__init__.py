"""Builders: a user's own class that says where files are and yields examples or tables; here it becomes a dataset.

Derive from `GeneratorBasedBuilder` (``_info``, ``_split_generators``, ``_generate_examples``) or `ArrowBasedBuilder`
(``_generate_tables``), make an instance, and call ``download_and_prepare()`` and ``as_dataset()``.
"""

from gristmill.build import has_sufficient_disk_space
from gristmill.builder.config import BuilderConfig
from gristmill.builder.core import DatasetBuilder
from gristmill.builder.kinds import ArrowBasedBuilder, GeneratorBasedBuilder
from gristmill.errors import DatasetGenerationError, InvalidConfigName, ManualDownloadError

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
