"""What is in the caches: prepared splits, results of transforms, downloads, repositories, what dead processes left.

Only names, sizes and times are looked at. Links are not followed, so nothing outside the caches is ever listed, and
what is not listed can't be removed.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from gristmill import config
from gristmill.files.atomic import find_leftovers
from gristmill.partial.mirror import MIRRORS_FOLDER
from gristmill.prepared.prepare import lock_of
from gristmill.prepared.shards import FILES_FILENAME

__all__ = ["CacheEntry", "CacheKind", "list_cache"]

CacheKind = Literal["prepared", "transforms", "download", "dataset", "model", "leftover"]
_REPO = re.compile(r"(?P<kind>dataset|model|space)s--(?P<name>.+)", re.DOTALL)
_TRANSFORM = re.compile(r"cache-.+\.(arrow|json)|tmp\w+", re.DOTALL)
_PARTIAL = (".part", ".incomplete")
_NOT_CONTENT = (".json", ".lock", ".part", ".incomplete", ".owner", ".takeover")
_MIRROR = re.compile(r"[0-9a-f]{32}")
_DEEPEST = 5


@dataclass(frozen=True)
class CacheEntry:
    """One thing in a cache that can be removed by itself.

    Attributes:
        kind: ``"prepared"`` (a split, ready to be opened), ``"transforms"`` (results of `map` and others kept beside
            one), ``"download"`` (a file from a URL, or parts of one), ``"dataset"`` or ``"model"`` (a repository from the Hub; the part
            of the cache that is shared with `huggingface_hub`), ``"leftover"`` (what a dead process was writing).
        name: What it is of: a repository, a folder's name, a format, a URL.
        detail: Config and splits, if it has them.
        key: What names it among others: a hash, or the folder's name.
        size: Bytes.
        last_used: Seconds since 1970; for downloads as exactly as the disk records reading, often to the day.
        paths: The files and folders that go with it.
        root: The cache it lies in.
        locks: Locks that whoever writes it holds.
    """

    kind: CacheKind
    name: str
    detail: str
    key: str
    size: int
    last_used: float
    paths: tuple[Path, ...]
    root: Path
    locks: tuple[Path, ...] = ()

    @cached_property
    def age(self) -> float:
        """Seconds since it was last used, at the first time of asking."""
        return max(0.0, time.time() - self.last_used)


def list_cache(cache: Path | str | None = None, hub_cache: Path | str | None = None) -> list[CacheEntry]:
    """Lists what is in the caches, the largest first.

    Args:
        cache: Folder of prepared datasets, with its downloads; `config.HF_DATASETS_CACHE` and the folders of downloads that
            are set if left out.
        hub_cache: Folder of repositories; `config.HF_HUB_CACHE` if left out.

    Returns:
        What is there; nothing for a folder that does not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     list_cache(folder, folder)
        []
    """
    datasets = Path(cache or config.HF_DATASETS_CACHE)
    downloads = datasets / config.DOWNLOADED_DATASETS_DIR if cache else Path(config.DOWNLOADED_DATASETS_PATH)
    extracted = downloads / "extracted" if cache else Path(config.EXTRACTED_DATASETS_PATH)
    entries = [
        *_prepared(datasets, datasets, downloads, 0),
        *_downloads(downloads),
        *(() if extracted.is_relative_to(downloads) else _extracted(extracted, extracted)),
        *_mirrors(datasets / MIRRORS_FOLDER),
        *_repos(Path(hub_cache or config.HF_HUB_CACHE)),
    ]
    return sorted(entries, key=lambda entry: (-entry.size, entry.kind, entry.name, entry.key))


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    """Lists a folder, sorted; nothing where that can't be done."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _weigh(path: Path) -> tuple[int, float, float]:
    """Gives bytes, latest change and latest access of a file, or of all files in a folder; links count nothing."""
    try:
        status = path.lstat()
    except OSError:
        return 0, 0.0, 0.0
    if stat.S_ISLNK(status.st_mode):
        return 0, 0.0, 0.0
    if not stat.S_ISDIR(status.st_mode):
        return status.st_size, status.st_mtime, status.st_atime
    parts = [_weigh(Path(entry.path)) for entry in _scan(path)]
    return (
        sum(part[0] for part in parts),
        max([status.st_mtime, *(part[1] for part in parts)]),
        max([0.0, *(part[2] for part in parts)]),
    )


def _leftovers(folder: Path, root: Path) -> Iterator[CacheEntry]:
    for path in find_leftovers(folder):
        size, changed, _ = _weigh(path)
        where = path.parent.relative_to(root).as_posix()
        yield CacheEntry("leftover", where, "", path.name, size, changed, (path,), root)


def _prepared(folder: Path, root: Path, downloads: Path, depth: int) -> Iterator[CacheEntry]:
    """Walks down to the folders that hold a prepared dataset, whoever made it."""
    yield from _leftovers(folder, root)
    for entry in _scan(folder):
        path = Path(entry.path)
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False) or path == downloads:
            continue
        if (path / config.DATASET_INFO_FILENAME).is_file():
            yield from _split(path, root)
        elif depth < _DEEPEST:
            yield from _prepared(path, root, downloads, depth + 1)


