"""Files that live in GitHub repositories: from a mirror where there is one, else from GitHub."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from gristmill import config
from gristmill.errors import (
    EntryNotFoundError,
    InvalidArgumentError,
    RepoNotFoundError,
    RevisionNotFoundError,
)
from gristmill.files.http import HttpSession
from gristmill.files.paths import check_relative
from gristmill.hub.downloads import UrlCache
from gristmill.hub.tree import is_commit
from gristmill.hub.urls import check_revision

GITHUB_RAW = "https://raw.githubusercontent.com"
_NAME = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


def mirror_urls(endpoint: str, repo: str, revision: str, path: str) -> list[str]:
    """Lists the places that may have a file of a GitHub repository, in the order to ask them.

    Args:
        endpoint: Base URL of the Hub in use.
        repo: ``"owner/repo"``.
        revision: Branch, tag or commit.
        path: File in the repository.

    Raises:
        InvalidArgumentError: A name can't be right.
        UnsafePathError: The path is not a plain relative one.

    Example:
        >>> mirror_urls("https://huggingface.co", "owner/repo", "main", "a b.csv")
        ['https://raw.githubusercontent.com/owner/repo/main/a%20b.csv']
    """
    if not _NAME.fullmatch(repo) or {".", ".."} & set(repo.split("/")):
        raise InvalidArgumentError.from_value("repo", repo, "the name of a GitHub repository: owner/repo")
    tail = f"{repo}/{quote(check_revision(revision))}/{quote(check_relative(path))}"
    if config.GRISTMILL_GITHUB_RAW:
        return [f"{config.GRISTMILL_GITHUB_RAW}/{tail}"]
    mirror = [] if endpoint == config.DEFAULT_HF_ENDPOINT else [f"{endpoint}/github/{tail}"]
    return [*mirror, f"{GITHUB_RAW}/{tail}"]


def fetch_file(session: HttpSession, downloads: UrlCache, repo: str, revision: str, path: str) -> Path:
    """Fetches a file of a GitHub repository from the first place that has it.

    Args:
        session: Where requests go through; its endpoint is the Hub in use.
        downloads: Where the file is kept.
        repo: ``"owner/repo"``.
        revision: Branch, tag or commit.
        path: File in the repository.

    Returns:
        The local file.

    Raises:
        InvalidArgumentError: A name can't be right.
        OfflineError: Offline, and it was never downloaded.
        HubError: No place has it, or one that may have it can't be reached.
    """
    candidates = mirror_urls(session.endpoint, repo, revision, path)
    if downloads.offline or is_commit(revision):
        for url in candidates:
            if (here := downloads.find(url)) is not None:
                return here
    for url in candidates[:-1]:
        try:
            return downloads.fetch(session, url)
        except (EntryNotFoundError, RepoNotFoundError, RevisionNotFoundError):  # noqa: PERF203  # the next place may
            continue
    return downloads.fetch(session, candidates[-1])
