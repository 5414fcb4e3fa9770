"""Gristmill: from the Hugging Face Hub to training-ready rows.

``import gristmill as datasets`` is a drop-in for the `datasets` library: the same public names, arguments, defaults and
results. Nothing heavy is imported until a name that needs it is first used (PEP 562).
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from gristmill import legacy
from gristmill._version import __version__
from gristmill.not_there_yet import missing_class

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares this list with _HOMES
    from gristmill import config, errors, logging
    from gristmill import errors as exceptions
    from gristmill.borrowed.odds import experimental
    from gristmill.builder import ArrowBasedBuilder, BuilderConfig, DatasetBuilder, GeneratorBasedBuilder
    from gristmill.combine import concatenate_datasets, interleave_datasets
    from gristmill.dataset import Column, Dataset
    from gristmill.dataset_dict import DatasetDict
    from gristmill.docs_file import DocsFile
    from gristmill.download import (
        DownloadConfig,
        DownloadManager,
        DownloadMode,
        StreamingDownloadManager,
        VerificationMode,
    )
    from gristmill.features import (
        Array2D,
        Array3D,
        Array4D,
        Array5D,
        ClassLabel,
        Features,
        Json,
        LargeList,
        List,
        Sequence,
        Translation,
        TranslationVariableLanguages,
        Value,
    )
    from gristmill.fingerprint import disable_caching, enable_caching, is_caching_enabled
    from gristmill.hub.client import HubClient
    from gristmill.info import DatasetInfo
    from gristmill.inspect import (
        get_dataset_config_info,
        get_dataset_config_names,
        get_dataset_default_config_name,
        get_dataset_infos,
        get_dataset_split_names,
    )
    from gristmill.iterable import IterableColumn, IterableDataset, IterableDatasetDict
    from gristmill.load import load_dataset, load_dataset_builder, load_from_disk
    from gristmill.partial import RemoteParquet
    from gristmill.prepared.cache_list import list_cache
    from gristmill.prepared.cache_remove import remove_from_cache
    from gristmill.prepared.cache_verify import verify_cache
    from gristmill.progress import (
        are_progress_bars_disabled,
        disable_progress_bar,
        disable_progress_bars,
        enable_progress_bar,
        enable_progress_bars,
        is_progress_bar_enabled,
    )
    from gristmill.progress_bars import tqdm
    from gristmill.splits import (
        NamedSplit,
        NamedSplitAll,
        ReadInstruction,
        Split,
        SplitBase,
        SplitDict,
        SplitGenerator,
        SplitInfo,
        SubSplitInfo,
        percent,
    )
    from gristmill.version import Version

# Public name -> the module it lives in. A name that is itself a module maps to "".
_HOMES = {
    "Array2D": "features",
    "Array3D": "features",
    "Array4D": "features",
    "Array5D": "features",
    "ArrowBasedBuilder": "builder",
    "BuilderConfig": "builder",
    "ClassLabel": "features",
    "Column": "dataset",
    "Dataset": "dataset",
    "DatasetBuilder": "builder",
    "DatasetDict": "dataset_dict",
    "DatasetInfo": "info",
    "DocsFile": "docs_file",
    "DownloadConfig": "download",
    "DownloadManager": "download",
    "DownloadMode": "download",
    "Features": "features",
    "GeneratorBasedBuilder": "builder",
    "HubClient": "hub.client",
    "IterableColumn": "iterable",
    "IterableDataset": "iterable",
    "IterableDatasetDict": "iterable",
    "Json": "features",
    "LargeList": "features",
    "List": "features",
    "NamedSplit": "splits",
    "NamedSplitAll": "splits",
    "ReadInstruction": "splits",
    "RemoteParquet": "partial",
    "Sequence": "features",
    "Split": "splits",
    "SplitBase": "splits",
    "SplitDict": "splits",
    "SplitGenerator": "splits",
    "SplitInfo": "splits",
    "StreamingDownloadManager": "download",
    "SubSplitInfo": "splits",
    "Translation": "features",
    "TranslationVariableLanguages": "features",
    "Value": "features",
    "VerificationMode": "download",
    "Version": "version",
    "are_progress_bars_disabled": "progress",
    "concatenate_datasets": "combine",
    "config": "",
    "disable_caching": "fingerprint",
    "disable_progress_bar": "progress",
    "disable_progress_bars": "progress",
    "enable_caching": "fingerprint",
    "enable_progress_bar": "progress",
    "enable_progress_bars": "progress",
    "errors": "",
    "exceptions": "errors",
    "experimental": "borrowed.odds",
    "get_dataset_config_info": "inspect",
    "get_dataset_config_names": "inspect",
    "get_dataset_default_config_name": "inspect",
    "get_dataset_infos": "inspect",
    "get_dataset_split_names": "inspect",
    "interleave_datasets": "combine",
    "is_caching_enabled": "fingerprint",
    "is_progress_bar_enabled": "progress",
    "list_cache": "prepared.cache_list",
    "load_dataset": "load",
    "load_dataset_builder": "load",
    "load_from_disk": "load",
    "logging": "",
    "percent": "splits",
    "remove_from_cache": "prepared.cache_remove",
    "tqdm": "progress_bars",
    "verify_cache": "prepared.cache_verify",
}

# Documented names whose work is still to come: importable, fit for isinstance, a clear error when used.
_MISSING_CLASSES = [
    "Audio",
    "BioSequence",
    "BioStructure",
    "Image",
    "Mesh",
    "Nifti",
    "Pdf",
    "Video",
]

__all__ = [
    "Array2D",
    "Array3D",
    "Array4D",
    "Array5D",
    "ArrowBasedBuilder",
    "Audio",
    "BioSequence",
    "BioStructure",
    "BuilderConfig",
    "ClassLabel",
    "Column",
    "Dataset",
    "DatasetBuilder",
    "DatasetDict",
    "DatasetInfo",
    "DocsFile",
    "DownloadConfig",
    "DownloadManager",
    "DownloadMode",
    "Features",
    "GeneratorBasedBuilder",
    "HubClient",
    "Image",
    "IterableColumn",
    "IterableDataset",
    "IterableDatasetDict",
    "Json",
    "LargeList",
    "List",
    "Mesh",
    "NamedSplit",
    "NamedSplitAll",
    "Nifti",
    "Pdf",
    "ReadInstruction",
    "RemoteParquet",
    "Sequence",
    "Split",
    "SplitBase",
    "SplitDict",
    "SplitGenerator",
    "SplitInfo",
    "StreamingDownloadManager",
    "SubSplitInfo",
    "Translation",
    "TranslationVariableLanguages",
    "Value",
    "VerificationMode",
    "Version",
    "Video",
    "__version__",
    "are_progress_bars_disabled",
    "concatenate_datasets",
    "config",
    "disable_caching",
    "disable_progress_bar",
    "disable_progress_bars",
    "enable_caching",
    "enable_progress_bar",
    "enable_progress_bars",
    "errors",
    "exceptions",
    "experimental",
    "get_dataset_config_info",
    "get_dataset_config_names",
    "get_dataset_default_config_name",
    "get_dataset_infos",
    "get_dataset_split_names",
    "interleave_datasets",
    "is_caching_enabled",
    "is_progress_bar_enabled",
    "list_cache",
    "load_dataset",
    "load_dataset_builder",
    "load_from_disk",
    "logging",
    "percent",
    "remove_from_cache",
    "tqdm",
    "verify_cache",
]


legacy.install()


def __getattr__(name: str) -> Any:
    value: Any
    if name == "exceptions":
        value = importlib.import_module("gristmill.errors")
    elif name in _HOMES:
        home = _HOMES[name]
        module = importlib.import_module(f"gristmill.{home or name}")
        value = getattr(module, name) if home else module
    elif name in _MISSING_CLASSES:
        value = missing_class(name)
    elif not name.startswith("_") and importlib.util.find_spec(f"gristmill.{name}") is not None:
        # `import datasets` alone is enough for `datasets.builder` and `datasets.utils.logging`.
        value = importlib.import_module(f"gristmill.{name}")
    else:
        raise AttributeError(f"module 'gristmill' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
