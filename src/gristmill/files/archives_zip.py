"""Zip archives; see `archives`."""

from __future__ import annotations

import contextlib
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from gristmill.errors import FileError, FileFormatError, GristmillError
from gristmill.files.archive_members import Bounds, Member, clean_name, link_target, member_file
from gristmill.logging import get_logger

__all__ = ["iter_members", "list_members", "open_member"]

_log = get_logger(__name__)
_LONGEST_LINK = 4096
_WINDOWS = 0


def list_members(file: IO[bytes], label: object, bounds: Bounds) -> list[Member]:
    """Lists the files; see `archives.list_members`."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        return [member for member, _ in _members(archive, label, bounds) if not member.link]


def iter_members(file: IO[bytes], label: object, bounds: Bounds) -> Iterator[tuple[Member, IO[bytes] | None]]:
    """Yields files with their content, and links to files without; see `archives.iter_archive`."""
    with _reading(label):
        archive = zipfile.ZipFile(file)
        members = list(_members(archive, label, bounds))
    for member, entry in members:
        yield member, None if member.link else _opened(archive, entry, member.name, label, bounds)


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
        yield Member(name, entry.file_size, entry.header_offset, link), entry


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
