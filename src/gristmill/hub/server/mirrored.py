"""A repository that is a copy of one on another Hub: the same commits, trees and contents, kept in ``.gristmill``.

``mirror.json`` beside the history says where it is from and what its refs stood for when that Hub was last asked. Trees
are kept whole; a content may be missing until somebody asks for it, or for good if only some files were copied.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from gristmill.errors import FileFormatError
from gristmill.files.atomic import atomic_file
from gristmill.hub.server.access import Gated
from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.history import FOLDER, History, Stored
from gristmill.hub.server.repo import CONVERT, Repo, is_commit_prefix
from gristmill.hub.server.served_folder import ServedFolder
from gristmill.hub.server.settings import read_settings
from gristmill.hub.server.snapshots import Commit, Entry, Kept, Snapshot
from gristmill.hub.server.walk import Found, Stamp
from gristmill.hub.tree import RepoFile, is_commit

MIRROR_FILE = "mirror.json"
MAIN_REF = "refs/heads/main"
_MOST_SNAPSHOTS = 8
_SHORT_NAMES = {"HEAD": MAIN_REF, "~parquet": CONVERT, "~duckdb": "refs/convert/duckdb"}


@dataclass(frozen=True, slots=True)
class MirrorState:
    """Where a copy is from, and what it has.

    Attributes:
        upstream: Endpoint of the Hub it is a copy from.
        id: Its id there.
        refs: Commits by full ref, as that Hub last said.
        commits: The commits that are here, and whether every content of them is.
        created: When the copy began, in seconds since 1970.
        private: Whether it is private there.
        gated: How access to it is given there.
    """

    upstream: str
    id: str
    refs: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, bool] = field(default_factory=dict)
    created: float = 0.0
    private: bool = False
    gated: Gated = False

    def ref_of(self, revision: str) -> str | None:
        """Gives the full ref that a revision names here; None if there is none."""
        revision = _SHORT_NAMES.get(revision, revision)
        names = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
        return next((name for name in names if name in self.refs), None)

    def with_commit(self, commit: str, ref: str | None = None, whole: bool = False) -> MirrorState:
        """Gives the same state with a commit, of which perhaps everything is here, and a ref that stands for it."""
        refs = self.refs if ref is None else {**self.refs, ref: commit}
        commits = {**self.commits, commit: whole or self.commits.get(commit, False)}
        return replace(self, refs=refs, commits=commits)

    def without_ref(self, ref: str) -> MirrorState:
        """Gives the same state without a ref; its commit stays readable by its id."""
        return replace(self, refs={name: commit for name, commit in self.refs.items() if name != ref})


def mirror_file(repo: Path) -> Path:
    """Gives the file that makes a repository's folder a copy."""
    return repo / FOLDER / MIRROR_FILE


def read_state(path: Path) -> MirrorState:
    """Reads ``mirror.json``.

    Raises:
        FileNotFoundError: There is none.
        FileFormatError: It is something else.
    """
    told = read_settings(path)
    if told is None:
        raise FileNotFoundError(path)
    try:
        if told.pop("version") != 1:
            raise ValueError("its version is unknown")
        state = MirrorState(**{**told, "commits": dict(told["commits"]), "refs": dict(told["refs"])})
        if not all(is_commit(commit) for commit in (*state.refs.values(), *state.commits)):
            raise ValueError("a ref is no commit")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError.at(f"is no state of a mirrored repository: {error}", file=path) from error
    return state


def write_state(path: Path, state: MirrorState) -> None:
    """Replaces ``mirror.json``: from here on the new state holds.

    Raises:
        FileError: It can't be written.
    """
    with atomic_file(path, "w", make_folder=False) as file:
        json.dump({"version": 1, **asdict(state)}, file, ensure_ascii=False, separators=(",", ":"))


def write_files(history: History, commit: Commit, files: Iterable[RepoFile]) -> None:
    """Keeps a commit of another Hub with the list of its files; nothing refers to it yet."""
    history.write_commit(commit, {f.path: Stored(f.size, f.blob_id, f.sha256) for f in files})


