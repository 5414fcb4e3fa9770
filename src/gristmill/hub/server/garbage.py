"""Garbage collection: frees what no branch, tag or pull request of a repository reaches any more.

A commit that was squashed away, or whose branch was deleted, stays readable by its id until then, and so do its contents.
It may run beside servers of the same folder and beside pushes: see `gristmill.hub.server.pending.remove`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import FileError, GristmillError, InvalidArgumentError
from gristmill.hub.server import pending
from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.history import History
from gristmill.hub.server.repos import TYPES, Hub
from gristmill.hub.server.state import RepoState
from gristmill.hub.server.versioned import VersionedRepo

__all__ = ["Collected", "collect"]


@dataclass(frozen=True)
class Collected:
    """What was freed in one repository, or would be.

    Attributes:
        type: ``datasets``, ``models`` or ``spaces``.
        id: ``ORG/NAME``.
        commits: Number of commits that nothing leads to.
        contents: Number of contents that are in no other commit.
        size: Bytes that this frees on the disk.
        failed: Why the repository was left as it is; empty if it was not.
    """

    type: str
    id: str
    commits: int = 0
    contents: int = 0
    size: int = 0
    failed: str = ""


def collect(folder: str | os.PathLike[str], repos: Sequence[str], dry_run: bool) -> list[Collected]:
    """Does what `gristmill.hub.server.collect_garbage` says."""
    hub = Hub(folder)
    done = [_collect(repo, dry_run) for repo in _chosen(hub, repos)]
    return [each for each in done if each.commits or each.contents or each.failed]


def _chosen(hub: Hub, names: Sequence[str]) -> list[VersionedRepo]:
    if not names:
        found = [repo for type in TYPES for repo in hub.repos(type)]
        return [repo for repo in found if isinstance(repo, VersionedRepo)]
    chosen = []
    for name in names:
        type, _, id = name.partition("/") if name.count("/") == 2 else ("datasets", "", name)
        repo = hub.find(type, id)
        if repo is None:
            raise InvalidArgumentError(
                f"There is no repository {name} in {hub.root}. Name it as ORG/NAME, or models/ORG/NAME."
            )
        if isinstance(repo, VersionedRepo):
            chosen.append(repo)
    return chosen


def _collect(repo: VersionedRepo, dry_run: bool) -> Collected:
    history = repo.kept
    try:
        reached = _Reached(history)
        reached.follow(history.state())
        if dry_run:
            commits, contents = _unreached(history, reached)
            waiting = pending.waited_for(history)
            sizes = [_freed(history.object(id)) for id in contents - waiting]
            return Collected(repo.type, repo.id, len(commits), len(sizes), sum(sizes))
        with history.writing():
            pending.restore(history)
            reached.follow(history.state())  # what came since
            commits, contents = _unreached(history, reached)
            # The commits first: what is left of one when this is killed is found again.
            for id in commits:
                for kind in ("commits", "trees"):
                    (history.folder / kind / f"{id}.json").unlink(missing_ok=True)
                shutil.rmtree(history.folder / "convert" / id, ignore_errors=True)
            count, size = pending.remove(history, contents, lambda ids: ids & reached.contents)
        return Collected(repo.type, repo.id, len(commits), count, size)
    except FileNotFoundError as error:
        if not history.exists():
            return Collected(repo.type, repo.id)  # deleted meanwhile
        return Collected(repo.type, repo.id, failed=f"{error.filename} is missing.")
    except Refusal as refusal:
        return Collected(repo.type, repo.id, failed=refusal.message)
    except OSError as error:
        return Collected(
            repo.type, repo.id, failed=str(FileError.from_os_error("use", history.folder, error))
        )
    except GristmillError as error:
        return Collected(repo.type, repo.id, failed=str(error))


class _Reached:
    """The commits and contents that refs lead to. Commits never change, so each is looked at once.

    Args:
        history: Of the repository.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self.commits: set[str] = set()
        self.contents: set[str] = set()

    def follow(self, state: RepoState) -> None:
        """Goes from all refs to the commits before them.

        Raises:
            FileNotFoundError: A commit or its tree is missing.
            FileFormatError: One is damaged.
        """
        waiting = [*state.refs().values()]
        for pull in state.pulls.values():
            waiting += [id for id in (pull.commit, pull.base_commit, pull.merge_commit) if id]
        while waiting:
            id = waiting.pop()
            if id in self.commits:
                continue
            self.commits.add(id)
            parent = self._history.commit(id).parent
            tree = self._history.tree(id).values()
            self.contents.update(file.object for file in tree)
            waiting += {file.commit for file in tree} - self.commits
            if parent is not None:
                waiting.append(parent)


def _unreached(history: History, reached: _Reached) -> tuple[set[str], set[str]]:
    kept = [*_names(history.folder / "commits"), *_names(history.folder / "trees")]
    commits = {name.removesuffix(".json") for name in kept if name.endswith(".json") and name[0] != "."}
    contents = {name for folder in _folders(history.folder / "objects") for name in _names(folder)}
    contents = {name for name in contents if name[0] != "."}
    return commits - reached.commits, contents - reached.contents


def _names(folder: Path) -> Iterable[str]:
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(folder)  # noqa: PTH208
    return ()


def _folders(folder: Path) -> Iterable[Path]:
    return (folder / name for name in _names(folder))


def _freed(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        status = path.stat()
        return status.st_size if status.st_nlink == 1 else 0
    return 0
