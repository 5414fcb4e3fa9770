"""Removes things from the caches: chosen by name, age or size, never while somebody writes them."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import (
    FileError,
    GristmillError,
    InvalidArgumentError,
    LockTimeoutError,
    UnsafePathError,
)
from gristmill.files.atomic import temporary_name
from gristmill.files.borders import writing
from gristmill.files.lock import lock
from gristmill.prepared.cache_list import CacheEntry, CacheKind

__all__ = ["RemovedFromCache", "choose_entries", "remove_from_cache"]

_SHORTEST_KEY = 6
# Repositories of models are other programs' as well: age and size alone are no reason to remove them.
_BULK: tuple[CacheKind, ...] = ("prepared", "transforms", "download", "dataset", "leftover")


@dataclass(frozen=True)
class RemovedFromCache:
    """What `remove_from_cache` did.

    Attributes:
        removed: What is gone.
        kept: What is still there, and why.
    """

    removed: list[CacheEntry]
    kept: list[tuple[CacheEntry, str]]

    @property
    def size(self) -> int:
        """Bytes that are free now."""
        return sum(entry.size for entry in self.removed)


def choose_entries(
    entries: Sequence[CacheEntry],
    names: Sequence[str] = (),
    *,
    kinds: Collection[CacheKind] = (),
    older_than: float | None = None,
    max_size: int | None = None,
) -> list[CacheEntry]:
    """Chooses what to remove; each condition narrows the choice.

    Args:
        entries: From `list_cache`.
        names: Names, patterns of names (``*`` and ``?``), or keys (at least 6 characters of one); all if empty.
        kinds: Kinds; if empty all, but models only if a name is given.
        older_than: Only what was last used so many seconds ago.
        max_size: Of what is chosen so far, the least recently used go until the rest has no more than so many bytes.

    Returns:
        The entries, least recently used first. Results of transforms come with the split they lie beside.

    Raises:
        InvalidArgumentError: A name means nothing that is there.

    Example:
        >>> choose_entries([], older_than=3600)
        []
    """
    allowed = set(kinds or (_BULK if not names else (*_BULK, "model")))
    chosen = [entry for entry in entries if entry.kind in allowed]
    if names:
        for name in names:
            if not any(_means(name, entry) for entry in chosen):
                known = sorted({entry.name for entry in entries})
                raise InvalidArgumentError.from_unknown("Nothing in the cache is called", name, known)
        chosen = [entry for entry in chosen if any(_means(name, entry) for name in names)]
    if older_than is not None:
        chosen = [entry for entry in chosen if entry.age > older_than]
    chosen.sort(key=lambda entry: entry.last_used)
    if max_size is not None:
        chosen = _until(chosen, max_size)
    return chosen


def _means(name: str, entry: CacheEntry) -> bool:
    is_key = len(name) >= _SHORTEST_KEY and entry.key.startswith(name)
    return is_key or entry.name == name or fnmatch.fnmatchcase(entry.name, name)


def _until(entries: Sequence[CacheEntry], max_size: int) -> list[CacheEntry]:
    left, gone = sum(entry.size for entry in entries), []
    for entry in entries:
        if left <= max_size:
            break
        gone.append(entry)
        left -= entry.size
    return gone


def remove_from_cache(entries: Iterable[CacheEntry]) -> RemovedFromCache:
    """Removes things from the caches.

    What a process holds a lock on stays. A folder first takes a temporary name, so that it is there whole or not at
    all whenever this is interrupted. Datasets that are open keep their rows until they are closed.

    Args:
        entries: From `list_cache` or `choose_entries`.

    Returns:
        What is gone, and what is still there and why.

    Example:
        >>> remove_from_cache([]).size
        0
    """
    done = RemovedFromCache([], [])
    for entry in entries:
        why = _try_to_remove(entry)
        if why is None:
            done.removed.append(entry)
        else:
            done.kept.append((entry, why))
    return done


def _try_to_remove(entry: CacheEntry) -> str | None:
    """Removes one entry; gives the reason if that can't be done."""
    try:
        with contextlib.ExitStack() as held:
            for path in entry.locks:
                if path.parent.is_dir():
                    held.enter_context(lock(path, timeout=0))
            for path in entry.paths:
                _remove(path, entry.root)
    except LockTimeoutError:
        return "in use by another process"
    except GristmillError as error:
        return str(error)
    _tidy_up(entry)
    return None


def _remove(path: Path, root: Path) -> None:
    if path.is_symlink() or not path.parent.resolve().is_relative_to(root.resolve()):
        raise UnsafePathError.from_path(str(path), root)
    with writing(path):
        if not os.path.lexists(path):
            return
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        # Half a folder must never be found under its name; a kill leaves what `sweep` knows.
        aside = path if path.name.startswith(".") else temporary_name(path)
        if aside != path:
            path.replace(aside)
        try:
            shutil.rmtree(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise FileError.from_os_error("remove", path, error) from error


def _tidy_up(entry: CacheEntry) -> None:
    """Removes folders that hold nothing any more, up to the root of the cache."""
    if entry.kind not in ("prepared", "leftover"):
        return
    folder = entry.paths[0].parent
    with contextlib.suppress(OSError):
        while folder != entry.root and folder.is_relative_to(entry.root):
            if [path.name for path in folder.iterdir()] == ["loads"]:
                shutil.rmtree(folder / "loads")  # records of what was prepared, of use only beside it
            folder.rmdir()
            folder = folder.parent
