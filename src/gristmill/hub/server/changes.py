"""Changes of repositories on disk: make, commit, branch, delete, move. Each happens whole or not at all."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from gristmill.files.atomic import atomic_folder, sweep, temporary_name
from gristmill.files.lock import lock
from gristmill.hub.server import pending
from gristmill.hub.server.errors import Refusal, bad_request, revision_not_found
from gristmill.hub.server.hashing import ChangedWhileRead, usual_attributes
from gristmill.hub.server.history import FOLDER, History, Stored, Tree, valid_ref_name
from gristmill.hub.server.intake import Intake
from gristmill.hub.server.mirrored import MirroredRepo, refuse_writing
from gristmill.hub.server.operations import AddFile, Header, Operation, apply, check_folders
from gristmill.hub.server.plain import PlainRepo
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.repos import Hub, valid_id
from gristmill.hub.server.snapshots import Commit, Entry
from gristmill.hub.server.state import MAIN, Kind, Pull, RepoState
from gristmill.hub.server.versioned import VersionedRepo
from gristmill.hub.server.walk import Found

# Smaller files are copied: that a second name saves little, and a copy can't be changed behind the history's back.
_LINK_FROM = 1024 * 1024


def create(
    hub: Hub, type: str, id: str, author: str, private: bool, files: Sequence[AddFile] = ()
) -> VersionedRepo:
    """Makes a repository with one commit that holds its ``.gitattributes``, and small files if there are to be some.

    Raises:
        Refusal: The id or a path can't be used (400), or the id is taken (409).
    """
    if not valid_id(id):
        raise bad_request(
            "A repository's id must be ORG/NAME of letters, digits, '-', '_' and '.', 96 characters at most."
        )
    folder = hub.root / type / id
    sweep(folder.parent)
    with _naming(folder), atomic_folder(folder) as made:
        if os.path.lexists(folder):
            raise Refusal(409, f"There is a repository {id} already.")
        begun = History(made)
        contents = {
            ".gitattributes": usual_attributes().encode(),
            **{file.path: file.content for file in files},
        }
        # The folder is waited for as a whole.
        tree = {
            path: Stored(len(data), begun.add(data, durable=False), None)
            for path, data in sorted(contents.items())
        }
        check_folders(tree)
        commit = Commit("", None, "initial commit", "", now(), author)
        head = begun.write_commit(commit, tree)
        begun.write_state(RepoState({MAIN: head}, created=commit.time, private=private))
    return _versioned(hub, type, id)


def begin_history(hub: Hub, repo: Repo) -> VersionedRepo:
    """Gives a repository that can be committed to: a plain folder gets a history, with its files as the first commit.

    Raises:
        FileNotFoundError: The repository is gone.
        Refusal: A file can't be read, or the folder does not stop changing.
    """
    if isinstance(repo, VersionedRepo):
        return repo
    if isinstance(repo, MirroredRepo):
        raise refuse_writing(repo)
    history = History(repo.folder)
    with history.writing():
        if not history.exists():
            assert isinstance(repo, PlainRepo)
            _take_in(repo, history)
    return _versioned(hub, repo.type, repo.id)


def _take_in(repo: PlainRepo, history: History) -> None:
    history.drop_links()
    for _ in range(5):
        head = repo.head()
        links: dict[str, int] = {}
        try:
            with Intake(history) as intake:
                tree = {path: _take(entry, intake, links) for path, entry in head.entries.items()}
                intake.finish()
        except ChangedWhileRead:
            repo.distrust()
            continue
        [about] = repo.history(head)
        history.sync(stored.object for stored in tree.values())
        history.write_links(links)
        commit = history.write_commit(about, tree)
        history.write_state(RepoState({MAIN: commit}, created=about.time))
        return
    raise Refusal(503, f"The files of {repo.id} are being changed; try again.", headers={"Retry-After": "2"})


def _take(entry: Entry, intake: Intake, links: dict[str, int]) -> Stored:
    found = entry.found
    assert isinstance(found, Found)
    stored = Stored(entry.size, entry.blob_id, entry.sha256)
    if entry.sha256 is None or entry.size < _LINK_FROM:
        content = found.file.read_bytes()
        if not found.same(found.file.stat()):
            raise ChangedWhileRead(entry.path)
        intake.add(content, stored.object)
    elif stored.object not in intake:
        if not found.same(found.file.stat()):
            raise ChangedWhileRead(entry.path)
        if intake.link(found.file, stored.object):
            links[stored.object] = found.stamp.mtime_ns
        # The second name itself changes the stamp, so only what is about the content can be compared now.
        after = found.file.stat()
        if (after.st_size, after.st_mtime_ns) != (found.stamp.size, found.stamp.mtime_ns):
            raise ChangedWhileRead(entry.path)
    return stored


@dataclass(frozen=True, slots=True)
class Committed:
    """What came of a commit: its id, and the number of the pull request if it began one."""

    commit: str
    pull: int | None = None


def commit(
    repo: VersionedRepo,
    revision: str,
    header: Header,
    operations: Collection[Operation],
    author: str,
    create_pr: bool,
    note: pending.CommitNote | None = None,
) -> Committed:
    """Adds a commit to a branch or pull request, or begins a pull request with it.

    Args:
        repo: The repository.
        revision: The branch.
        header: Message and parent.
        operations: What it does; contents are stored already.
        author: Name of the user.
        create_pr: Begin a pull request and leave the branch as it is.
        note: What was noted of its contents, to be forgotten once it is there.

    Returns:
        The new commit; the branch's head if nothing would change.

    Raises:
        FileNotFoundError: The repository is gone.
        Refusal: There is no such branch (404), it is not at the parent (412), or the operations can't be done.
    """
    history = repo.kept
    with history.writing():
        state = history.state()
        if create_pr:
            base = repo.commit_of(header.parent or revision)
            ref = ""
        else:
            ref = state.branch(revision) or ""
            base = state.refs().get(ref)
        if base is None:
            raise revision_not_found(revision)
        _refuse_closed(state, ref)
        if header.parent is not None and not base.startswith(header.parent):
            raise Refusal(412, f"{revision} is not at {header.parent} any more but at {base}.")
        tree = history.tree(base)
        changed = apply(tree, operations, history.size, base)
        if changed == tree and not create_pr:
            return Committed(base)
        contents = {changed[op.path].object for op in operations if op.path in changed}
        history.sync(contents)
        made = add_commit(history, base, changed, header, author)
        if not create_pr:
            # Those who read go on with the files before until those after are at hand.
            repo.named(made)
            history.write_state(moved_ref(state, ref, made))
            pending.settle(history, contents, note)
            return Committed(made)
        target = (state.branch(revision) or f"refs/heads/{MAIN}").removeprefix("refs/heads/")
        pull = Pull(made, target, base, header.title, header.message, author, now())
        number = next_number(state)
        history.write_state(replace(state, pulls={**state.pulls, number: pull}))
        pending.settle(history, contents, note)
        return Committed(made, number)


def _refuse_closed(state: RepoState, ref: str) -> None:
    _, _, number = ref.rpartition("refs/pr/")
    if ref.startswith("refs/pr/") and state.pulls[int(number)].status in ("closed", "merged"):
        raise Refusal(
            403, f"The pull request {number} is {state.pulls[int(number)].status}; nothing can be added."
        )


def add_commit(history: History, parent: str, tree: Tree, header: Header, author: str) -> str:
    """Writes a commit that follows another; gives its id. Only while the history is `writing`."""
    # Later than its parent also when the clock went back: histories are read as if times only grew.
    moment = max(now(), history.commit(parent).time + 0.001)
    return history.write_commit(Commit("", parent, header.title, header.message, moment, author), tree)


def moved_ref(state: RepoState, ref: str, commit: str) -> RepoState:
    """Gives the state in which a branch or pull request is at another commit."""
    _, kind, name = ref.split("/", 2)
    if kind == "pr":
        number = int(name)
        return replace(state, pulls={**state.pulls, number: replace(state.pulls[number], commit=commit)})
    return replace(state, heads={**state.heads, name: commit})


def next_number(state: RepoState) -> int:
    """Gives the number of the next pull request or discussion."""
    return max(state.pulls, default=0) + 1


def change_state(repo: VersionedRepo, change: Callable[[RepoState], RepoState]) -> RepoState:
    """Replaces refs and settings by what `change` makes of them; it may refuse.

    Raises:
        FileNotFoundError: The repository is gone.
        Refusal: What `change` raises.
    """
    with repo.kept.writing():
        state = change(repo.kept.state())
        repo.kept.write_state(state)
        return state


def add_ref(repo: VersionedRepo, kind: Kind, name: str, revision: str) -> None:
    """Makes a branch (``heads``) or tag (``tags``).

    Raises:
        Refusal: The name can't be used (400) or is taken (409), or there is no such revision (404).
    """
    if not valid_ref_name(name):
        raise bad_request("This can't be the name of a branch or tag.")
    found = repo.commit_of(revision)
    if found is None:
        raise revision_not_found(revision)
    target = found

    def change(state: RepoState) -> RepoState:
        named = state.names(kind)
        if name in named:
            raise Refusal(409, f"Reference {name} exists already.")
        return state.with_names(kind, {**named, name: target})

    change_state(repo, change)


def remove_ref(repo: VersionedRepo, kind: Kind, name: str) -> None:
    """Deletes a branch (``heads``) or tag (``tags``).

    Raises:
        Refusal: There is none of this name (404), or it is `main` (403).
    """

    def change(state: RepoState) -> RepoState:
        named = state.names(kind)
        if kind == "heads" and name == MAIN:
            raise Refusal(403, f"The branch {MAIN} can't be deleted.")
        if name not in named:
            raise revision_not_found(name)
        return state.with_names(kind, {key: value for key, value in named.items() if key != name})

    change_state(repo, change)


def squash(repo: VersionedRepo, branch: str, message: str, author: str) -> str:
    """Makes the history of a branch one commit without a parent; tags and other branches keep theirs.

    Raises:
        Refusal: There is no such branch (404).
    """
    history = repo.kept
    with history.writing():
        state = history.state()
        ref = state.branch(branch)
        if ref is None or not ref.startswith("refs/heads/"):
            raise revision_not_found(branch)
        before = state.refs()[ref]
        tree = {path: replace(file, commit="") for path, file in history.tree(before).items()}
        moment = max(now(), history.commit(before).time + 0.001)
        made = history.write_commit(Commit("", None, message, "", moment, author), tree)
        history.write_state(moved_ref(state, ref, made))
        return made


def delete(hub: Hub, repo: Repo) -> None:
    """Deletes a repository: gone at once for everybody who asks from now on; downloads that run go on.

    Raises:
        FileNotFoundError: It is gone already.
    """
    aside = temporary_name(repo.folder)
    with _undisturbed(repo):
        repo.folder.replace(aside)
    hub.forget(repo.type, repo.id)
    if aside.is_symlink():
        aside.unlink()  # what it leads to was never the server's
    else:
        shutil.rmtree(aside, ignore_errors=True)


def move(hub: Hub, repo: Repo, id: str) -> None:
    """Gives a repository another id; requests for the old one are redirected.

    Raises:
        FileNotFoundError: The repository is gone.
        Refusal: The id can't be used (400), or is taken (409).
    """
    if not valid_id(id):
        raise bad_request("The new id can't be used.")
    target = hub.root / repo.type / id
    with _undisturbed(repo), _naming(target):
        if os.path.lexists(target):
            raise Refusal(409, f"There is a repository {id} already.")
        repo.folder.rename(target)
    hub.forget(repo.type, repo.id)
    hub.moves.add(repo.type, repo.id, id)


def _undisturbed(repo: Repo) -> AbstractContextManager[None]:
    """Holds off commits, also those of other servers of the same folder."""
    return repo.kept.writing() if isinstance(repo, VersionedRepo) else nullcontext()


def _naming(folder: Path) -> AbstractContextManager[None]:
    """Holds the right to make a repository's folder, also against other servers of the same folder."""
    return lock(folder.with_name(f".{folder.name}.lock"))


def _versioned(hub: Hub, type: str, id: str) -> VersionedRepo:
    repo = hub.find(type, id)
    if not isinstance(repo, VersionedRepo):
        raise FileNotFoundError(f"{type}/{id}/{FOLDER}")
    return repo


def now() -> float:
    """Gives the time in seconds since 1970, as exactly as it is kept."""
    return round(time.time(), 3)
