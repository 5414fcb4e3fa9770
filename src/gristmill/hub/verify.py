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
    """Lists the contents in a repository's part of the cache whose names are hashes; links are left out.

    Args:
        repo: The repository's folder.
    """
    folder = repo / "blobs"
    found = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
    return sorted(
        path for path in found if _HASH.fullmatch(path.name) and path.is_file() and not path.is_symlink()
    )


def find_bad_blobs(
    repo: Path, report: Callable[[int], object] = lambda _: None
) -> Iterator[tuple[Path, str]]:
    """Yields contents that are not what their names say: git's blob id (40 digits) or SHA-256 (64 digits).

    Args:
        repo: The repository's folder.
        report: Called with the number of bytes that were looked at.

    Yields:
        The content's path, and what is wrong with it.
    """
    for path in list_blobs(repo):
        try:
            found = _hash(path, report)
        except OSError as error:
            yield path, str(FileError.from_os_error("read", path, error))
            continue
        if found != path.name:
            yield path, f"its content has the hash {found}"


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
