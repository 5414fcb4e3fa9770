"""Files inside remote archives, read where they lie: a plain tar's headers say where each of its files begins."""

from __future__ import annotations

import functools
import hashlib
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from gristmill import config
from gristmill.build.source import DataFile, fetch_each
from gristmill.errors import FileMissingError, HubResponseError, RangeIgnoredError, suggest
from gristmill.files.archives import Member, index_archive, open_member
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import writing
from gristmill.files.lock import lock
from gristmill.logging import get_logger

if TYPE_CHECKING:
    from gristmill.partial.source import RangeSource

__all__ = ["extract_member", "extracted_place", "member_ranges", "remote_members"]

_log = get_logger(__name__)
_COPY_BYTES = 1 << 20
_KEPT = 16


def remote_members(archive: DataFile) -> dict[str, Member] | None:
    """Lists the files in a remote archive by reading its headers alone, if that costs less than reading all of it.

    Args:
        archive: The archive.

    Returns:
        Name -> member, as extracting it would have them. None if it is here, can't be read in part, is compressed or no
        tar, or holds so many small files that it may as well be fetched whole.

    Raises:
        FileFormatError: It is damaged or cut off.
        DataError: It has more members than allowed.
        UnsafePathError: A name in it leaves the folder.
        HubError: The server refuses or can't be reached.
        FileError: The file system refuses.
    """
    listed = None if archive.path is not None or archive.ranges is None else _listed(archive)
    return None if listed is None else listed[1]


@functools.lru_cache(maxsize=_KEPT)
def _listed(archive: DataFile) -> tuple[str, dict[str, Member]] | None:
    """Gives the identity of what was listed, and its files; kept, for each file inside asks again."""
    from gristmill.partial.slices import LeapingFile

    assert archive.ranges is not None  # the callers looked
    try:
        ranges = archive.ranges()
        if isinstance(ranges, Path):
            return None
        file = LeapingFile(ranges)
        found = index_archive(cast("IO[bytes]", file), archive.name, lambda: file.is_worth_it)
    except RangeIgnoredError as error:
        _log.info("%s can't be read in part and is fetched whole: %s", archive.name, error)
        return None
    return None if found is None else (ranges.identity, found)


def member_ranges(archive: DataFile, name: str) -> RangeSource | Path:
    """Opens a file in a remote archive so that only what is read of it comes over.

    Args:
        archive: The archive.
        name: The file's name in it.

    Returns:
        The file; its path if it was extracted, because the archive has to be fetched whole.

    Raises:
        FileMissingError: There is no such file in it.
        HubResponseError: It changed since its files were listed.
        GristmillError: As `remote_members`.
    """
    from gristmill.partial.slices import RangeSlice

    listed = None if archive.path is not None or archive.ranges is None else _listed(archive)
    ranges = archive.ranges() if archive.ranges is not None and listed is not None else None
    if listed is None or ranges is None or isinstance(ranges, Path):
        return extract_member(archive, name)
    identity, members = listed
    if name not in members:
        raise FileMissingError(
            f'There is no file "{name}" in the archive {archive.name}. {suggest(name, members)}'
        )
    if ranges.identity != identity:
        raise HubResponseError.at_url(
            "The archive changed since its files were listed", ranges.name, None, "Load again"
        )
    member = members[name]
    return RangeSlice(ranges, member.offset, member.size, f"{identity}\n{member.offset}\n{name}", ranges.name)


def extracted_place(identity: str) -> Path:
    """Says where what is extracted of an archive, or of a file in one, is kept."""
    return config.EXTRACTED_DATASETS_PATH / hashlib.sha256(identity.encode()).hexdigest()[:40]


def extract_member(archive: DataFile, name: str) -> Path:
    """Extracts one file of an archive, once; the archive is fetched if it is not here.

    Args:
        archive: The archive.
        name: The file's name in it.

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: The archive is damaged.
        HubError: It can't be fetched.
    """
    final = extracted_place(f"{archive.identity}!{name}")
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
