"""The Hub that repositories are copied from: what it says, checked, and its failures in this server's words.

The token goes to that Hub's own origin only (see `gristmill.files.http`); nothing that a client of this server sends goes
there, and nothing of its error texts goes to a client: those are in the log.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import Any

from gristmill import config
from gristmill.errors import (
    AccessError,
    EntryNotFoundError,
    GatedRepoError,
    HubConnectionError,
    HubError,
    HubResponseError,
    RateLimitedError,
    RepoNotFoundError,
    RevisionNotFoundError,
    UnsafePathError,
)
from gristmill.files.http import HttpSession, is_unreachable, origin
from gristmill.files.retry import RetryPolicy
from gristmill.hub import urls
from gristmill.hub.answers import Target
from gristmill.hub.auth import find_token
from gristmill.hub.pinned import parse_info
from gristmill.hub.server.access import Gated
from gristmill.hub.server.errors import Refusal, entry_not_found, repo_not_found, revision_not_found
from gristmill.hub.server.operations import check_folders
from gristmill.hub.server.snapshots import Commit
from gristmill.hub.tree import RepoFile, is_commit, read_tree
from gristmill.logging import get_logger

__all__ = ["FILE_PATIENCE", "QUICK", "Facts", "Upstream", "as_refusal", "token_for"]

_log = get_logger(__name__)
QUICK = RetryPolicy(attempts=2, first_delay=0.3, longest_delay=1.0)
"""How often a server asks while a client waits, who gives up after ten seconds."""
_QUICK_TIMEOUT = 6.0
FILE_PATIENCE = 60.0
"""Seconds without a byte after which a file that comes in is asked for again."""
_LARGEST_FILE = 2**63 - 1
_RETRY_AFTER = {"Retry-After": "5"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a Hub says about a repository at a revision: the commit, when it was made, and who may see it."""

    commit: str
    time: float
    private: bool
    gated: Gated


def token_for(endpoint: str | None, token: str | bool | None) -> str | None:
    """Says which token goes to a Hub: the one that is set up (``HF_TOKEN``) is meant for ``HF_ENDPOINT`` only.

    Args:
        endpoint: That Hub; None for ``HF_ENDPOINT``.
        token: A token; None for the one that is set up, if it is meant for that Hub; False for none.

    Raises:
        InvalidArgumentError: The endpoint is no URL, or the token can't be one.
    """
    if isinstance(token, str) or endpoint is None or origin(endpoint) == origin(config.HF_ENDPOINT):
        return find_token(token)
    return None


