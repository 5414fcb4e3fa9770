"""One repository at one commit: its facts, its files, and their local copies."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gristmill.errors import (
    CardError,
    DiskFullError,
    EntryNotFoundError,
    HubResponseError,
    OfflineError,
    shorten,
    suggest,
)
from gristmill.files.borders import writing
from gristmill.files.http import HttpSession, Refusal
from gristmill.files.paths import safe_join
from gristmill.hub import urls
from gristmill.hub.answers import Target
from gristmill.hub.cache import RepoCache
from gristmill.hub.card import LARGEST_HEAD, parse_card
from gristmill.hub.transfer import Download, Watch, fetch, is_whole, run_parallel
from gristmill.hub.tree import RepoFile, is_commit, read_tree
from gristmill.logging import get_logger
from gristmill.progress import progress

_log = get_logger(__name__)
_PART = re.compile(r"(?P<start>.*-)\d{5}(?P<end>-of-(?P<count>\d{5})[^/]*)", re.DOTALL)
_MOST_PARTS = 20_000
GO_ONLINE = "Unset HF_HUB_OFFLINE, or run this once online with the same cache (HF_HUB_CACHE)"
"""What to do when offline mode keeps one from something."""


class Connection(Protocol):
    """What a repository needs of the client that pinned it."""

    endpoint: str
    session: HttpSession
    cache_dir: Path
    offline: bool
    max_workers: int
    show_progress: bool


@dataclass
class PinnedRepo:
    """One repository at one commit. Made by `HubClient.pin`.

    Attributes:
        client: What made it.
        repo_id: ``"namespace/name"``.
        repo_type: ``"dataset"`` or ``"model"``.
        revision: As it was asked for.
        commit: What it stands for: 40 hex characters.
        name: What the Hub calls it, if it was asked and the repository was renamed: it is asked under this name then.
    """

    client: Connection = field(repr=False)
    repo_id: str
    repo_type: str
    revision: str
    commit: str
    name: str = field(default="", repr=False, compare=False)
    _files: dict[str, RepoFile] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.repo_id

    @property
    def cache(self) -> RepoCache:
        """The repository's part of the cache."""
        return RepoCache(self.client.cache_dir, self.repo_type, self.repo_id)

    @property
    def private(self) -> bool:
        """Whether only some accounts see the repository."""
        return bool(self._info().get("private", False))

    @property
    def gated(self) -> bool:
        """Whether access has to be asked for."""
        return bool(self._info().get("gated", False))

    @property
    def card_data(self) -> dict[str, Any]:
        """The YAML head of the README as the Hub parsed it; empty if there is none."""
        info = self._info()
        data = info.get("cardData") if info else self._cached_card()
        return data if isinstance(data, dict) else {}

    def _cached_card(self) -> dict[str, Any]:
        # Offline, and it was huggingface_hub that filled the cache: then the README is all there is.
        try:
            readme = self.cache.snapshot(self.commit, "README.md")
            with readme.open(encoding="utf-8", errors="replace") as file:
                return parse_card(file.read(2 * LARGEST_HEAD), f"{self.repo_id}/README.md").metadata
        except (OSError, CardError):
            return {}

    def _info(self) -> dict[str, Any]:
        info = self.cache.read_info(self.commit)
        if info is None and not self.client.offline:
            url = urls.api_url(self.client.endpoint, self.name, self.repo_type, "revision", self.commit)
            info = parse_info(self.client.session.get_json(url, refuse=self._target().refuse)[0], url)
            self.cache.write_info(self.commit, info)
        return info or {}

    def url(self, path: str) -> str:
        """Gives the address of a file at this commit."""
        return urls.resolve_url(self.client.endpoint, self.name, self.commit, path, self.repo_type)

    def refuse(self, path: str) -> Callable[[Refusal], Exception]:
        """Gives what words the error when the Hub refuses a file."""
        return self._target(path).refuse

    def _target(self, path: str = "") -> Target:
        return Target(self.client.endpoint, self.repo_type, self.repo_id, self.commit, path)

    def files(self) -> tuple[RepoFile, ...]:
        """Lists the repository's files, sorted by path: one recursive listing, kept in the cache.

        Raises:
            OfflineError: Offline, and nothing of this commit is cached.
            UnsafePathError: The Hub names a path that would leave the cache folder.
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        return tuple(self._by_path().values())

    def _by_path(self) -> dict[str, RepoFile]:
        if self._files is None:
            files = self.cache.read_tree(self.commit)
            if files is None:
                files = self._cached_files() if self.client.offline else self._listed_files()
            self._files = {file.path: file for file in files}
        return self._files

    def _listed_files(self) -> tuple[RepoFile, ...]:
        url = urls.api_url(self.client.endpoint, self.name, self.repo_type, "tree", self.commit)
        files = read_tree(self.client.session, f"{url}?recursive=true&expand=false", self._target().refuse)
        self.cache.write_tree(self.commit, files)
        return files

    def _cached_files(self) -> tuple[RepoFile, ...]:
        files = self.cache.list_snapshot(self.commit)
        if not files:
            raise self._offline("the list of its files")
        _log.warning(
            "offline: the list of files of %s at %s is not cached; going by the %d that are",
            self.repo_id,
            self.commit,
            len(files),
        )
        return (*files, *_missing_parts(files))

    def _offline(self, what: str, path: str = "README.md") -> OfflineError:
        url = self.url(path)
        problem = f"Offline mode is on and {what} ({self._target()}, {self.commit}) is not in the cache"
        error: OfflineError = OfflineError.at_url(problem, url, None, GO_ONLINE)
        return error

    def download(self, path: str) -> Path:
        """Gives the local copy of a file, fetched if need be, whole and checked by its hash.

        Args:
            path: File in the repository.

        Returns:
            Its name in the cache's snapshot; not to be changed.

        Raises:
            EntryNotFoundError: No such file at this commit; the message suggests close names.
            OfflineError: Offline, and the file is not cached.
            IncompleteBodyError: Other bytes than announced came, in every attempt.
            HubError: The Hub refuses or can't be reached.
            FileError: The cache can't be written.
        """
        return self.download_many([path])[0]

    def download_many(self, paths: Sequence[str], again: bool = False) -> list[Path]:
        """Gives the local copies of several files, fetched in parallel under one progress bar.

        What is there whole is not fetched again; after Ctrl-C or a crash, half-fetched files are gone on with.

        Args:
            paths: Files in the repository.
            again: Fetch also what is there; until a file is whole, the older copy stays.

        Returns:
            Their names in the cache's snapshot, in the order of `paths`.

        Raises:
            EntryNotFoundError: No such file at this commit.
            HubError: As for `download`.
            DiskFullError: There is not enough room for what is missing.
        """
        found = {path: None if again else self.find(path) for path in dict.fromkeys(paths)}
        missing = [self._entry(path) for path, local in found.items() if local is None]
        if missing:
            found.update(zip((file.path for file in missing), self._fetch(missing, again), strict=True))
        return [local for path in paths if (local := found[path]) is not None]

    def find(self, path: str) -> Path | None:
        """Gives the local copy of a file if it is here whole, without asking anyone."""
        local = self.cache.snapshot(self.commit, path)
        if not os.path.isfile(local):  # noqa: PTH113  # Path.is_file raises for names too long
            return None
        listed = self._files or {file.path: file for file in self.cache.read_tree(self.commit) or ()}
        return local if path not in listed or is_whole(local, listed[path]) else None

    def _entry(self, path: str) -> RepoFile:
        if self.client.offline and self.cache.read_tree(self.commit) is None:
            if not self.cache.known_absent(self.commit, path):
                raise self._offline(f'"{path}"', path)
            files: dict[str, RepoFile] = {}
        else:
            files = self._by_path()
        if path not in files:
            url = self.url(path)
            problem = f'There is no "{path}" in {self._target()} at {self.commit}'
            raise EntryNotFoundError.at_url(problem, url, None, suggest(path, files))
        if self.client.offline and not is_whole(self.cache.blob(files[path].etag), files[path]):
            raise self._offline(f'"{path}"', path)
        return files[path]

    def download_into(self, folder: Path, paths: Sequence[str], workers: int | None = None) -> list[Path]:
        """Fetches files into a folder, under their names in the repository, past the cache.

        A file that is there with the size it should have is left alone; one that was cut off is gone on with.

        Args:
            folder: The folder; made if needed.
            paths: Files in the repository.
            workers: Most downloads at a time; the client's number by default.

        Returns:
            Where they are, in the order of `paths`.

        Raises:
            EntryNotFoundError: No such file at this commit.
            HubError: As for `download`.
            UnsafePathError: A name would leave the folder.
            DiskFullError: There is not enough room for what is missing.
            FileError: The folder can't be written.
        """
        files = [self._entry(path) for path in paths]
        finals = [safe_join(folder, file.path) for file in files]
        todo = [
            self._download_of(file, final.with_name(f".{final.name}.{file.etag[:16]}.part"), final)
            for file, final in zip(files, finals, strict=True)
            if not is_whole(final, file)
        ]
        with writing(folder):
            for download in todo:
                download.final.parent.mkdir(parents=True, exist_ok=True)
        if todo:
            self._fetch_all(todo, folder, lambda download: download.final, workers)
        return finals

    def _fetch(self, files: list[RepoFile], again: bool = False) -> list[Path]:
        downloads = [
            self._download_of(file, self.cache.part(file.etag), self.cache.blob(file.etag)) for file in files
        ]
        self.cache.prepare()
        local = self._fetch_all(
            downloads,
            self.cache.folder,
            lambda download: self.cache.link(self.commit, download.file),
            again=again,
        )
        self.cache.write_ref(self.revision, self.commit)
        return local

    def _fetch_all(
        self,
        downloads: list[Download],
        folder: Path,
        done: Callable[[Download], Path],
        workers: int | None = None,
        again: bool = False,
    ) -> list[Path]:
        """Fetches files in parallel under one bar, if the disk of `folder` has room; `done` says where each is."""
        self.cache.prepare()
        needed = sum(download.file.size for download in downloads)
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise DiskFullError.from_sizes(folder, needed, free)
        counting = threading.Lock()
        with progress(f"Downloading {self.repo_id}", needed, "B", self.client.show_progress) as bar:

            def report(size: int) -> None:
                with counting:
                    bar.update(size)

            def one(download: Download, stop: threading.Event) -> Path:
                fetch(self.client.session, download, Watch(report, stop), again)
                return done(download)

            return run_parallel(one, downloads, workers or self.client.max_workers)

    def _download_of(self, file: RepoFile, part: Path, final: Path) -> Download:
        lock = self.cache.lock(file.etag)
        return Download(self.url(file.path), file, part, final, lock, self._target(file.path).refuse)

    def read_bytes(self, path: str, limit: int = 10_000_000) -> bytes:
        """Reads a small file whole, fetching it if need be.

        Args:
            path: File in the repository.
            limit: Most bytes it may have.

        Raises:
            HubResponseError: The file is larger than `limit`.
            EntryNotFoundError: No such file at this commit.
            HubError: As for `download`.
        """
        local = self.find(path)
        size = self._entry(path).size if local is None else local.stat().st_size
        if size > limit:
            url = self.url(path)
            raise HubResponseError.at_url(f"{path} has {size:,} bytes, at most {limit:,} were expected", url)
        return (local or self.download(path)).read_bytes()


def _missing_parts(files: Sequence[RepoFile]) -> list[RepoFile]:
    """Lists the parts that others name (``train-00000-of-00002``): to leave them out in silence would lose rows."""
    there = {file.path for file in files}
    named = {
        (match["start"], match["end"], int(match["count"])) for match in map(_PART.fullmatch, there) if match
    }
    paths = (f"{start}{number:05d}{end}" for start, end, count in sorted(named) for number in range(count))
    missing = itertools.islice((path for path in paths if path not in there), _MOST_PARTS)
    return [RepoFile(path, 0, "0" * 40) for path in missing]


def parse_info(info: Any, url: str) -> dict[str, Any]:
    """Takes what is needed from the Hub's answer about a repository.

    Args:
        info: The parsed JSON.
        url: Where it is from, for the error.

    Returns:
        Its ``sha`` (checked), and ``id``, ``private``, ``gated`` and ``cardData`` as far as they are there.

    Raises:
        HubResponseError: It names no commit.
    """
    if not isinstance(info, dict) or not isinstance(info.get("sha"), str) or not is_commit(info["sha"]):
        raise HubResponseError.at_url(f"The answer names no commit: {shorten(info)}", url, 200)
    return {key: info[key] for key in ("id", "sha", "private", "gated", "cardData") if key in info}
