"""What a repository holds at one revision: immutable, complete, with one commit id.

Everything the server says about a repository comes from one snapshot, so that an answer never mixes two states of a
folder.
"""

from __future__ import annotations

import bisect
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gristmill.hub.server.walk import Found


@dataclass(frozen=True, slots=True)
class Commit:
    """What is told about a commit.

    Attributes:
        id: 40 hex characters.
        parent: The commit before it; None for the first.
        title: First line of its message.
        message: The rest of it.
        time: Seconds since 1970.
        author: Name of the user.
    """

    id: str
    parent: str | None
    title: str
    message: str
    time: float
    author: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a repository's history, which nobody is to change.

    Attributes:
        path: Name in the repository.
        file: Where its content is on this machine.
        size: Bytes of it.
        mtime_ns: Time of its last change if it is a second name of a file that others may write to; None if it is not.
        commit: The last commit that touched it.
    """

    path: str
    file: Path
    size: int
    mtime_ns: int | None
    commit: Commit

    @property
    def modified(self) -> float:
        """Time of the last change, in seconds since 1970."""
        return self.commit.time

    def same(self, status: os.stat_result) -> bool:
        """Says whether a file that was opened still has the content that became part of the history."""
        return status.st_size == self.size and self.mtime_ns in (None, status.st_mtime_ns)


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
    found: Found | Kept

    @property
    def modified(self) -> float:
        """Time of the last change, in seconds since 1970."""
        return self.found.modified

    @property
    def commit(self) -> Commit | None:
        """The last commit that touched it; None where no history is kept."""
        return self.found.commit if isinstance(self.found, Kept) else None

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
    commit: Commit | None


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
        inside: dict[str, list[Entry | Folder]] = {}
        for entry in self.entries.values():
            folder = _above(entry.path)
            new = folder not in inside
            if folder:
                inside.setdefault(folder, []).append(entry)
            while new and (folder := _above(folder)) and folder not in inside:
                inside[folder] = []
        # Those in a folder come before it, so that each file is looked at once and not by every folder above it.
        found = {}
        for path in sorted(inside, reverse=True):
            found[path] = made = _folder(path, inside[path])
            if above := _above(path):
                inside[above].append(made)
        return dict(sorted(found.items()))

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


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _folder(path: str, inside: list[Entry | Folder]) -> Folder:
    inside.sort(key=lambda item: item.path)
    newest = max(inside, key=lambda item: item.modified)
    return Folder(path, tree_id("tree", inside), newest.modified, newest.commit)


def tree_id(kind: str, entries: Iterable[Entry | Folder]) -> str:
    """Computes an id that changes with any path or content.

    Args:
        kind: What the files are, so that the same files in another place have another id.
        entries: The files, sorted by path; a folder stands for those in it.
    """
    digest = hashlib.sha1(f"{kind}\0".encode(), usedforsecurity=False)
    for entry in entries:
        id = entry.oid if isinstance(entry, Folder) else entry.blob_id
        digest.update(f"{entry.path}\0{id}\n".encode())
    return digest.hexdigest()


def make_snapshot(kind: str, entries: Iterable[Entry], commit: str | None = None) -> Snapshot:
    """Puts files together; the commit id is a hash of their paths and ids unless one is given.

    Args:
        kind: What the files are, so that two refs with the same files have different commits.
        entries: The files.
        commit: The commit id, if it is not to follow from the content.
    """
    entries = sorted(entries, key=lambda entry: entry.path)
    return Snapshot(commit or tree_id(kind, entries), {entry.path: entry for entry in entries})
