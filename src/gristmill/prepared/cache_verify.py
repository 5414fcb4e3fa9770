"""Looks at every byte in the caches: prepared files against their checksums, downloads against the hashes in their names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gristmill.errors import GristmillError
from gristmill.hub.verify import find_bad_blobs, list_blobs
from gristmill.prepared.cache_list import CacheEntry, list_cache
from gristmill.prepared.cache_remove import remove_from_cache
from gristmill.prepared.shards import FILES_FILENAME, FileRecord, checksum, read_files
from gristmill.progress import progress
from gristmill.table.arrow_file import open_arrow

__all__ = ["CacheProblem", "VerifiedCache", "verify_cache"]


@dataclass(frozen=True)
class CacheProblem:
    """One file that is not what it should be.

    Attributes:
        entry: What it belongs to.
        path: The file.
        problem: What is wrong.
        fixed: What was damaged is gone, and will be fetched or prepared again when it is needed.
    """

    entry: CacheEntry
    path: Path
    problem: str
    fixed: bool = False


@dataclass(frozen=True)
class VerifiedCache:
    """What `verify_cache` found.

    Attributes:
        checked: Number of files that were looked at.
        unchecked: Number of files of which nothing is on record.
        problems: What is wrong.
    """

    checked: int
    unchecked: int
    problems: list[CacheProblem]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, or nothing is wrong any more."""
        return all(problem.fixed for problem in self.problems)


def verify_cache(entries: Iterable[CacheEntry] | None = None, fix: bool = False) -> VerifiedCache:
    """Checks that what is in the caches is what it was.

    Prepared splits are compared with the checksums taken when they were written, contents from the Hub with the hash
    that is their name, and in results of transforms every value is looked at. Of files from URLs nothing is on record.

    Args:
        entries: From `list_cache`; all of it if left out.
        fix: Remove what is damaged, so that it is fetched or prepared again.

    Example:
        >>> verify_cache([]).sound
        True
    """
    known = list_cache() if entries is None else list(entries)
    checked = unchecked = 0
    problems: list[CacheProblem] = []
    with progress("Verifying", sum(entry.size for entry in known), "B") as bar:
        for entry in known:
            files, unknown, found = _KINDS[entry.kind](entry, bar.update)
            checked += files
            unchecked += unknown
            problems += [CacheProblem(entry, path, problem) for path, problem in found]
    if fix:
        problems = list(_fixed(problems))
    return VerifiedCache(checked, unchecked, problems)


_Found = tuple[int, int, list[tuple[Path, str]]]
_Report = Callable[[int], object]


def _prepared(entry: CacheEntry, report: _Report) -> _Found:
    [folder] = entry.paths
    if not (folder / FILES_FILENAME).is_file():
        return _arrow_files(sorted(folder.glob("[!.]*.arrow")), report)
    try:
        shards, others = read_files(folder)
    except GristmillError as error:
        return 1, 0, [(folder / FILES_FILENAME, str(error))]
    bad: list[tuple[Path, str]] = []
    for file in (*shards, *others):
        with _collecting(bad, file.path):
            _check(file)
        report(file.size)
    return len(shards) + len(others), 0, bad


def _check(file: FileRecord) -> None:
    file.check()
    if checksum(file.path) != file.checksum:
        raise GristmillError("its content has changed: the checksum is another one")


@contextlib.contextmanager
def _collecting(bad: list[tuple[Path, str]], path: Path) -> Iterator[None]:
    try:
        yield
    except GristmillError as error:
        bad.append((path, str(error)))


def _arrow_files(paths: Iterable[Path], report: _Report) -> _Found:
    """Looks at every value of files without a checksum: what is damaged so that it can't be read is found."""
    bad: list[tuple[Path, str]] = []
    count = 0
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        count += 1
        report(path.stat().st_size)
        with _collecting(bad, path):
            open_arrow(path, check="values")
    return count, 0, bad


def _transforms(entry: CacheEntry, report: _Report) -> _Found:
    return _arrow_files((path for path in entry.paths if path.suffix == ".arrow"), report)


def _repo(entry: CacheEntry, report: _Report) -> _Found:
    folder = entry.paths[0]
    return len(list_blobs(folder)), 0, list(find_bad_blobs(folder, report))


def _unknown(entry: CacheEntry, report: _Report) -> _Found:
    report(entry.size)
    return 0, len(entry.paths[:1]), []


def _nothing(entry: CacheEntry, report: _Report) -> _Found:
    report(entry.size)
    return 0, 0, []


_KINDS: dict[str, Callable[[CacheEntry, _Report], _Found]] = {
    "prepared": _prepared,
    "transforms": _transforms,
    "download": _unknown,
    "dataset": _repo,
    "model": _repo,
    "leftover": _nothing,
}


def _fixed(problems: Iterable[CacheProblem]) -> Iterator[CacheProblem]:
    for problem in problems:
        entry = problem.entry
        if entry.kind != "prepared":
            # Only the file: the repository's other contents are sound. Its lock is the content's own.
            locks = tuple(path for path in entry.locks if path.stem == problem.path.name)
            locks = locks or (entry.locks if entry.kind == "transforms" else ())
            entry = replace(entry, paths=(problem.path,), locks=locks, kind="transforms")
        done = remove_from_cache([entry])
        why = "".join(f"; it stays: {reason}" for _, reason in done.kept)
        yield replace(problem, problem=problem.problem + why, fixed=not done.kept)
