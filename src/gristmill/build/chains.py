"""Files inside archives that a user names one by one or by pattern: ``zip://data/*.csv::a.zip``."""

from __future__ import annotations

import hashlib
import shutil
from functools import partial
from pathlib import Path

from gristmill import config
from gristmill.build.source import DataFile, fetch_each
from gristmill.files.archives import extract_archive, list_members, open_member
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import writing
from gristmill.files.data_files import resolve_patterns
from gristmill.files.lock import lock
from gristmill.files.paths import check_relative, safe_join
from gristmill.files.patterns import PathIndex, has_magic

__all__ = ["find_members"]

_COPY_BYTES = 1 << 20


def find_members(archive: DataFile, pattern: str, scheme: str) -> list[DataFile]:
    """Finds files in an archive; one that is named outright in an archive that is not here yet is taken at its word.

    Args:
        archive: The archive; it is fetched if it has to be looked into.
        pattern: A path in it, or a pattern; all files if empty.
        scheme: What the chain calls archives, for names.

    Returns:
        The files; each is extracted when it is needed, once.

    Raises:
        DataFilesNotFoundError: Nothing matches.
        UnsafePathError: The path, or a name in the archive, leaves it.
        FileFormatError: It is no archive, or damaged.
        HubError: It can't be fetched.
    """
    if archive.path is None and pattern and not has_magic(pattern):
        name = check_relative(pattern, f"of {archive.name}")
        return [_member(archive, name, 0, scheme, alone=True)]
    [path] = fetch_each([archive])
    sizes = {member.name: member.size for member in list_members(path, archive.name)}
    found = resolve_patterns(PathIndex(sizes), [pattern or "**"], archive.name)
    alone = len(found) == 1
    return [_member(archive, name, max(sizes[name] or 0, 0), scheme, alone=alone) for name in found]


def _member(archive: DataFile, name: str, size: int, scheme: str, *, alone: bool) -> DataFile:
    get = partial(_extract_one if alone else _extract_with_all, archive, name)
    return DataFile(f"{scheme}://{name}::{archive.name}", f"{archive.identity}!{name}", size, get=get)


def _place(identity: str) -> Path:
    return config.EXTRACTED_DATASETS_PATH / hashlib.sha256(identity.encode()).hexdigest()[:40]


def _extract_one(archive: DataFile, name: str) -> Path:
    final = _place(f"{archive.identity}!{name}")
    if final.is_file():
        return final
    [path] = fetch_each([archive])
    with writing(final):
        final.parent.mkdir(parents=True, exist_ok=True)
    with lock(final.with_name(f"{final.name}.lock")):
        if not final.is_file():
            with open_member(path, name, archive.name) as content, writing(final), atomic_file(final) as out:
                shutil.copyfileobj(content, out, _COPY_BYTES)
    return final


def _extract_with_all(archive: DataFile, name: str) -> Path:
    """Extracts the whole archive once: to look for each of its files anew would read it as often as it has files."""
    folder = _place(archive.identity)
    if not folder.is_dir():
        [path] = fetch_each([archive])
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
        with lock(folder.with_name(f"{folder.name}.lock")):
            if not folder.is_dir():
                extract_archive(path, folder, archive.name)
    return safe_join(folder, name)
