"""Where a builder's dataset is prepared: ``namespace___name/config/version/hash`` in the cache, and what decides it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.download import DownloadConfig
from gristmill.download.fetching import absolute, make_client
from gristmill.download.nested import leaves
from gristmill.errors import GristmillError
from gristmill.files.data_files import parse_data_files
from gristmill.files.locations import has_scheme
from gristmill.files.remote import local_path
from gristmill.files.stamps import change_stamp
from gristmill.fingerprint import Hasher, generate_random_fingerprint
from gristmill.logging import get_logger
from gristmill.prepared.keys import safe_name
from gristmill.prepared.local import expand_local, local_file
from gristmill.prepared.user_files import find_user_files

_log = get_logger(__name__)


def resolve_data_files(data_files: Any, base: str, config: DownloadConfig) -> dict[str, list[str]]:
    """Finds the files that a user names for a builder.

    Args:
        data_files: Any documented form.
        base: Where relative paths start: a folder or a URL.
        config: How the Hub is asked, should a pattern be of it.

    Returns:
        Split -> paths and URLs. Patterns are resolved here and on the Hub; other URLs stay as they are.

    Raises:
        DataFilesNotFoundError: A pattern matches nothing.
        InvalidArgumentError: `data_files` is not of a documented form.
    """
    found: dict[str, list[str]] = {}
    for split, patterns in parse_data_files(data_files).items():
        for pattern in patterns:
            found.setdefault(split, []).extend(_find(pattern, base, config))
    return found


def _find(pattern: str, base: str, config: DownloadConfig) -> list[str]:
    path = absolute(pattern, base)
    if path.startswith("hf://"):
        client = make_client(config)
        try:
            files = find_user_files(path, None, lambda: client)
        finally:
            client.session.close()
        return [file.name for members in files.values() for file in members]
    if has_scheme(path) and local_path(path) is None:
        return [path]
    return [str(one) for one in expand_local(path.removeprefix("file://"), None)]


def identities(data_files: Mapping[str, Sequence[str]] | None) -> list[tuple[str, list[str]]]:
    """Gives text for each file of each split that changes whenever a file on this machine does."""
    if not data_files:
        return []
    return [(split, [_identity(path) for path in paths]) for split, paths in data_files.items()]


def _identity(path: str) -> str:
    if has_scheme(path):
        return path
    try:
        return local_file(Path(path)).identity
    except GristmillError:  # whoever opens it will say so
        return path


def content_hash(builder: object, facts: Sequence[Any]) -> str:
    """Hashes what decides the rows: the builder's code, its config, its files.

    Args:
        builder: The builder; its class counts with its methods, and what they use.
        facts: What else decides.

    Returns:
        A hash; one that never comes again if something can't be hashed.
    """
    try:
        return Hasher.hash((type(builder), list(facts)))
    except GristmillError as error:
        _log.warning("the dataset can't be found again in the cache and is prepared each time: %s", error)
        return generate_random_fingerprint()


def relative_folder(name: str, repo_id: str | None, config_id: str, version: object, hash: str) -> Path:
    """Names a prepared dataset's folder in the cache.

    Example:
        >>> relative_folder("my_data", "org/my-data", "en", "1.0.0", "abc").as_posix()
        'org___my_data/en/1.0.0/abc'
    """
    namespace = f"{repo_id.split('/')[0]}___" if repo_id and "/" in repo_id else ""
    return Path(safe_name(namespace + name), safe_name(config_id), safe_name(str(version)), hash)


def warn_of_other_versions(folder: Path) -> None:
    """Says which other versions of a config are in the cache; whether to delete them, the user decides."""
    versions, version = folder.parent.parent, folder.parent.name
    try:
        others = sorted(entry.name for entry in versions.iterdir() if entry.is_dir())
    except OSError:
        return
    others = [name for name in others if name != version and name.count(".") == 2 and name[0].isdigit()]
    if others and not folder.exists():
        _log.warning(
            "%s: version %s is prepared now; the cache holds %s of it as well, in %s",
            versions.parent.name,
            version,
            ", ".join(others),
            versions,
        )


def local_files_in(value: Any) -> dict[str, list[int]]:
    """Finds the files of this machine that are named somewhere in a builder's arguments.

    Args:
        value: Paths and anything else, in lists and dicts, however deep.

    Returns:
        Path -> [bytes, time of change, time of its inode's change], in nanoseconds.
    """
    found = {}
    for leaf in leaves(value):
        if isinstance(leaf, str | Path) and 0 < len(str(leaf)) < 4096 and not has_scheme(str(leaf)):
            try:
                status = os.stat(leaf)  # noqa: PTH116  # Path refuses some texts that stat takes
            except (OSError, ValueError):
                continue
            found[str(leaf)] = list(change_stamp(status))
    return found
