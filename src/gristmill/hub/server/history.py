"""A repository's history on disk: ``.gristmill`` in its folder, content-addressed, so that every revision stays readable.

::

    objects/ab/HEX       a content, by git blob id (40 characters) or, for LFS files, by sha256 (64)
    trees/COMMIT.json    the files of a commit
    commits/COMMIT.json  its message, author, time and parent
    state.json           branches, tags, pull requests and settings: the one file that ever changes
    links.json           objects that are second names of files which others may write to, and their time of change
    pending/             notes about contents that no commit refers to yet
    tmp/                 what is being received

A commit's contents are written, then its tree, then itself; it comes to be when `state.json` is replaced. What is written
before is on the disk by then. A process killed at any moment leaves the old head or the new one, and at most files that
nothing refers to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gristmill.errors import FileFormatError
from gristmill.files.atomic import atomic_file, sweep, sync_folder, temporary_name
from gristmill.files.durable import Durable
from gristmill.files.lock import lock
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.snapshots import Commit
from gristmill.hub.server.state import RepoState
from gristmill.hub.server.walk import Stamp

FOLDER = ".gristmill"
_MOST_COMMITS = 16_384


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of a tree: its size, its ids, and the last commit that touched it (empty for the one being made)."""

    size: int
    blob_id: str
    sha256: str | None
    commit: str = ""

    @property
    def object(self) -> str:
        """The id its content is stored under."""
        return self.sha256 or self.blob_id


Tree = Mapping[str, Stored]


