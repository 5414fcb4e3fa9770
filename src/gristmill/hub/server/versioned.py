"""A repository with a history: what each of its revisions holds, read from ``.gristmill`` in its folder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from gristmill.hub.server.access import Gated
from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.history import History
from gristmill.hub.server.repo import Repo, is_commit_prefix
from gristmill.hub.server.served_folder import ServedFolder
from gristmill.hub.server.snapshots import Commit, Entry, Kept, Snapshot
from gristmill.hub.server.state import MAIN
from gristmill.hub.server.walk import Found, Stamp

_MOST_SNAPSHOTS = 8


class VersionedRepo(Repo):
    """A repository that is written to over HTTP. Safe to use from many threads.

    Args:
        hub: Where it belongs.
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
    """

    def __init__(self, hub: ServedFolder, type: str, id: str) -> None:
        super().__init__(hub, type, id)
        self.kept = History(self.folder)
        self._lock = threading.Lock()
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()

    @property
    def private(self) -> bool:
        """Whether its settings make it private."""
        return self.kept.state().private

    @property
    def gated(self) -> Gated | None:
        """What its settings say about asking for access."""
        return self.kept.state().gated

    def times(self) -> tuple[float, float]:
        """Gives when it was made and last changed; see `Repo.times`."""
        state = self.kept.state()
        return state.created, self.kept.commit(state.heads[MAIN]).time

    def card(self) -> ServedCard:
        """Reads the card; see `Repo.card`."""
        entry = self.head().entries.get("README.md")
        if entry is None:
            return self.hub.cards.read(None)
        file = self.kept.object(entry.sha256 or entry.blob_id)
        return self.hub.cards.read(Found(entry.path, file, Stamp.of(file.stat())))

    def head(self) -> Snapshot:
        """Gives what `main` holds now; see `Repo.head`."""
        return self._snapshot(self.kept.state().heads[MAIN])

    def named(self, revision: str) -> Snapshot | None:
        """Gives what a revision holds; see `Repo.named`."""
        commit = self.commit_of(revision)
        return None if commit is None else self._snapshot(commit)

    def commit_of(self, revision: str) -> str | None:
        """Gives the commit that a revision stands for; None if there is none."""
        commit = self.kept.state().named(revision)
        if commit is None and is_commit_prefix(revision):
            commit = self.kept.find(revision)
        return commit

    def named_refs(self) -> Mapping[str, str]:
        """Gives the refs that are stored; see `Repo.named_refs`."""
        return self.kept.state().refs()

    def history(self, snapshot: Snapshot, start: str | None = None) -> Iterator[Commit]:
        """Lists commits, newest first; see `Repo.history`."""
        id: str | None = start or snapshot.commit
        while id is not None:
            try:
                commit = self.kept.commit(id)
            except FileNotFoundError:
                return  # a snapshot that is no commit of the history: the Parquet names
            yield commit
            id = commit.parent

    def _snapshot(self, commit: str) -> Snapshot:
        with self._lock:
            known = self._snapshots.get(commit)
            if known is not None:
                self._snapshots.move_to_end(commit)
                return known
        made = Snapshot(commit, {entry.path: entry for entry in self._entries(commit)})
        with self._lock:
            self._snapshots[commit] = made
            while len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots.popitem(last=False)
        return made

    def _entries(self, commit: str) -> Iterator[Entry]:
        for path, file in self.kept.tree(commit).items():
            last = self.kept.commit(file.commit)
            where = self.kept.object(file.object)
            kept = Kept(path, where, file.size, self.kept.linked(file.object), last)
            yield Entry(path, file.size, file.blob_id, file.sha256, kept)
