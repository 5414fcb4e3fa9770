"""Module paths of `datasets` where Gristmill has another, and what makes ``import datasets`` mean Gristmill.

Two tables and an import finder; nothing exists twice. A module that only moved is the same module under both names. A
path whose names come from several rooms is a plain module that fetches each from its home when it is first read.
Everything resolves under ``gristmill.``; after ``import gristmill.as_datasets``, or in ``gristmill run script.py``,
under ``datasets.`` too.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from gristmill.errors import GristmillError

__all__ = ["GATHERED", "MOVED", "STAND_IN", "install", "stand_in_for_datasets"]

MOVED = {
    "download.download_config": "download.config",
    "exceptions": "errors",
    "utils.version": "version",
}
"""Old path -> the module it is now."""

_BARS = (
    "are_progress_bars_disabled disable_progress_bar disable_progress_bars enable_progress_bar enable_progress_bars "
    "is_progress_bar_enabled"
)

GATHERED: dict[str, dict[str, str]] = {
    "arrow_dataset": {
        "dataset": "Column Dataset",
        "fingerprint": "get_temporary_cache_files_directory",
        "info": "DatasetInfoMixin=InfoMixin",
        "borrowed.odds": "table_iter",
    },
    "arrow_reader": {
        "builder.arrow_reader": "ArrowReader make_file_instructions",
        "splits": "ReadInstruction",
        "splits.infos": "FileInstructions",
    },
    "arrow_writer": {
        "builder.arrow_writer": "ArrowWriter ParquetWriter",
        "borrowed.sequences": "OptimizedTypedSequence TypedSequence",
    },
    "data_files": {
        "borrowed.data_files": "DataFilesDict DataFilesList DataFilesPatternsDict DataFilesPatternsList "
        "EmptyDatasetError FILES_TO_IGNORE contains_wildcards get_data_patterns resolve_pattern sanitize_patterns",
    },
    "download.download_manager": {"download": "DownloadConfig DownloadManager DownloadMode"},
    "download.streaming_download_manager": {
        "download": "DownloadConfig StreamingDownloadManager",
        "download.lazy": "xbasename xjoin xopen",
        "borrowed.paths": "_prepare_path_and_storage_options xPath",
    },
    **{
        f"io.{path}": {"borrowed.readers": names}
        for path, names in {
            "abc": "AbstractDatasetInputStream AbstractDatasetReader",
            "csv": "CsvDatasetReader CsvDatasetWriter",
            "generator": "GeneratorDatasetInputStream",
            "json": "JsonDatasetReader JsonDatasetWriter",
            "parquet": "ParquetDatasetReader ParquetDatasetWriter",
            "sql": "SqlDatasetReader SqlDatasetWriter",
            "text": "TextDatasetReader",
        }.items()
    },
    "io": {},
    "iterable_dataset": {
        "iterable": "IterableColumn IterableDataset",
        "iterable.foreign": "FormattingConfig StepExamplesIterable _BaseExamplesIterable",
    },
    "packaged_modules": {
        "builder.packaged": "_ALL_ALLOWED_EXTENSIONS _EXTENSION_TO_MODULE _MODULE_TO_EXTENSIONS "
        "_MODULE_TO_METADATA_EXTENSIONS _MODULE_TO_METADATA_FILE_NAMES _PACKAGED_DATASETS_MODULES _hash_python_lines",
    },
    **{
        f"packaged_modules.{path}": {"builder.packaged": f"{name} {name}Config"}
        for name in ("Arrow", "Csv", "Generator", "Json", "Parquet", "Sql", "Text", "Xml")
        for path in (name.lower(), f"{name.lower()}.{name.lower()}")
    },
    "parallel": {"borrowed.odds": "ParallelBackendConfig parallel_backend"},
    "parallel.parallel": {"borrowed.odds": "ParallelBackendConfig parallel_backend"},
    "streaming": {"download.lazy": "xbasename xjoin xopen"},
    "utils": {
        "download": "DownloadConfig DownloadManager VerificationMode",
        "progress": _BARS,
        "progress_bars": "tqdm",
        "version": "Version",
        "borrowed.odds": "experimental",
    },
    "utils._dill": {"borrowed.odds": "Pickler dump dumps"},
    "utils._filelock": {"!filelock": "FileLock"},
    "utils.file_utils": {
        "download": "DownloadConfig",
        "borrowed": "get_authentication_headers_for_url get_datasets_user_agent",
        "download.extracting": "ArchiveIterable FilesIterable",
        "download.lazy": "xbasename xjoin xopen",
        "download.manager": "cached_path",
        "borrowed.odds": "add_end_docstrings add_start_docstrings",
        "borrowed.paths": "SINGLE_FILE_COMPRESSION_EXTENSION_TO_PROTOCOL _prepare_path_and_storage_options "
        "_raise_if_offline_mode_is_enabled fsspec_get fsspec_head hash_url_to_filename is_local_path is_relative_path "
        "is_remote_url relative_to_absolute_path url_or_path_join url_or_path_parent xPath",
    },
    "utils.extract": {
        "download.extracting": "ExtractManager",
        "borrowed.odds": "Bzip2Extractor Extractor GzipExtractor Lz4Extractor SevenZipExtractor TarExtractor XzExtractor "
        "ZipExtractor ZstdExtractor",
    },
    "utils.hub": {"borrowed": "hf_dataset_url"},
    "utils.py_utils": {"borrowed": "asdict copyfunc map_nested temp_seed zip_dict"},
    "utils.filelock": {"!filelock": "BaseFileLock FileLock Timeout"},
    "utils.info_utils": {
        "builder.verifying": "is_small_dataset verify_checksums verify_splits",
        "download": "VerificationMode",
    },
    "utils.logging": {
        "logging": "CRITICAL DEBUG ERROR FATAL INFO NOTSET WARN WARNING disable_propagation enable_propagation "
        "get_logger get_verbosity log_levels set_verbosity set_verbosity_debug set_verbosity_error set_verbosity_info "
        "set_verbosity_warning",
        "progress": _BARS,
    },
    "utils.metadata": {"info": "MetadataConfigs"},
    "utils.track": {"borrowed.odds": "tracked_str"},
    "utils.tqdm": {"progress": _BARS, "progress_bars": "tqdm"},
}
"""Old path -> module of today (of another package after a ``!``) -> the names taken from it (``old=new`` if renamed)."""

_OURS, _THEIRS = "gristmill", "datasets"
STAND_IN = Path(__file__).parent / "_stand_in"
"""A folder for the search path, in which `datasets` is found and is Gristmill."""


class _SameModule(Loader):
    """Gives the module of another name."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Imports the other module."""
        module = importlib.import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leaves the module as it is, where the import system has renamed it."""
        module.__spec__ = self._spec
        _keep_names_of_modules(module.__name__)


class _Gathering(Loader):
    """Makes a module whose names live in several others."""

    def __init__(self, homes: dict[str, str]) -> None:
        self._homes = homes

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves that to the import system: an ordinary module can be pickled by name."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its names."""
        homes = {
            old: (home, new or old)
            for home, names in self._homes.items()
            for old, _, new in (name.partition("=") for name in names.split())
        }

        def get(name: str) -> Any:
            child = f"{module.__name__.removeprefix(_OURS + '.')}.{name}"
            if name not in homes and (child in GATHERED or child in MOVED):
                # `import datasets` alone is enough for `datasets.utils.logging`.
                return importlib.import_module(f"{_OURS}.{child}")
            if name not in homes:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            home, today = homes[name]
            path = home[1:] if home.startswith("!") else f"{_OURS}.{home}"
            value = getattr(importlib.import_module(path), today)
            setattr(module, name, value)
            return value

        # Set in the module's own namespace, since a class of modules of its own would not survive pickling.
        vars(module).update(
            __all__=sorted(homes), __getattr__=get, __dir__=lambda: sorted({*vars(module), *homes})
        )
        module.__doc__ = f"Names of {', '.join(self._homes)} under the path that `datasets` gives them."
        _keep_names_of_modules(module.__name__)


