"""Buckets of a Hub: storage without commits, read by listing and by path."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gristmill.errors import HubResponseError, InvalidArgumentError, OfflineError, shorten
from gristmill.files.paths import check_relative
from gristmill.hub.answers import Target
from gristmill.hub.client import HubClient
from gristmill.hub.pinned import GO_ONLINE
from gristmill.hub.tree import iter_pages
from gristmill.hub.urls import check_repo

__all__ = ["Bucket", "BucketFile", "parse_bucket_path", "version_of"]

_MOST_FILES = 5_000_000


@dataclass(frozen=True)
class BucketFile:
    """A file of a bucket, as it was when it was listed.

    Attributes:
        path: From the bucket's root, with ``/``.
        size: Its bytes.
        identity: Text that changes when its content does.
    """

    path: str
    size: int
    identity: str


@dataclass(frozen=True)
class Bucket:
    """A bucket, or a folder of one.

    Attributes:
        client: Asks the Hub.
        bucket_id: ``"namespace/name"``.
        folder: The folder meant; ``""`` for all of it.
    """

    client: HubClient
    bucket_id: str
    folder: str = ""

    @property
    def name(self) -> str:
        """What it is called: ``buckets/namespace/name/folder``."""
        return "/".join(filter(None, ("buckets", self.bucket_id, self.folder)))

    def files(self) -> list[BucketFile]:
        """Lists its files, sorted by path.

        Raises:
            OfflineError: Offline.
            RepoNotFoundError: No such bucket, or it is private and not yours.
            UnsafePathError: The Hub names a path that would leave a folder.
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        tail = f"/{quote(self.folder, safe='/')}" if self.folder else ""
        url = f"{self.client.endpoint}/api/buckets/{self.bucket_id}/tree{tail}?recursive=true"
        if self.client.offline:
            problem = f"Offline mode is on and the files of {self.name} have to be asked for"
            raise OfflineError.at_url(problem, url, None, GO_ONLINE)
        files: dict[str, BucketFile] = {}
        for page, entries in iter_pages(self.client.session, url, self._target().refuse):
            for entry in entries:
                file = _parse_entry(entry, page)
                # The Hub takes the folder for the beginning of a text: "logs" finds "logs2/x" as well.
                if file is not None and (not self.folder or file.path.startswith(f"{self.folder}/")):
                    files[file.path] = file
            if len(files) > _MOST_FILES:
                raise HubResponseError.at_url(f"{self.name} has more than {_MOST_FILES:,} files", url)
        return [files[path] for path in sorted(files)]

    def download(self, file: BucketFile) -> Path:
        """Gives the local copy of a file, fetched if it is not here or has changed.

        Args:
            file: From `files`.

        Raises:
            HubResponseError: It has another size than when it was listed.
            HubError: The Hub refuses or can't be reached.
        """
        url = self.url(file)
        path = self.client.download_url(url)
        size = path.stat().st_size
        if size != file.size:
            problem = f"{file.path} has {size:,} bytes, and {file.size:,} when the bucket was listed"
            raise HubResponseError.at_url(problem, url, None, "Load again")
        return path

    def url(self, file: BucketFile) -> str:
        """Gives the address of a file."""
        return f"{self.client.endpoint}/buckets/{self.bucket_id}/resolve/{quote(file.path, safe='/')}"

    def _target(self) -> Target:
        return Target(self.client.endpoint, "bucket", self.bucket_id)


def parse_bucket_path(path: str) -> tuple[str, str]:
    """Cuts ``namespace/name/path/in/it`` into the bucket's id and the path.

    Raises:
        InvalidArgumentError: It can't be the name of a bucket.
        UnsafePathError: The path is no plain relative one.

    Example:
        >>> parse_bucket_path("me/data/a/b"), parse_bucket_path("me/data")
        (('me/data', 'a/b'), ('me/data', ''))
    """
    namespace, _, rest = path.strip("/").partition("/")
    name, _, inner = rest.partition("/")
    bucket_id = f"{namespace}/{name}"
    try:
        check_repo(bucket_id, "dataset")  # the same rules for names
    except InvalidArgumentError as error:
        expected = "buckets/namespace/name, or a folder in it"
        raise InvalidArgumentError.from_value("path", f"buckets/{path}", expected) from error
    return bucket_id, check_relative(inner.strip("/")) if inner.strip("/") else ""


def version_of(files: Sequence[BucketFile]) -> str:
    """Gives 40 hexadecimal digits that stand for the content of a listing, as a commit does for a repository's."""
    text = "\n".join(f"{file.path} {file.size} {file.identity}" for file in files)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _parse_entry(entry: Any, where: str) -> BucketFile | None:
    if isinstance(entry, dict) and entry.get("type") == "directory":
        return None
    facts = entry if isinstance(entry, dict) and entry.get("type") == "file" else {}
    path, size, digest = facts.get("path"), facts.get("size"), facts.get("xetHash")
    when = facts.get("mtime"), facts.get("uploadedAt")
    if not isinstance(path, str) or type(size) is not int or size < 0:
        raise HubResponseError.at_url(f"The list of files has an odd entry {shorten(entry, 300)}", where)
    identity = digest if isinstance(digest, str) and digest else f"{size} {when}"
    return BucketFile(check_relative(path), size, identity)
