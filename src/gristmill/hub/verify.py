"""Checks downloaded contents against the hashes that name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gristmill.errors import FileError
from gristmill.hub.transfer import new_hash
from gristmill.hub.tree import RepoFile

__all__ = ["find_bad_blobs", "list_blobs"]

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PIECE = 1 << 20


def list_blobs(repo: Path) -> list[Path]:
    """Lists the contents in a repository's part of the cache whose names are hashes.

    Newer versions of huggingface_hub keep contents in a store beside the repositories, and link to them from here; such
    links count, any that lead out of the cache do not.

    Args:
        repo: The repository's folder.
    """
    folder = repo / "blobs"
    found = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
    return sorted(path for path in found if _HASH.fullmatch(path.name) and _is_own(path, repo.parent))


def _is_own(path: Path, cache: Path) -> bool:
    return path.is_file() and (
        not path.is_symlink() or path.resolve().is_relative_to(cache.resolve() / "blobs")
    )


def find_bad_blobs(
    repo: Path, report: Callable[[int], object] = lambda _: None
) -> Iterator[tuple[Path, str]]:
    """Yields contents that are not what their names say: git's blob id (40 digits) or SHA-256 (64 digits).

    Args:
        repo: The repository's folder.
        report: Called with the number of bytes that were looked at.

    Yields:
        The content's path (in the store, if that has it), and what is wrong with it.
    """
    for path in list_blobs(repo):
        content = path.resolve() if path.is_symlink() else path
        try:
            found = _hash(path, report)
        except OSError as error:
            yield content, str(FileError.from_os_error("read", path, error))
            continue
        if found != path.name:
            yield content, f"its content has the hash {found}, not {path.name}"


def _hash(path: Path, report: Callable[[int], object]) -> str:
    sha256 = path.name if len(path.name) == 64 else None
    buffer = bytearray(_PIECE)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        state = new_hash(RepoFile(path.name, path.stat().st_size, path.name[:40], sha256))
        while size := file.readinto(buffer):
            state.update(view[:size])
            report(size)
    return str(state.hexdigest())
