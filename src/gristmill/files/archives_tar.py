"""Tar archives, plain or compressed: read as a stream, header by header, with the exact place of each member.

ustar, pax and GNU long names. The standard library's reader takes a damaged header for the end of the archive, reads
names of any length into memory, and keeps a record of every member; here damage is an error, and memory stays flat.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from gristmill.errors import FileFormatError
from gristmill.files.archive_members import Bounds, Member, clean_name, link_target, member_file
from gristmill.files.compression import HEAD_BYTES, DecompressedFile, detect_compression
from gristmill.logging import get_logger

__all__ = ["BLOCK", "is_header", "iter_members", "list_members", "open_member"]

BLOCK = 512
"""Bytes of a header; everything in a tar begins at a multiple of it."""

_log = get_logger(__name__)
_MOST_AT_ONCE = 1 << 20
_LONGEST_EXTENSION = 1 << 20
"""Of names and pax records, which have to be held in memory."""

_HARD_LINK, _SYMBOLIC_LINK, _FOLDER = b"1", b"2", b"5"
_DEVICES = (b"3", b"4", b"6")
_LONG_NAME, _LONG_LINK = b"L", b"K"
_PAX, _PAX_GLOBAL, _PAX_SOLARIS = b"x", b"g", b"X"
_SPARSE, _CONTINUED, _VOLUME = b"S", b"M", b"V"


def is_header(block: bytes) -> bool:
    """Says whether bytes begin with the header of a tar member: its checksum tells.

    Example:
        >>> is_header(b"text" * 200)
        False
    """
    if len(block) < BLOCK or not any(block[:BLOCK]):
        return False
    try:
        return _number(block[148:156]) in _checksums(block)
    except ValueError:
        return False


def list_members(file: IO[bytes], label: object, bounds: Bounds) -> list[Member]:
    """Lists the files; see `archives.list_members`."""
    stream = _Stream(file, label)
    return [member for member in _members(stream, bounds) if not member.link]


def iter_members(file: IO[bytes], label: object, bounds: Bounds) -> Iterator[tuple[Member, IO[bytes] | None]]:
    """Yields files with their content, and links to files without; see `archives.iter_archive`."""
    stream = _Stream(file, label)
    for member in _members(stream, bounds):
        yield member, None if member.link else _opened(stream, member, bounds)


def open_member(file: IO[bytes], label: object, bounds: Bounds, member: Member) -> IO[bytes]:
    """Opens the member at a place; see `archives.open_member`."""
    stream = _Stream(file, label, own=True)
    stream.go_to(member.offset)
    return _opened(stream, member, bounds, own=True)


class _Stream:
    """The bytes of the archive after decompression, and the position in them."""

    def __init__(self, file: IO[bytes], label: object, own: bool = False) -> None:
        self.label = label
        self.at = 0
        self._held = b""
        if file.seekable():
            head = file.read(HEAD_BYTES)
            file.seek(0)
        else:
            head = self._held = file.read(HEAD_BYTES)
        kind = detect_compression(head)
        if kind is not None:
            source: Any = _Prepended(self._held, file) if self._held else file
            self.file: Any = DecompressedFile(source, kind, label, own=own)
            self._held = b""
        else:
            self.file = file
        self.plain = kind is None and file.seekable()

    def read(self, size: int) -> bytes:
        """Reads up to `size` bytes, fewer only at the end."""
        parts = [self._held[:size]]
        self._held = self._held[size:]
        left = size - len(parts[0])
        while left and (data := self.file.read(min(left, _MOST_AT_ONCE))):
            parts.append(data)
            left -= len(data)
        whole = b"".join(parts)
        self.at += len(whole)
        return whole

    def go_to(self, at: int) -> None:
        """Moves on to a position (anywhere, if the archive is plain).

        Raises:
            FileFormatError: The archive ends before it.
        """
        if at == self.at:
            return
        if self.plain:
            if self.file.seek(0, os.SEEK_END) < at:
                raise self.cut_off()
            self.file.seek(at)
            self.at = at
            return
        if at < self.at:
            raise ValueError("the members of this archive can only be read one after another")
        while self.at < at:
            if not self.read(min(at - self.at, _MOST_AT_ONCE)):
                raise self.cut_off()

    def finish(self) -> None:
        """Reads what is left of a compressed archive: its checksum, which stands at the end, covers what came before."""
        while isinstance(self.file, DecompressedFile) and self.read(_MOST_AT_ONCE):
            pass

    def cut_off(self) -> FileFormatError:
        """Words that the archive ends too early."""
        return self.damaged("it ends in the middle of a member")

    def damaged(self, problem: str) -> FileFormatError:
        """Words that the archive is damaged where the stream is."""
        error: FileFormatError = FileFormatError.at(
            f"the tar archive is damaged or cut off at byte {self.at} ({problem})", file=self.label
        )
        return error


class _Prepended:
    """A stream of which some bytes were read already."""

    def __init__(self, head: bytes, file: IO[bytes]) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        if len(head) > size >= 0:
            self._head = head[size:]
            return head[:size]
        return head or self._file.read(size)

    def close(self) -> None:
        self._file.close()


@dataclass
class _Header:
    """One header, with what extension headers before it say."""

    name: str
    link: str
    size: int
    type: bytes


def _opened(stream: _Stream, member: Member, bounds: Bounds, own: bool = False) -> IO[bytes]:
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        wanted = min(size, member.size - at)
        if wanted <= 0:
            return b""
        stream.go_to(member.offset + at)
        data = stream.read(wanted)
        if len(data) < wanted:
            raise stream.cut_off()
        at += len(data)
        bounds.add_bytes(len(data))
        return data

    def seek(offset: int, whence: int) -> int:
        nonlocal at
        base = {os.SEEK_SET: 0, os.SEEK_CUR: at, os.SEEK_END: member.size}[whence]
        at = max(0, base + offset)
        return at

    return member_file(member.name, read, stream.file.close if own else None, seek if stream.plain else None)


def _members(stream: _Stream, bounds: Bounds) -> Iterator[Member]:
    """Goes from header to header; what lies between is skipped unless somebody reads it."""
    for header, offset in _headers(stream):
        bounds.add_member()
        if header.type == _FOLDER or (header.name.endswith("/") and header.type in (b"0", b"\0")):
            continue
        if header.type in _DEVICES:
            _log.warning("%s: the device or pipe %s is left out", stream.label, header.name)
        elif header.type in (_HARD_LINK, _SYMBOLIC_LINK):
            name = clean_name(header.name, stream.label)
            symbolic = header.type == _SYMBOLIC_LINK
            yield Member(name, 0, offset, link_target(name, header.link, stream.label, symbolic=symbolic))
        elif header.type in (_SPARSE, _CONTINUED):
            what = "a sparse file" if header.type == _SPARSE else "continued from another volume"
            raise FileFormatError.at(
                f'the member "{header.name}" is {what}, which can\'t be read',
                file=stream.label,
                remedy="Make the archive anew.",
            )
        elif header.type != _VOLUME:
            yield Member(clean_name(header.name, stream.label), header.size, offset)


def _headers(stream: _Stream) -> Iterator[tuple[_Header, int]]:
    """Yields headers with the position of what follows each, extension headers joined to the one they are for."""
    everywhere: dict[str, str] = {}
    here: dict[str, str] = {}
    at = stream.at
    while True:
        stream.go_to(at)
        block = stream.read(BLOCK)
        if not block and not here and at:
            stream.finish()
            return  # without the two empty blocks that should end it: many writers leave them out
        if len(block) < BLOCK:
            raise stream.damaged("it ends in the middle of a header" if block else "it ends too early")
        if not any(block):
            stream.finish()
            return
        header = _parse(block, stream)
        at = stream.at + _whole_blocks(header.size)
        if header.type in (_LONG_NAME, _LONG_LINK):
            here["path" if header.type == _LONG_NAME else "linkpath"] = _text(
                _extension(stream, header).rstrip(b"\0")
            )
        elif header.type in (_PAX, _PAX_SOLARIS):
            here.update(_records(_extension(stream, header), stream))
        elif header.type == _PAX_GLOBAL:
            everywhere.update(_records(_extension(stream, header), stream))
        else:
            _extend(header, {**everywhere, **here}, stream)
            here = {}
            has_content = header.type not in (_HARD_LINK, _SYMBOLIC_LINK, _FOLDER, *_DEVICES)
            at = stream.at + (_whole_blocks(header.size) if has_content else 0)
            yield header, stream.at


def _whole_blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _parse(block: bytes, stream: _Stream) -> _Header:
    try:
        if _number(block[148:156]) not in _checksums(block):
            raise stream.damaged("the checksum of a header is wrong")
        size = _number(block[124:136])
    except ValueError as error:
        raise stream.damaged(str(error)) from error
    name = _text(_until_nul(block[:100]))
    if block[257:263] == b"ustar\0" and (prefix := _until_nul(block[345:500])):
        name = f"{_text(prefix)}/{name}"
    return _Header(name, _text(_until_nul(block[157:257])), size, block[156:157])


def _extend(header: _Header, records: dict[str, str], stream: _Stream) -> None:
    header.name = records.get("path", header.name)
    header.link = records.get("linkpath", header.link)
    if any(name.startswith("GNU.sparse.") for name in records):
        header.type = _SPARSE
    if "size" in records:
        if not records["size"].isdecimal():
            raise stream.damaged("a size is no number")
        header.size = int(records["size"])
    if header.size > 1 << 62:
        raise stream.damaged("a size is out of range")


def _extension(stream: _Stream, header: _Header) -> bytes:
    if header.size > _LONGEST_EXTENSION:
        raise stream.damaged(f"a name or extension of {header.size:,} bytes")
    data = stream.read(header.size)
    if len(data) < header.size:
        raise stream.cut_off()
    return data


def _records(data: bytes, stream: _Stream) -> dict[str, str]:
    """Parses pax records: ``<length> <name>=<value>`` and a newline, the length counting all of it."""
    records = {}
    at = 0
    while at < len(data) and data[at : at + 1] != b"\0":
        length, space, _ = data[at : at + 20].partition(b" ")
        if not space or not length.isdigit():
            raise stream.damaged("a pax record has no length")
        end = at + int(length)
        name, mark, value = data[at + len(length) + 1 : end - 1].partition(b"=")
        if end > len(data) or not mark or data[end - 1 : end] != b"\n":
            raise stream.damaged("a pax record does not end where it says")
        records[_text(name)] = _text(value)
        at = end
    return records


def _number(field: bytes) -> int:
    """Parses octal digits, or what GNU writes where they do not suffice: the number itself, marked by the first bit."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = _until_nul(field).strip()
    if not digits:
        return 0
    if not all(byte in b"01234567" for byte in digits):
        raise ValueError("a number is not octal")
    return int(digits, 8)


def _checksums(block: bytes) -> tuple[int, int]:
    # The field of the sum itself counts as blanks. Some old writers took bytes for signed.
    rest = block[:148] + b" " * 8 + block[156:BLOCK]
    unsigned = sum(rest)
    return unsigned, unsigned - 256 * sum(byte > 127 for byte in rest)


def _until_nul(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _text(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")
