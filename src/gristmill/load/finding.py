"""Finds what a name means: the doors of `gristmill.load`, in order, and the words when none opens."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from gristmill import config
from gristmill.errors import (
    AccessError,
    DatasetNotFoundError,
    DatasetScriptError,
    DatasetUnreachableError,
    HubError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
    RevisionNotFoundError,
    UnsafePathError,
    about_dataset,
)
from gristmill.files.locations import has_scheme
from gristmill.files.paths import absolute_path, expand_home
from gristmill.formats.registry import known_formats
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.prepared.combine import prepare_and_open
from gristmill.prepared.opening import OpenSplit, open_prepared
from gristmill.prepared.places import Place, bucket_place, folder_place, repo_place
from gristmill.prepared.prepare import is_prepared
from gristmill.prepared.records import LoadRecord, now, read_records, request_key, write_record
from gristmill.prepared.resolve import Request, Resolved, from_file, from_format, from_place, from_url
from gristmill.prepared.source import SplitSource

__all__ = [
    "Found",
    "Located",
    "Settings",
    "cant_be_asked",
    "find_dataset",
    "give_up",
    "locate",
    "recorded",
]

_log = get_logger(__name__)
_BUCKETS = "buckets/"
# Suggestions are for people who mistype; they must not take longer than the rest.
_LONGEST_NAME = 300
_MOST_NAMES = 5000
_MOST_LISTED = 5


@dataclass(frozen=True)
class Settings:
    """How splits are to be prepared and opened.

    Attributes:
        cache: The datasets cache.
        force: Prepare again what is there.
        keep_in_memory: Read rows into memory; None decides by size.
        num_proc: How many workers prepare a split.
        checksums: Compute the checksums of all data files.
    """

    cache: Path
    force: bool = False
    keep_in_memory: bool | None = None
    num_proc: int | None = None
    checksums: bool = False


@dataclass(frozen=True)
class Located:
    """Where a name leads, before a config is chosen.

    Attributes:
        place: The folder, repository or bucket; None for a format or a single file.
        resolve: Chooses the config, by its name if one is given, and its files.
        on_hub: It is on the Hub: what was prepared before serves when that can't be asked.
    """

    place: Place | None
    resolve: Callable[[str | None], Resolved]
    on_hub: bool = False


@dataclass(frozen=True)
class Found:
    """What a name means.

    Attributes:
        where: What to call the dataset in messages.
        config: Name of the config.
        commit: Commit, if it is on the Hub.
        known: Its splits, in order.
        open: Prepares, if need be, and opens the splits of these names; no others are touched.
        info: What is said of it in advance.
        sources: Split -> what it is made of; nothing if it was found among what was prepared before.
    """

    where: str
    config: str
    commit: str | None
    known: tuple[str, ...]
    open: Callable[[Sequence[str]], dict[str, OpenSplit]]
    info: DatasetInfo = field(default_factory=DatasetInfo)
    sources: Mapping[str, SplitSource] = field(default_factory=dict)


def locate(path: str, revision: str, request: Request, cache: Path) -> Located:
    """Tries the doors in order; the first that opens is the answer.

    Args:
        path: What the user calls it.
        revision: Branch, tag or commit, should it be on the Hub.
        request: What else is asked for.
        cache: The datasets cache, for suggestions.

    Raises:
        DatasetNotFoundError: No door opens.
        DatasetScriptError: It is a script.
        CardError: Its card can't be used.
        HubError: The Hub refuses, or can't be reached.
    """
    if path in known_formats():
        return Located(None, lambda _: from_format(path, request))
    if not path:
        raise InvalidArgumentError.from_value("path", path, "the name of a dataset, folder, file or format")
    here = expand_home(path)
    if path.endswith(".py"):
        raise DatasetScriptError.from_script(here.name, path)
    lenient = request.data_files is not None
    kind = _kind_of(here)
    if kind == "file":
        return Located(None, lambda _: from_file(here, request))
    if kind is None and has_scheme(path):
        return Located(None, lambda _: from_url(path, request))
    if kind == "folder":
        place = folder_place(here, lenient)
    else:
        place = _place_on_hub(path, revision, request, cache, lenient)
    return Located(place, lambda name: from_place(place, request, name), kind != "folder")


def _kind_of(place: Path) -> str | None:
    try:
        # A pipe is none that can be read, which is said where files are.
        return "folder" if place.is_dir() else "file" if place.exists() else None
    except (OSError, ValueError):  # a name too long for the system, or with a NUL in it, is not here
        return None


def _place_on_hub(path: str, revision: str, request: Request, cache: Path, lenient: bool) -> Place:
    # What knows the Hub is loaded for what is there.
    from gristmill.hub.buckets import Bucket, parse_bucket_path
    from gristmill.hub.urls import check_repo

    try:
        if path.startswith(_BUCKETS):
            bucket_id, folder = parse_bucket_path(path.removeprefix(_BUCKETS))
            return bucket_place(Bucket(request.client, bucket_id, folder), lenient)
        check_repo(path, "dataset")
    except (InvalidArgumentError, UnsafePathError) as error:
        problem = 'names there have the form "namespace/name"' if "/" not in path else str(error)
        raise _not_found(path, cache, ("the Hub", problem)) from error
    except RepoNotFoundError as error:
        raise _not_found(path, cache, (f"the Hub's buckets at {config.HF_ENDPOINT}", str(error))) from error
    try:
        repo = request.client.pin(path, revision)
        _log.info("%s: revision %s is commit %s", path, revision, repo.commit)
        return repo_place(repo, lenient, request.refetch)
    except RepoNotFoundError as error:
        raise _not_found(path, cache, (f"the Hub at {config.HF_ENDPOINT}", str(error))) from error
    except (RevisionNotFoundError, AccessError) as error:
        raise about_dataset(error) from error.__cause__


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
    key = ""
    try:
        located = locate(path, revision, request, settings.cache)
        if not located.on_hub:
            resolved = located.resolve(None)
            return _found(resolved, None, lambda names: _prepare(resolved, names, settings))
        key = _key_of(path, request)
        resolved = located.resolve(None)
    except HubError as error:
        if not cant_be_asked(error) or _kind_of(expand_home(path)) is not None or path in known_formats():
            raise about_dataset(
                error
            ) from error.__cause__  # refused, or it is data files of it that can't be fetched
        return _find_recorded(path, revision, key or _key_of(path, request), settings, error)
    commit = None if located.place is None else located.place.revision

    def open(names: Sequence[str]) -> dict[str, OpenSplit]:
        try:
            opened = _prepare(resolved, names, settings)
        except HubError as error:
            if not cant_be_asked(error):
                raise about_dataset(error) from error.__cause__
            opened = _find_recorded(path, revision, key, settings, error).open(names)
            resolved.info.splits = None  # the card of this commit says nothing of the rows of another
            return opened
        folders = {name: str(part.folder.relative_to(settings.cache)) for name, part in opened.items()}
        record = LoadRecord(commit or "", revision, resolved.config, tuple(resolved.splits), folders, now())
        write_record(settings.cache, _cache_name(path), key, record)
        return opened

    return _found(resolved, commit, open)


def _key_of(path: str, request: Request) -> str:
    return request_key(
        path=path,
        name=request.name,
        data_dir=request.data_dir,
        data_files=request.data_files,
        options=dict(request.options),
        columns=request.columns,
        filters=request.filters,
        features=None if request.features is None else request.features.to_dict(),
    )


def _found(
    resolved: Resolved, commit: str | None, open: Callable[[Sequence[str]], dict[str, OpenSplit]]
) -> Found:
    known = tuple(resolved.splits)
    return Found(resolved.where, resolved.config, commit, known, open, resolved.info, resolved.splits)


def _prepare(resolved: Resolved, names: Sequence[str], settings: Settings) -> dict[str, OpenSplit]:
    sources = {name: resolved.splits[name] for name in names}
    return prepare_and_open(
        sources,
        settings.cache,
        force=settings.force,
        keep_in_memory=settings.keep_in_memory,
        num_proc=settings.num_proc,
        checksums=settings.checksums,
    )


def _cache_name(path: str) -> str:
    return path.replace("/", "___")


def recorded(path: str, revision: str, cache: Path) -> list[LoadRecord]:
    """Lists what earlier loads of a name resolved to, whatever else was asked for, the latest first.

    Args:
        path: What the user calls it.
        revision: Branch, tag or commit.
        cache: The datasets cache.
    """
    return _records(path, revision, "*", cache)


def _records(path: str, revision: str, key: str, cache: Path) -> list[LoadRecord]:
    return [
        record
        for record in read_records(cache, _cache_name(path), key)
        if revision in (record.revision, record.commit)
    ]


def _find_recorded(path: str, revision: str, key: str, settings: Settings, error: HubError) -> Found:
    """Finds what earlier loads prepared, when the Hub can't be asked."""
    records = _records(path, revision, key, settings.cache)
    if not records:
        give_up(path, settings.cache, error)

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
        give_up(path, settings.cache, error)

    latest = records[0]
    return Found(f"{path} at {latest.commit[:12]}", latest.config, latest.commit, latest.known, open)


