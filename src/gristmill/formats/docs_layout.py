"""The layout of a ``.docs`` file, byte by byte: the header, where each section lies, what must hold.

docs/docs-format.md says the same for people who write their own reader. All numbers are little-endian.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gristmill.errors import FileFormatError, InvalidArgumentError

__all__ = [
    "CHAT",
    "HEADER_BYTES",
    "ROLES",
    "Header",
    "parse_header",
    "parse_roles",
    "plan",
    "section_digest",
]

MAGIC = b"GRISTDOC"
VERSION = 1
CHAT = 1
"""Flag: documents are messages; roles and conversation starts are there."""
HEADER_BYTES = 64
ALIGNMENT = 64
"""Sections begin at multiples of this, so that a mapped file serves vector instructions as it is."""
_FIELDS = struct.Struct("<8sHHIQQQQQQ")
_LARGEST = 1 << 62

ROLES: Mapping[str, int] = {"system": 0, "user": 1, "assistant": 2, "tool": 3}
"""The byte each role is kept as."""
_ALIASES = {
    "human": 1,
    "gpt": 2,
    "bot": 2,
    "model": 2,
    "chatgpt": 2,
    "developer": 0,
    "function": 3,
    "observation": 3,
}


@dataclass(frozen=True)
class Header:
    """The 64 bytes at the start of a ``.docs`` file.

    Attributes:
        documents: Number of documents (messages, in a chat file).
        conversations: Number of conversations; 0 unless it is a chat file.
        roles_at: First byte of the roles, one byte a message; 0 unless it is a chat file.
        starts_at: First byte of the conversation starts, ``conversations + 1`` numbers of 8 bytes; 0 likewise.
        text_at: First byte of the text.
        flags: `CHAT` or 0.
        digest: Checksum of everything behind the header.
    """

    documents: int
    conversations: int
    roles_at: int
    starts_at: int
    text_at: int
    flags: int
    digest: int = 0

    @property
    def is_chat(self) -> bool:
        """Whether documents are messages of conversations."""
        return bool(self.flags & CHAT)

    @property
    def offsets_end(self) -> int:
        """The byte behind the offsets, which begin right behind the header."""
        return HEADER_BYTES + 8 * (self.documents + 1)

    def to_bytes(self) -> bytes:
        """Gives the 64 bytes, with the header's own checksum in its place."""
        return self._packed(section_digest(self._packed(0)) & 0xFFFFFFFF)

    def _packed(self, check: int) -> bytes:
        return _FIELDS.pack(
            MAGIC,
            VERSION,
            self.flags,
            check,
            self.documents,
            self.conversations,
            self.roles_at,
            self.starts_at,
            self.text_at,
            self.digest,
        )

    def with_counts(self, documents: int, conversations: int, digest: int) -> Header:
        """Gives the header with what is known only when everything is written."""
        return replace(self, documents=documents, conversations=conversations, digest=digest)


def section_digest(data: object) -> int:
    """The checksum of bytes: XXH3, 64 bits."""
    import xxhash

    return xxhash.xxh3_64_intdigest(data)  # type: ignore[arg-type]


def plan(documents: int, conversations: int | None) -> Header:
    """Says where the sections of a file lie that has room for so many documents.

    Args:
        documents: Documents (messages) at most.
        conversations: Conversations at most; None for a file that is no chat file.

    Example:
        >>> plan(1, None).text_at, plan(1, 1).text_at
        (128, 256)
    """
    if documents > _LARGEST // 8 or (conversations or 0) > _LARGEST // 8:
        raise InvalidArgumentError.from_value(
            "documents", documents, "a number of documents that fits a file"
        )
    end = _aligned(HEADER_BYTES + 8 * (documents + 1))
    if conversations is None:
        return Header(documents, 0, 0, 0, end, 0)
    starts = _aligned(end + documents)
    return Header(documents, conversations, end, starts, _aligned(starts + 8 * (conversations + 1)), CHAT)


def _aligned(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT


def parse_header(data: bytes, size: int, file: object) -> Header:
    """Reads and checks the header; nothing in it is believed that does not fit the file's size.

    Args:
        data: The first 64 bytes (fewer if the file is shorter).
        size: The file's size in bytes.
        file: The file, for errors.

    Raises:
        FileFormatError: Not a ``.docs`` file, cut off, of a newer version, or changed after it was written.
    """

    def wrong(problem: str) -> FileFormatError:
        error: FileFormatError = FileFormatError.at(
            f"it {problem}", file=file, remedy="Write it again, for example with `gristmill extract`."
        )
        return error

    if len(data) >= len(MAGIC) and data[: len(MAGIC)] != MAGIC:
        raise wrong(f"is no .docs file: it begins with {data[:8]!r} instead of {MAGIC!r}")
    if len(data) < HEADER_BYTES:
        raise wrong(f"is cut off: {size} bytes, and the header alone has {HEADER_BYTES}")
    magic, version, flags, check, documents, conversations, roles, starts, text, digest = _FIELDS.unpack(
        data[:HEADER_BYTES]
    )
    del magic
    if version != VERSION:
        raise wrong(f"is written in version {version} of the format; this program reads version {VERSION}")
    header = Header(documents, conversations, roles, starts, text, flags, digest)
    if header.to_bytes()[12:16] != struct.pack("<I", check):
        raise wrong("was changed after it was written: the header's checksum does not match")
    if flags & ~CHAT:
        raise wrong(f"has unknown flags {flags:#06x}")
    # The checks below hold for every file whose header was written by a program that works; one that carries a right
    # checksum can still have been made up.
    sections = [HEADER_BYTES, header.offsets_end]
    if header.is_chat:
        sections += [roles, roles + documents, starts, starts + 8 * (conversations + 1)]
    elif conversations or roles or starts:
        raise wrong("holds conversations without saying that it is a chat file")
    sections += [text]
    if any(a > b for a, b in itertools.pairwise(sections)):
        raise wrong("has sections that overlap")
    if text > size:
        raise wrong(f"is cut off: {size:,} bytes, and the text alone begins at byte {text:,}")
    if starts % 8 or text > _LARGEST:
        raise wrong("has a section where none can be")
    return header


def parse_roles(roles: Mapping[str, int] | None) -> dict[str, int]:
    """Gives the byte of each role name: the documented ones, common other names for them, and the user's.

    Args:
        roles: Names to add or change, each with a number from 0 to 254.

    Raises:
        InvalidArgumentError: A number does not fit a byte.

    Example:
        >>> parse_roles({"critic": 7})["critic"], parse_roles(None)["gpt"]
        (7, 2)
    """
    for name, number in (roles or {}).items():
        if type(number) is not int or not 0 <= number <= 254:
            raise InvalidArgumentError.from_value(f'roles["{name}"]', number, "a number from 0 to 254")
    return {**ROLES, **_ALIASES, **(roles or {})}
