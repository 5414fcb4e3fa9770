"""A repository that is a plain folder: it has one state at a time, its content.

Its commit id is a hash of that content, so a changed file makes a new commit and the old one is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping

from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.errors import Refusal, unreadable
from gristmill.hub.server.hashing import ChangedWhileRead, LfsRules, blob_id, pointer_text, settled
from gristmill.hub.server.listing import COMMIT_TITLE
from gristmill.hub.server.repo import Repo, is_commit_prefix
from gristmill.hub.server.served_folder import ServedFolder
from gristmill.hub.server.snapshots import Commit, Entry, Snapshot, make_snapshot
from gristmill.hub.server.walk import Found, walk

_BRANCHES = frozenset({"main", "HEAD", "refs/heads/main"})
_ATTRIBUTES_LIMIT = 256 * 1024
# At most a tenth of the time goes into looking whether files have changed; the larger a folder, the rarer the looks.
_WALK_SHARE = 10
_LONGEST_TRUST = 5.0
_SMALL = 200


class PlainRepo(Repo):
    """A plain folder as a repository. Safe to use from many threads.

    Args:
        hub: Where it belongs.
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
    """

    def __init__(self, hub: ServedFolder, type: str, id: str) -> None:
        super().__init__(hub, type, id)
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}
        self._trusted_until = 0.0
        self._hashed: dict[str, Found] = {}
        self._settled = False
        self._head: Snapshot | None = None
        self._first_commit = ""

    def files(self) -> dict[str, Found]:
        """Lists the files as they are now, without opening any.

        Raises:
            FileNotFoundError: The folder is gone.
            Refusal: A folder can't be listed.
        """
        start = time.monotonic()
        if start >= self._trusted_until:
            try:
                self._found = walk(self.folder, self.hub.root, self.hub.follow_links)
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

    def times(self) -> tuple[float, float]:
        """Gives when it was made and last changed; see `Repo.times`."""
        newest = max((item.stamp.modified for item in self.files().values()), default=0.0)
        return newest, newest

    def named(self, revision: str) -> Snapshot | None:
        """Gives what a revision holds; see `Repo.named`."""
        head = self.head()
        return head if _names(revision, head) else None

    def known(self, revision: str) -> Snapshot | None:
        """Gives what a revision holds if no file was added or changed since it was hashed; see `Repo.known`."""
        head, hashed = self._head, self._hashed
        found = self.files()
        if head is None or not self._settled or not (found is hashed or found == hashed):
            return None
        # Another thread may have hashed anew between the two looks.
        if head is not self._head or hashed is not self._hashed:
            return None
        return head if _names(revision, head) else None

    def named_refs(self) -> Mapping[str, str]:
        """Gives the refs that are stored; see `Repo.named_refs`."""
        return {"refs/heads/main": self.head().commit}

    def history(self, snapshot: Snapshot, start: str | None = None) -> Iterator[Commit]:
        """Lists commits, newest first; see `Repo.history`."""
        yield Commit(snapshot.commit, None, COMMIT_TITLE, "", snapshot.modified, "gristmill")

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


def _names(revision: str, head: Snapshot) -> bool:
    return revision in _BRANCHES or (is_commit_prefix(revision) and head.commit.startswith(revision))
