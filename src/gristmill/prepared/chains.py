"""Files inside archives that a user names one by one or by pattern: ``zip://data/*.csv::a.zip``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from gristmill.files.archives import extract_archive, list_members
from gristmill.files.borders import writing
from gristmill.files.data_files import resolve_patterns
from gristmill.files.lock import lock
from gristmill.files.paths import check_relative, safe_join
from gristmill.files.patterns import PathIndex, has_magic
from gristmill.prepared.archive_parts import (
    Place,
    extract_member,
    extracted_place,
    member_ranges,
    packed_member,
    remote_members,
)
from gristmill.prepared.source import DataFile, fetch_each

__all__ = ["find_members"]


def find_members(archive: DataFile, pattern: str, scheme: str, parts: bool = False) -> list[DataFile]:
    """Finds files in an archive; one that is named outright in an archive that is not here yet is taken at its word.

    Args:
        archive: The archive; it is fetched if it has to be looked into.
        pattern: A path in it, or a pattern; all files if empty.
        scheme: What the chain calls archives, for names.
        parts: Parts of files may do: files in a remote zip or plain tar are read where they lie.

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
        get = partial(extract_member, archive, name)
        return [_member(archive, name, 0, scheme, get, parts and archive.ranges is not None)]
    places = remote_members(archive) if parts else None
    if places is not None:
        sizes = {name: place.size for name, place in places.items()}
    else:
        [path] = fetch_each([archive])
        sizes = {member.name: max(member.size or 0, 0) for member in list_members(path, archive.name)}
    found = resolve_patterns(PathIndex(sizes), [pattern or "**"], archive.name)
    extract = extract_member if len(found) == 1 else _extract_with_all
    return [
        _member(
            archive,
            name,
            sizes[name],
            scheme,
            partial(extract, archive, name),
            places is not None,
            None if places is None else places[name],
        )
        for name in found
    ]


def _member(
    archive: DataFile,
    name: str,
    size: int,
    scheme: str,
    get: Callable[[], Path],
    parts: bool,
    place: Place | None = None,
) -> DataFile:
    return DataFile(
        f"{scheme}://{name}::{archive.name}",
        f"{archive.identity}!{name}",
        size,
        get=get,
        ranges=partial(member_ranges, archive, name, place) if parts else None,
        packed=partial(packed_member, archive, name, place) if parts else None,
    )


def _extract_with_all(archive: DataFile, name: str) -> Path:
    """Extracts the whole archive once: to look for each of its files anew would read it as often as it has files."""
    folder = extracted_place(archive.identity)
    if not folder.is_dir():
        [path] = fetch_each([archive])
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
        with lock(folder.with_name(f"{folder.name}.lock")):
            if not folder.is_dir():
                extract_archive(path, folder, archive.name)
    return safe_join(folder, name)
