"""The two containers of a xet upload: xorbs (runs of chunks) and shards (which chunks make up which file). Pure.

All numbers are little-endian. What can't be read is refused; nothing here allocates more than a chunk at a time, or the
places of a xorb's chunks, whatever a container says of itself.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gristmill.hub.server.errors import Refusal, bad_request

if TYPE_CHECKING:
    from mmap import mmap

LARGEST_XORB = 64 * 1024 * 1024 + 1024 * 1024
"""Bytes of a xorb: 64 MiB of chunks, and room for their headers and footer."""
LARGEST_CHUNK = 128 * 1024
MOST_CHUNKS = 16 * 1024
"""Chunks of a xorb: twice as many as clients of xet put into one."""
LARGEST_CONTENT = 2 * LARGEST_XORB
"""Bytes of a xorb when all of its chunks are unpacked: twice as many as clients put into one."""
LARGEST_SHARD = 64 * 1024 * 1024

PLAIN, LZ4, GROUPED_LZ4 = 0, 1, 2
_CHUNK_HEADER = 8
_FOOTER = b"XETBLOB"
_RECORD = 48
_SHARD_TAG = b"HFRepoMetaData\0"
_SHARD_VERSION = 2
_END = b"\xff" * 32
_VERIFICATION, _METADATA = 1 << 31, 1 << 30
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a file: chunks `start` to `end` (exclusive) of a xorb, `length` bytes when decoded."""

    xorb: str
    start: int
    end: int
    length: int


