"""Finds what a name means: the doors of `gristmill.load`, in order, and the words when none opens."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gristmill import config
from gristmill.build.combine import prepare_and_open
from gristmill.build.opening import OpenSplit, open_prepared
from gristmill.build.prepare import is_prepared
from gristmill.build.records import LoadRecord, now, read_records, request_key, write_record
from gristmill.build.resolve import Request, Resolved, from_file, from_folder, from_format, from_repo
from gristmill.errors import (
    DatasetNotFoundError,
    DatasetScriptError,
    DatasetUnreachableError,
    HubConnectionError,
    HubError,
    InvalidArgumentError,
    NotThereYetError,
    OfflineError,
    RepoNotFoundError,
)
from gristmill.files.paths import expand_home
from gristmill.formats.registry import known_formats
from gristmill.hub.urls import check_repo
from gristmill.logging import get_logger

_log = get_logger(__name__)


@dataclass(frozen=True)
class Settings:
    """How splits are to be prepared and opened.

    Attributes:
        cache: The datasets cache.
        force: Prepare again what is there.
        keep_in_memory: Read rows into memory; None decides by size.
    """

    cache: Path
    force: bool = False
    keep_in_memory: bool | None = None


@dataclass(frozen=True)
class Found:
    """What a name means.

    Attributes:
        where: What to call the dataset in messages.
        config: Name of the config.
        commit: Commit, if it is on the Hub.
        known: Its splits, in order.
        open: Prepares, if need be, and opens the splits of these names; no others are touched.
    """

    where: str
    config: str
    commit: str | None
    known: tuple[str, ...]
    open: Callable[[Sequence[str]], dict[str, OpenSplit]]


def find_dataset(path: str, revision: str, request: Request, settings: Settings) -> Found:
    """Finds what a name means.

    Args:
        path: What the user calls it.
        revision: Branch, tag or commit, should it be on the Hub.
        request: What else is asked for.
        settings: How to prepare and open.

    Raises:
        DatasetNotFoundError: No door opens; DatasetUnreachableError if the Hub could not be asked.
        DatasetScriptError: It is a script.
        DataFilesNotFoundError: The place holds no data files.
        ConfigNotFoundError: No such config, or several and none was named.
        HubError: The Hub refuses.
    """
    resolved = _find_here(path, request)
    if resolved is not None:
        return _found(resolved, None, lambda names: _prepare(resolved, names, settings))
    try:
        check_repo(path, "dataset")
    except InvalidArgumentError as error:
        problem = 'names there have the form "namespace/name"' if "/" not in path else str(error)
        raise _not_found(path, settings.cache, ("the Hub", problem)) from error
    return _find_on_hub(path, revision, request, settings)


def _find_here(path: str, request: Request) -> Resolved | None:
    """Tries the doors that need no network."""
    if path in known_formats():
        return from_format(path, request)
    if not path:
        raise InvalidArgumentError.from_value("path", path, "the name of a dataset, folder, file or format")
    place = expand_home(path)
    if path.endswith(".py"):
        raise DatasetScriptError.from_script(place.name, path)
    kind = _kind_of(place)
    if kind is not None:
        return from_folder(place, request) if kind == "folder" else from_file(place, request)
    if path.startswith("buckets/"):
        raise NotThereYetError.from_name('load_dataset("buckets/...")')
    return None


def _kind_of(place: Path) -> str | None:
    try:
        return "folder" if place.is_dir() else "file" if place.is_file() else None
    except (OSError, ValueError):  # a name too long for the system, or with a NUL in it, is not here
        return None


def _found(
    resolved: Resolved, commit: str | None, open: Callable[[Sequence[str]], dict[str, OpenSplit]]
) -> Found:
    return Found(resolved.where, resolved.config, commit, tuple(resolved.splits), open)


def _prepare(resolved: Resolved, names: Sequence[str], settings: Settings) -> dict[str, OpenSplit]:
    sources = {name: resolved.splits[name] for name in names}
    return prepare_and_open(
        sources, settings.cache, force=settings.force, keep_in_memory=settings.keep_in_memory
    )


def _find_on_hub(path: str, revision: str, request: Request, settings: Settings) -> Found:
    key = request_key(
        path=path,
        name=request.name,
        data_dir=request.data_dir,
        data_files=request.data_files,
        options=dict(request.options),
        columns=request.columns,
        filters=request.filters,
        features=None if request.features is None else request.features.to_dict(),
    )
    try:
        repo = request.client.pin(path, revision)
        resolved = from_repo(repo, request)
    except RepoNotFoundError as error:
        raise _not_found(path, settings.cache, (f"the Hub at {config.HF_ENDPOINT}", str(error))) from error
    except (OfflineError, HubConnectionError) as error:
        return _find_recorded(path, revision, key, settings, error)
    _log.info("%s: revision %s is commit %s", path, revision, repo.commit)

    def open(names: Sequence[str]) -> dict[str, OpenSplit]:
        try:
            opened = _prepare(resolved, names, settings)
        except (OfflineError, HubConnectionError) as error:
            return _find_recorded(path, revision, key, settings, error).open(names)
        folders = {name: str(part.folder.relative_to(settings.cache)) for name, part in opened.items()}
        record = LoadRecord(repo.commit, revision, resolved.config, tuple(resolved.splits), folders, now())
        write_record(settings.cache, _place(path), key, record)
        return opened

    return _found(resolved, repo.commit, open)


def _place(path: str) -> str:
    return path.replace("/", "___")


def _find_recorded(path: str, revision: str, key: str, settings: Settings, error: HubError) -> Found:
    """Finds what earlier loads prepared, when the Hub can't be asked."""
    records = [
        record
        for record in read_records(settings.cache, _place(path), key)
        if revision in (record.revision, record.commit)
    ]
    attempt = (f"the Hub at {config.HF_ENDPOINT}", f"it could not be asked: {error}")
    if not records:
        raise _not_found(path, settings.cache, attempt, DatasetUnreachableError) from error

    def open(names: Sequence[str]) -> dict[str, OpenSplit]:
        for record in records:
            folders = {name: settings.cache / record.splits.get(name, "-") for name in names}
            if all(map(is_prepared, folders.values())):
                _log.warning("%s: using what was prepared at commit %s (%s)", path, record.commit, error)
                return {
                    name: open_prepared(
                        folder,
                        source=path,
                        revision=record.commit,
                        keep_in_memory=settings.keep_in_memory,
                    )
                    for name, folder in folders.items()
                }
        raise _not_found(path, settings.cache, attempt, DatasetUnreachableError) from error

    latest = records[0]
    return Found(f"{path} at {latest.commit[:12]}", latest.config, latest.commit, latest.known, open)


def _not_found(
    path: str,
    cache: Path,
    hub: tuple[str, str],
    kind: type[DatasetNotFoundError] = DatasetNotFoundError,
) -> DatasetNotFoundError:
    """Words what was tried, in order, and looks for what may have been meant."""
    formats = known_formats()
    # Folders and files are prepared under their last name only, by which they can't be loaded.
    prepared = sorted(entry.name.replace("___", "/") for entry in _entries(cache) if "___" in entry.name)
    parent = expand_home(path).parent
    beside = [entry.as_posix() for entry in _entries(parent)]
    attempts = [
        ("a format", f"the formats are {', '.join(formats)}"),
        ("a folder or file", f"there is none at {expand_home(path).absolute()}"),
        hub,
        ("prepared before", f"nothing of that name, config and revision in {cache}"),
    ]
    close = difflib.get_close_matches(path, [*formats, *beside, *prepared], n=3)
    return kind.from_attempts(path, attempts, f"Did you mean {' or '.join(close)}?" if close else "")


def _entries(folder: Path) -> list[Path]:
    """Lists a folder as far as that can be done: it only serves a suggestion."""
    try:
        return list(folder.iterdir())
    except (OSError, ValueError):
        return []
