"""Some shards of a large dataset by their numbers: what `gristmill download` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import DataFilesNotFoundError, InvalidArgumentError, suggest
from gristmill.files.patterns import PathIndex, natural_key
from gristmill.hub.client import HubClient
from gristmill.hub.tree import RepoFile

__all__ = ["KNOWN_SHARDS", "Shards", "download_shards"]

KNOWN_SHARDS: Mapping[str, tuple[str, str]] = {
    "c4": ("allenai/c4", "en/c4-train.*.json.gz"),
    "fineweb": ("HuggingFaceFW/fineweb-edu", "sample/10BT/*.parquet"),
    "fineweb-2-fra": ("HuggingFaceFW/fineweb-2", "data/fra_Latn/train/*.parquet"),
    "fineweb-all": ("HuggingFaceFW/fineweb", "sample/10BT/*.parquet"),
    "smoltalk": ("HuggingFaceTB/smoltalk", "data/all/train-*.parquet"),
    "tinystories": ("roneneldan/TinyStories", "data/train-*.parquet"),
}
"""Short name -> repository and the pattern of its shards."""


@dataclass(frozen=True)
class Shards:
    """What a call of `download_shards` found or brought.

    Attributes:
        repo_id: The repository.
        commit: The commit all files are of.
        total: Shards there are.
        files: Number and file of each shard meant.
        local: Where each is now; empty if none was to be fetched.
        skipped: How many of them were there whole before.
    """

    repo_id: str
    commit: str
    total: int
    files: tuple[tuple[int, RepoFile], ...]
    local: tuple[Path, ...]
    skipped: int


def download_shards(
    name: str,
    first: int | None = None,
    last: int | None = None,
    *,
    folder: Path = Path(),
    pattern: str | None = None,
    revision: str = "main",
    workers: int | None = None,
    client: HubClient | None = None,
) -> Shards:
    """Fetches the shards `first` to `last` of a dataset into a folder, under their names in the repository.

    Each comes in beside its final name and is renamed when its hash is right; what is there is skipped, what was cut
    off is gone on with.

    Args:
        name: A name of `KNOWN_SHARDS`, or ``"namespace/name"``.
        first: First shard, counted from 0 in the order of the files' names; None fetches none and lists all.
        last: Last shard, itself included; `first` if None.
        folder: Where to put them.
        pattern: Which files are the shards, for example ``"data/train-*.parquet"``; all Parquet files by default.
        revision: Branch, tag or commit.
        workers: Most downloads at a time.
        client: The Hub to ask; a client with the configured settings if left out.

    Returns:
        The shards meant, and where they are.

    Raises:
        InvalidArgumentError: The name is neither known nor a repository's, or there is no such shard.
        DataFilesNotFoundError: No file fits the pattern.
        HubError: The Hub refuses or can't be reached.
        FileError: The folder can't be written.
    """
    if name not in KNOWN_SHARDS and "/" not in name:
        raise InvalidArgumentError(
            f'"{name}" is neither a known name nor namespace/name. {suggest(name, KNOWN_SHARDS)}'
        )
    repo_id, known = KNOWN_SHARDS.get(name, (name, "**/*.parquet"))
    pattern = pattern or known
    repo = (client or HubClient()).pin(repo_id, revision)
    listed = {file.path: file for file in repo.files()}
    paths = sorted(PathIndex(listed).match(pattern), key=natural_key)
    if not paths:
        raise DataFilesNotFoundError(f'No file of {repo_id} at {repo.commit} fits "{pattern}".')
    if first is None:
        return Shards(repo_id, repo.commit, len(paths), tuple(enumerate(listed[p] for p in paths)), (), 0)
    last = first if last is None else last
    if not 0 <= first <= last < len(paths):
        raise InvalidArgumentError(
            f"There are no shards {first} to {last} of {repo_id}: they go from 0 to {len(paths) - 1}."
        )
    wanted = paths[first : last + 1]
    skipped = sum(
        (folder / path).is_file() and (folder / path).stat().st_size == listed[path].size for path in wanted
    )
    local = repo.download_into(folder, wanted, workers)
    files = tuple((first + i, listed[path]) for i, path in enumerate(wanted))
    return Shards(repo_id, repo.commit, len(paths), files, tuple(local), skipped)