class Terms:
    """The parts of a file, in order, read from the shard when they are wanted: there may be a million.

    Args:
        shard: All of the shard.
        at: Where the first of them begins.
        count: How many there are, all within the shard.
    """

    def __init__(self, shard: bytes | mmap, at: int, count: int) -> None:
        self._shard = shard
        self._at = at
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Term]:
        for at in self._places():
            _, length, start, end = struct.unpack_from("<IIII", self._shard, at + 32)
            yield Term(hash_text(self._shard[at : at + 32]), start, end, length)

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(struct.unpack_from("<I", self._shard, at + 36)[0] for at in self._places())

    def _places(self) -> range:
        return range(self._at, self._at + self._count * _RECORD, _RECORD)


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A file of a shard.

    Attributes:
        hash: Its xet hash.
        sha256: Of its content; None if the shard does not say.
        size: Bytes of its content.
        terms: Its parts, in order; to be read while the shard is open.
    """

    hash: str
    sha256: str | None
    size: int
    terms: Terms


def hash_text(raw: bytes) -> str:
    """Writes a hash the way xet does: as four numbers of 64 bits.

    Example:
        >>> hash_text(bytes(range(32)))[:16]
        '0706050403020100'
    """
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw))


def hash_bytes(text: str) -> bytes:
    """Reads what `hash_text` wrote.

    Example:
        >>> hash_bytes(hash_text(bytes(range(32)))) == bytes(range(32))
        True
    """
    return struct.pack("<4Q", *(int(text[at : at + 16], 16) for at in range(0, 64, 16)))


def check_hash(text: str) -> str:
    """Gives back a hash of a request's path.

    Raises:
        Refusal: It is none (400).
    """
    if not _HASH.fullmatch(text):
        raise bad_request("A hash must be 64 hexadecimal digits.")
    return text


def index_xorb(xorb: bytes | mmap) -> array[int]:
    """Finds the chunks of a xorb.

    Args:
        xorb: All of it, as uploaded.

    Returns:
        Where each chunk's header begins, and at last where the chunks end.

    Raises:
        Refusal: It has no chunks, or one that can't be, or more than a xorb may have (400).
    """
    offsets, at, content = array("q", [0]), 0, 0
    while at < len(xorb) and xorb[at : at + len(_FOOTER)] != _FOOTER:
        packed, _, unpacked = _chunk_header(xorb, at)
        at += _CHUNK_HEADER + packed
        if at > len(xorb):
            raise bad_request("A chunk of the xorb ends beyond it.")
        offsets.append(at)
        content += unpacked
        if len(offsets) > MOST_CHUNKS + 1 or content > LARGEST_CONTENT:
            raise bad_request(
                f"A xorb may have {MOST_CHUNKS} chunks and {LARGEST_CONTENT} bytes when unpacked at most."
            )
    if at == 0:
        raise bad_request("The xorb has no chunks.")
    return offsets


def _chunk_header(xorb: bytes | mmap, at: int) -> tuple[int, int, int]:
    header = xorb[at : at + _CHUNK_HEADER]
    if len(header) < _CHUNK_HEADER or header[0] != 0:
        raise bad_request("A chunk's header can't be read.")
    packed, scheme = int.from_bytes(header[1:4], "little"), header[4]
    unpacked = int.from_bytes(header[5:8], "little")
    if scheme not in (PLAIN, LZ4, GROUPED_LZ4):
        raise bad_request(f"A chunk is packed by the unknown scheme {scheme}.")
    if not 0 < unpacked <= LARGEST_CHUNK or (scheme == PLAIN and packed != unpacked):
        raise bad_request("A chunk has a size that can't be.")
    return packed, scheme, unpacked


def decode_chunks(xorb: bytes | mmap, offsets: array[int], start: int, end: int) -> Iterator[bytes]:
    """Decodes chunks of a xorb one by one.

    Args:
        xorb: All of it.
        offsets: What `index_xorb` gave.
        start: First chunk.
        end: The chunk after the last.

    Raises:
        Refusal: There are no such chunks, or one can't be decoded to the size it tells (400).
    """
    if not 0 <= start < end < len(offsets):
        raise bad_request("A shard names chunks that its xorb does not have.")
    for number in range(start, end):
        at = offsets[number]
        packed, scheme, unpacked = _chunk_header(xorb, at)
        data = xorb[at + _CHUNK_HEADER : at + _CHUNK_HEADER + packed]
        if scheme != PLAIN:
            data = _lz4(data, unpacked)
        if scheme == GROUPED_LZ4:
            data = ungroup(data)
        yield data


def _lz4(data: bytes, size: int) -> bytes:
    import pyarrow as pa

    # Not the one-shot call: it hands out memory that was never written if the frame holds less than it said.
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "lz4") as stream:
            decoded: bytes = stream.read(size + 1)
    except (pa.ArrowException, OSError) as error:
        raise bad_request("A chunk can't be decompressed.") from error
    if len(decoded) != size:
        raise bad_request("A chunk has another size than its header says.")
    return decoded


def ungroup(data: bytes) -> bytes:
    """Puts bytes back in order that were grouped by their position modulo 4.

    Example:
        >>> ungroup(b"aebfcd")
        b'abcdef'
    """
    result, at = bytearray(len(data)), 0
    for group in range(4):
        length = (len(data) - group + 3) // 4
        result[group::4] = data[at : at + length]
        at += length
    return bytes(result)


def parse_shard(shard: bytes | mmap) -> Iterator[ShardFile]:
    """Reads the files of a shard one by one.

    Args:
        shard: All of it, as uploaded.

    Raises:
        Refusal: It is none, or cut off (400).
    """
    if shard[: len(_SHARD_TAG)] != _SHARD_TAG or len(shard) < _RECORD:
        raise bad_request("This is no shard.")
    if struct.unpack_from("<Q", shard, 32)[0] != _SHARD_VERSION:
        raise Refusal(400, "The shard is of a version that this server does not know.")
    at = _RECORD
    while (header := _record(shard, at))[:32] != _END:
        flags, count = struct.unpack_from("<II", header, 32)
        at += _RECORD
        terms = Terms(shard, at, count)
        # Verification entries of the terms are about hashes that nobody checks here: the sha256 is checked instead.
        at += _RECORD * count * (2 if flags & _VERIFICATION else 1)
        if at > len(shard):
            raise bad_request("The shard ends in the middle.")
        sha256 = None
        if flags & _METADATA:
            sha256 = hash_text(_record(shard, at)[:32])
            at += _RECORD
        yield ShardFile(hash_text(header[:32]), sha256, terms.size, terms)


def _record(shard: bytes | mmap, at: int) -> bytes:
    record = shard[at : at + _RECORD]
    if len(record) < _RECORD:
        raise bad_request("The shard ends in the middle.")
    return record