class MirroredRepo(Repo):
    """A copy of a repository of another Hub. Safe to use from many threads.

    Args:
        hub: Where it belongs; if that fetches nothing from where the copy is from, files whose content is missing are not listed.
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
    """

    def __init__(self, hub: ServedFolder, type: str, id: str) -> None:
        super().__init__(hub, type, id)
        self.kept = History(self.folder)
        self._lock = threading.Lock()
        self._state: tuple[Stamp, MirrorState] | None = None
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()

    def state(self) -> MirrorState:
        """Reads where it is from and what its refs are.

        Raises:
            FileNotFoundError: The repository is gone.
            FileFormatError: The file is damaged.
        """
        path = mirror_file(self.folder)
        stamp = Stamp.of(path.stat())
        known = self._state
        if known is None or known[0] != stamp:
            with self._lock:
                self._snapshots.clear()  # more contents may be here than were
            self._state = known = (stamp, read_state(path))
        return known[1]

    def begun(self) -> bool:
        """Says whether a commit is here."""
        try:
            return bool(self.state().commits)
        except FileNotFoundError:
            return False

    @property
    def private(self) -> bool:
        """Whether it is private where it comes from."""
        return self.state().private

    @property
    def gated(self) -> Gated | None:
        """How access is given where it comes from."""
        return self.state().gated

    def times(self) -> tuple[float, float]:
        """Gives when the copy was made, and when its commit was; see `Repo.times`."""
        return self.state().created, self.kept.commit(self._newest()).time

    def card(self) -> ServedCard:
        """Reads the card, if its content is here; see `Repo.card`."""
        entry = self.head().entries.get("README.md")
        if entry is None or not self.has(entry):
            return self.hub.cards.read(None)
        return self.hub.cards.read(Found(entry.path, entry.found.file, Stamp.of(entry.found.file.stat())))

    def has(self, entry: Entry) -> bool:
        """Says whether a file's content is here."""
        return entry.found.file.is_file()

    def _newest(self) -> str:
        state = self.state()
        if MAIN_REF in state.refs:
            return state.refs[MAIN_REF]
        if not state.commits:
            raise FileNotFoundError(self.folder)
        return max(state.commits, key=lambda commit: self.kept.commit(commit).time)

    def head(self) -> Snapshot:
        """Gives what `main` holds, or the newest revision if `main` was not copied; see `Repo.head`."""
        return self._snapshot(self._newest())

    def named(self, revision: str) -> Snapshot | None:
        """Gives what a revision holds; see `Repo.named`."""
        commit = self.commit_of(revision)
        return None if commit is None else self._snapshot(commit)

    def commit_of(self, revision: str) -> str | None:
        """Gives the commit that a revision stands for here; None if there is none."""
        state = self.state()
        ref = state.ref_of(revision)
        if ref is not None:
            return state.refs[ref]
        fits = [commit for commit in state.commits if commit.startswith(revision)]
        return fits[0] if is_commit_prefix(revision) and len(fits) == 1 else None

    def named_refs(self) -> Mapping[str, str]:
        """Gives the refs that were copied; see `Repo.named_refs`."""
        return self.state().refs

    def history(self, snapshot: Snapshot, start: str | None = None) -> Iterator[Commit]:
        """Gives the commit of a snapshot, the only one that is known; see `Repo.history`."""
        try:
            yield self.kept.commit(snapshot.commit)
        except FileNotFoundError:
            return  # the Parquet names of this server

    def converted(self) -> Snapshot | None:
        """Gives what ``refs/convert/parquet`` holds: as the other Hub has it, else as any repository."""
        commit = self.state().refs.get(CONVERT)
        return super().converted() if commit is None else self._snapshot(commit)

    def _snapshot(self, commit: str) -> Snapshot:
        state = self.state()
        with self._lock:
            known = self._snapshots.get(commit)
            if known is not None:
                self._snapshots.move_to_end(commit)
                return known
        entries = self._entries(commit)
        if self.hub.upstream != state.upstream and not state.commits.get(commit):
            entries = (entry for entry in entries if self.has(entry))
        made = Snapshot(commit, {entry.path: entry for entry in entries})
        with self._lock:
            self._snapshots[commit] = made
            while len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots.popitem(last=False)
        return made

    def _entries(self, commit: str) -> Iterator[Entry]:
        about = self.kept.commit(commit)
        for path, file in self.kept.tree(commit).items():
            kept = Kept(path, self.kept.object(file.object), file.size, None, about)
            yield Entry(path, file.size, file.blob_id, file.sha256, kept)


def refuse_writing(repo: MirroredRepo) -> Refusal:
    """A copy is not for writing to: it would be one no more."""
    state = repo.state()
    return Refusal(
        403, f"{repo.id} is a mirror of {state.upstream}/{state.id}; push there, or to another id."
    )