def _keep_names_of_modules(parent: str) -> None:
    """Imports modules below a package that have the name of something else in it, such as ``utils.tqdm``.

    Importing a module sets it in its package. What is imported already is not set again, so the name stays with what
    the package says of it.
    """
    path = parent.removeprefix(f"{_OURS}.")
    names = {name for names in GATHERED.get(path, {}).values() for name in names.split()}
    for name in sorted(names):
        child = f"{path}.{name}"
        if child in GATHERED or child in MOVED:
            package = sys.modules[f"{_OURS}.{path}"]
            before = vars(package).get(name)
            module = importlib.import_module(f"{_OURS}.{child}")
            vars(package).pop(name, None)
            if before is not None:
                setattr(package, name, before)
            if _finder.theirs:
                sys.modules[f"{_THEIRS}.{child}"] = module


class _Finder(MetaPathFinder):
    """Finds old paths below ``gristmill``, and everything below ``datasets`` when that is what it means."""

    theirs = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Finds a module, or None for the other finders to look."""
        package, _, rest = fullname.partition(".")
        if package == _OURS and rest in MOVED:
            return ModuleSpec(fullname, _SameModule(f"{_OURS}.{MOVED[rest]}"))
        if package == _OURS and rest in GATHERED:
            parent = any(name.startswith(f"{rest}.") for name in (*GATHERED, *MOVED))
            return ModuleSpec(fullname, _Gathering(GATHERED[rest]), is_package=parent)
        if self.theirs and package == _THEIRS and rest:
            ours = f"{_OURS}.{rest}"
            # Asking for the module's place imports the packages it is in, which may not be there.
            try:
                found = importlib.util.find_spec(ours)
            except ModuleNotFoundError:
                found = None
            if found is not None:
                return ModuleSpec(fullname, _SameModule(ours))
        return None


_finder = _Finder()


def install() -> None:
    """Makes old paths resolve below ``gristmill``; done when `gristmill` is imported."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def stand_in_for_datasets() -> None:
    """Makes ``import datasets`` mean Gristmill in this process and in the worker processes it starts.

    `datasets` need not be installed; if it is, it is hidden. Programs that ask whether `datasets` is there, and in which
    version (`importlib.util.find_spec`, `importlib.metadata`), are told of the version whose interface Gristmill has.

    Raises:
        GristmillError: The other `datasets` is imported already.

    Example:
        >>> stand_in_for_datasets()  # doctest: +SKIP
        >>> import datasets  # doctest: +SKIP
        >>> datasets.load_dataset.__module__  # doctest: +SKIP
        'gristmill.load.loading'
    """
    package = importlib.import_module(_OURS)
    there = sys.modules.get(_THEIRS, package)
    if there is not package and not str(getattr(there, "__file__", None)).startswith(str(STAND_IN)):
        raise GristmillError(
            "The library datasets is imported already, so it can't be replaced. Import gristmill.as_datasets before "
            "anything that imports datasets, or run the program with `gristmill run script.py`."
        )
    # Before all others: they would look for gristmill's own files, and import them a second time under another name.
    sys.meta_path[:] = [_finder, *(finder for finder in sys.meta_path if finder is not _finder)]
    _finder.theirs = True
    # Worker processes get this path, and find there what makes them do the same; so does whoever asks for the version.
    if str(STAND_IN) not in sys.path:
        sys.path.insert(0, str(STAND_IN))
    importlib.invalidate_caches()
    sys.modules[_THEIRS] = package
