"""The files of a repository at one commit: read from the Hub's paged listing, each entry checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gristmill.errors import HubResponseError, InvalidArgumentError, shorten
from gristmill.files.http import HttpSession, Refusal, join_url, origin
from gristmill.files.paths import check_relative

_MOST_ENTRIES = 5_000_000
_LONGEST_PATH = 4096  # no system takes a longer one
# A Hub puts a thousand entries on a page: more pages than this are a listing that never ends.
_MOST_PAGES = 20_000
_NEXT_PAGE = re.compile(r'<(?P<url>[^<>]*)>\s*;\s*rel="?next"?')
_SHA1 = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RepoFile:
    """One file of a repository at a commit.

    Attributes:
        path: From the repository's root, with ``/``.
        size: Bytes of the content.
        blob_id: Git blob id, 40 hex: of the content, or of the pointer text if `sha256` is there.
        sha256: Of the content, 64 hex, for files in large-file storage; else None.
    """

    path: str
    size: int
    blob_id: str
    sha256: str | None = None

    @property
    def etag(self) -> str:
        """What identifies the content, and names it in the cache."""
        return self.sha256 or self.blob_id


def is_commit(revision: str) -> bool:
    """Says whether a revision is a full commit id, which never means anything else later.

    Example:
        >>> is_commit("main"), is_commit("0123456789abcdef0123456789abcdef01234567")
        (False, True)
    """
    return _SHA1.fullmatch(revision) is not None


def parse_file(path: object, size: object, blob_id: object, sha256: object, where: str) -> RepoFile:
    """Checks the facts about one file, which come from outside.

    Args:
        path: Path in the repository.
        size: Bytes of the content.
        blob_id: Git blob id.
        sha256: Hash of the content, or None.
        where: URL or file the facts come from, for errors.

    Raises:
        UnsafePathError: The path would leave the repository's folder.
        HubResponseError: A fact is missing or not what it should be.
    """
    good = (
        isinstance(path, str)
        and len(path) <= _LONGEST_PATH
        and type(size) is int
        and size >= 0
        and isinstance(blob_id, str)
        and _SHA1.fullmatch(blob_id)
        and (sha256 is None or (isinstance(sha256, str) and _SHA256.fullmatch(sha256)))
    )
    if not good:
        facts = {"path": path, "size": size, "blob_id": blob_id, "sha256": sha256}
        raise HubResponseError.at_url(f"The list of files has an odd entry {shorten(facts, 300)}", where)
    assert isinstance(path, str)
    assert isinstance(size, int)
    assert isinstance(blob_id, str)
    assert sha256 is None or isinstance(sha256, str)
    return RepoFile(check_relative(path), size, blob_id, sha256)


def _parse_entry(entry: Any, where: str) -> RepoFile | None:
    if isinstance(entry, dict) and entry.get("type") == "directory":
        return None
    if not isinstance(entry, dict) or entry.get("type") != "file":
        raise HubResponseError.at_url(f"The list of files has an odd entry {shorten(entry, 300)}", where)
    large = entry.get("lfs")
    if large is None:
        return parse_file(entry.get("path"), entry.get("size"), entry.get("oid"), None, where)
    facts = large if isinstance(large, dict) else {}
    # An entry without a hash must not pass for one that was never in large-file storage.
    return parse_file(entry.get("path"), facts.get("size"), entry.get("oid"), facts.get("oid", ""), where)


def iter_pages(
    session: HttpSession, url: str, refuse: Callable[[Refusal], Exception]
) -> Iterator[tuple[str, list[Any]]]:
    """Reads a listing page by page.

    Args:
        session: Where requests go through.
        url: The first page, with its query.
        refuse: Words the error when the server refuses.

    Yields:
        (URL of the page, its entries).

    Raises:
        HubResponseError: The listing is not what it should be, or never ends.
        HubError: The server refuses or can't be reached.
    """
    page: str | None = url
    seen: set[str] = set()
    while page is not None:
        if page in seen or len(seen) >= _MOST_PAGES:
            problem = (
                f"The list of files never ends: it goes in a circle, or has more than {_MOST_PAGES:,} pages"
            )
            raise HubResponseError.at_url(problem, page)
        seen.add(page)
        entries, headers = session.get_json(page, refuse=refuse)
        if not isinstance(entries, list):
            raise HubResponseError.at_url(f"The list of files is no list but {shorten(entries)}", page)
        yield page, entries
        match = _NEXT_PAGE.search(headers.get("link", ""))
        following = join_url(page, match["url"]) if match is not None else None
        if following is not None and not entries:
            raise HubResponseError.at_url("An empty page of the list of files has a next page", page)
        if following is not None and not _same_origin(following, url):
            problem = f"The list of files goes on elsewhere ({shorten(following)}); not followed"
            raise HubResponseError.at_url(problem, page)
        page = following


def _same_origin(first: str, second: str) -> bool:
    try:
        return origin(first) == origin(second)
    except InvalidArgumentError:
        return False


def read_tree(session: HttpSession, url: str, refuse: Callable[[Refusal], Exception]) -> tuple[RepoFile, ...]:
    """Lists all files under a tree URL, page by page.

    Args:
        session: Where requests go through.
        url: The first page, with its query.
        refuse: Words the error when the server refuses.

    Returns:
        The files, sorted by path.

    Raises:
        UnsafePathError: A path would leave the repository's folder.
        HubResponseError: The listing is not what it should be, or never ends.
        HubError: The server refuses or can't be reached.
    """
    files: dict[str, RepoFile] = {}
    count = 0
    for page, entries in iter_pages(session, url, refuse):
        count += len(entries)
        if count > _MOST_ENTRIES:
            raise HubResponseError.at_url(f"The list of files has more than {_MOST_ENTRIES:,} entries", url)
        for entry in entries:
            file = _parse_entry(entry, page)
            if file is not None and files.setdefault(file.path, file) != file:
                raise HubResponseError.at_url(f"The list of files has {shorten(file.path)} twice", page)
    return tuple(files[path] for path in sorted(files))
