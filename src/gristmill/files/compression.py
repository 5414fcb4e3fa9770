"""Compressed files as streams: recognised by their first bytes, read in bounded memory, bounded in what they grow to.

gzip, bzip2, xz, zstd and lz4 (frames). Several members or frames, one after another, are one stream. A file that is cut
off or damaged is an error that says where; one that grows out of all proportion is taken for a bomb.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from gristmill import config
from gristmill.errors import (
    DataError,
    FileError,
    FileFormatError,
    FileMissingError,
    GristmillError,
    InvalidArgumentError,
)
from gristmill.files.exact import read_exactly

__all__ = [
    "COMPRESSION_SUFFIXES",
    "DecompressedFile",
    "Growth",
    "compression_suffix",
    "decompressed",
    "detect_compression",
    "open_decompressed",
]

COMPRESSION_SUFFIXES = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4"}
"""File name ending -> compression."""
HEAD_BYTES = 10
"""How many bytes `detect_compression` looks at."""

_PIECE = 1 << 16
_MOST_PIECE = 1 << 20
# What a small file grows to harms nobody.
_HARMLESS = 256 << 20
# Of an xz or lzma stream: what its decoder may hold. `xz -9` needs 65 MB.
_XZ_MEMORY = 1 << 30
_MAGIC = [
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
]


def detect_compression(head: bytes) -> str | None:
    """Names the compression of a file by its first bytes.

    Args:
        head: The first `HEAD_BYTES` bytes, or all if there are fewer.

    Returns:
        ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, ``"lz4"``, or None.

    Example:
        >>> import gzip
        >>> detect_compression(gzip.compress(b"text")), detect_compression(b"BZh is text")
        ('gzip', None)
    """
    # "BZh" alone could begin a text; with the block magic (the digits of pi) it can't.
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bz2"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def compression_suffix(name: str) -> str:
    """Gives the compression suffix of a file name, or "".

    Example:
        >>> compression_suffix("a.json.gz")
        '.gz'
    """
    lower = name.lower()
    return next((suffix for suffix in COMPRESSION_SUFFIXES if lower.endswith(suffix)), "")


def open_decompressed(path: Path, name: object = None) -> tuple[IO[bytes], bool]:
    """Opens a file for reading, decompressed if its first bytes say that it is compressed.

    Args:
        path: The file; its own name does not matter (cache blobs have no suffix).
        name: What to call it in errors; its path if left out.

    Returns:
        The stream, and whether it is plain (can be seeked at no cost).

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be opened.

    Example:
        >>> import gzip, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "blob"
        ...     _ = path.write_bytes(gzip.compress(b"some text"))
        ...     file, plain = open_decompressed(path)
        ...     with file:
        ...         file.read(), plain
        (b'some text', False)
    """
    name = path if name is None else name
    try:
        return decompressed(path.open("rb"), name)
    except FileNotFoundError as error:
        raise FileMissingError.from_path(name) from error
    except OSError as error:
        if isinstance(error, GristmillError):
            raise
        raise FileError.from_os_error("read", name, error) from error


def decompressed(file: Any, name: object) -> tuple[IO[bytes], bool]:
    """Gives what comes out of an open file if its first bytes say that it is compressed, or the file itself.

    Args:
        file: A binary file object with `peek`, at its beginning. It is closed if it can't be read.
        name: What to call it in errors.

    Returns:
        The stream, and whether it is the file itself and can be seeked.
    """
    try:
        kind = detect_compression(file.peek(HEAD_BYTES)[:HEAD_BYTES])
    except BaseException:
        file.close()
        raise
    return (
        (file, file.seekable())
        if kind is None
        else (cast("IO[bytes]", DecompressedFile(file, kind, name)), False)
    )


class Growth:
    """Watches how much comes out of how much compressed data, and refuses bombs.

    Args:
        name: What to call the file in errors.

    Example:
        >>> Growth("a.gz").check(10_000_000, 1_000)
        >>> Growth("a.gz").check(10_000_000_000, 1_000)
        Traceback (most recent call last):
        gristmill.errors.DataError: a.gz: grows to more than 1000 times its compressed size. If it is to be trusted, ...
    """

    def __init__(self, name: object) -> None:
        self._name = name

    def check(self, grown: int, compressed: int) -> None:
        """Compares sizes in bytes.

        Args:
            grown: What came out so far.
            compressed: What it came out of.

        Raises:
            DataError: It is out of all proportion.
        """
        most = config.GRISTMILL_MAX_COMPRESSION_RATIO
        if grown > _HARMLESS and grown > most * max(1, compressed):
            raise DataError.at(
                f"grows to more than {most:g} times its compressed size",
                file=self._name,
                remedy="If it is to be trusted, set GRISTMILL_MAX_COMPRESSION_RATIO (in gristmill.config or the "
                "environment) to a larger number.",
            )


class DecompressedFile(io.BufferedIOBase):
    """A binary file object for reading what comes out of a compressed one; it can't be seeked.

    Args:
        file: The compressed file, at its beginning.
        kind: Its compression.
        name: What to call it in errors.
        own: Closing this closes the compressed file too.
    """

    def __init__(self, file: IO[bytes], kind: str, name: object, *, own: bool = True) -> None:
        super().__init__()
        if kind not in _DECODERS:
            raise InvalidArgumentError.from_choice("compression", kind, _DECODERS)
        self._file = file
        self._own = own
        self._kind = kind
        self._name = name
        self._growth = Growth(name)
        self._decoder = _DECODERS[kind](_Counted(file))
        self._count = 0
        self._peeked = b""

    @property
    def name(self) -> str:
        """What the file is called."""
        return str(self._name)

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def tell(self) -> int:
        """Gives the number of bytes read so far, after decompression."""
        return self._count

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads exactly `size` bytes, fewer only at the end; everything if negative or None.

        Raises:
            FileFormatError: The compressed data is damaged or cut off; says where.
            DataError: It grows out of all proportion.
        """
        return read_exactly(self.read1, size)

    def read1(self, size: int = -1, /) -> bytes:
        """Reads at most `size` bytes, whatever comes next; b"" only at the end."""
        if self.closed:
            raise ValueError("the file is closed")
        if self._peeked or not size:
            end = len(self._peeked) if size < 0 else size
            data, self._peeked = self._peeked[:end], self._peeked[end:]
            self._count += len(data)
            return data
        data = self._decode(size)
        self._count += len(data)
        return data

    def peek(self, size: int = 0, /) -> bytes:
        """Gives what comes next without moving on: at least a byte, unless it is the end; perhaps more than `size`."""
        if not self._peeked:
            self._peeked = self._decode(size or -1)
        return self._peeked

    def _decode(self, size: int) -> bytes:
        try:
            data: bytes = self._decoder.read(min(size, _MOST_PIECE) if size > 0 else _MOST_PIECE)
        except GristmillError:
            raise  # the compressed bytes can't be got at
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            # The system's own errors have a number, those of decompressors have none.
            if isinstance(error, OSError) and error.errno is not None:
                raise FileError.from_os_error("read", self._name, error) from error
            raise FileFormatError.at(
                f"the {self._kind} data is damaged or cut off near byte {self._decoder.source.count} ({error})",
                file=self._name,
            ) from error
        self._growth.check(self._count + len(data), self._decoder.source.count)
        return data

    def readinto(self, buffer: Any, /) -> int:
        """Reads into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Closes it, and the compressed file if that is its own."""
        if not self.closed and self._own:
            self._file.close()
        super().close()