class Upstream:
    """Another Hub, to be copied from.

    Args:
        endpoint: Its base URL.
        token: A token of that Hub; None for what it gives to everybody.
        policy: How often to ask for facts.
        timeout: Seconds after which a question is given up; None for the usual time.

    Raises:
        InvalidArgumentError: The endpoint is no http(s) URL.
    """

    def __init__(
        self,
        endpoint: str,
        token: str | None = None,
        policy: RetryPolicy = QUICK,
        timeout: float | None = _QUICK_TIMEOUT,
    ) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.session = HttpSession(self.endpoint, token, policy, timeout)
        self.files = HttpSession(self.endpoint, token, RetryPolicy(), FILE_PATIENCE)

    def close(self) -> None:
        """Closes the connections."""
        self.session.close()
        self.files.close()

    def target(self, type: str, id: str, revision: str, path: str = "") -> Target:
        """Names what a request is about, for errors."""
        return Target(self.endpoint, type.removesuffix("s"), id, revision, path)

    def url(self, type: str, id: str, commit: str, path: str) -> str:
        """Gives the address of a file."""
        return urls.resolve_url(self.endpoint, id, commit, path, type.removesuffix("s"))

    def _api(self, type: str, id: str, *parts: str) -> str:
        return urls.api_url(self.endpoint, id, type.removesuffix("s"), *parts)

    def facts(self, type: str, id: str, revision: str) -> Facts:
        """Asks what a revision stands for now.

        Raises:
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        url = self._api(type, id, "revision", revision)
        info, _ = self.session.get_json(url, refuse=self.target(type, id, revision).refuse)
        commit = parse_info(info, url)["sha"]
        gated = info.get("gated")
        known: Gated = gated if gated in ("auto", "manual") else "manual" if gated else False
        return Facts(commit, _moment(info.get("lastModified")), bool(info.get("private")), known)

    def ref(self, type: str, id: str, revision: str) -> str | None:
        """Says which ref a revision names, by asking if need be; None if it is a commit, or the beginning of one.

        Raises:
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        if revision.startswith("refs/") or is_commit(revision):
            return None if is_commit(revision) else revision
        if revision == "main":
            return "refs/heads/main"
        url = self._api(type, id, "refs")
        told, _ = self.session.get_json(url, refuse=self.target(type, id, revision).refuse)
        for kind, key in (("heads", "branches"), ("tags", "tags")):
            named = told.get(key) if isinstance(told, dict) else None
            if any(isinstance(item, dict) and item.get("name") == revision for item in named or ()):
                return f"refs/{kind}/{revision}"
        return None

    def files_at(self, type: str, id: str, commit: str) -> tuple[RepoFile, ...]:
        """Lists the files of a commit, each entry checked.

        Raises:
            UnsafePathError: A path would leave the repository, or is a file and a folder at once, or there are far too many
                folders.
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        url = f"{self._api(type, id, 'tree', commit)}?recursive=true&expand=false"
        files = read_tree(self.session, url, self.target(type, id, commit).refuse)
        if any(file.size > _LARGEST_FILE for file in files):
            raise HubResponseError.at_url("The list of files has a size that no file can have", url)
        names = {file.path for file in files}
        try:
            check_folders(names)
        except Refusal as refusal:
            raise UnsafePathError(f"The list of files at {url} is refused: {refusal.message}") from refusal
        return files

    def about(self, type: str, id: str, facts: Facts) -> Commit:
        """Asks for the title and author of a commit; without an answer that can be used, it has plain ones."""
        commit = facts.commit
        plain = Commit(commit, None, f"Mirrored from {self.endpoint}", "", facts.time, "unknown")
        url = f"{self._api(type, id, 'commits', commit)}?limit=1"
        try:
            told, _ = self.session.get_json(url, refuse=self.target(type, id, commit).refuse)
            first = told[0]
            if first["id"] != commit:
                return plain
            authors = first.get("authors") or [{}]
            author, title = _text(authors[0].get("user", "unknown")), _text(first["title"])
            message = _text(first.get("message") or "")
            return Commit(
                commit, None, title[:1000], message[:10_000], _moment(first.get("date")), author[:100]
            )
        except (HubError, LookupError, TypeError, AttributeError) as error:
            _log.info("%s says nothing about commit %s of %s: %s", self.endpoint, commit, id, error)
            return plain


def _text(value: Any) -> str:
    # Half a character could not be written down.
    return str(value).encode("utf-8", "replace").decode()


def _moment(text: Any) -> float:
    try:
        moment = dt.datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return min(max(moment.timestamp(), 0.0), 253402300799.0)
    except (ValueError, OverflowError):
        return round(time.time(), 3)


def as_refusal(error: Exception, upstream: str, id: str, what: str = "", commit: str = "") -> Refusal:
    """Turns a failure of the other Hub into this server's answer, in words that tell nothing of its tokens or URLs.

    Args:
        error: The failure.
        upstream: Endpoint of that Hub.
        id: The repository.
        what: The revision or path asked for.
        commit: The commit, if a file of it was asked for.

    Example:
        >>> as_refusal(HubConnectionError("no route"), "https://hub", "a/b").status
        504
    """
    _log.warning("the upstream Hub failed for %s: %s", id, error)
    if isinstance(error, RepoNotFoundError):
        return repo_not_found(anonymous=False)
    if isinstance(error, RevisionNotFoundError):
        return revision_not_found(what)
    if isinstance(error, EntryNotFoundError):
        return entry_not_found(what, commit) if is_commit(commit) else revision_not_found(what)
    if isinstance(error, GatedRepoError):
        return Refusal(
            403, f"{upstream} restricts access to {id}, and this mirror's token there has none.", "GatedRepo"
        )
    if isinstance(error, AccessError):
        return Refusal(
            502, f"{upstream} does not let this mirror read {id}; its operator has to see to that."
        )
    if isinstance(error, RateLimitedError):
        return Refusal(429, f"{upstream} asks this mirror to slow down.", headers={"Retry-After": "30"})
    if isinstance(error, UnsafePathError):
        return Refusal(502, f"{upstream} lists a path of {id} that can't be used.")
    if isinstance(error, HubConnectionError):
        message = f"{id} is not here as asked for, and {upstream} can't be reached."
        return Refusal(504, message, headers=_RETRY_AFTER)
    if isinstance(error, HubError) and is_unreachable(error):
        message = f"{id} is not here as asked for, and {upstream} fails at present."
        return Refusal(502, message, headers=_RETRY_AFTER)
    return Refusal(502, f"{upstream} answers about {id} in a way that can't be used.")
