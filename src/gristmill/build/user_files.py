"""Files that a user names: paths and patterns on this machine, http(s) URLs, ``hf://datasets/...``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gristmill.build.local import expand_local, local_file
from gristmill.build.source import DataFile
from gristmill.errors import InvalidArgumentError, NotThereYetError
from gristmill.files.data_files import DataFiles, parse_data_files, resolve_patterns
from gristmill.files.patterns import PathIndex
from gristmill.hub.client import HubClient, PinnedRepo

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)(?:://|::)")
_HUB_FILE = re.compile(r"hf://datasets/(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<path>.+)")


def has_scheme(path: str) -> bool:
    """Says whether a path is a URL of any kind.

    Example:
        >>> has_scheme("https://example.org/a.csv"), has_scheme("C:/a.csv"), has_scheme("a/b.csv")
        (True, False, False)
    """
    return _SCHEME.match(path) is not None


def find_user_files(
    data_files: DataFiles, base: Path | None, client: Callable[[], HubClient]
) -> dict[str, tuple[DataFile, ...]]:
    """Finds the files of each split that a user named.

    Args:
        data_files: Any documented form.
        base: Where relative paths start; the working folder if None.
        client: Makes the Hub client, called only if a URL needs one.

    Returns:
        Split -> files.

    Raises:
        DataFilesNotFoundError: A path or pattern means nothing.
        InvalidArgumentError: `data_files` is not of a documented form.
        NotThereYetError: A URL of a scheme that can't be read yet.
        HubError: A repository named in a URL can't be read.
    """
    return {
        split: tuple(file for pattern in patterns for file in _find(pattern, base, client))
        for split, patterns in parse_data_files(data_files).items()
    }


def _find(pattern: str, base: Path | None, client: Callable[[], HubClient]) -> list[DataFile]:
    match = _SCHEME.match(pattern)
    scheme = match["scheme"] if match else "file"
    if scheme == "file":
        path = pattern.removeprefix("file://")
        return [local_file(found) for found in expand_local(path, base)]
    if scheme in ("http", "https"):
        return [_url_file(pattern, client())]
    if scheme == "hf":
        return _hub_files(pattern, client())
    raise NotThereYetError.from_name(f"load_dataset with {scheme}:// files")


def _url_file(url: str, client: HubClient) -> DataFile:
    # A URL says nothing of its content's version: it is fetched (or found unchanged by its ETag) to know.
    path = client.download_url(url)
    status = path.stat()
    return DataFile(url, f"{url}:{status.st_size}:{status.st_mtime_ns}", status.st_size, path)


def _hub_files(url: str, client: HubClient) -> list[DataFile]:
    match = _HUB_FILE.fullmatch(url)
    if match is None:
        expected = "hf://datasets/namespace/name/path or hf://datasets/namespace/name@revision/path"
        raise InvalidArgumentError.from_value("data_files", url, expected)
    repo = client.pin(match["repo"], (match["revision"] or "main").replace("%2F", "/"))
    found = resolve_patterns(PathIndex(file.path for file in repo.files()), [match["path"]], repo.repo_id)
    return files_of_repo(repo, found, f"hf://datasets/{repo.repo_id}@{repo.commit}/")


def files_of_repo(repo: PinnedRepo, paths: Sequence[str], prefix: str = "") -> list[DataFile]:
    """Describes files of a repository, to be fetched when they are needed.

    Args:
        repo: The repository.
        paths: The files' paths in it.
        prefix: What their names begin with.
    """
    listed = {file.path: file for file in repo.files()}
    return [
        DataFile(
            prefix + path,
            listed[path].sha256 or listed[path].blob_id,
            listed[path].size,
            get=partial(repo.download, path),
        )
        for path in paths
    ]