class _Counted:
    """The compressed file, and how much of it was read."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data

    def close(self) -> None:
        """Does nothing: whoever opened the file closes it."""


class _Members:
    """Reads members one after another with a decompressor of the standard library for each."""

    def __init__(self, source: _Counted, make: Callable[[], Any]) -> None:
        self.source = source
        self._make = make
        self._member = make()

    def read(self, size: int) -> bytes:
        while True:
            member = self._member
            if member.eof:
                rest = member.unused_data.lstrip(b"\0") or self._next_member()
                if not rest:
                    return b""
                self._member = self._make()
                data = self._member.decompress(rest, size)
            elif member.needs_input:
                more = self.source.read(_PIECE)
                if not more:
                    raise EOFError("it ends too early")
                data = member.decompress(more, size)
            else:
                data = member.decompress(b"", size)
            if data:
                return bytes(data)

    def _next_member(self) -> bytes:
        # Tapes and block devices pad with zeros.
        while more := self.source.read(_PIECE):
            if rest := more.lstrip(b"\0"):
                return rest
        return b""


class _Inflate:
    """zlib's decompressor of one gzip member, with the face of those of bz2 and lzma."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, size: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, size)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


class _Frames:
    """Reads zstd or lz4 frames, which pyarrow knows; it goes on from frame to frame by itself."""

    def __init__(self, source: _Counted, codec: str) -> None:
        import pyarrow as pa

        self.source = source
        self._stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), codec)

    def read(self, size: int) -> bytes:
        return bytes(self._stream.read(size))


_DECODERS: dict[str, Callable[[_Counted], Any]] = {
    "gzip": lambda source: _Members(source, _Inflate),
    "bz2": lambda source: _Members(source, bz2.BZ2Decompressor),
    "xz": lambda source: _Members(source, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
    "zstd": lambda source: _Frames(source, "zstd"),
    "lz4": lambda source: _Frames(source, "lz4"),
}
