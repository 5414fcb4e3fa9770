"""Repositories of a served folder: which there are, and what each holds at a revision.

A plain folder has one state at a time, its content; its commit id is a hash of that content, so a changed file makes a
new commit and the old one is gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.hub.server.access import Access
from gristmill.hub.server.cards import CardCache, ServedCard
from gristmill.hub.server.convert import parquet_entries
from gristmill.hub.server.errors import Refusal, revision_not_found, unreadable
from gristmill.hub.server.hashing import ChangedWhileRead, Hasher, LfsRules, blob_id, pointer_text, settled
from gristmill.hub.server.settings import read_settings
from gristmill.hub.server.snapshots import Entry, Snapshot, make_snapshot
from gristmill.hub.server.walk import Found, inside, walk

TYPES = ("datasets", "models", "spaces")
CONVERT = "refs/convert/parquet"
_BRANCHES = frozenset({"main", "HEAD", "refs/heads/main"})
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_ID_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_LONGEST_ID = 96
_ATTRIBUTES_LIMIT = 256 * 1024
# At most a tenth of the time goes into looking whether files have changed; the larger a folder, the rarer the looks.
_WALK_SHARE = 10
_LONGEST_TRUST = 5.0
_SMALL = 200


def valid_id(repo_id: str) -> bool:
    """Says whether a text can name a repository.

    Example:
        >>> valid_id("org/name"), valid_id("org/na..me"), valid_id("../name")
        (True, False, False)
    """
    parts = repo_id.split("/")
    return (
        len(parts) == 2
        and len(repo_id) <= _LONGEST_ID
        and all(_ID_PART.fullmatch(part) for part in parts)
        and "--" not in repo_id
        and ".." not in repo_id
        and not repo_id.endswith(".git")
    )


class Repo:
    """One repository of the served folder. Safe to use from many threads.

    Args:
        hub: Where it belongs.
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
    """

    def __init__(self, hub: Hub, type: str, id: str) -> None:
        self.hub = hub
        self.type = type
        self.id = id
        self.folder = hub.root / type / id
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}
        self._trusted_until = 0.0
        self._hashed: dict[str, Found] = {}
        self._settled = False
        self._head: Snapshot | None = None
        self._first_commit = ""
        self._converted: tuple[str, Snapshot | None] = ("", None)

    def files(self) -> dict[str, Found]:
        """Lists the files as they are now, without opening any.

        Raises:
            FileNotFoundError: The folder is gone.
            Refusal: A folder can't be listed.
        """
        start = time.monotonic()
        if start >= self._trusted_until:
            try:
                self._found = walk(self.folder, self.hub.root)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise unreadable(f"a folder of {self.id}", error) from error
            end = time.monotonic()
            # A small folder is looked at anew for each request: that takes a millisecond, and no change is missed.
            trust = min((end - start) * _WALK_SHARE, _LONGEST_TRUST) if len(self._found) > _SMALL else 0.0
            self._trusted_until = end + trust
        return self._found

    def distrust(self) -> None:
        """Makes the next look at the folder a fresh one."""
        self._trusted_until = 0.0

    def card(self) -> ServedCard:
        """Reads the head of the repository's README.md.

        Raises:
            FileNotFoundError: The folder is gone.
            Refusal: The file can't be read.
        """
        return self.hub.cards.read(self.files().get("README.md"))

    def head(self) -> Snapshot:
        """Gives what `main` holds now. New and changed files are hashed first, which takes a while if they are large.

        Raises:
            FileNotFoundError: The folder is gone.
            Refusal: A file can't be read, or the folder does not stop changing.
        """
        with self._lock:
            for _ in range(5):
                found = self.files()
                if self._head is not None and found == self._hashed and self._settled:
                    return self._head
                now = time.time_ns()
                try:
                    self._head = self._hash(found)
                except ChangedWhileRead:
                    self.distrust()
                else:
                    self._hashed = found
                    self._settled = all(settled(item.stamp, now) for item in found.values())
                    return self._head
        raise Refusal(
            503, f"The files of {self.id} are being changed; try again.", headers={"Retry-After": "2"}
        )

    def converted(self) -> Snapshot | None:
        """Gives what ``refs/convert/parquet`` holds: the repository's own Parquet files as config/split/0000.parquet.

        Returns:
            None if no split is made of Parquet files alone.
        """
        head = self.head()
        if self._converted[0] != head.commit:
            entries = parquet_entries(head, self.card(), self.id) if self.type == "datasets" else []
            made = make_snapshot(f"{CONVERT} {head.commit}", entries) if entries else None
            self._converted = (head.commit, made)
        return self._converted[1]

    def at(self, revision: str) -> Snapshot:
        """Gives what a revision holds.

        Args:
            revision: A branch, ref or commit (7 or more of its characters), as a request names it.

        Raises:
            FileNotFoundError: The folder is gone.
            Refusal: There is no such revision, or a file can't be read.
        """
        head = self.head()
        if revision in _BRANCHES:
            return head
        is_commit = _COMMIT.fullmatch(revision) is not None
        if is_commit and head.commit.startswith(revision):
            return head
        if is_commit or revision in (CONVERT, "~parquet"):
            converted = self.converted()
            if converted is not None and (not is_commit or converted.commit.startswith(revision)):
                return converted
        raise revision_not_found(revision)

    def _hash(self, found: dict[str, Found]) -> Snapshot:
        rules = LfsRules(self._attributes(found.get(".gitattributes")))
        snapshot = make_snapshot("main", [self._entry(item, rules) for item in found.values()])
        self._first_commit = self._first_commit or snapshot.commit
        if snapshot.commit == self._first_commit:
            return make_snapshot("main", snapshot.entries.values(), self.hub.pin(self.type, self.id))
        return snapshot

    def _entry(self, item: Found, rules: LfsRules) -> Entry:
        lfs = rules.matches(item.path, item.stamp.size)
        try:
            digest = self.hub.hasher.hash(item, lfs)
        except OSError as error:
            raise unreadable(f"{item.path} of {self.id}", error) from error
        if not lfs:
            return Entry(item.path, item.stamp.size, digest, None, item)
        pointer = blob_id(pointer_text(digest, item.stamp.size))
        return Entry(item.path, item.stamp.size, pointer, digest, item)

    def _attributes(self, item: Found | None) -> str | None:
        if item is None:
            return None
        try:
            with item.file.open("rb") as stream:
                return stream.read(_ATTRIBUTES_LIMIT).decode("utf-8", "replace")
        except FileNotFoundError as error:
            raise ChangedWhileRead(item.path) from error
        except OSError as error:
            raise unreadable(f"{item.path} of {self.id}", error) from error


class Hub:
    """A served folder.

    Args:
        folder: Holds ``datasets/ORG/NAME/…`` and the like, and perhaps ``revisions.json`` and ``access.json``.

    Raises:
        FileMissingError: There is no such folder.
        FileFormatError: A settings file can't be used.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.root = Path(folder).resolve()
        if not self.root.is_dir():
            raise FileMissingError.from_path(folder, "Name a folder that holds datasets/ORG/NAME/….")
        self.hasher = Hasher()
        self.cards = CardCache()
        self.access = Access.read(self.root / "access.json")
        self._pins = _read_pins(self.root / "revisions.json")
        self._repos: dict[tuple[str, str], Repo] = {}

    def find(self, type: str, id: str) -> Repo | None:
        """Finds a repository by its type and id; None if there is none."""
        folder = self.root / type / id
        if type not in TYPES or not valid_id(id) or not folder.is_dir() or not inside(folder, self.root):
            self._repos.pop((type, id), None)
            return None
        return self._repos.setdefault((type, id), Repo(self, type, id))

    def repos(self, type: str) -> Iterator[Repo]:
        """Lists the repositories of a type, by id."""
        for organisation in _folders(self.root / type):
            for name in _folders(self.root / type / organisation):
                repo = self.find(type, f"{organisation}/{name}")
                if repo is not None:
                    yield repo

    def hash_all(self) -> None:
        """Hashes the files of all repositories; what can't be read now is told to those who ask for it."""
        for type in TYPES:
            with contextlib.suppress(Refusal):
                for repo in self.repos(type):
                    with contextlib.suppress(FileNotFoundError, Refusal):
                        repo.head()

    def pin(self, type: str, id: str) -> str | None:
        """Gives the commit id that ``revisions.json`` wants for a repository as it is at the start."""
        plain = self._pins.get(id) if type == "datasets" else None
        return self._pins.get(f"{type}/{id}", plain)


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(item.name for item in folder.iterdir() if item.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(f"the folder {folder.name}", error) from error


def _read_pins(path: Path) -> dict[str, str]:
    pins = read_settings(path)
    if pins is None:
        return {}
    good = all(isinstance(commit, str) and re.fullmatch(r"[0-9a-f]{40}", commit) for commit in pins.values())
    if not good:
        raise FileFormatError.at(
            "must be an object of repository ids and commits",
            file=path,
            remedy='For example {"org/name": "0123…"} with 40 characters 0-9a-f.',
        )
    return pins
