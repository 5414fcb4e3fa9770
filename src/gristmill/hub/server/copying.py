"""`mirror_repo`: a repository of another Hub, or some files of it, copied into a folder that is served as a Hub."""

from __future__ import annotations

import fnmatch
import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill import config
from gristmill.errors import (
    DiskFullError,
    EntryNotFoundError,
    InvalidArgumentError,
    OfflineError,
    suggest,
)
from gristmill.files.borders import writing
from gristmill.files.retry import RetryPolicy
from gristmill.hub import urls
from gristmill.hub.pinned import GO_ONLINE
from gristmill.hub.server.fetching import download_of
from gristmill.hub.server.history import History
from gristmill.hub.server.pinning import Pin, change, pin
from gristmill.hub.server.repos import valid_id
from gristmill.hub.server.upstream import Upstream, token_for
from gristmill.hub.transfer import Download, Watch, fetch, is_whole, new_hash, run_parallel
from gristmill.hub.tree import RepoFile
from gristmill.logging import get_logger
from gristmill.progress import progress

if TYPE_CHECKING:
    from gristmill.hub.server.history import Tree

__all__ = ["MirroredRevision", "copy_repo"]

_log = get_logger(__name__)
_CARD = "README.md"


@dataclass(frozen=True)
class MirroredRevision:
    """One revision of a repository that was copied.

    Attributes:
        revision: As it was asked for.
        commit: What it stood for: 40 hex characters.
        files: Number of files that were chosen.
        size: Bytes of them.
        fetched: Number of contents that were not here yet.
        fetched_size: Bytes of them.
        whole: Whether every file of the commit is here now, of this copy or an earlier one.
        folder: The repository's folder.
        private: Whether it is private where it comes from, and so here.
        gated: Whether access has to be asked for there; here, members alone read it.
    """

    revision: str
    commit: str
    files: int
    size: int
    fetched: int
    fetched_size: int
    whole: bool
    folder: Path
    private: bool
    gated: bool


def copy_repo(
    repo_id: str,
    folder: str | os.PathLike[str],
    revisions: Sequence[str],
    repo_type: str,
    include: Sequence[str],
    exclude: Sequence[str],
    endpoint: str | None,
    token: str | bool | None,
    max_workers: int,
    check: bool,
) -> list[MirroredRevision]:
    """Copies revisions one after the other; see `gristmill.hub.server.mirror_repo`."""
    urls.check_repo(repo_id, repo_type)
    if not valid_id(repo_id):
        raise InvalidArgumentError.from_value("repo_id", repo_id, "a name such as namespace/name")
    if max_workers < 1:
        raise InvalidArgumentError.from_value("max_workers", max_workers, "at least 1")
    for revision in revisions:
        urls.check_revision(revision)
    upstream = Upstream(endpoint or config.HF_ENDPOINT, token_for(endpoint, token), RetryPolicy(), None)
    if config.HF_HUB_OFFLINE:
        problem = f"Offline mode is on and {repo_id} can't be copied"
        raise OfflineError.at_url(problem, upstream.endpoint, None, GO_ONLINE)
    root = Path(folder)
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
    copy = _Copy(root.resolve(), upstream, f"{repo_type}s", repo_id, max_workers, check)
    try:
        return [copy.revision(revision, include, exclude) for revision in revisions]
    finally:
        upstream.close()


@dataclass(frozen=True)
class _Copy:
    root: Path
    upstream: Upstream
    type: str
    id: str
    workers: int
    check: bool

    def revision(self, revision: str, include: Sequence[str], exclude: Sequence[str]) -> MirroredRevision:
        pinned = pin(self.root, self.upstream, self.type, self.id, revision)
        history, commit = History(pinned.folder), pinned.facts.commit
        tree = history.tree(commit)
        chosen = _choose(tree, include, exclude, f"{self.id} at {commit}")
        files = [RepoFile(path, tree[path].size, tree[path].blob_id, tree[path].sha256) for path in chosen]
        missing = self._missing(history, files)
        self._fetch(pinned, history, missing)
        # From here on the revision is there, with everything that was asked for.
        whole = all(history.has(file.object, file.size) for file in tree.values())
        change(pinned.folder, lambda state: state.with_commit(commit, pinned.ref, whole), always=True)
        return MirroredRevision(
            revision,
            commit,
            len(files),
            sum(file.size for file in files),
            len(missing),
            sum(file.size for file in missing),
            whole,
            pinned.folder,
            pinned.facts.private,
            pinned.facts.gated is not False,
        )

    def _missing(self, history: History, files: Sequence[RepoFile]) -> list[RepoFile]:
        contents = {file.etag: file for file in files}
        return [file for file in contents.values() if not self._is_here(history.object(file.etag), file)]

    def _is_here(self, path: Path, file: RepoFile) -> bool:
        if not is_whole(path, file):
            return False
        if not self.check:
            return True
        state = new_hash(file)
        with path.open("rb") as content:
            while piece := content.read(1 << 20):
                state.update(piece)
        if state.hexdigest() == file.etag:
            return True
        _log.warning("%s was damaged on this disk (its hash is another one); it is fetched again", file.path)
        return False

    def _fetch(self, pinned: Pin, history: History, missing: Sequence[RepoFile]) -> None:
        needed = sum(file.size for file in missing)
        free = shutil.disk_usage(history.folder).free
        if needed > free:
            raise DiskFullError.from_sizes(history.folder, needed, free)
        downloads = []
        with writing(history.folder):
            history.inside("tmp")
            for file in missing:
                history.inside("objects", file.etag[:2])
                downloads.append(
                    download_of(self.upstream, self.type, self.id, pinned.facts.commit, history.folder, file)
                )
        counting = threading.Lock()
        with progress(f"Mirroring {self.id}", needed, "B") as bar:

            def report(size: int) -> None:
                with counting:
                    bar.update(size)

            def one(download: Download, stop: threading.Event) -> None:
                # What is there and was looked at is damaged: then it comes again.
                fetch(self.upstream.files, download, Watch(report, stop), again=self.check)

            run_parallel(one, downloads, self.workers)


def _choose(tree: Tree, include: Sequence[str], exclude: Sequence[str], where: str) -> list[str]:
    chosen = dict.fromkeys(tree if not include else ())
    for pattern in include:
        fits = _matching(pattern, tree)
        if not fits:
            raise EntryNotFoundError(f'No file of {where} fits "{pattern}". {suggest(pattern, list(tree))}')
        chosen.update(dict.fromkeys(fits))
    if _CARD in tree:
        chosen.setdefault(_CARD)  # it says how the files are to be read, and under which licence
    for pattern in exclude:
        for path in _matching(pattern, chosen):
            del chosen[path]
    return sorted(chosen)


def _matching(pattern: str, paths: Sequence[str] | Tree | dict[str, None]) -> list[str]:
    pattern = f"{pattern}*" if pattern.endswith("/") else pattern
    return [path for path in paths if path == pattern or fnmatch.fnmatchcase(path, pattern)]
