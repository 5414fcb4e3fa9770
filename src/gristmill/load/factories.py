"""What a name means, in the form that code of old asks for it: factories whose `get_module` gives a `DatasetModule`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.builder import BuilderConfig
from gristmill.builder.packaged import _PACKAGED_DATASETS_MODULES
from gristmill.download import DownloadMode
from gristmill.errors import (
    DataFilesNotFoundError,
    DatasetNotFoundError,
    FileMissingError,
    HubError,
    RevisionNotFoundError,
)
from gristmill.files.data_files import parse_data_files
from gristmill.files.paths import expand_home
from gristmill.files.patterns import natural_key
from gristmill.fingerprint import Hasher
from gristmill.formats.registry import get_format, known_formats
from gristmill.hub.buckets import Bucket, parse_bucket_path
from gristmill.hub.tree import is_commit
from gristmill.info import DatasetInfosDict, MetadataConfigs
from gristmill.load.arguments import (
    DataFilesArgument,
    make_request,
    parse_cache_dir,
    parse_download_mode,
    parse_path,
    parse_revision,
)
from gristmill.load.finding import cant_be_asked, locate
from gristmill.prepared.keys import safe_name
from gristmill.prepared.places import Place, bucket_place, folder_place, repo_place
from gristmill.prepared.resolve import Request, Resolved, from_format, from_place

__all__ = [
    "BuilderConfigsParameters",
    "CachedDatasetModuleFactory",
    "DatasetModule",
    "DatasetNotFoundError",
    "HubBucketDatasetModuleFactory",
    "HubDatasetModuleFactory",
    "HubDatasetModuleFactoryWithParquetExport",
    "LocalDatasetModuleFactory",
    "PackagedDatasetModuleFactory",
    "dataset_module_factory",
]

_PARQUET_EXPORT = "refs/convert/parquet"
_EXPORTED = re.compile(r"(?P<config>[^/]+)/(?:partial-)?(?P<split>[^/]+)/[^/]+\.parquet")


@dataclass
class BuilderConfigsParameters:
    """The configs of a dataset.

    Attributes:
        metadata_configs: What the card says of each.
        builder_configs: Each with its data files by split.
        default_config_name: The one that is loaded when none is asked for.
    """

    metadata_configs: MetadataConfigs | None = None
    builder_configs: list[BuilderConfig] | None = None
    default_config_name: str | None = None


@dataclass
class DatasetModule:
    """What a name means.

    Attributes:
        module_path: The module of the builder that reads the data files; of their reader, if it has no builder.
        hash: What changes when the dataset does: its commit, or a hash of its files.
        builder_kwargs: Where it is: ``base_path`` or ``repo_id``, ``dataset_name``, ``data_files``.
        builder_configs_parameters: Its configs.
        dataset_infos: What its card says of each.
    """

    module_path: str
    hash: str
    builder_kwargs: dict[str, Any]
    builder_configs_parameters: BuilderConfigsParameters = field(default_factory=BuilderConfigsParameters)
    dataset_infos: DatasetInfosDict | None = None


class _Factory:
    """Asks with the arguments given; `_module` says what for."""

    def __init__(
        self,
        data_dir: str | None = None,
        data_files: DataFilesArgument | None = None,
        download_config: Any = None,
        download_mode: DownloadMode | str | None = None,
    ) -> None:
        self.data_dir, self.data_files = data_dir, data_files
        self.download_config, self.download_mode = download_config, download_mode

    def get_module(self) -> DatasetModule:
        """Looks, and gives what is there.

        Raises:
            GristmillError: As for `load_dataset`.
        """
        with _asking(self.data_dir, self.data_files, self.download_config, self.download_mode) as request:
            return self._module(request)

    def _module(self, request: Request) -> DatasetModule:
        raise NotImplementedError


class PackagedDatasetModuleFactory(_Factory):
    """Files of a format.

    Args:
        name: The format.
        data_dir: The folder to look for files in.
        data_files: The files.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.

    Example:
        >>> factory = PackagedDatasetModuleFactory("csv", data_files="https://example.org/a.csv")
        >>> factory.get_module().builder_kwargs
        {'data_files': {'train': ['https://example.org/a.csv']}, 'dataset_name': 'csv'}
    """

    def __init__(
        self,
        name: str,
        data_dir: str | None = None,
        data_files: DataFilesArgument | None = None,
        download_config: Any = None,
        download_mode: DownloadMode | str | None = None,
    ) -> None:
        super().__init__(data_dir, data_files, download_config, download_mode)
        self.name = name

    def _module(self, request: Request) -> DatasetModule:
        get_format(self.name)  # says which formats there are if this is none
        files = _names_by_split(from_format(self.name, request), request)
        kwargs = {"data_files": files, "dataset_name": self.name}
        return DatasetModule(_module_of(self.name), Hasher.hash(files), kwargs)


class LocalDatasetModuleFactory(_Factory):
    r"""A folder on this machine.

    Args:
        path: The folder.
        data_dir: A folder inside it.
        data_files: Files in it, instead of those its card names.
        download_mode: As for `load_dataset`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "dev.csv").write_text("a\n1\n")
        ...     module = LocalDatasetModuleFactory(folder).get_module()
        ...     list(module.builder_configs_parameters.builder_configs[0].data_files)
        ['validation']
    """

    def __init__(
        self,
        path: str,
        data_dir: str | None = None,
        data_files: DataFilesArgument | None = None,
        download_mode: DownloadMode | str | None = None,
    ) -> None:
        super().__init__(data_dir, data_files, None, download_mode)
        self.path = path

    def _module(self, request: Request) -> DatasetModule:
        place = folder_place(expand_home(self.path), request.data_files is not None)
        return _module_at(place, request, {"base_path": self.path}, f"{place.source}/")


class HubDatasetModuleFactory(_Factory):
    """A repository at a commit.

    Args:
        name: ``"namespace/name"``.
        commit_hash: The commit.
        data_dir: A folder inside it.
        data_files: Files in it, instead of those its card names.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        use_exported_dataset_infos: Accepted; the card is what counts.
    """

    def __init__(
        self,
        name: str,
        commit_hash: str,
        data_dir: str | None = None,
        data_files: DataFilesArgument | None = None,
        download_config: Any = None,
        download_mode: DownloadMode | str | None = None,
        use_exported_dataset_infos: bool = False,  # documented
    ) -> None:
        super().__init__(data_dir, data_files, download_config, download_mode)
        self.name, self.commit_hash = name, commit_hash

    def _module(self, request: Request) -> DatasetModule:
        repo = request.client.pin(self.name, self.commit_hash)
        place = repo_place(repo, request.data_files is not None)
        base = f"hf://datasets/{repo.repo_id}@{repo.commit}"
        return _module_at(place, request, {"base_path": base, "repo_id": repo.repo_id}, f"{base}/")


class HubDatasetModuleFactoryWithParquetExport(_Factory):
    """The Parquet files that a Hub has made of a dataset.

    Args:
        name: ``"namespace/name"``.
        commit_hash: The commit of the dataset, which stands for the export too.
        download_config: As for `load_dataset`.
    """

    def __init__(self, name: str, commit_hash: str, download_config: Any = None) -> None:
        super().__init__(download_config=download_config)
        self.name, self.commit_hash = name, commit_hash

    def _module(self, request: Request) -> DatasetModule:
        try:
            repo = request.client.pin(self.name, _PARQUET_EXPORT)
        except RevisionNotFoundError as error:
            raise _no_export(self.name) from error
        found: dict[str, dict[str, list[str]]] = {}
        for file in sorted(repo.files(), key=lambda file: natural_key(file.path)):
            match = _EXPORTED.fullmatch(file.path)
            if match is not None:
                splits = found.setdefault(match["config"], {})
                url = f"hf://datasets/{repo.repo_id}@{repo.commit}/{file.path}"
                splits.setdefault(match["split"], []).append(url)
        if not found:
            raise _no_export(self.name)
        metadata = MetadataConfigs({name: {"data_files": splits} for name, splits in found.items()})
        configs = [BuilderConfig(name, data_files=splits) for name, splits in found.items()]
        kwargs = {"repo_id": repo.repo_id, "dataset_name": repo.repo_id.rpartition("/")[2]}
        parameters = BuilderConfigsParameters(metadata, configs, metadata.get_default_config_name())
        return DatasetModule(_module_of("parquet"), self.commit_hash, kwargs, parameters)


def _no_export(name: str) -> DataFilesNotFoundError:
    return DataFilesNotFoundError(f"The Hub has made no Parquet files of {name}.")


class HubBucketDatasetModuleFactory(_Factory):
    """A bucket of a Hub, or a folder in one.

    Args:
        path: ``"buckets/namespace/name/folder"``.
        data_dir: A folder inside it.
        data_files: Files in it, instead of those its card names.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
    """

    def __init__(
        self,
        path: str,
        data_dir: str | None = None,
        data_files: DataFilesArgument | None = None,
        download_config: Any = None,
        download_mode: DownloadMode | str | None = None,
    ) -> None:
        super().__init__(data_dir, data_files, download_config, download_mode)
        self.path = path

    def _module(self, request: Request) -> DatasetModule:
        bucket_id, folder = parse_bucket_path(self.path.removeprefix("buckets/"))
        place = bucket_place(Bucket(request.client, bucket_id, folder), request.data_files is not None)
        return _module_at(place, request, {"base_path": f"hf://{place.source}"}, f"hf://{place.source}/")


class CachedDatasetModuleFactory:
    """What was prepared before.

    Args:
        name: The name it was loaded by.
        cache_dir: The datasets cache; `config.HF_DATASETS_CACHE` if left out.
    """

    def __init__(self, name: str, cache_dir: str | None = None) -> None:
        self.name, self.cache_dir = name, cache_dir

    def get_module(self) -> DatasetModule:
        """Looks whether something is there; which of it is meant is known when a config is asked for.

        Raises:
            FileMissingError: Nothing of that name is in the cache.
        """
        cache = parse_cache_dir(self.cache_dir)
        folder = cache / safe_name(self.name.replace("/", "___"))
        if not folder.is_dir():
            raise FileMissingError.from_path(folder, f"{self.name} was not prepared in this cache.")
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name != "loads")
        configs = [BuilderConfig(name) for name in names]
        kwargs = {
            "repo_id": self.name, "dataset_name": self.name.rpartition("/")[2], "version": "auto", "hash": "auto",
        }  # fmt: skip
        return DatasetModule(_module_of("arrow"), "auto", kwargs, BuilderConfigsParameters(None, configs))


def dataset_module_factory(
    path: str,
    revision: str | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    data_dir: str | None = None,
    data_files: DataFilesArgument | None = None,
    cache_dir: str | None = None,
    **download_kwargs: Any,
) -> DatasetModule:
    """Finds what a name means, by the doors of `load_dataset`.

    Args:
        path: The name.
        revision: Branch, tag or commit on the Hub.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        data_dir: As for `load_dataset`.
        data_files: As for `load_dataset`.
        cache_dir: The datasets cache.
        **download_kwargs: As for `load_dataset`, for example `token`.

    Raises:
        DatasetNotFoundError: No door opens; the message lists what was tried.
        GristmillError: As for `load_dataset`.

    Example:
        >>> dataset_module_factory("csv", data_files="https://example.org/a.csv").module_path
        'gristmill.packaged_modules.csv.csv'
    """
    name, at = parse_path(path), parse_revision(revision)
    if name in known_formats():
        packaged = PackagedDatasetModuleFactory(name, data_dir, data_files, download_config, download_mode)
        return packaged.get_module()
    cache = parse_cache_dir(cache_dir)
    with _asking(data_dir, data_files, download_config, download_mode, download_kwargs) as request:
        try:
            located = locate(name, at, request, cache)
        except HubError as error:
            if not cant_be_asked(error):
                raise
            with contextlib.suppress(FileMissingError):
                return CachedDatasetModuleFactory(name, str(cache)).get_module()
            raise
        place = located.place
        if place is None:
            resolved = located.resolve(None)
            files = _names_by_split(resolved, request)
            kwargs = {"data_files": {"train": [name]}, "dataset_name": resolved.dataset}
            return DatasetModule(_module_of(resolved.format), Hasher.hash(files), kwargs)
        if isinstance(place.base, Path):
            return _module_at(place, request, {"base_path": name}, f"{place.source}/")
        kwargs = {"base_path": str(place.base)}
        if is_commit(place.revision or "") and not name.startswith("buckets/"):
            kwargs["repo_id"] = place.source
        return _module_at(place, request, kwargs, f"{place.base}/")


@contextlib.contextmanager
def _asking(
    data_dir: str | None,
    data_files: DataFilesArgument | None,
    download_config: Any,
    download_mode: DownloadMode | str | None,
    more: Mapping[str, Any] | None = None,
) -> Iterator[Request]:
    options = dict(more or {})
    shared = {key: options.pop(key, None) for key in ("token", "storage_options")}
    request = make_request(
        options,
        ["path", "revision", "download_config", "download_mode", "data_dir", "data_files", "cache_dir"],
        data_dir=data_dir,
        data_files=data_files,
        download_config=download_config,
        download_mode=parse_download_mode(download_mode),
        **shared,
    )
    with contextlib.closing(request):
        yield request


def _module_at(place: Place, request: Request, kwargs: dict[str, Any], prefix: str) -> DatasetModule:
    card = place.card.metadata
    metadata = MetadataConfigs.from_dataset_card_data(card)
    infos = DatasetInfosDict.from_dataset_card_data(card)
    kwargs = {**kwargs, "dataset_name": place.dataset}
    if metadata and not request.own_files:
        # Which files their patterns mean is looked up for the one that is loaded: there may be thousands.
        default = place.default
        resolved = from_place(place, request, default or next(iter(metadata)))
        configs = [
            BuilderConfig(
                name,
                data_dir=entry.get("data_dir"),
                data_files=parse_data_files(entry["data_files"]) if entry.get("data_files") else None,
            )
            for name, entry in metadata.items()
        ]
        parameters = BuilderConfigsParameters(metadata, configs, default)
    else:
        resolved = from_place(place, request)
        files = _names_by_split(resolved, request, prefix)
        only = BuilderConfig(resolved.config, data_dir=request.data_dir, data_files=files)
        parameters = BuilderConfigsParameters(metadata, [only], None)
    version = place.revision or Hasher.hash(_identities(resolved))
    return DatasetModule(_module_of(resolved.format), version, kwargs, parameters, infos)


def _identities(resolved: Resolved) -> list[tuple[str, list[str]]]:
    return [(split, [file.identity for file in files]) for split, files in resolved.files.items()]


def _names_by_split(resolved: Resolved, request: Request, prefix: str = "") -> dict[str, Sequence[str]]:
    """Gives the files of each split by name; of URLs that have not been asked for, as the user wrote them."""
    if request.data_files is not None:
        said = parse_data_files(request.data_files)
        if any("://" in name for names in said.values() for name in names):
            return dict(said)

    def absolute(name: str) -> str:
        return name if _is_absolute(name) else prefix + name

    return {split: [absolute(file.name) for file in files] for split, files in resolved.files.items()}


def _is_absolute(name: str) -> bool:
    return "://" in name or Path(name).is_absolute()


def _module_of(format: str | None) -> str:
    if format in _PACKAGED_DATASETS_MODULES:
        return _PACKAGED_DATASETS_MODULES[format][0]
    return f"gristmill.formats.{format}" if format else "gristmill.formats"
