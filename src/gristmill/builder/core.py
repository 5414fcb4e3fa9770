"""`DatasetBuilder`: what a user's builder class inherits."""

from __future__ import annotations

import inspect
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from gristmill import config as settings
from gristmill.arguments import parse_size
from gristmill.builder import opening, preparing, streams
from gristmill.builder.config import BuilderConfig, choose_config, configs_by_name
from gristmill.builder.place import (
    content_hash,
    identities,
    relative_folder,
    resolve_data_files,
    warn_of_other_versions,
)
from gristmill.builder.preparing import Plan
from gristmill.builder.writing import Tables
from gristmill.download import DownloadConfig, DownloadManager, DownloadMode, VerificationMode
from gristmill.download.modes import parse_choice
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import FileMissingError, InvalidArgumentError, ManualDownloadError
from gristmill.features import Features
from gristmill.files.paths import absolute_path, expand_home
from gristmill.files.remote import local_path, upload_folder
from gristmill.files.temporary import temporary_prefix
from gristmill.info import DatasetInfo
from gristmill.naming import camelcase_to_snakecase
from gristmill.splits.generator import SplitGenerator
from gristmill.table.origins import Origins
from gristmill.version import Version

__all__ = ["DatasetBuilder"]


class _OfClass(property):
    """A property that can be read from the class."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        assert self.fget is not None
        return self.fget(type(instance) if owner is None else owner)


class DatasetBuilder:
    """Prepares a dataset in the cache and opens it. Derive from `GeneratorBasedBuilder` or `ArrowBasedBuilder`.

    A derived class says three things: ``_info()`` what the dataset is, ``_split_generators(dl_manager)`` where its
    files are and which splits they make, and how rows come out of them.

    Args:
        cache_dir: Where prepared data goes; `config.HF_DATASETS_CACHE` if left out.
        dataset_name: The dataset's name; that of the class's module if left out.
        config_name: Which of ``BUILDER_CONFIGS``, or the name of one made here.
        hash: What stands for the code and files in the cache folder's name. Left out, it is a hash of the class with
            what its methods use, the config, and the files of `data_files`, so that a change of any prepares anew.
        base_path: Where relative paths start: a folder or a URL.
        info: What is known about the dataset; by default what ``_info()`` says.
        features: Features in place of those of ``_info()``.
        token: A Hub token, for downloads.
        repo_id: The Hub repository it belongs to.
        data_files: Files by split, for ``self.config.data_files``; patterns are resolved.
        data_dir: Folder of files that were fetched by hand.
        storage_options: Options of the file systems that downloads come from.
        writer_batch_size: How many examples are brought to columns at a time; ``DEFAULT_WRITER_BATCH_SIZE`` or 1,000
            if left out.
        config_id: The config's folder in the cache; worked out if left out.
        **config_kwargs: Settings of the config.

    Attributes:
        name: The class's name in files: that of its module.
        config: The config that is built.
        config_id: The config's folder in the cache.
        info: What is known about the dataset; more once it is prepared.

    Raises:
        ConfigNotFoundError: There is no such config, or several and none was named.
        InvalidArgumentError: A setting means nothing to the config.

    Example:
        >>> from gristmill import GeneratorBasedBuilder
        >>> issubclass(GeneratorBasedBuilder, DatasetBuilder)
        True
    """

    VERSION: ClassVar[Version | str | None] = None
    """Version of configs that are not among ``BUILDER_CONFIGS``."""
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = BuilderConfig
    """Class of configs that are not among ``BUILDER_CONFIGS``."""
    BUILDER_CONFIGS: ClassVar[list[Any]] = []
    """The configs there are."""
    DEFAULT_CONFIG_NAME: ClassVar[str | None] = None
    """The config that is meant if none is named."""
    DEFAULT_WRITER_BATCH_SIZE: ClassVar[int | None] = None
    """How many examples are brought to columns at a time: fewer for large ones."""
    SLEEP_ON_THREADS_SHUTDOWNS: ClassVar[bool] = False
    """Whether to wait for threads at the end; Gristmill ends its own, so that there is nothing to wait for."""

    _generating_method: ClassVar[str] = "_generate_examples"
    config: Any  # of the derived class's BUILDER_CONFIG_CLASS

    def __init__(
        self,
        cache_dir: str | None = None,
        dataset_name: str | None = None,
        config_name: str | None = None,
        hash: str | None = None,
        base_path: str | None = None,
        info: DatasetInfo | None = None,
        features: Features | None = None,
        token: bool | str | None = None,
        repo_id: str | None = None,
        data_files: Any = None,
        data_dir: str | None = None,
        storage_options: dict[str, Any] | None = None,
        writer_batch_size: int | None = None,
        config_id: str | None = None,
        **config_kwargs: Any,
    ) -> None:
        self.name = camelcase_to_snakecase(type(self).__module__.rpartition(".")[2])
        self.dataset_name = camelcase_to_snakecase(dataset_name) if dataset_name else self.name
        self.base_path = base_path
        self.token = token
        self.repo_id = repo_id
        self.storage_options = dict(storage_options or {})
        self._writer_batch_size = writer_batch_size or self.DEFAULT_WRITER_BATCH_SIZE
        self._cache_dir_root = os.fspath(absolute_path(expand_home(cache_dir or settings.HF_DATASETS_CACHE)))
        self._cache_downloaded_dir = os.fspath(
            Path(self._cache_dir_root) / settings.DOWNLOADED_DATASETS_DIR
            if cache_dir
            else settings.DOWNLOADED_DATASETS_PATH
        )
        if data_files is not None:
            base = os.fspath(base_path) if base_path is not None else str(Path.cwd())
            config_kwargs["data_files"] = resolve_data_files(data_files, base, self._download_config())
        if data_dir is not None:
            config_kwargs["data_dir"] = data_dir
        if features is not None and "features" in inspect.signature(self.BUILDER_CONFIG_CLASS).parameters:
            config_kwargs["features"] = features
        self.config_kwargs = config_kwargs
        self.config = choose_config(
            self.BUILDER_CONFIGS,
            self.BUILDER_CONFIG_CLASS,
            self.DEFAULT_CONFIG_NAME,
            self.VERSION,
            config_name,
            config_kwargs,
            self.dataset_name,
        )
        self.config_id = config_id or self.config.create_config_id(config_kwargs, features)
        info = self._info() if info is None else info.copy()
        if not isinstance(info, DatasetInfo):
            raise InvalidArgumentError.from_value("_info()", info, "a DatasetInfo")
        info.builder_name = self.name
        info.dataset_name = self.dataset_name
        info.config_name = self.config.name
        version = self.config.version
        info.version = Version(version) if isinstance(version, str) else version
        if features is not None:
            info.features = Features(features)
        self.info = info
        self._expected = info.copy()
        self.hash = hash
        folder = relative_folder(
            self.dataset_name,
            repo_id,
            self.config_id,
            self.config.version,
            hash or content_hash(self, [vars(self.config), features, identities(self.config.data_files)]),
        )
        self._cache_dir = os.fspath(Path(self._cache_dir_root) / folder)
        warn_of_other_versions(Path(self._cache_dir))
        self._output_dir = self._cache_dir
        self._file_format = "arrow"
        self.dl_manager: Any = None
        found = preparing.find_prepared(Path(self._cache_dir), "arrow")
        self.info = self.info if found is None else found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "dl_manager": None}

    # ------------------------------------------------------------ what a derived class says

    def _info(self) -> DatasetInfo:
        """Says what the dataset is: description, features, licence."""
        self._must_have("_info")

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:  # for derived classes
        """Says which splits there are, and from which files.

        Args:
            dl_manager: A `DownloadManager`, or a `StreamingDownloadManager` when streaming.
        """
        self._must_have("_split_generators")

    def _tables(self, split: str, check_keys: bool) -> Tables:  # for derived classes
        """Gives what makes the tables of a split."""
        self._must_have(
            "_generate_examples or _generate_tables: derive from GeneratorBasedBuilder or ArrowBasedBuilder"
        )

    def _known_origins(self, split: str) -> Origins | None:
        """Gives where the rows of a split came from, where that is known better than by the builder's code."""
        return None

    def _must_have(self, method: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} needs a method {method}.")

    # ------------------------------------------------------------ what it is

    @_OfClass
    def builder_configs(cls) -> dict[str, Any]:  # noqa: N805  # read from the class
        """The predefined configs by name."""
        return dict(configs_by_name(cls.BUILDER_CONFIGS))

    @property
    def cache_dir(self) -> str:
        """The folder in the cache that the dataset is prepared in."""
        return self._cache_dir

    @classmethod
    def get_imported_module_dir(cls) -> str:
        """Gives the folder of the module that the class is in."""
        return os.fspath(Path(inspect.getfile(cls)).absolute().parent)

    # ------------------------------------------------------------ what it does

    def download_and_prepare(
        self,
        output_dir: str | None = None,
        download_config: DownloadConfig | None = None,
        download_mode: DownloadMode | str | None = None,
        verification_mode: VerificationMode | str | None = None,
        dl_manager: DownloadManager | None = None,
        base_path: str | None = None,
        file_format: str = "arrow",
        max_shard_size: int | str | None = None,
        num_proc: int | None = None,
        storage_options: dict[str, Any] | None = None,
        **download_and_prepare_kwargs: Any,
    ) -> None:
        """Downloads and prepares the dataset, unless it is prepared and nothing that went into it has changed.

        The folder appears when it is whole. Of several processes that want it, one prepares it and the others wait.

        Args:
            output_dir: Where it goes: an empty folder, or a URL such as ``"s3://bucket/data"``; the cache if left out.
            download_config: How to download.
            download_mode: What to do with what is there.
            verification_mode: How much to check against ``info``; ``"basic_checks"`` if left out.
            dl_manager: What ``_split_generators`` gets; made if left out.
            base_path: Where relative paths start; the builder's own if left out.
            file_format: ``"arrow"`` or ``"parquet"``.
            max_shard_size: A new file begins at this size in memory, such as ``"500MB"`` or a number of bytes.
            num_proc: Worker processes; each gets a part of the lists in ``gen_kwargs``.
            storage_options: Options of the file system of `output_dir`.
            **download_and_prepare_kwargs: Accepted for compatibility; ignored.

        Raises:
            DatasetGenerationError: The builder's code failed, or a value does not fit; says where.
            ManualDownloadError: Files have to be fetched by hand first.
            SplitsVerificationError: The splits are not those that ``info`` records.
            ChecksumVerificationError: The downloads are not those that ``info`` records.
            DiskFullError: There is not enough room.
            InvalidArgumentError: An argument can't be used, or `output_dir` holds something else.
        """
        mode = parse_choice(
            "download_mode", download_mode, DownloadMode, DownloadMode.REUSE_DATASET_IF_EXISTS
        )
        checks = parse_choice(
            "verification_mode", verification_mode, VerificationMode, VerificationMode.BASIC_CHECKS
        )
        if file_format not in ("arrow", "parquet"):
            raise InvalidArgumentError.from_choice("file_format", str(file_format), ["arrow", "parquet"])
        size = parse_size(settings.MAX_SHARD_SIZE if max_shard_size is None else max_shard_size)
        workers = check_num_proc(num_proc)
        self._refuse_without_manual_files()
        target = self.cache_dir if output_dir is None else os.fspath(output_dir)
        here = local_path(target)
        force = mode is not DownloadMode.REUSE_DATASET_IF_EXISTS
        with tempfile.TemporaryDirectory(prefix=temporary_prefix("builder")) as aside:
            folder = Path(aside, "prepared") if here is None else expand_home(here).absolute()
            if dl_manager is None:
                dl_manager = self._manager(download_config, mode, checks, base_path, num_proc)
            self.dl_manager = dl_manager
            plan = Plan(folder, file_format, size, workers, checks, force)
            self.info = self._prepare(dl_manager, plan)
            if here is None:
                upload_folder(folder, target, storage_options)
        self._output_dir = target if here is None else os.fspath(folder)
        self._file_format = file_format

    def _prepare(self, manager: DownloadManager, plan: Plan) -> DatasetInfo:
        return preparing.prepare(self, manager, plan)

    def _download_config(self) -> DownloadConfig:
        return DownloadConfig(
            cache_dir=self._cache_downloaded_dir,
            token=self.token,
            storage_options=self.storage_options,
        )

    def _manager(
        self,
        config: DownloadConfig | None,
        mode: DownloadMode,
        checks: VerificationMode,
        base_path: str | None,
        num_proc: int | None,
    ) -> DownloadManager:
        if config is None:
            config = self._download_config()
            config.num_proc = num_proc
            config.force_download = config.force_extract = mode is DownloadMode.FORCE_REDOWNLOAD
        return DownloadManager(
            self.dataset_name,
            data_dir=self.config.data_dir,
            download_config=config,
            base_path=base_path if base_path is not None else self.base_path,
            record_checksums=checks is VerificationMode.ALL_CHECKS,
        )

    def _refuse_without_manual_files(self) -> None:
        instructions = getattr(self, "manual_download_instructions", None)
        if instructions and self.config.data_dir is None:
            raise ManualDownloadError.from_instructions(self.dataset_name, str(instructions))

    def as_dataset(self, split: Any = None, in_memory: bool = False) -> Any:
        """Opens what `download_and_prepare` prepared.

        Args:
            split: A split or slice such as ``"train[:10%]"``, or a list of them; all splits if left out.
            in_memory: Read the rows into memory instead of mapping the files.

        Returns:
            A `Dataset`, or a `DatasetDict` of all splits, or datasets in the shape of `split`.

        Raises:
            FileMissingError: Nothing is prepared.
            SplitNotFoundError: There is no such split.
            InvalidArgumentError: What is prepared is not Arrow, or on another file system.
        """
        if self._file_format != "arrow":
            expected = '"arrow" to be opened as a dataset; or load the files: load_dataset("parquet", data_files=...)'
            raise InvalidArgumentError.from_value("file_format", self._file_format, expected)
        here = local_path(self._output_dir)
        if here is None:
            expected = "a folder on this machine to be opened as a dataset"
            raise InvalidArgumentError.from_value("output_dir", self._output_dir, expected)
        if not (here / settings.DATASET_INFO_FILENAME).is_file():
            raise FileMissingError.from_path(
                here, f"{self.dataset_name} is not prepared yet: call download_and_prepare() first."
            )
        known = list(self.info.splits or {})
        wanted: Any = {name: name for name in known} if split is None else split
        names = opening.split_names(wanted, known, self.dataset_name)
        opened = opening.open_splits(here, self.info, names, in_memory)
        return opening.shape(opened, self.info, wanted, known, self.dataset_name)

    def as_streaming_dataset(self, split: Any = None, base_path: str | None = None) -> Any:
        """Gives the rows one after another, without preparing anything: files are fetched when they are read.

        ``_split_generators`` gets a `StreamingDownloadManager`; see there what it gives out for URLs.

        Args:
            split: A split, or a list of them; all splits if left out.
            base_path: Where relative paths start; the builder's own if left out.

        Returns:
            An `IterableDataset`, or an `IterableDatasetDict` of all splits, or streams in the shape of `split`. The
            lists in ``gen_kwargs`` are its shards.

        Raises:
            SplitNotFoundError: There is no such split.
        """
        self._refuse_without_manual_files()
        return streams.stream(self, split, base_path if base_path is not None else self.base_path)