def _split(folder: Path, root: Path) -> Iterator[CacheEntry]:
    yield from _leftovers(folder, root)
    place, *middle = folder.relative_to(root).parts
    name = place.replace("___", "/")
    files = [entry for entry in _scan(folder) if not entry.name.startswith(".")]
    results = [Path(entry.path) for entry in files if _TRANSFORM.fullmatch(entry.name)]
    own = [_weigh(Path(entry.path)) for entry in files if not _TRANSFORM.fullmatch(entry.name)]
    # Opening marks a folder of ours; others have only what the disk records.
    used = [folder.stat().st_mtime]
    if not (folder / FILES_FILENAME).is_file():
        used += [accessed for _, _, accessed in own]
    detail = " ".join([*middle[:1], *_split_names(folder)])
    locks = (lock_of(folder),)
    size = sum(part[0] for part in own)
    yield CacheEntry("prepared", name, detail, folder.name, size, max(used), (folder,), root, locks)
    if results:
        weighed = [_weigh(path) for path in results]
        size, latest = sum(part[0] for part in weighed), max(max(part[1:]) for part in weighed)
        yield CacheEntry("transforms", name, detail, folder.name, size, latest, tuple(results), root, locks)


def _split_names(folder: Path) -> list[str]:
    try:
        splits = json.loads((folder / config.DATASET_INFO_FILENAME).read_bytes())["splits"]
        return [str(name) for name in splits]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _downloads(folder: Path) -> Iterator[CacheEntry]:
    yield from _leftovers(folder, folder)
    for entry in _scan(folder):
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _extracted(path, folder)
        elif entry.name.endswith(_PARTIAL):
            yield _partial(path, folder, (path.with_suffix(".lock"),))
        elif not entry.name.endswith(_NOT_CONTENT):
            record = path.with_name(f"{path.name}.json")
            yield _download(path, folder, _url(record), *([record] if record.is_file() else []))


def _mirrors(folder: Path) -> Iterator[CacheEntry]:
    """Lists the remote files that are here in part, with the room they take: most of each is a hole."""
    for entry in _scan(folder):
        path = Path(entry.path)
        if _MIRROR.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            files = [Path(file.path).lstat() for file in _scan(path) if file.is_file(follow_symlinks=False)]
            size = sum(min(file.st_size, file.st_blocks * 512) for file in files)
            locks = (path.with_name(f"{path.name}.lock"),)
            name = _url(path / "source.json") or path.name
            yield CacheEntry(
                "download", name, "in part", path.name, size, path.stat().st_mtime, (path,), folder, locks
            )


def _extracted(folder: Path, root: Path) -> Iterator[CacheEntry]:
    """Lists what came out of archives."""
    yield from _leftovers(folder, root)
    for entry in _scan(folder):
        if not entry.name.startswith(".") and not entry.name.endswith(".lock") and not entry.is_symlink():
            yield _download(Path(entry.path), root, f"{folder.name}/{entry.name}")


def _download(path: Path, root: Path, name: str | None, *more: Path) -> CacheEntry:
    size, *times = _weigh(path)
    locks = (path.with_name(f"{path.name}.lock"),)
    return CacheEntry(
        "download", name or path.name, "", path.name, size, max(times), (path, *more), root, locks
    )


def _url(record: Path) -> str | None:
    try:
        return str(json.loads(record.read_bytes())["url"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _partial(
    path: Path, root: Path, locks: tuple[Path, ...], name: str = "a download that was cut off"
) -> CacheEntry:
    size, changed, _ = _weigh(path)
    return CacheEntry("leftover", name, "", path.name, size, changed, (path,), root, locks)


def _repos(root: Path) -> Iterator[CacheEntry]:
    for entry in _scan(root):
        match = _REPO.fullmatch(entry.name)
        if match is None or not entry.is_dir(follow_symlinks=False):
            continue
        folder, name = Path(entry.path), match["name"].replace("--", "/")
        kind: CacheKind = "dataset" if match["kind"] == "dataset" else "model"
        locks = root / ".locks" / entry.name
        partial = 0
        for blob in _scan(folder / "blobs"):
            if blob.name.endswith(_PARTIAL) and blob.is_file(follow_symlinks=False):
                path = Path(blob.path)
                left = _partial(path, root, (locks / f"{blob.name.partition('.')[0]}.lock",), name)
                partial += left.size
                yield left
        size, _, accessed = _weigh(folder)
        changed = folder.stat().st_mtime
        held = tuple(Path(lock.path) for lock in _scan(locks) if lock.name.endswith(".lock"))
        paths = (folder, locks) if locks.is_dir() and not locks.is_symlink() else (folder,)
        yield CacheEntry(
            kind, name, "", entry.name, size - partial, max(changed, accessed), paths, root, held
        )
