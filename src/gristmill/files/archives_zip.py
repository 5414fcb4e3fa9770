"""Zip archives; see `archives`."""

from __future__ import annotations

import contextlib
import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

from gristmill.errors import FileError, FileFormatError, GristmillError
from gristmill.files.archive_members import Bounds, Member, clean_name, link_target, member_file
from gristmill.files.compression import Growth
from gristmill.logging import get_logger

__all__ = [
    "HEADER",
    "index_members",
    "iter_members",
    "list_members",
    "open_member",
    "open_packed",
    "packed_start",
]

_log = get_logger(__name__)
_LONGEST_LINK = 4096
_BUFFER = 1 << 16
HEADER = 30
"""Bytes before the name in the header of a file."""
_WINDOWS = 0


def list_members(file: IO[bytes], label: object, bounds: Bounds) -> list[Member]:
    """Lists the files; see `archives.list_members`."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        members = _members(archive, label, bounds)
        return [replace(member, entry=entry) for member, entry in members if not member.link]


def index_members(file: IO[bytes], label: object, bounds: Bounds) -> list[Member]:
    """Lists files and links by the index alone."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        return [replace(member, entry=entry) for member, entry in _members(archive, label, bounds)]


def packed_start(head: bytes, entry: zipfile.ZipInfo, label: object) -> int:
    """Says where the bytes of a file begin after its header.

    Args:
        head: The header's first `HEADER` bytes.
        entry: What the index says of the file.
        label: What to call the archive in errors.

    Raises:
        FileFormatError: There is no header.
    """
    if len(head) < HEADER or not head.startswith(b"PK\x03\x04"):
        raise FileFormatError.at(
            f'the member "{entry.filename}" of the zip archive is damaged or cut off (it has no header)',
            file=label,
        )
    name, extra = struct.unpack("<HH", head[26:30])
    return HEADER + int(name) + int(extra)


def open_packed(file: IO[bytes], entry: zipfile.ZipInfo, label: object) -> IO[bytes]:
    """Opens what the bytes of a file in an archive unpack to, as a file with `peek`, to be read forward.

    Args:
        file: The packed bytes; closed with what is returned.
        entry: What the index says of them.
        label: What to call the archive in errors.

    Raises:
        FileFormatError: When they are read: they are damaged.
        DataError: They grow out of all proportion.
    """
    growth = Growth(label)
    with _reading(label, entry.filename):
        content = zipfile.ZipExtFile(file, "r", entry, close_fileobj=True)

    def read(size: int) -> bytes:
        with _reading(label, entry.filename):
            data: bytes = content.read(size)
            growth.check(content.tell(), entry.compress_size)
        return data

    raw: Any = member_file(entry.filename, read, content.close)
    return io.BufferedReader(raw, _BUFFER)


def iter_members(file: IO[bytes], label: object, bounds: Bounds) -> Iterator[tuple[Member, IO[bytes] | None]]:
    """Yields files with their content, and links to files without; see `archives.iter_archive`."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        members = list(_members(archive, label, bounds))
    for member, entry in members:
        yield (
            replace(member, entry=entry),
            None if member.link else _opened(archive, entry, member.name, label, bounds),
        )


def open_member(file: IO[bytes], label: object, bounds: Bounds, member: Member) -> IO[bytes]:
    """Opens the member whose header is at a place; see `archives.open_member`."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        entry = next(
            (entry for entry in reversed(archive.infolist()) if entry.header_offset == member.offset), None
        )
    if entry is None:
        raise FileFormatError.at(f'has changed: "{member.name}" is no longer where it was', file=label)

    return _opened(archive, entry, member.name, label, bounds, close=file.close)


def _members(
    archive: zipfile.ZipFile, label: object, bounds: Bounds
) -> Iterator[tuple[Member, zipfile.ZipInfo]]:
    for entry in archive.infolist():
        bounds.add_member()
        name = entry.filename.replace("\\", "/") if entry.create_system == _WINDOWS else entry.filename
        if name.endswith("/"):
            continue
        name = clean_name(name, label)
        if entry.flag_bits & 1:
            raise FileFormatError.at(
                f'the member "{name}" is encrypted', file=label, remedy="Decrypt the archive first."
            )
        mode = entry.external_attr >> 16
        link = ""
        if stat.S_ISLNK(mode):
            if entry.file_size > _LONGEST_LINK:
                raise FileFormatError.at(f'the link "{name}" is longer than any path', file=label)
            link = link_target(name, archive.read(entry).decode("utf-8", "replace"), label, symbolic=True)
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            _log.warning("%s: the device or pipe %s is left out", label, name)
            continue
        yield Member(name, entry.file_size, entry.header_offset, link, crc=entry.CRC), entry


def _opened(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    name: str,
    label: object,
    bounds: Bounds,
    close: Any = None,
) -> IO[bytes]:
    with _reading(label, name):
        content = archive.open(entry)

    def read(size: int) -> bytes:
        with _reading(label, name):
            data = content.read(size)
        bounds.add_bytes(len(data))
        return data

    def close_all() -> None:
        content.close()
        if close is not None:
            close()

    return member_file(name, read, close_all)


@contextlib.contextmanager
def _reading(label: object, member: str = "") -> Iterator[None]:
    """Turns what `zipfile` raises on damaged archives into errors that name archive and member."""
    where = f'the member "{member}" of the zip archive' if member else "the zip archive"
    try:
        yield
    except GristmillError:
        raise
    except OSError as error:
        if error.errno is None:
            raise FileFormatError.at(f"{where} is damaged or cut off ({error})", file=label) from error
        raise FileError.from_os_error("read", label, error) from error
    except (NotImplementedError, RuntimeError) as error:
        raise FileFormatError.at(f"{where} can't be read ({error})", file=label) from error
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, OverflowError, LookupError, TypeError,
        struct.error,
    ) as error:  # fmt: skip
        raise FileFormatError.at(f"{where} is damaged or cut off ({error})", file=label) from error
