"""The arguments that `load_dataset` and its relatives share, checked and brought to a `Request`."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import config
from gristmill.download import DownloadMode
from gristmill.download.modes import parse_choice
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.files.paths import absolute_path, expand_home
from gristmill.formats.registry import get_format, known_formats
from gristmill.logging import get_logger
from gristmill.prepared.resolve import Request

if TYPE_CHECKING:
    from gristmill.download import DownloadConfig

__all__ = [
    "DataFilesArgument",
    "make_request",
    "parse_cache_dir",
    "parse_config_name",
    "parse_download_mode",
    "parse_path",
    "parse_revision",
]

_log = get_logger(__name__)
_OF_EXTRACTING = ("extract_compressed_file", "force_extract", "delete_extracted", "extract_on_the_fly")

DataFilesArgument = str | Path | Sequence[Any] | Mapping[str, Any]


def parse_path(path: object) -> str:
    """Gives the name of a dataset as text.

    Raises:
        InvalidArgumentError: It is neither text nor a path.
    """
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise InvalidArgumentError.from_value("path", path, "the name of a dataset, folder, file or format")
    return name


def parse_cache_dir(cache_dir: object) -> Path:
    """Gives the datasets cache: the folder named, or `config.HF_DATASETS_CACHE`.

    Raises:
        InvalidArgumentError: It is neither text nor a path.
    """
    return absolute_path(
        expand_home(_text("cache_dir", cache_dir) if cache_dir else config.HF_DATASETS_CACHE)
    )


def parse_config_name(name: object) -> str | None:
    """Gives the name of a config as text; None if none is asked for.

    Raises:
        InvalidArgumentError: It is no text (or number, which some configs are called by).
    """
    if name is not None and (not isinstance(name, str | int) or isinstance(name, bool)):
        raise InvalidArgumentError.from_value("name", name, "the name of a config, as text")
    return None if name is None else str(name)


def parse_revision(revision: object) -> str:
    """Gives a revision as text; ``"main"`` for None.

    Raises:
        InvalidArgumentError: It is no text (or version, which old code passes).
    """
    if revision is None:
        return "main"
    text = str(revision)
    if isinstance(revision, bytes | bool | list | dict | tuple) or not text:
        raise InvalidArgumentError.from_value("revision", revision, "the name of a branch, tag or commit")
    return text


def parse_download_mode(mode: DownloadMode | str | None) -> DownloadMode:
    """Reads ``download_mode=``.

    Raises:
        InvalidArgumentError: There is no such mode.
    """
    return parse_choice("download_mode", mode, DownloadMode, DownloadMode.REUSE_DATASET_IF_EXISTS)


def make_request(
    kwargs: Mapping[str, Any],
    arguments: Iterable[str],
    *,
    name: object = None,
    data_dir: object = None,
    data_files: Any = None,
    features: Any = None,
    token: bool | str | None = None,
    download_config: Any = None,
    download_mode: DownloadMode = DownloadMode.REUSE_DATASET_IF_EXISTS,
    storage_options: Mapping[str, Any] | None = None,
    streaming: bool = False,
) -> Request:
    """Makes the request of a call.

    Args:
        kwargs: The further keyword arguments: reader options, `columns`, `filters`, and names of old.
        arguments: What the documented arguments are called, to tell a misspelled one.
        name: The config.
        data_dir: A folder inside the place.
        data_files: Files or patterns.
        features: What the columns shall be.
        token: A Hub token.
        download_config: A `DownloadConfig`.
        download_mode: What to fetch again.
        storage_options: Options of file systems.
        streaming: Files are read as rows are asked for.

    Raises:
        InvalidArgumentError: An argument has a value that can't be used, or is misspelled.
    """
    options = dict(kwargs)
    if options.pop("trust_remote_code", None):
        _log.warning(
            "trust_remote_code=True has no effect: scripts are never run; if the dataset has no data files, look for a "
            'copy in Parquet (revision="refs/convert/parquet" on the Hub)'
        )
    old_token = options.pop("use_auth_token", None)
    how = _download_config(download_config)
    for candidate in (old_token, getattr(how, "token", None)):
        token = candidate if token is None else token
    columns, filters = options.pop("columns", None), options.pop("filters", None)
    _check_spelling(options, list(arguments))
    more = getattr(how, "storage_options", None) or {}
    for what, value in (("storage_options", storage_options or {}), ("download_config", more)):
        if not isinstance(value, Mapping):
            raise InvalidArgumentError.from_value(what, value, "a dict of options")
    connect = downloads = None
    if how is not None:
        from gristmill.download.fetching import downloads_folder, make_client

        connect = partial(make_client, dataclasses.replace(how, token=token), True)
        downloads = downloads_folder(how)
    return Request(
        name=parse_config_name(name),
        data_dir=None if data_dir is None else _text("data_dir", data_dir),
        data_files=data_files,
        options=options,
        columns=_columns(columns),
        filters=_filters(filters),
        features=_features(features),
        # True has always meant "the token of the login", which is what None means.
        token=None if token is True else token,
        storage_options={**more, **(storage_options or {})},
        refetch=download_mode is DownloadMode.FORCE_REDOWNLOAD or (how is not None and how.force_download),
        offline=how is not None and how.local_files_only,
        streaming=streaming,
        connect=connect,
        downloads=downloads,
    )


def _download_config(said: Any) -> DownloadConfig | None:
    """Checks a `DownloadConfig`, or another object with its attributes, and tells of those that have no effect here."""
    if said is None:
        return None
    from gristmill.download import DownloadConfig

    known = {field.name for field in dataclasses.fields(DownloadConfig)}
    if isinstance(said, Mapping) or not known & set(dir(said)):
        raise InvalidArgumentError.from_value("download_config", said, "a DownloadConfig")
    how = DownloadConfig(**{name: getattr(said, name) for name in known if hasattr(said, name)})
    idle = [name for name in _OF_EXTRACTING if getattr(how, name)]
    if idle:
        _log.warning(
            "download_config: %s has no effect on loading, which reads archives and compressed files as they are",
            ", ".join(idle),
        )
    if how.download_desc is not None:
        _log.warning("download_config: download_desc has no effect on loading, which says what it downloads")
    return how


def _text(argument: str, value: object) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or "\0" in text:
        raise InvalidArgumentError.from_value(argument, value, "a path, as text")
    return text


def _columns(columns: object) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidArgumentError.from_value("columns", columns, "a list of column names")
    if not all(isinstance(column, str) for column in columns):
        raise InvalidArgumentError.from_value("columns", columns, "a list of column names")
    return tuple(columns)


def _filters(filters: Any) -> Any:
    if isinstance(filters, str | bytes | Mapping | int | float):
        expected = 'conditions such as [("column", ">", 3)], or a pyarrow expression'
        raise InvalidArgumentError.from_value("filters", filters, expected)
    return filters


def _features(features: Any) -> Features | None:
    if features is None or isinstance(features, Features):
        return features
    if not isinstance(features, Mapping):
        raise InvalidArgumentError.from_value("features", features, "a Features, or a dict of column to type")
    return Features(features)


def _check_spelling(options: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuses what looks like a misspelled argument and is no option of any format."""
    for name in options:
        if not difflib.get_close_matches(name, arguments, n=1, cutoff=0.8):
            continue
        formats = [get_format(format) for format in known_formats()]
        if not any(name in {field.name for field in dataclasses.fields(one.options)} for one in formats):
            raise InvalidArgumentError.from_unknown("load_dataset has no argument", name, arguments)