class History:
    """The history of one repository. Safe to use from many threads; writers hold `writing`.

    Args:
        repo: The repository's folder.
    """

    def __init__(self, repo: Path) -> None:
        self.folder = repo / FOLDER
        self._objects = self.folder / "objects"
        self._state: tuple[Stamp, RepoState] | None = None
        self._links: dict[str, int] | None = None
        self._commits: OrderedDict[str, Commit] = OrderedDict()

    def exists(self) -> bool:
        """Says whether a history has begun."""
        return (self.folder / "state.json").is_file()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the right to change refs, against other threads and processes.

        Raises:
            FileNotFoundError: There is no repository (any more).
        """
        # The folder may go between the two: made again by the lock, a deleted repository would come back.
        with lock(self.inside() / "lock", poll=0.01, make_folder=False):
            yield

    def inside(self, *names: str) -> Path:
        """Gives a folder of the history, made if needed; never that of the repository, which may be gone by now.

        Raises:
            FileNotFoundError: There is no repository (any more).
        """
        path = self.folder
        path.mkdir(exist_ok=True)
        for name in names:
            path /= name
            path.mkdir(exist_ok=True)
        return path

    # -- what changes

    def state(self) -> RepoState:
        """Reads the refs and settings as they are now.

        Raises:
            FileNotFoundError: There is no history (any more).
            FileFormatError: It is damaged.
        """
        path = self.folder / "state.json"
        stamp = Stamp.of(path.stat())
        known = self._state
        if known is None or known[0] != stamp:
            known = (stamp, RepoState.from_json(_read(path), path))
            self._state = known
        return known[1]

    def write_state(self, state: RepoState) -> None:
        """Replaces the refs and settings: from here on the new ones hold."""
        _write(self.inside() / "state.json", state.to_json())

    # -- commits

    def commit(self, id: str) -> Commit:
        """Reads what is told about a commit.

        Raises:
            FileNotFoundError: There is none with this id.
        """
        known = self._commits.get(id)
        if known is None:
            path = self.folder / "commits" / f"{id}.json"
            told = _read(path)
            try:
                known = Commit(
                    id, told["parent"], told["title"], told["message"], float(told["time"]), told["author"]
                )
            except (KeyError, TypeError, ValueError) as error:
                raise FileFormatError.at("is no commit", file=path) from error
            self._commits[id] = known
            if len(self._commits) > _MOST_COMMITS:
                with contextlib.suppress(KeyError):
                    self._commits.popitem(last=False)
        return known

    def find(self, prefix: str) -> str | None:
        """Finds the one commit whose id begins with the characters given; None if there is none, or several."""
        if len(prefix) == 40:
            return prefix if (self.folder / "commits" / f"{prefix}.json").is_file() else None
        try:
            names = [name[:40] for name in os.listdir(self.folder / "commits") if name.startswith(prefix)]  # noqa: PTH208
        except FileNotFoundError:
            return None
        return names[0] if len(names) == 1 else None

    def tree(self, id: str) -> dict[str, Stored]:
        """Reads the files of a commit, sorted by path.

        Raises:
            FileNotFoundError: There is no such commit.
        """
        path = self.folder / "trees" / f"{id}.json"
        told = _read(path)
        try:
            return {
                name: Stored(int(size), blob, sha256, last)
                for name, size, blob, sha256, last in told["files"]
            }
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError.at("is no tree", file=path) from error

    def write_commit(self, commit: Commit, tree: Tree) -> str:
        """Writes a commit; it is part of the history once a ref leads to it.

        Args:
            commit: What to tell about it; an empty id is computed.
            tree: Its files; those that it touches have no commit yet.

        Returns:
            Its id.
        """
        files = sorted(tree.items())
        id = commit.id or _commit_id(commit, files)
        rows = [[path, f.size, f.blob_id, f.sha256, f.commit or id] for path, f in files]
        _write(self.inside("trees") / f"{id}.json", {"files": rows})
        told = {key: getattr(commit, key) for key in ("parent", "title", "message", "time", "author")}
        _write(self.inside("commits") / f"{id}.json", told)
        self._commits[id] = replace(commit, id=id)
        return id

    # -- contents

    def object(self, id: str) -> Path:
        """Gives where a content is, or would be."""
        return self._objects / f"{id[:2]}/{id}"

    def has(self, id: str, size: int | None = None) -> bool:
        """Says whether a content is there, whole and unchanged."""
        found = self.size(id)
        return found is not None and size in (None, found)

    def size(self, id: str) -> int | None:
        """Gives the bytes of a content; None if it is not there, or was changed behind the history's back."""
        try:
            status = os.stat(f"{self._objects}/{id[:2]}/{id}")  # noqa: PTH116  # asked for each of very many
        except FileNotFoundError:
            return None
        return status.st_size if self.linked(id) in (None, status.st_mtime_ns) else None

    def linked(self, id: str) -> int | None:
        """Gives the time of change a content had when it was taken in as a second name of a file; None if it is a copy."""
        if self._links is None:
            try:
                self._links = {
                    str(key): int(value) for key, value in _read(self.folder / "links.json").items()
                }
            except FileNotFoundError:
                self._links = {}
        return self._links.get(id)

    def add(self, content: bytes, durable: bool = True) -> str:
        """Stores a small content and gives its blob id; see `keep`."""
        id = blob_id(content)
        self.keep(content, id, durable)
        return id

    def keep(self, content: bytes, id: str, durable: bool = True) -> None:
        """Stores a small content under an id that is known to be its.

        Args:
            content: All of it.
            id: Its blob id, or sha256.
            durable: Wait until the disk has it; if not, the caller does.
        """
        if not self.has(id, len(content)):
            with atomic_file(self._place(id), make_folder=False, durable=durable) as file:
                file.write(content)

    def _place(self, id: str) -> Path:
        return self.inside("objects", id[:2]) / id

    def temporary(self) -> Path:
        """Makes a name for something that is being received; what dead processes left there is removed."""
        folder = self.inside("tmp")
        sweep(folder)
        return temporary_name(folder / "object")

    def adopt(self, temporary: Path, id: str, durable: bool = True) -> None:
        """Makes a received file, checked by its hash and synced, the content with this id.

        Args:
            temporary: The file.
            id: Its blob id, or sha256.
            durable: Wait until the disk has its name; a commit that refers to it does in any case.
        """
        final, linked = self._place(id), self.linked(id)
        if linked is not None:
            os.utime(
                temporary, ns=(linked, linked)
            )  # it takes the place of a second name that was written over
        temporary.replace(final)
        if durable:
            sync_folder(final.parent)

    def adopt_all(self, folder: Path, ids: Iterable[str]) -> None:
        """Makes the files in a folder, named by their ids, checked and synced, the contents with these ids.

        The disk has their names when `sync` says so.
        """
        start = ""
        for id in sorted(ids):
            if not start or not id.startswith(start):
                start = id[:2]
                self.inside("objects", start)
            if self.linked(id) is not None:
                self.adopt(folder / id, id, durable=False)
            else:
                os.replace(f"{folder}/{id}", f"{self._objects}/{start}/{id}")  # noqa: PTH105  # of very many

    def sync(self, ids: Iterable[str]) -> None:
        """Waits until the disk has the names of contents, which another process may just have given them.

        Raises:
            FileNotFoundError: There is no repository (any more).
            OSError: The disk could not take them.
        """
        folders = sorted({self.object(id).parent for id in ids})
        if folders:
            with Durable(self.folder) as disk:
                disk.wait([self.folder / "objects", *folders])

    def drop_links(self) -> None:
        """Removes the second names, and the notes of them, of a first commit that was killed before it came to be."""
        for object in self.folder.glob("objects/*/*"):
            if object.stat().st_nlink > 1:
                object.unlink()
        (self.folder / "links.json").unlink(missing_ok=True)
        self._links = {}

    def write_links(self, links: Mapping[str, int]) -> None:
        """Notes which contents are second names, before anything refers to them."""
        _write(self.inside() / "links.json", links)
        self._links = dict(links)


def _commit_id(commit: Commit, files: list[tuple[str, Stored]]) -> str:
    about = [commit.parent, commit.title, commit.message, commit.time, commit.author]
    digest = hashlib.sha1(f"commit\0{json.dumps(about)}\0".encode(), usedforsecurity=False)
    for path, file in files:
        digest.update(f"{path}\0{file.blob_id}\n".encode())
    return digest.hexdigest()


def _write(path: Path, value: object) -> None:
    with atomic_file(path, "w", make_folder=False) as file:
        file.write(
            json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        )  # json.dump is many times slower


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read as JSON: {error}", file=path) from error
    if not isinstance(value, dict):
        raise FileFormatError.at("must be a JSON object", file=path)
    return value


def valid_ref_name(name: str) -> bool:
    """Says whether a text can name a branch or tag, as git has it.

    Example:
        >>> valid_ref_name("feat/x"), valid_ref_name("refs/pr/1"), valid_ref_name("a..b")
        (True, False, False)
    """
    return (
        0 < len(name) <= 250
        and re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.lock(/|$)", name) is None
        and name[0] not in "/.-"
        and name[-1] not in "/."
        and name not in ("@", "HEAD")
        and not name.startswith("refs/")
        and re.fullmatch(r"[0-9a-f]{40}", name) is None
    )
