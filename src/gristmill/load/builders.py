"""`load_dataset_builder`: what a name means, before anything is fetched or prepared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill import config as settings_module
from gristmill.builder import BuilderConfig, DatasetBuilder
from gristmill.builder.preparing import Plan
from gristmill.builder.shaping import shape, split_names
from gristmill.builder.writing import Tables
from gristmill.download import DownloadConfig, DownloadManager, DownloadMode, VerificationMode
from gristmill.errors import FileMissingError
from gristmill.features import Features
from gristmill.info import DatasetInfo
from gristmill.load.arguments import (
    DataFilesArgument,
    make_request,
    parse_cache_dir,
    parse_download_mode,
    parse_path,
    parse_revision,
)
from gristmill.load.finding import Found, Settings, find_dataset
from gristmill.load.streaming import stream_found
from gristmill.load.verification import check_files, check_splits
from gristmill.prepared.combine import info_of
from gristmill.prepared.keys import safe_name, split_folder
from gristmill.prepared.opening import OpenSplit
from gristmill.prepared.prepare import is_prepared
from gristmill.splits.generator import SplitGenerator
from gristmill.table.arrow_file import open_arrow
from gristmill.table.origins import Origins
from gristmill.version import Version

__all__ = ["load_dataset_builder"]


def load_dataset_builder(
    path: str,
    name: str | None = None,
    data_dir: str | None = None,
    data_files: DataFilesArgument | None = None,
    cache_dir: str | None = None,
    features: Features | None = None,
    download_config: DownloadConfig | None = None,
    download_mode: DownloadMode | str | None = None,
    revision: str | None = None,
    token: bool | str | None = None,
    storage_options: dict[str, Any] | None = None,
    **config_kwargs: Any,
) -> DatasetBuilder:
    r"""Finds what a name means, without fetching data: its config, and its columns and splits as far as its card says.

    Args:
        path: As for `load_dataset`.
        name: The config, where the dataset has several.
        data_dir: A folder inside the dataset; with a format, the folder to look for files in.
        data_files: Paths, patterns or URLs: one, a list, or a mapping of split to either.
        cache_dir: Where prepared data goes; `config.HF_DATASETS_CACHE` if left out.
        features: What the columns shall be.
        download_config: How to download.
        download_mode: What to fetch again.
        revision: Branch, tag or commit on the Hub; ``"main"`` if left out.
        token: A Hub token; False for none; that of the environment or of the login if left out.
        storage_options: Options of the file systems that URLs in `data_files` name.
        **config_kwargs: Options of the format's reader, `columns` and `filters`.

    Returns:
        A builder: ``.info`` says what is known, ``.download_and_prepare()`` and ``.as_dataset()`` give what
        `load_dataset` gives.

    Raises:
        DatasetNotFoundError: The name means nothing; the message lists what was tried, in order.
        DataFilesNotFoundError: The place holds no data files, or a pattern matches none.
        ConfigNotFoundError: There is no such config, or several and none was named.
        HubError: The Hub refuses.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "train.csv").write_text("a,b\n1,x\n")
        ...     builder = load_dataset_builder(folder, cache_dir=folder + "/cache")
        ...     builder.download_and_prepare()
        ...     builder.as_dataset("train")[0]
        {'a': 1, 'b': 'x'}
    """
    mode = parse_download_mode(download_mode)
    request = make_request(
        config_kwargs,
        list(inspect.signature(load_dataset_builder).parameters)[:-1],
        name=name,
        data_dir=data_dir,
        data_files=data_files,
        features=features,
        token=token,
        download_config=download_config,
        download_mode=mode,
        storage_options=storage_options,
    )
    cache = parse_cache_dir(cache_dir)
    settings = Settings(cache=cache, force=mode is not DownloadMode.REUSE_DATASET_IF_EXISTS)
    text, at = parse_path(path), parse_revision(revision)

    def find(settings: Settings) -> Found:
        return find_dataset(text, at, request, settings)

    builder = FoundBuilder._of(find, settings, text)
    builder.info.features = builder.info.features if request.features is None else request.features
    builder._checked = request.filters is None and not request.options
    return builder


@dataclass(frozen=True)
class _Opened:
    """The tables of prepared files."""

    def __call__(self, gen_kwargs: Mapping[str, Any], advance: Callable[[int], object]) -> Iterator[pa.Table]:
        for path in gen_kwargs["files"]:
            for batch in open_arrow(path).to_batches():
                yield pa.Table.from_batches([batch])
                advance(batch.num_rows)


class FoundBuilder(DatasetBuilder):
    """What a name means, with the face of a builder: it prepares what `load_dataset` prepares, in the same place."""

    _found: Found
    _find: Callable[[Settings], Found]
    _settings: Settings
    _path: str
    _splits: dict[str, OpenSplit] | None
    _checked: bool

    @classmethod
    def _of(cls, find: Callable[[Settings], Found], settings: Settings, path: str) -> FoundBuilder:
        made = cls.__new__(cls)
        found = find(settings)
        made._find, made._found, made._settings, made._path = find, found, settings, path
        made._splits, made._checked = None, True
        place = Path(path).name or path
        made.dataset_name = place
        made.repo_id = path if found.commit is not None else None
        made.base_path = made.token = made.hash = None
        made.storage_options, made.config_kwargs = {}, {}
        made.config_id = found.config
        made.dl_manager, made._writer_batch_size = None, None
        made._cache_dir_root = str(settings.cache)
        made._cache_downloaded_dir = str(settings_module.DOWNLOADED_DATASETS_PATH)
        made._output_dir, made._file_format = "", "arrow"
        made.info = found.info.copy()
        made.info.dataset_name = made.info.dataset_name or place
        made.info.config_name = found.config
        made.info.version = made.info.version or Version("0.0.0")
        made._expected = DatasetInfo()
        return made

    # Worked out when asked for: to know the files of some splits, archives have to be fetched.

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        """The format of the data files."""
        sources = list(self._found.sources.values())
        return sources[0].format if sources else self.info.builder_name or "unknown"

    @cached_property
    def config(self) -> BuilderConfig:
        """The config, with the files of each split and the options of the reader."""
        # Loaded for those who ask: it knows the options of every format.
        from gristmill.builder.packaged import config_of

        sources = self._found.sources
        files = {split: [file.name for file in one.files] for split, one in sources.items()}
        known: dict[str, Any] = {"name": self._found.config, "data_files": files or None}
        for first in list(sources.values())[:1]:
            columns = None if first.columns is None else list(first.columns)
            asked = {"columns": columns, "filters": first.filters, "features": first.features}
            return config_of(first.format, {**first.options, **asked, **known})
        return BuilderConfig(**known)

    @property
    def cache_dir(self) -> str:
        """The folder in the cache that holds a folder for each split that is prepared."""
        for source in self._found.sources.values():
            return str(split_folder(source, self._settings.cache).parent)
        return str(self._settings.cache / safe_name(self._path.replace("/", "___")))

    def _prepare(self, manager: DownloadManager, plan: Plan) -> DatasetInfo:
        settings = replace(
            self._settings,
            force=plan.force or self._settings.force,
            num_proc=plan.num_proc,
            checksums=plan.verification is VerificationMode.ALL_CHECKS,
        )
        found = self._found if settings == self._settings else self._find(settings)
        self._splits = found.open(found.known)
        if settings.checksums:
            check_files(list(found.sources.values()))
        if plan.verification is not VerificationMode.NO_CHECKS and self._checked:
            check_splits(found.info.splits, found.known, self._splits)
        self.info = info_of(list(self._splits.values()))
        if plan.folder == Path(self.cache_dir).absolute():
            return self.info
        return super()._prepare(manager, plan)

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        assert self._splits is not None
        return [
            SplitGenerator(name, {"files": [str(file) for file in split.files]})
            for name, split in self._splits.items()
        ]

    def _tables(self, split: str, check_keys: bool) -> Tables:
        return _Opened()

    def _known_origins(self, split: str) -> Origins | None:
        return None if self._splits is None else self._splits[split].origins

    def as_dataset(self, split: Any = None, in_memory: bool = False) -> Any:
        """Opens what is prepared; see `DatasetBuilder.as_dataset`."""
        if self._output_dir and Path(self._output_dir) != Path(self.cache_dir).absolute():
            return super().as_dataset(split, in_memory)
        known = self._found.known
        wanted: Any = {name: name for name in known} if split is None else split
        names = split_names(wanted, known, self._found.where)
        if self._splits is None and not all(
            is_prepared(split_folder(self._found.sources[name], self._settings.cache))
            for name in names
            if name in self._found.sources
        ):
            raise FileMissingError.from_path(
                self.cache_dir, f"{self._path} is not prepared yet: call download_and_prepare() first."
            )
        settings = replace(self._settings, force=False, keep_in_memory=in_memory or None)
        opened = self._find(settings).open(names) if self._splits is None or in_memory else self._splits
        opened = {name: opened[name] for name in names}
        return shape(opened, info_of(list(opened.values())), wanted, known, self._found.where)

    def as_streaming_dataset(self, split: Any = None, base_path: str | None = None) -> Any:
        """Gives the rows as streams; see `DatasetBuilder.as_streaming_dataset`."""
        return stream_found(self._found, split)
