"""From a name to a remote file that can be read in part, or to one that is here already."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gristmill.errors import (
    EntryNotFoundError,
    FileMissingError,
    HubConnectionError,
    HubResponseError,
    suggest,
)
from gristmill.files.atomic import write_json
from gristmill.files.remote import local_path
from gristmill.hub.buckets import Bucket, BucketFile
from gristmill.hub.client import HubClient, PinnedRepo
from gristmill.hub.urls import parse_hub_file
from gristmill.partial.source import FileRanges, HttpRanges, RangeSource

__all__ = ["open_source", "source_of_bucket", "source_of_repo", "source_of_url"]

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://")


def open_source(
    source: str,
    file: str | None,
    revision: str | None,
    *,
    client: HubClient | None = None,
    token: str | bool | None = None,
    options: Mapping[str, Any] | None = None,
) -> RangeSource | Path:
    """Finds a file; see `RemoteParquet` for the arguments.

    Returns:
        The remote file, or where it is on this machine if it is here whole.

    Raises:
        InvalidArgumentError: The name is of no known form.
        FileMissingError: There is no such file.
        HubError: The Hub or server refuses or can't be reached.
    """
    if file is not None:
        return source_of_repo((client or HubClient(token=token)).pin(source, revision or "main"), file)
    scheme = _SCHEME.match(source)
    if scheme is None or scheme["scheme"] in ("file", "local"):
        path = local_path(source)
        if path is None or not path.is_file():
            raise FileMissingError.from_path(source)
        return path
    if scheme["scheme"] == "hf":
        repo_id, named, path_in_repo = parse_hub_file("source", source)
        pinned = (client or HubClient(token=token)).pin(repo_id, revision or named or "main")
        return source_of_repo(pinned, path_in_repo)
    if scheme["scheme"] in ("http", "https"):
        return HttpRanges.from_url((client or HubClient(token=token)).session, source)
    return FileRanges.from_url(source, options)


def source_of_repo(repo: PinnedRepo, path: str) -> RangeSource | Path:
    """Finds a file of a repository: its listing says its size and hash, so nothing has to be asked to know its version.

    Args:
        repo: The repository at a commit.
        path: The file in it.

    Raises:
        EntryNotFoundError: There is no such file.
        HubError: The Hub refuses or can't be reached.
    """
    local = repo.find(path)
    if local is not None:
        return local
    listed = {entry.path: entry for entry in repo.files()}
    if path not in listed:
        problem = f'There is no "{path}" in {repo.repo_id} at {repo.commit}'
        raise EntryNotFoundError.at_url(problem, repo.url(path), None, suggest(path, listed))
    entry = listed[path]
    identity = f"{entry.sha256 or entry.blob_id}\n{entry.size}"
    return HttpRanges(repo.client.session, repo.url(path), entry.size, identity, refuse=repo.refuse(path))


def source_of_bucket(bucket: Bucket, file: BucketFile) -> RangeSource:
    """Finds a file of a bucket.

    Args:
        bucket: The bucket.
        file: From its listing.

    Raises:
        HubResponseError: It has another size than when it was listed.
        HubError: The Hub refuses or can't be reached.
    """
    source = HttpRanges.from_url(bucket.client.session, bucket.url(file))
    if source.size != file.size:
        problem = f"{file.path} has {source.size:,} bytes, and {file.size:,} when the bucket was listed"
        raise HubResponseError.at_url(problem, source.url, None, "Load again")
    return source


def source_of_url(client: HubClient, url: str) -> RangeSource | None:
    """Looks which version of a file is behind a URL, without fetching it.

    What was found is on record, so that what was made of that version is found again when the server can't be asked.

    Args:
        client: Its session makes the request.
        url: The file.

    Returns:
        The file; None if it is here whole, or if the server does not tell versions apart or sends no parts: then it has
        to be fetched whole.

    Raises:
        EntryNotFoundError: There is none.
        HubError: The server refuses, or can't be reached and nothing is on record.
    """
    if client.downloads.find(url) is not None:
        return None
    path = client.downloads.path(url)
    record = path.with_name(f"{path.name}.version.json")
    known = None
    try:
        facts = json.loads(record.read_bytes())
        known = HttpRanges(client.session, url, int(facts["size"]), facts["identity"], facts["etag"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    if client.offline:
        return known
    try:
        source = HttpRanges.from_url(client.session, url)
    except HubResponseError:
        return None
    except HubConnectionError:
        if known is None:
            raise
        return known
    if known is None or known.identity != source.identity:
        write_json(record, {"size": source.size, "identity": source.identity, "etag": source.etag})
    return source
