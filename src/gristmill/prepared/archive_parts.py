"""Files inside remote archives, read where they lie: the headers of a plain tar and the index of a zip say where."""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from gristmill import config
from gristmill.errors import FileFormatError, FileMissingError, HubResponseError, RangeIgnoredError, suggest
from gristmill.files.archive_through import open_through
from gristmill.files.archives import index_archive, open_member
from gristmill.files.archives_zip import HEADER, open_packed, packed_start
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import writing
from gristmill.files.compression import HEAD_BYTES, detect_compression
from gristmill.files.lock import lock
from gristmill.logging import get_logger
from gristmill.prepared.source import DataFile, fetch_each

if TYPE_CHECKING:
    from gristmill.partial.slices import RangeSlice
    from gristmill.partial.source import RangeSource

__all__ = ["Place", "extract_member", "extracted_place", "member_ranges", "packed_member", "remote_members"]

_log = get_logger(__name__)
_COPY_BYTES = 1 << 20
_KEPT = 16
_FEW = 32
_BYTES_PER_FILE = 128 << 10


@dataclass(frozen=True)
class Place:
    """Where a file lies in a remote archive.

    Attributes:
        identity: Tells the content of the archive from another.
        offset: Its first byte in the archive.
        size: Its bytes.
        entry: What the index of a zip says of it; then `offset` is that of its header.
    """

    identity: str
    offset: int
    size: int
    entry: Any = None

    @property
    def kind(self) -> str:
        """The kind of the archive."""
        return "tar" if self.entry is None else "zip"


def remote_members(archive: DataFile) -> dict[str, Place] | None:
    """Lists the files in a remote archive by reading its headers alone, if that costs less than reading all of it.

    Args:
        archive: The archive.

    Returns:
        Name -> place, of the files that extracting it would give. None if it is here, can't be read in part, is neither a zip nor a plain
        tar, or holds so many small files that it may as well be fetched whole.

    Raises:
        FileFormatError: It is damaged or cut off.
        DataError: It has more members than allowed.
        UnsafePathError: A name in it leaves the folder.
        HubError: The server refuses or can't be reached.
        FileError: The file system refuses.
    """
    return None if archive.path is not None or archive.ranges is None else _listed(archive)


@functools.lru_cache(maxsize=_KEPT)
def _listed(archive: DataFile) -> dict[str, Place] | None:
    """See `remote_members`; kept, for each file that is named in an archive asks again."""
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
    # Each file costs requests of its own.
    if found is None or len(found) > _FEW + ranges.size // _BYTES_PER_FILE:
        return None
    return {
        name: Place(ranges.identity, member.offset, member.size, member.entry)
        for name, member in found.items()
    }


def member_ranges(archive: DataFile, name: str, place: Place | None = None) -> RangeSource | Path:
    """Opens a file in a remote archive so that only what is read of it comes over.

    Args:
        archive: The archive.
        name: The file's name in it.
        place: From `remote_members`; looked for if None.

    Returns:
        The file; its path if it was extracted, because the archive has to be fetched whole.

    Raises:
        FileMissingError: There is no such file in it.
        HubResponseError: It changed since its files were listed.
        GristmillError: As `remote_members`.
    """
    place = place or _place(archive, name)
    found = None if place is None else _slice(archive, name, place)
    # Compressed files are opened by `packed_member`, and by nobody who reads in their middle.
    if place is None or found is None or (place.entry is not None and place.entry.compress_type):
        return extract_member(archive, name)
    return found


def packed_member(
    archive: DataFile, name: str, place: Place | None = None
) -> tuple[Callable[[], IO[bytes]], str] | None:
    """Finds a file in a remote zip or compressed tar, to be unpacked as it comes; of a tar it is read from the beginning.

    Args:
        archive: The archive.
        name: The file's name in it.
        place: From `remote_members`; looked for if None.

    Returns:
        What opens it as a binary file object with `peek`, and text that changes when its content does; None if it is in
        neither, or that has to be fetched whole.

    Raises:
        GristmillError: As `member_ranges`.
    """
    place = place or _place(archive, name)
    if place is None:
        return _through(archive, name)
    if place.entry is None:
        return None
    found = _slice(archive, name, place)
    if found is None:
        return None
    from gristmill.partial.stream import KeptHead

    return functools.partial(_unpacked, KeptHead(found), place.entry, archive.name), found.identity


def _through(archive: DataFile, name: str) -> tuple[Callable[[], IO[bytes]], str] | None:
    from gristmill.partial.stream import KeptHead, RangedStream

    ranges = None if archive.ranges is None else archive.ranges()
    if ranges is None or isinstance(ranges, Path):
        return None
    source = KeptHead(ranges)
    if detect_compression(source.read(0, min(HEAD_BYTES, source.size))) is None:
        return None
    opened: Any = functools.partial(RangedStream, source)
    return functools.partial(open_through, opened, name, archive.name), f"{source.identity}\n{name}"


def _unpacked(source: RangeSource, entry: Any, label: str) -> IO[bytes]:
    from gristmill.partial.stream import RangedStream

    return open_packed(cast("IO[bytes]", RangedStream(source)), entry, label)


def _place(archive: DataFile, name: str) -> Place | None:
    places = remote_members(archive)
    if places is not None and name not in places:
        raise FileMissingError(
            f'There is no file "{name}" in the archive {archive.name}. {suggest(name, places)}'
        )
    return None if places is None else places[name]


def _slice(archive: DataFile, name: str, place: Place) -> RangeSlice | None:
    """Gives the bytes of a file in the archive, as they are in there; None if that is here after all."""
    from gristmill.partial.slices import RangeSlice

    ranges = None if archive.ranges is None else archive.ranges()
    if ranges is None or isinstance(ranges, Path):
        return None
    if ranges.identity != place.identity:
        raise HubResponseError.at_url(
            "The archive changed since its files were listed", ranges.name, None, "Load again"
        )
    start, size = place.offset, place.size
    if place.entry is not None:
        head = ranges.read(start, max(0, min(HEADER, ranges.size - start)))
        start, size = start + packed_start(head, place.entry, archive.name), place.entry.compress_size
        if start + size > ranges.size:
            raise FileFormatError.at(f'the member "{name}" of the zip archive is cut off', file=archive.name)
    return RangeSlice(ranges, start, size, f"{place.identity}\n{place.offset}\n{name}", ranges.name)


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
