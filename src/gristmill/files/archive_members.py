"""What all kinds of archives share: members, the names they may have, and how much of them there may be."""

from __future__ import annotations

import io
import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn, cast

from gristmill import config
from gristmill.errors import DataError, FileFormatError, UnsafePathError, shorten
from gristmill.files.compression import Growth
from gristmill.files.exact import read_exactly
from gristmill.files.paths import check_relative

__all__ = ["Bounds", "Member", "clean_name", "link_target", "member_file", "refuse_other_kind"]

_MOST_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Member:
    """A file in an archive.

    Attributes:
        name: Its name: a relative path with ``/`` between its parts.
        size: Its size in bytes, as the archive says.
        offset: Where to find it again: of a tar the first of its bytes (after decompression), of a zip its header.
        link: For a link, the name of the file it stands for.
        entry: Of a zip, what its index says of the file (`zipfile.ZipInfo`).
        crc: The checksum of its content, where the archive's index has one.
    """

    name: str
    size: int
    offset: int = 0
    link: str = ""
    entry: Any = field(default=None, compare=False, repr=False)
    crc: int | None = field(default=None, compare=False, repr=False)


class Bounds:
    """Counts the members of an archive and the bytes that come out of it, and refuses too many.

    Args:
        file: The archive; its size is what growth is measured by.
        name: What to call it in errors.
    """

    def __init__(self, file: IO[bytes], name: object) -> None:
        self._name = name
        self._members = 0
        self._bytes = 0
        self._size = _size(file)
        self._growth = Growth(name)

    def add_member(self) -> None:
        """Counts a member.

        Raises:
            DataError: There are more than `config.GRISTMILL_MAX_ARCHIVE_MEMBERS`.
        """
        self._members += 1
        if self._members > config.GRISTMILL_MAX_ARCHIVE_MEMBERS:
            raise DataError.at(
                f"has more than {config.GRISTMILL_MAX_ARCHIVE_MEMBERS:,} members",
                file=self._name,
                remedy=_remedy("GRISTMILL_MAX_ARCHIVE_MEMBERS"),
            )

    def add_bytes(self, size: int) -> None:
        """Counts bytes that came out.

        Raises:
            DataError: There are more than `config.GRISTMILL_MAX_EXTRACTED_BYTES`, or out of all proportion.
        """
        self._bytes += size
        if self._bytes > config.GRISTMILL_MAX_EXTRACTED_BYTES:
            raise DataError.at(
                f"extracts to more than {config.GRISTMILL_MAX_EXTRACTED_BYTES:,} bytes",
                file=self._name,
                remedy=_remedy("GRISTMILL_MAX_EXTRACTED_BYTES"),
            )
        if self._size is not None:
            self._growth.check(self._bytes, self._size)


def _remedy(setting: str) -> str:
    return (
        f"If it is to be trusted, set {setting} (in gristmill.config or the environment) to a larger number."
    )


def _size(file: IO[bytes]) -> int | None:
    if not file.seekable():
        return None
    here = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(here)
    return size


def clean_name(name: str, label: object) -> str:
    """Gives the name of a member as a plain relative path.

    Args:
        name: As the archive has it; a leading ``./`` means nothing.
        label: What to call the archive in errors.

    Raises:
        UnsafePathError: It leaves the folder, or is not plain.

    Example:
        >>> clean_name("./data//a.csv", "a.tar")
        'data/a.csv'
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    plain = "/".join(parts)
    return check_relative(f"/{plain}" if name.startswith("/") else plain, f"of the archive {label}")


def link_target(name: str, target: str, label: object, *, symbolic: bool) -> str:
    """Gives the name of the member that a link stands for.

    Args:
        name: The clean name of the link.
        target: What it points to, as the archive has it.
        label: What to call the archive in errors.
        symbolic: It is counted from the folder of the link; otherwise from the top of the archive.

    Raises:
        UnsafePathError: It points out of the folder.

    Example:
        >>> link_target("data/new.csv", "../old.csv", "a.tar", symbolic=True)
        'old.csv'
    """
    joined = posixpath.join(posixpath.dirname(name), target) if symbolic else target
    whole = posixpath.normpath(joined)
    if target.startswith("/") or whole.startswith("../") or whole == ".." or "\0" in whole:
        raise UnsafePathError(
            f"The link {shorten(name)} in the archive {label} points out of its folder, to {shorten(target)}; refused."
        )
    return whole


def refuse_other_kind(label: object, content: str, suffix: str = "") -> NoReturn:
    """Raises the error for a file that is no archive.

    Args:
        label: The file.
        content: What it holds instead, in words.
        suffix: The ending by which its name says that it is one.
    """
    named = f"though its name ends in {suffix}" if suffix else "or its beginning is damaged"
    raise FileFormatError.at(f"is no zip, tar or 7z archive, {named}: it holds {content}", file=label)


def member_file(
    name: str,
    read: Callable[[int], bytes],
    close: Callable[[], Any] | None = None,
    seek: Callable[[int, int], int] | None = None,
) -> IO[bytes]:
    """Makes a binary file object for reading one member, over whatever gives its bytes.

    Args:
        name: The member's name.
        read: Gives up to so many bytes; b"" only at the end.
        close: Called when it is closed.
        seek: Moves to a position, where that can be done.
    """
    return cast("IO[bytes]", _MemberFile(name, read, close, seek))


class _MemberFile(io.BufferedIOBase):
    """See `member_file`."""

    def __init__(
        self,
        name: str,
        read: Callable[[int], bytes],
        close: Callable[[], Any] | None,
        seek: Callable[[int, int], int] | None,
    ) -> None:
        super().__init__()
        self.name = name
        self._read = read
        self._close = close
        self._seek = seek
        self._at = 0

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """Says whether it lies open in the archive."""
        return self._seek is not None

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Moves, where that can be done."""
        if self._seek is None:
            raise io.UnsupportedOperation("seek")
        self._at = self._seek(offset, whence)
        return self._at

    def tell(self) -> int:
        """Gives the number of bytes before the position."""
        return self._at

    def read1(self, size: int = -1, /) -> bytes:
        """Reads at most `size` bytes, whatever comes next; b"" only at the end."""
        if self.closed:
            raise ValueError("the file is closed")
        data = self._read(min(size, _MOST_AT_ONCE) if size >= 0 else _MOST_AT_ONCE)
        self._at += len(data)
        return data

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads exactly `size` bytes, fewer only at the end; everything if negative or None."""
        return read_exactly(self.read1, size)

    def readinto(self, buffer: Any, /) -> int:
        """Reads into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Closes what is below, if it is this member's own."""
        if not self.closed and self._close is not None:
            self._close()
        super().close()
