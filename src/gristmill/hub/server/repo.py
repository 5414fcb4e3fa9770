"""What the server wants to know of a repository, however it is kept."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from gristmill.hub.server.access import Gated
from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.convert import parquet_entries
from gristmill.hub.server.converted import Converted, folder_of, read_converted
from gristmill.hub.server.errors import revision_not_found
from gristmill.hub.server.served_folder import ServedFolder
from gristmill.hub.server.snapshots import Commit, Snapshot, make_snapshot

CONVERT = "refs/convert/parquet"
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


class Repo(ABC):
    """One repository of the served folder. Safe to use from many threads.

    Args:
        hub: Where it belongs.
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
    """

    def __init__(self, hub: ServedFolder, type: str, id: str) -> None:
        self.hub = hub
        self.type = type
        self.id = id
        self.folder = hub.root / type / id
        self._converted: tuple[tuple[str, Converted | None], Snapshot | None] = (("", None), None)

    @property
    def private(self) -> bool:
        """Whether its own settings make it private."""
        return False

    @property
    def gated(self) -> Gated | None:
        """What its own settings say about asking for access; None leaves that to the card."""
        return None

    @abstractmethod
    def times(self) -> tuple[float, float]:
        """Gives when it was made and last changed, in seconds since 1970.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: It can't be read.
        """

    @abstractmethod
    def card(self) -> ServedCard:
        """Reads the head of the repository's README.md.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: The file can't be read.
        """

    @abstractmethod
    def head(self) -> Snapshot:
        """Gives what `main` holds now.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: A file can't be read.
        """

    @abstractmethod
    def named(self, revision: str) -> Snapshot | None:
        """Gives what a branch, a tag, a ref or (7 or more characters of) a commit holds; None if there is no such.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: A file can't be read.
        """

    def known(self, revision: str) -> Snapshot | None:
        """Gives what a revision holds if that is known without hashing files or waiting for who does; else None.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: A file can't be read.
        """
        return self.named(revision)

    @abstractmethod
    def named_refs(self) -> Mapping[str, str]:
        """Gives commits by full ref, those that are stored."""

    @abstractmethod
    def history(self, snapshot: Snapshot, start: str | None = None) -> Iterator[Commit]:
        """Lists the commits that led to a snapshot, newest first.

        Args:
            snapshot: The snapshot.
            start: The commit to begin with, one that an earlier listing came to; if left out, the snapshot's own.
        """

    def distrust(self) -> None:  # noqa: B027  # only where others change files there is something to look at anew
        """Makes the next look at the folder a fresh one."""

    def converted(self) -> Snapshot | None:
        """Gives what ``refs/convert/parquet`` holds: Parquet files as config/split/0000.parquet.

        Returns:
            The repository's own, and those that were made of its other files; None if there are none.
        """
        head = self.head()
        if self.type != "datasets":
            return None
        made = read_converted(self.folder, head.commit)
        key = (head.commit, made)
        if self._converted[0] != key:
            entries = parquet_entries(head, self.card(), self.id)
            if made is not None:
                entries += made.entries(folder_of(self.folder, head.commit))
            snapshot = make_snapshot(f"{CONVERT} {head.commit}", entries) if entries else None
            self._converted = (key, snapshot)
        return self._converted[1]

    def at(self, revision: str) -> Snapshot:
        """Gives what a revision holds.

        Args:
            revision: A branch, ref or commit (7 or more of its characters), as a request names it.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: There is no such revision, or a file can't be read.
        """
        snapshot = self.named(revision)
        if snapshot is not None:
            return snapshot
        is_commit = is_commit_prefix(revision)
        if is_commit or revision in (CONVERT, "~parquet"):
            converted = self.converted()
            if converted is not None and (not is_commit or converted.commit.startswith(revision)):
                return converted
        raise revision_not_found(revision)

    def refs(self) -> dict[str, str]:
        """Lists all refs with their commits."""
        converted = self.converted()
        return {**self.named_refs(), **({CONVERT: converted.commit} if converted is not None else {})}


def is_commit_prefix(revision: str) -> bool:
    """Says whether a revision can be a commit id or the beginning of one."""
    return _COMMIT.fullmatch(revision) is not None
