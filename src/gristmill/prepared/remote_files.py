"""Data files that are elsewhere, described before they are fetched: behind URLs, on the Hub, on other file systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gristmill.files.data_files import resolve_patterns
from gristmill.files.patterns import PathIndex
from gristmill.files.remote_files import RemoteFile, fetch_remote
from gristmill.hub.buckets import Bucket, BucketFile, parse_bucket_path
from gristmill.hub.client import HubClient, PinnedRepo
from gristmill.hub.urls import parse_hub_file
from gristmill.partial.opening import source_of_bucket, source_of_repo, source_of_url
from gristmill.partial.source import FileRanges, RangeSource
from gristmill.prepared.source import DataFile

__all__ = ["bucket_files", "files_of_bucket", "files_of_repo", "hub_files", "remote_file", "url_file"]

_HUB_BUCKET = "hf://buckets/"


def remote_file(found: RemoteFile, options: Mapping[str, Any], again: bool, downloads: Path) -> DataFile:
    """Describes a file of another file system, to be fetched when it is needed.

    Args:
        found: The file.
        options: Options of its file system.
        again: Fetch also what is here.
        downloads: Where copies are kept.
    """
    get = partial(fetch_remote, found, downloads, options, again)
    ranges = None if again else partial(FileRanges.from_url, found.url, options)
    return DataFile(found.url, f"{found.url}:{found.identity}", found.size, get=get, ranges=ranges)


def url_file(url: str, client: HubClient, again: bool, parts: bool) -> DataFile:
    """Describes the file behind a URL.

    Args:
        url: The URL, ``http://`` or ``https://``.
        client: The Hub client, which fetches it.
        again: Fetch also what is here.
        parts: Parts of it may do, so it is not fetched to know its version, if the server tells.

    Raises:
        HubError: The server refuses or can't be reached.
    """
    source = source_of_url(client, url) if parts else None
    if source is not None:
        get = partial(client.download_url, url)
        # Offline, only what was made of that version before is of use.
        ranges = None if client.offline else partial(_same, source)
        return DataFile(url, source.identity, source.size, get=get, ranges=ranges)
    # A URL says nothing of its content's version: it is fetched (or found unchanged by its ETag) to know.
    path = client.download_url(url, again)
    status = path.stat()
    return DataFile(url, f"{url}:{status.st_size}:{status.st_mtime_ns}", status.st_size, path)


def hub_files(url: str, client: HubClient, again: bool) -> list[DataFile]:
    """Finds the files of a repository that a URL means.

    Args:
        url: ``hf://datasets/namespace/name@revision/pattern``.
        client: The Hub client.
        again: Fetch also what is here.

    Raises:
        DataFilesNotFoundError: It means none.
        HubError: The repository can't be read.
    """
    repo_id, revision, pattern = parse_hub_file("data_files", url)
    repo = client.pin(repo_id, revision or "main")
    found = resolve_patterns(PathIndex(file.path for file in repo.files()), [pattern], repo.repo_id)
    return files_of_repo(repo, found, f"hf://datasets/{repo.repo_id}@{repo.commit}/", again)


def files_of_repo(
    repo: PinnedRepo, paths: Sequence[str], prefix: str = "", again: bool = False
) -> list[DataFile]:
    """Describes files of a repository, to be fetched when they are needed.

    Args:
        repo: The repository.
        paths: The files' paths in it.
        prefix: What their names begin with.
        again: Fetch also what is here.
    """
    again = again and not repo.client.offline
    listed = {file.path: file for file in repo.files()}
    return [
        DataFile(
            prefix + path,
            listed[path].sha256 or listed[path].blob_id,
            listed[path].size,
            get=partial(_one_of, repo, path, again),
            ranges=None if again or repo.client.offline else partial(source_of_repo, repo, path),
        )
        for path in paths
    ]


def _same(source: RangeSource) -> RangeSource:
    return source


def _one_of(repo: PinnedRepo, path: str, again: bool) -> Path:
    return repo.download_many([path], again)[0]


def bucket_files(url: str, client: HubClient) -> list[DataFile]:
    """Finds the files of a bucket that a URL means.

    Args:
        url: ``hf://buckets/namespace/name/pattern``.
        client: The Hub client.

    Raises:
        DataFilesNotFoundError: It means none.
        HubError: The bucket can't be read.
    """
    bucket_id, pattern = parse_bucket_path(url.removeprefix(_HUB_BUCKET))
    bucket = Bucket(client, bucket_id)
    listed = {file.path: file for file in bucket.files()}
    found = resolve_patterns(PathIndex(listed), [pattern or "**"], bucket.name)
    return files_of_bucket(bucket, {f"{_HUB_BUCKET}{bucket_id}/{path}": listed[path] for path in found})


def files_of_bucket(bucket: Bucket, files: Mapping[str, BucketFile]) -> list[DataFile]:
    """Describes files of a bucket, to be fetched when they are needed.

    Args:
        bucket: The bucket.
        files: What to call each -> the file.
    """
    return [
        DataFile(
            name,
            f"{bucket.bucket_id}/{file.path} {file.identity}",
            file.size,
            get=partial(bucket.download, file),
            ranges=partial(source_of_bucket, bucket, file),
        )
        for name, file in files.items()
    ]
