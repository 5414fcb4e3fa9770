"""The Hub client: a commit is fixed before anything else is read, and files arrive whole or not at all.

`HubClient.pin` turns a branch or tag into a `PinnedRepo`; everything after that happens at its commit, from the cache
where that has it. One load of a repository with n files costs 2 + n requests, and none once it is cached by commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gristmill import config
from gristmill.errors import (
    HubError,
    HubResponseError,
    InvalidArgumentError,
    OfflineError,
    shorten,
)
from gristmill.files.http import HttpSession, is_unreachable, origin
from gristmill.files.retry import RetryPolicy
from gristmill.hub import github, urls
from gristmill.hub.answers import Target
from gristmill.hub.auth import find_token
from gristmill.hub.cache import RepoCache
from gristmill.hub.downloads import UrlCache
from gristmill.hub.pinned import GO_ONLINE, PinnedRepo, parse_info
from gristmill.hub.tree import RepoFile, is_commit
from gristmill.logging import get_logger

__all__ = ["HubClient", "PinnedRepo", "RepoFile"]

_log = get_logger(__name__)


class HubClient:
    """Reads repositories of one Hub, through the cache that huggingface_hub uses as well.

    Args:
        endpoint: Base URL; `config.HF_ENDPOINT` if left out.
        token: A token; None for the one of the environment or of `hf auth login`; False for none at all.
        cache_dir: Cache folder; `config.HF_HUB_CACHE` if left out.
        offline: Whether the cache has to do; `config.HF_HUB_OFFLINE` if left out.
        policy: How often and how fast to try again.
        max_workers: Most downloads at a time.
        proxies: ``"http"`` or ``"https"`` -> the URL of a proxy; those of the environment if left out.
        agent: What to add to what Gristmill calls itself in requests.
        show_progress: Whether downloads have a bar.

    Example:
        >>> client = HubClient("https://huggingface.co")
        >>> client.resolve_url("nyu-mll/glue", "main", "README.md")
        'https://huggingface.co/datasets/nyu-mll/glue/resolve/main/README.md'
    """

    def __init__(
        self,
        endpoint: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        offline: bool | None = None,
        policy: RetryPolicy | None = None,
        max_workers: int = 8,
        proxies: Mapping[str, str | None] | None = None,
        agent: str = "",
        show_progress: bool = True,
    ) -> None:
        self.endpoint = (endpoint or config.HF_ENDPOINT).rstrip("/")
        # Before the token is looked for: huggingface_hub, asked for it, stumbles over an endpoint that is none.
        try:
            origin(self.endpoint)
        except InvalidArgumentError as error:
            name = "endpoint" if endpoint else "HF_ENDPOINT"
            expected = "an http:// or https:// URL"
            raise InvalidArgumentError.from_value(name, self.endpoint, expected) from error
        self.cache_dir = Path(cache_dir or config.HF_HUB_CACHE)
        self.offline = config.HF_HUB_OFFLINE if offline is None else offline
        self.max_workers = max_workers
        self.show_progress = show_progress
        found = None if self.offline else find_token(token)
        self.session = HttpSession(self.endpoint, found, policy, proxies=proxies, agent=agent)
        self.downloads = UrlCache(config.DOWNLOADED_DATASETS_PATH, self.offline)
        self._renamed: set[str] = set()  # old names that were told of

    def __repr__(self) -> str:
        return f"HubClient({self.endpoint!r}, cache_dir={str(self.cache_dir)!r}{', offline' * self.offline})"

    def pin(self, repo_id: str, revision: str | None = "main", repo_type: str = "dataset") -> PinnedRepo:
        """Fixes the commit that a revision stands for now.

        A full commit id of which something is cached needs no request. When the Hub can't be reached, the commit
        that the revision stood for when last used is taken, with a warning. A repository that was renamed is found by
        its old name, with a warning, and is cached under the name that was asked for.

        Args:
            repo_id: ``"namespace/name"``.
            revision: Branch, tag, ``refs/…``, or a commit id; None means ``"main"``.
            repo_type: ``"dataset"`` or ``"model"``.

        Returns:
            The repository at that commit.

        Raises:
            InvalidArgumentError: A name can't be right.
            RepoNotFoundError: No such repository, or it is private and not yours.
            RevisionNotFoundError: No such branch, tag or commit.
            AccessError: A token is missing, unknown, or has no right; GatedRepoError if access has to be asked for.
            OfflineError: Offline, and the cache does not know the revision.
            HubError: The Hub can't be reached, or answers nonsense.
        """
        urls.check_repo(repo_id, repo_type)
        revision = urls.check_revision("main" if revision is None else revision)
        cache = RepoCache(self.cache_dir, repo_type, repo_id)
        known = cache.read_ref(revision)
        if known is not None and (self.offline or is_commit(revision)):
            return PinnedRepo(self, repo_id, repo_type, revision, known)
        target = Target(self.endpoint, repo_type, repo_id, revision)
        url = urls.api_url(self.endpoint, repo_id, repo_type, "revision", revision)
        if self.offline:
            problem = f"Offline mode is on and revision {revision} of {target} is not in {self.cache_dir}"
            raise OfflineError.at_url(problem, url, None, GO_ONLINE)
        try:
            info = parse_info(self.session.get_json(url, refuse=target.refuse)[0], url)
        except HubError as error:
            if known is None or not is_unreachable(error):
                raise
            _log.warning("%s. The cached commit %s of %s is used instead", error, known, repo_id)
            return PinnedRepo(self, repo_id, repo_type, revision, known)
        cache.write_info(info["sha"], info)
        name = self._name_now(repo_id, repo_type, info.get("id"))
        return PinnedRepo(self, repo_id, repo_type, revision, info["sha"], name)

    def _name_now(self, repo_id: str, repo_type: str, said: object) -> str:
        """Gives what the Hub calls a repository, which is another name than the one asked for if it was renamed."""
        try:
            urls.check_repo(said if isinstance(said, str) else "", repo_type)
        except InvalidArgumentError:
            return repo_id
        name = str(said)
        if name != repo_id and repo_id not in self._renamed:
            self._renamed.add(repo_id)
            _log.warning(
                'the %s "%s" was renamed: ask for it by its new name, "%s"', repo_type, repo_id, name
            )
        return name

    def resolve_url(self, repo_id: str, revision: str, path: str, repo_type: str = "dataset") -> str:
        """Gives the address of a file: slashes in the revision encoded, those in the path kept.

        Args:
            repo_id: ``"namespace/name"``.
            revision: Branch, tag or commit.
            path: File in the repository.
            repo_type: ``"dataset"`` or ``"model"``.

        Raises:
            InvalidArgumentError: A name can't be right.
            UnsafePathError: The path is not a plain relative one.
        """
        return urls.resolve_url(self.endpoint, repo_id, revision, path, repo_type)

    def parquet_urls(self, repo_id: str, config: str, split: str) -> list[str]:
        """Lists the Parquet files that the Hub holds or has made of one split of a dataset.

        Args:
            repo_id: ``"namespace/name"``.
            config: Name of the config.
            split: Name of the split.

        Returns:
            Their URLs, in order; never empty.

        Raises:
            HubResponseError: The listing is empty or odd; the message names repository, config and split.
            OfflineError: Offline.
            HubError: The Hub refuses or can't be reached.
        """
        url = urls.api_url(self.endpoint, repo_id, "dataset", "parquet", config, split)
        where = f"{repo_id}, config {config}, split {split}"
        if self.offline:
            problem = f"Offline mode is on and the Parquet files of {where} have to be asked for"
            raise OfflineError.at_url(problem, url, None, GO_ONLINE)
        target = Target(self.endpoint, "dataset", repo_id, "main", f"{config}/{split}")
        listing, _ = self.session.get_json(url, refuse=target.refuse)
        good = isinstance(listing, list) and all(
            isinstance(item, str) and item.startswith(("http://", "https://")) for item in listing
        )
        if not good or not listing:
            problem = f"The list of Parquet files of {where} is {'odd: ' + shorten(listing) if listing else 'empty'}"
            raise HubResponseError.at_url(problem, url, 200, "Check the names of the config and the split")
        return list(listing)

    def download_url(self, url: str, again: bool = False) -> Path:
        """Fetches a file that is in no repository, or finds it unchanged in the downloads folder.

        Args:
            url: An http(s) URL.
            again: Fetch it also if it is there, unless offline.

        Returns:
            The local file, named by the hash of the URL (so it has no suffix).

        Raises:
            InvalidArgumentError: It is not an http(s) URL.
            OfflineError: Offline, and it was never downloaded.
            HubError: The server refuses, or can't be reached and there is no older copy.
        """
        return self.downloads.fetch(self.session, url, again=again)

    def github_file(self, repo: str, revision: str, path: str) -> Path:
        """Fetches a file of a GitHub repository, from a mirror where there is one.

        `config.GRISTMILL_GITHUB_RAW` is asked if it is set. Otherwise a Hub other than huggingface.co is asked for
        ``/github/OWNER/REPO/REVISION/PATH`` first, then raw.githubusercontent.com.

        Args:
            repo: ``"owner/repo"``.
            revision: Branch, tag or commit.
            path: File in the repository.

        Returns:
            The local file.

        Raises:
            InvalidArgumentError: A name can't be right.
            OfflineError: Offline, and it was never downloaded.
            HubError: No place has it.
        """
        return github.fetch_file(self.session, self.downloads, repo, revision, path)

    def get_range(self, url: str, start: int, length: int) -> bytes:
        """Fetches part of a file; a server that ignores the range is refused, not read.

        Args:
            url: The file, for example from `resolve_url` or `parquet_urls`.
            start: First byte, counted from 0.
            length: How many bytes; fewer come back only where the file ends.

        Raises:
            RangeIgnoredError: The answer is not 206 with the range asked for.
            OfflineError: Offline.
            HubError: The server refuses or can't be reached.
        """
        if self.offline:
            raise OfflineError.at_url(
                "Offline mode is on and part of a file was asked for", url, None, GO_ONLINE
            )
        return self.session.get_range(url, start, length)
