"""What does this name mean? `load_dataset` knocks at each door in order; the first that opens is the answer.

1. the name of a format (``"parquet"``, ``"csv"``, ``"json"`` ...) with ``data_files``
2. a dataset script: refused, scripts are never run
3. a folder or data file on this machine
4. ``buckets/namespace/name``: storage of the Hub without commits
5. a repository on the Hub, ``namespace/name``: its commit is fixed first, then everything is read at that commit
6. the Hub can't be asked: what was prepared before

When none opens, the error lists what was tried and why each failed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gristmill.download import DownloadMode, VerificationMode
from gristmill.errors import DatasetNotFoundError
from gristmill.load.from_disk import load_from_disk
from gristmill.load.loading import load_dataset

if TYPE_CHECKING:
    from gristmill.load.builders import load_dataset_builder
    from gristmill.load.classes import get_dataset_builder_class, import_main_class
    from gristmill.load.factories import (
        BuilderConfigsParameters,
        CachedDatasetModuleFactory,
        DatasetModule,
        HubBucketDatasetModuleFactory,
        HubDatasetModuleFactory,
        HubDatasetModuleFactoryWithParquetExport,
        LocalDatasetModuleFactory,
        PackagedDatasetModuleFactory,
        dataset_module_factory,
    )
    from gristmill.load.preview import Preview, preview_dataset

__all__ = [
    "BuilderConfigsParameters",
    "CachedDatasetModuleFactory",
    "DatasetModule",
    "DatasetNotFoundError",
    "DownloadMode",
    "HubBucketDatasetModuleFactory",
    "HubDatasetModuleFactory",
    "HubDatasetModuleFactoryWithParquetExport",
    "LocalDatasetModuleFactory",
    "PackagedDatasetModuleFactory",
    "Preview",
    "VerificationMode",
    "dataset_module_factory",
    "get_dataset_builder_class",
    "import_main_class",
    "load_dataset",
    "load_dataset_builder",
    "load_from_disk",
    "preview_dataset",
]

_HOMES = {
    "BuilderConfigsParameters": "load.factories",
    "CachedDatasetModuleFactory": "load.factories",
    "DatasetModule": "load.factories",
    "HubBucketDatasetModuleFactory": "load.factories",
    "HubDatasetModuleFactory": "load.factories",
    "HubDatasetModuleFactoryWithParquetExport": "load.factories",
    "LocalDatasetModuleFactory": "load.factories",
    "PackagedDatasetModuleFactory": "load.factories",
    "Preview": "load.preview",
    "dataset_module_factory": "load.factories",
    "get_dataset_builder_class": "load.classes",
    "import_main_class": "load.classes",
    "load_dataset_builder": "load.builders",
    "preview_dataset": "load.preview",
}


def __getattr__(name: str) -> Any:
    # Each is loaded when it is asked for: `load_dataset` needs no builder.
    if name in _HOMES:
        return getattr(importlib.import_module(f"gristmill.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