def cant_be_asked(error: HubError) -> bool:
    """Says whether a failure is about the Hub's state, or about being offline, and not about what was asked for."""
    from gristmill.files.http import is_unreachable

    return isinstance(error, OfflineError) or is_unreachable(error)


def give_up(path: str, cache: Path, error: HubError) -> NoReturn:
    """Raises the error for a name that may mean something to a Hub that could not be asked.

    Args:
        path: What the user calls it.
        cache: The datasets cache.
        error: Why the Hub could not be asked.

    Raises:
        DatasetUnreachableError: It gave no answer, or offline mode is on.
        HubError: It did answer: that it fails, or that it is asked too much.
    """
    if error.status is not None:
        raise error
    said = f"it could not be asked: {error}"
    if not isinstance(error, OfflineError):
        said += ". HF_HUB_OFFLINE=1 goes by the files that are in the cache"
    attempt = (f"the Hub at {config.HF_ENDPOINT}", said)
    raise _not_found(path, cache, attempt, DatasetUnreachableError) from error


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
        ("a folder or file", f"there is none at {absolute_path(expand_home(path))}"),
        hub,
        ("prepared before", _said_of_prepared(path, cache, kind is DatasetUnreachableError)),
    ]
    near = [*formats, *beside, *prepared] if len(path) <= _LONGEST_NAME else []
    close = [name for name in difflib.get_close_matches(path, near, n=4) if name != path][:3]
    return kind.from_attempts(path, attempts, f"Did you mean {' or '.join(close)}?" if close else "")


def _said_of_prepared(path: str, cache: Path, wanted: bool) -> str:
    records = read_records(cache, _cache_name(path)) if len(path) <= _LONGEST_NAME else []
    there = list(
        dict.fromkeys(
            f'{", ".join(record.splits) or "nothing"} of config "{record.config}" at revision "{record.revision}", '
            f"commit {record.commit[:12]}"
            for record in records
        )
    )
    if not there:
        return f"nothing of that name in {cache}"
    listed = "; ".join(there[:_MOST_LISTED])
    if wanted:
        return f"nothing that was asked for like this in {cache}; there is {listed}"
    return f"not used, as the Hub could be asked; HF_HUB_OFFLINE=1 takes what is there: {listed}"


def _entries(folder: Path) -> list[Path]:
    """Lists a folder as far as that can be done: it only serves a suggestion."""
    try:
        return list(itertools.islice(folder.iterdir(), _MOST_NAMES))
    except (OSError, ValueError):
        return []
