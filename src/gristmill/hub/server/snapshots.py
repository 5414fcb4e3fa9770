"""What a repository holds at one revision: immutable, complete, with one commit id.

Everything the server says about a repository comes from one snapshot, so that an answer never mixes two states of a
folder.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gristmill.hub.server.walk import Found


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a snapshot.

    Attributes:
        path: Path in the repository.
        size: Bytes of the content.
        blob_id: Git blob id; of the pointer text for an LFS file.
        sha256: Hash of the content of an LFS file; None for a regular one.
        found: The file on this machine.
    """

    path: str
    size: int
    blob_id: str
    sha256: str | None
    found: Found

    @property
    def modified(self) -> float:
        """Time of the last change, in seconds since 1970."""
        return self.found.stamp.modified

    @property
    def etag(self) -> str:
        """What identifies the content over HTTP."""
        return f'"{self.sha256 or self.blob_id}"'


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a snapshot: its path, an id that changes with anything below it, the newest change below it."""

    path: str
    oid: str
    modified: float


@dataclass(frozen=True)
class Snapshot:
    """What one revision of a repository holds.

    Attributes:
        commit: 40 hex characters.
        entries: Files by path, sorted.
    """

    commit: str
    entries: Mapping[str, Entry]

    @cached_property
    def folders(self) -> Mapping[str, Folder]:
        """The folders by path, sorted."""
        inner: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            parts = entry.path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                inner.setdefault("/".join(parts[:depth]), []).append(entry)
        return {
            path: Folder(path, _tree_id("tree", below), max(entry.modified for entry in below))
            for path, below in sorted(inner.items())
        }

    @cached_property
    def names(self) -> list[str]:
        """Paths of all files and folders, sorted."""
        return sorted([*self.entries, *self.folders])

    def below(self, folder: str, recursive: bool, after: str = "") -> Iterator[Entry | Folder]:
        """Lists a folder.

        Args:
            folder: Path of the folder; empty for the top.
            recursive: Whether to go into its folders.
            after: Only names that sort after this one.
        """
        prefix = f"{folder}/" if folder else ""
        start = max(bisect.bisect_left(self.names, prefix), bisect.bisect_right(self.names, after))
        for name in self.names[start:]:
            if not name.startswith(prefix):
                return
            if recursive or "/" not in name[len(prefix) :]:
                yield self.entries.get(name) or self.folders[name]

    @property
    def modified(self) -> float:
        """Time of the newest change, in seconds since 1970; 0 for an empty repository."""
        return max((entry.modified for entry in self.entries.values()), default=0.0)


def _tree_id(kind: str, entries: list[Entry]) -> str:
    digest = hashlib.sha1(f"{kind}\0".encode(), usedforsecurity=False)
    for entry in entries:
        digest.update(f"{entry.path}\0{entry.blob_id}\n".encode())
    return digest.hexdigest()


def make_snapshot(kind: str, entries: Iterable[Entry], commit: str | None = None) -> Snapshot:
    """Puts files together; the commit id is a hash of their paths and ids unless one is given.

    Args:
        kind: What the files are, so that two refs with the same files have different commits.
        entries: The files.
        commit: The commit id, if it is not to follow from the content.
    """
    entries = sorted(entries, key=lambda entry: entry.path)
    return Snapshot(commit or _tree_id(kind, entries), {entry.path: entry for entry in entries})
