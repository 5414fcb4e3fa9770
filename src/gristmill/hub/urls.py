"""Addresses on a Hub, and the checks of the names that go into them."""

from __future__ import annotations

import re
from urllib.parse import quote

from gristmill.errors import InvalidArgumentError, UnsafePathError
from gristmill.files.paths import check_relative

REPO_TYPES = ("dataset", "model")
_TOOL_FOLDERS = frozenset({".git", ".cache"})
_HUB_FILE = re.compile(
    r"hf://datasets/(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<path>.+)", re.DOTALL
)


def parse_hub_file(argument: str, url: str) -> tuple[str, str | None, str]:
    """Takes the URL of a file, or of a pattern of files, in a repository apart.

    Args:
        argument: Name of the argument it was passed as, for the error.
        url: ``hf://datasets/namespace/name/path``, with ``@revision`` after the name if one is meant.

    Returns:
        (repository, revision or None, path).

    Raises:
        InvalidArgumentError: It is of another form.

    Example:
        >>> parse_hub_file("url", "hf://datasets/org/name@refs%2Fpr%2F1/data/a.csv")
        ('org/name', 'refs/pr/1', 'data/a.csv')
    """
    found = _HUB_FILE.fullmatch(url)
    if found is None:
        expected = "hf://datasets/namespace/name/path or hf://datasets/namespace/name@revision/path"
        raise InvalidArgumentError.from_value(argument, url, expected)
    revision = found["revision"]
    return found["repo"], None if revision is None else revision.replace("%2F", "/"), found["path"]


def check_repo(repo_id: str, repo_type: str) -> None:
    """Checks a repository's name and type before they become part of a URL or a path.

    Args:
        repo_id: ``"namespace/name"`` (or one of the old names without a namespace).
        repo_type: ``"dataset"`` or ``"model"``.

    Raises:
        InvalidArgumentError: A Hub could have no such repository.

    Example:
        >>> check_repo("nyu-mll/glue", "dataset")
        >>> check_repo("../glue", "dataset")
        Traceback (most recent call last):
        ...
        gristmill.errors.InvalidArgumentError: repo_id='../glue' can't be used: expected ...
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # re-exported without saying so

    if repo_type not in REPO_TYPES:
        raise InvalidArgumentError.from_choice("repo_type", str(repo_type), REPO_TYPES)
    try:
        validate_repo_id(repo_id or "")
    except HFValidationError as error:
        expected = "a name such as namespace/name: letters, digits, - _ and ., at most 96 in each part"
        raise InvalidArgumentError.from_value("repo_id", repo_id, expected) from error


def check_target(path: str) -> str:
    """Gives back a path that something may be sent to: a Hub takes nothing inside folders of tools.

    Args:
        path: Path in a repository.

    Raises:
        UnsafePathError: It is no plain relative path.
        InvalidArgumentError: A part of it is ``.git`` or ``.cache``.

    Example:
        >>> check_target("data/train")
        'data/train'
    """
    if _TOOL_FOLDERS & set(check_relative(path).split("/")):
        raise InvalidArgumentError.from_value(
            "the path in the repository", path, "a path that is in no folder .git or .cache"
        )
    return path


def check_revision(revision: str) -> str:
    """Gives back a revision that can be part of a URL and of a path in the cache.

    Args:
        revision: Branch, tag, commit, or ``refs/…``.

    Raises:
        InvalidArgumentError: It is empty, or would leave its folder.

    Example:
        >>> check_revision("refs/convert/parquet")
        'refs/convert/parquet'
    """
    try:
        return check_relative(revision)
    except (UnsafePathError, AttributeError) as error:
        expected = "the name of a branch, tag or commit"
        raise InvalidArgumentError.from_value("revision", revision, expected) from error


def resolve_url(endpoint: str, repo_id: str, revision: str, path: str, repo_type: str = "dataset") -> str:
    """Gives the address of a file: slashes in the revision encoded, those in the path kept.

    Args:
        endpoint: The Hub's base URL.
        repo_id: ``"namespace/name"``.
        revision: Branch, tag or commit.
        path: File in the repository.
        repo_type: ``"dataset"`` or ``"model"``.

    Raises:
        InvalidArgumentError: A name can't be right.
        UnsafePathError: The path is not a plain relative one.

    Example:
        >>> resolve_url("https://hub", "org/name", "refs/convert/parquet", "a b/0.parquet")
        'https://hub/datasets/org/name/resolve/refs%2Fconvert%2Fparquet/a%20b/0.parquet'
    """
    check_repo(repo_id, repo_type)
    prefix = "datasets/" if repo_type == "dataset" else ""
    where = quote(check_revision(revision), safe="")
    return f"{endpoint}/{prefix}{repo_id}/resolve/{where}/{quote(check_relative(path), safe='/')}"


def api_url(endpoint: str, repo_id: str, repo_type: str, *parts: str) -> str:
    """Gives an address of the API about a repository; each part is encoded as one segment.

    Args:
        endpoint: The Hub's base URL.
        repo_id: ``"namespace/name"``.
        repo_type: ``"dataset"`` or ``"model"``.
        *parts: Segments after the repository's name.

    Raises:
        InvalidArgumentError: A name can't be right.

    Example:
        >>> api_url("https://hub", "org/name", "dataset", "revision", "feat/x")
        'https://hub/api/datasets/org/name/revision/feat%2Fx'
    """
    check_repo(repo_id, repo_type)
    tail = "".join(f"/{quote(part, safe='')}" for part in parts)
    return f"{endpoint}/api/{repo_type}s/{repo_id}{tail}"
