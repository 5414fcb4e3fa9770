"""Some or all files of a repository in one call: what `gristmill hub download` does."""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import EntryNotFoundError, suggest
from gristmill.files.atomic import atomic_file, sweep
from gristmill.files.borders import writing
from gristmill.files.paths import safe_join
from gristmill.hub.client import HubClient, PinnedRepo


@dataclass(frozen=True)
class FetchedFile:
    """One file that is here now.

    Attributes:
        path: In the repository.
        size: Bytes.
        local: Where it is.
    """

    path: str
    size: int
    local: Path


@dataclass(frozen=True)
class Fetched:
    """What a call of `fetch_files` brought.

    Attributes:
        repo_id: The repository.
        commit: The commit all files are of.
        files: The files, sorted by path.
    """

    repo_id: str
    commit: str
    files: tuple[FetchedFile, ...]


def fetch_files(
    repo_id: str,
    patterns: Sequence[str] = (),
    *,
    revision: str = "main",
    repo_type: str = "dataset",
    folder: Path | None = None,
    client: HubClient | None = None,
) -> Fetched:
    """Fetches files of a repository into the cache, and copies them into a folder if one is given.

    Args:
        repo_id: ``"namespace/name"``.
        patterns: Paths in the repository, or shell patterns in which ``*`` also matches ``/``; none means all files.
        revision: Branch, tag or commit.
        repo_type: ``"dataset"`` or ``"model"``.
        folder: Where to put copies under their names in the repository.
        client: The Hub to ask; a client with the configured settings if left out.

    Returns:
        The files and the commit they are of.

    Raises:
        EntryNotFoundError: A path or pattern fits no file.
        HubError: The Hub refuses or can't be reached.
        FileError: The cache or the folder can't be written.
    """
    repo = (client or HubClient()).pin(repo_id, revision, repo_type)
    wanted = _select(repo, patterns)
    local = repo.download_many(wanted)
    if folder is not None:
        local = [_copy(source, folder, path) for source, path in zip(local, wanted, strict=True)]
    files = zip(wanted, local, strict=True)
    return Fetched(
        repo_id, repo.commit, tuple(FetchedFile(path, at.stat().st_size, at) for path, at in files)
    )


def _select(repo: PinnedRepo, patterns: Sequence[str]) -> list[str]:
    known = [file.path for file in repo.files()]
    chosen: set[str] = set() if patterns else set(known)
    for pattern in patterns:
        fits = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not fits:
            raise EntryNotFoundError(
                f'No file of {repo.repo_id} at {repo.commit} fits "{pattern}". {suggest(pattern, known)}'
            )
        chosen.update(fits)
    return sorted(chosen)


def _copy(source: Path, folder: Path, path: str) -> Path:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        final = safe_join(folder, path)
        sweep(final.parent)
        with source.open("rb") as content, atomic_file(final) as out:
            shutil.copyfileobj(content, out, 1 << 20)
    return final
