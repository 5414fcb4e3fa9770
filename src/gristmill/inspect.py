"""What a dataset consists of, without loading it: its configs, its splits, and what is said of them.

Only what is needed is read: the card and the list of files, and no data file (but for a repository of archives alone
nothing is read at all: their names say the splits).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gristmill.download import DownloadMode
from gristmill.errors import (
    ConfigNotFoundError,
    DataFilesNotFoundError,
    HubError,
    SplitsNotFoundError,
    suggest,
)
from gristmill.files.data_files import missing_name
from gristmill.info import DatasetInfo
from gristmill.load.arguments import (
    DataFilesArgument,
    make_request,
    parse_cache_dir,
    parse_config_name,
    parse_download_mode,
    parse_path,
    parse_revision,
)
from gristmill.load.finding import Located, cant_be_asked, give_up, locate, recorded
from gristmill.logging import get_logger
from gristmill.prepared.declared import declared_info
from gristmill.prepared.places import Place
from gristmill.prepared.resolve import Request
from gristmill.splits import SplitDict, SplitInfo

__all__ = [
    "SplitsNotFoundError",
    "get_dataset_config_info",
    "get_dataset_config_names",
    "get_dataset_default_config_name",
    "get_dataset_infos",
    "get_dataset_split_names",
]

_log = get_logger(__name__)


def get_dataset_config_names(
    path: str,
    revision: str | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    data_files: DataFilesArgument | None = None,
    **download_kwargs: Any,
) -> list[str]:
    r"""Lists the configs of a dataset.

    Args:
        path: What `load_dataset` takes: a Hub name, a bucket, a folder, a format.
        revision: Branch, tag or commit on the Hub.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        data_files: As for `load_dataset`.
        **download_kwargs: As for `load_dataset`, for example `token`.

    Returns:
        The names, in the order of the card; ``["default"]`` where there are no named ones.

    Raises:
        DatasetNotFoundError: The name means nothing.
        HubError: The Hub refuses.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     card = "---\nconfigs: [{config_name: en}, {config_name: fr}]\n---\n"
        ...     _ = (Path(folder) / "README.md").write_text(card)
        ...     get_dataset_config_names(folder)
        ['en', 'fr']
    """
    with _looking(path, revision, download_config, download_mode, data_files, download_kwargs) as seen:
        return seen.names


def get_dataset_default_config_name(
    path: str,
    revision: str | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    data_files: DataFilesArgument | None = None,
    **download_kwargs: Any,
) -> str | None:
    """Names the config that is loaded when none is asked for.

    Args:
        path: What `load_dataset` takes: a Hub name, a bucket, a folder, a format.
        revision: Branch, tag or commit on the Hub.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        data_files: As for `load_dataset`.
        **download_kwargs: As for `load_dataset`, for example `token`.

    Returns:
        The name; None if one has to be asked for.

    Raises:
        DatasetNotFoundError: The name means nothing.
        HubError: The Hub refuses.

    Example:
        >>> get_dataset_default_config_name("csv")
        'default'
    """
    with _looking(path, revision, download_config, download_mode, data_files, download_kwargs) as seen:
        return seen.default


def get_dataset_infos(
    path: str,
    data_files: DataFilesArgument | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    revision: str | None = None,
    token: bool | str | None = None,
    **config_kwargs: Any,
) -> dict[str, DatasetInfo]:
    r"""Gives what is said of each config of a dataset.

    Args:
        path: What `load_dataset` takes: a Hub name, a bucket, a folder, a format.
        data_files: As for `load_dataset`.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        revision: Branch, tag or commit on the Hub.
        token: A Hub token.
        **config_kwargs: As for `load_dataset`.

    Returns:
        Config -> what `get_dataset_config_info` gives.

    Raises:
        DatasetNotFoundError: The name means nothing.
        HubError: The Hub refuses.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "test.csv").write_text("a\n1\n")
        ...     {name: list(info.splits) for name, info in get_dataset_infos(folder).items()}
        {'default': ['test']}
    """
    kwargs = {"token": token, **config_kwargs}
    with _looking(path, revision, download_config, download_mode, data_files, kwargs) as seen:
        return {name: seen.info(name) for name in seen.names}


def get_dataset_config_info(
    path: str,
    config_name: str | None = None,
    data_files: DataFilesArgument | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    revision: str | None = None,
    token: bool | str | None = None,
    **config_kwargs: Any,
) -> DatasetInfo:
    """Gives what is said of one config of a dataset, and its splits.

    Args:
        path: What `load_dataset` takes: a Hub name, a bucket, a folder, a format.
        config_name: The config; the default one if left out.
        data_files: As for `load_dataset`.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        revision: Branch, tag or commit on the Hub.
        token: A Hub token.
        **config_kwargs: As for `load_dataset`.

    Returns:
        Columns and sizes as far as the card says them; the splits in any case.

    Raises:
        DatasetNotFoundError: The name means nothing.
        ConfigNotFoundError: There is no such config, or several and none was named.
        SplitsNotFoundError: No data files are found from which the splits could be known.
        HubError: The Hub refuses.

    Example:
        >>> get_dataset_config_info("csv", data_files={"x": "https://example.org/a.csv"}).splits
        {'x': SplitInfo(name='x', num_bytes=0, num_examples=0, dataset_name='csv')}
    """
    kwargs = {"token": token, **config_kwargs}
    with _looking(path, revision, download_config, download_mode, data_files, kwargs) as seen:
        return seen.info(parse_config_name(config_name))


def get_dataset_split_names(
    path: str,
    config_name: str | None = None,
    data_files: DataFilesArgument | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    revision: str | None = None,
    token: bool | str | None = None,
    **config_kwargs: Any,
) -> list[str]:
    r"""Lists the splits of a config.

    Args:
        path: What `load_dataset` takes: a Hub name, a bucket, a folder, a format.
        config_name: The config; the default one if left out.
        data_files: As for `load_dataset`.
        download_config: As for `load_dataset`.
        download_mode: As for `load_dataset`.
        revision: Branch, tag or commit on the Hub.
        token: A Hub token.
        **config_kwargs: As for `load_dataset`.

    Returns:
        Their names.

    Raises:
        DatasetNotFoundError: The name means nothing.
        ConfigNotFoundError: There is no such config, or several and none was named.
        SplitsNotFoundError: No data files are found from which the splits could be known.
        HubError: The Hub refuses.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("dev", "train"):
        ...         _ = (Path(folder) / f"{name}.csv").write_text("a\n1\n")
        ...     get_dataset_split_names(folder)
        ['train', 'validation']
    """
    kwargs = {"token": token, **config_kwargs}
    with _looking(path, revision, download_config, download_mode, data_files, kwargs) as seen:
        return [str(name) for name in seen.info(parse_config_name(config_name)).splits or ()]


@dataclass(frozen=True)
class _Seen:
    """What a dataset was seen to consist of: its configs, the default one, and how to know more of one."""

    names: list[str]
    default: str | None
    info: Callable[[str | None], DatasetInfo]


@contextlib.contextmanager
def _looking(
    path: str,
    revision: str | None,
    download_config: Any,
    download_mode: DownloadMode | str | None,
    data_files: DataFilesArgument | None,
    kwargs: dict[str, Any],
) -> Iterator[_Seen]:
    options = dict(kwargs)
    arguments = [*inspect.signature(get_dataset_config_info).parameters][:-1]
    shared = {
        key: options.pop(key, None) for key in ("name", "data_dir", "features", "token", "storage_options")
    }
    cache = parse_cache_dir(options.pop("cache_dir", None))
    request = make_request(
        options,
        arguments,
        data_files=data_files,
        download_config=download_config,
        download_mode=parse_download_mode(download_mode),
        **shared,
    )
    name, where = parse_path(path), parse_revision(revision)
    with contextlib.closing(request):
        try:
            located = locate(name, where, request, cache)
        except HubError as error:
            if not cant_be_asked(error):
                raise
            records = recorded(name, where, cache)
            if not records:
                give_up(name, cache, error)
            _log.warning("%s: going by what was prepared at commit %s (%s)", name, records[0].commit, error)
            known = {record.config: record.known for record in reversed(records)}
            yield _of_records(name, known)
        else:
            place = located.place
            names, default = (["default"], "default") if place is None else (place.names, place.default)
            yield _Seen(names, default, lambda config: _info(located, request, config))


def _of_records(path: str, known: dict[str, tuple[str, ...]]) -> _Seen:
    default = "default" if "default" in known else next(iter(known)) if len(known) == 1 else None

    def info(name: str | None) -> DatasetInfo:
        chosen = name or default
        if chosen is None:
            raise ConfigNotFoundError(missing_name(list(known), path))
        if chosen not in known:
            raise ConfigNotFoundError(f'{path} has no config "{chosen}". {suggest(chosen, known)}')
        return _with_splits(DatasetInfo(config_name=chosen), known[chosen], path)

    return _Seen(list(known), default, info)


def _info(located: Located, request: Request, config_name: str | None) -> DatasetInfo:
    place = located.place
    name = config_name or request.name
    # The card's word is enough; otherwise the names of the files are looked at.
    said = _said(place, name, request) if place is not None else None
    if said is None or not said.splits:
        try:
            resolved = located.resolve(name)
        except DataFilesNotFoundError as error:
            raise SplitsNotFoundError(str(error)) from error
        said = said or resolved.info
        said.config_name, said.builder_name = resolved.config, resolved.format
        said.dataset_name = resolved.dataset
        said = _with_splits(said, resolved.splits, resolved.dataset)
    return said


def _said(place: Place, name: str | None, request: Request) -> DatasetInfo | None:
    if request.own_files:
        return None
    chosen = name or place.default
    if chosen is None or chosen not in place.entries:
        return None
    info = declared_info(place, chosen, chosen == place.default)
    info.config_name, info.dataset_name = chosen, place.dataset
    return info


def _with_splits(info: DatasetInfo, names: Any, dataset: str) -> DatasetInfo:
    info.splits = SplitDict(dataset_name=dataset)
    for name in names:
        info.splits.add(SplitInfo(name))
    return info
