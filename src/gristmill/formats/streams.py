"""Text files as blocks of whole lines: looked into through compression, decoded, bounded in memory.

A block ends where a line (or paragraph) ends, so that whoever parses it never sees half of one. Positions count bytes
of the decoded stream; in a plain UTF-8 file they are file offsets and a seek goes there.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import struct
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any, NamedTuple

import pyarrow as pa

from gristmill.errors import DataError, FileFormatError, GristmillError, InvalidArgumentError
from gristmill.files.borders import reading
from gristmill.files.compression import DecompressedFile, decompressed, open_decompressed
from gristmill.files.contents import HEAD_BYTES
from gristmill.files.packed_names import check_name, check_unpacked
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.views import count_byte, read_view, read_whole

__all__ = [
    "Block",
    "check_utf8",
    "iter_blocks",
    "open_bytes",
    "open_utf8",
    "reading_text",
    "whole_characters",
]

BLOCK_BYTES = 10 << 20
"""Default size of a block: large enough for parsers to run at full speed, small beside any memory."""
_FIRST_BYTES = 1 << 18
_TAIL = 1 << 16
RECORD_LIMIT = 1 << 30
"""Longest line, paragraph or document in bytes; a longer one is refused before it fills the memory."""


def open_bytes(file: SourceFile) -> tuple[IO[bytes], bool]:
    """Opens a file for reading, decompressed if its first bytes say that it is compressed.

    Args:
        file: The file.

    Returns:
        The stream, and whether it is plain (can be seeked at no cost).

    Raises:
        FileFormatError: Its name says that it is compressed or an archive, and it is neither; or it is an archive.
    """
    stream, plain = (
        open_decompressed(file.path, file.name) if file.open is None else decompressed(file.open(), file.name)
    )
    try:
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]  # type: ignore[attr-defined]  # both kinds of streams have it
        if not isinstance(stream, DecompressedFile):
            check_name(file.name, head)
        check_unpacked(file.name, head)
    except BaseException:
        stream.close()
        raise
    return stream, plain


@contextlib.contextmanager
def reading_text(file: SourceFile, format: str) -> Iterator[None]:
    """Like `borders.reading`, and knows all that can go wrong with encodings."""
    try:
        with reading(file.name, format):
            yield
    except UnicodeError as error:  # more than UnicodeDecodeError: UTF-16 without its mark
        raise FileFormatError.at(f"not text in the encoding given ({error})", file=file.name) from error


_MARKS = [
    # That of UTF-16 is the beginning of that of UTF-32.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def _checked_encoding(name: str, errors: str) -> str:
    """Gives the canonical name of an encoding of text; not that of rot13 or zip, which Python calls encodings as well."""
    expected = "an encoding of text and an error handler that Python knows"
    try:
        with contextlib.suppress(UnicodeDecodeError):
            b"a".decode(name)
        with contextlib.suppress(UnicodeDecodeError):
            b"\xff".decode("ascii", errors)  # some handlers are for encoding alone
        return codecs.lookup(name).name
    except (LookupError, ValueError, TypeError) as error:
        raise InvalidArgumentError.from_value("encoding", (name, errors), expected) from error


class _Recoded:
    """A stream of UTF-8 bytes over a stream in another encoding."""

    def __init__(self, raw: IO[bytes], encoding: str, errors: str) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._done = False
        self._back = b""

    def skip(self, size: int) -> None:
        """Moves on by exactly `size` bytes of UTF-8."""
        while size > 0 and (data := self.read(BLOCK_BYTES)):
            self._back = data[size:]
            size -= len(data)

    def read(self, size: int = -1) -> bytes:
        """Reads about `size` bytes; b"" only at the end."""
        if self._back:
            data, self._back = self._back, b""
            return data
        while not self._done:
            data = self._raw.read(size)
            self._done = not data
            text = self._decoder.decode(data, final=self._done)
            if text:
                return text.encode("utf-8", "replace")
        return b""

    def close(self) -> None:
        """Closes the stream below."""
        self._raw.close()


def open_utf8(file: SourceFile, encoding: str | None = None, errors: str | None = None) -> tuple[Any, bool]:
    """Opens a text file as a stream of UTF-8 bytes.

    UTF-8 read strictly is passed through unchecked; whoever parses it checks it by the block, which is faster. What
    begins with the mark of UTF-16 or UTF-32, which can't be UTF-8, is read as that.

    Args:
        file: The file.
        encoding: Its encoding; UTF-8 if None.
        errors: What to do with bytes that are no text: ``"strict"``, ``"replace"``, ``"ignore"``, ...

    Returns:
        The stream and whether offsets in it are file offsets.

    Raises:
        InvalidArgumentError: No such encoding.
    """
    name = encoding or "utf-8"
    canonical = _checked_encoding(name, errors or "strict")
    stream, plain = open_bytes(file)
    if canonical in ("utf-8", "utf-8-sig", "ascii"):
        try:
            head = stream.peek(4)  # type: ignore[attr-defined]  # both kinds of streams have it
        except GristmillError:
            stream.close()
            raise
        canonical = next((name for mark, name in _MARKS if head.startswith(mark)), canonical)
    if canonical in ("utf-8", "utf-8-sig", "ascii") and (errors or "strict") == "strict":
        return stream, plain
    return _Recoded(stream, canonical, errors or "strict"), False


class Block(NamedTuple):
    """Some whole lines.

    Attributes:
        data: UTF-8 bytes; a view of them where `iter_blocks` was asked for views.
        offset: Bytes of the stream before it.
        line: Lines of the stream before it.
        source: The text as it stands in the file, where `data` is that text in another form.
    """

    data: bytes
    offset: int
    line: int
    source: bytes = b""

    def check(self, file: SourceFile) -> None:
        """Checks that the block is UTF-8, which is faster than decoding it.

        Raises:
            FileFormatError: Not UTF-8; names the line.
        """
        try:
            check_utf8(self.data, len(self.data))
        except UnicodeDecodeError:
            self.text(file)

    def text(self, file: SourceFile) -> str:
        """Decodes the block, as it stands in the file.

        Raises:
            FileFormatError: Not UTF-8; names the line.
        """
        data = bytes(self.source or self.data)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise bad_encoding(file, self.line + data.count(b"\n", 0, error.start) + 1, error) from error


def check_utf8(data: bytes, size: int) -> None:
    """Checks that bytes are UTF-8, without decoding them, which for large blocks costs more than parsing.

    Args:
        data: The bytes.
        size: How many of them, from the first on.

    Raises:
        UnicodeDecodeError: They are not.

    Example:
        >>> check_utf8("é".encode(), 2)
        >>> check_utf8("é".encode(), 1)
        Traceback (most recent call last):
        UnicodeDecodeError: 'utf-8' codec can't decode byte 0xc3 in position 0: unexpected end of data
    """
    ends = pa.py_buffer(struct.pack("=qq", 0, size))
    text: Any = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(data)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        bytes(data[:size]).decode("utf-8")  # knows where and why


def whole_characters(data: bytes) -> int:
    """Gives the number of bytes before a UTF-8 character that the data ends within; all of them if there is none.

    Example:
        >>> whole_characters("aé".encode()), whole_characters("aé".encode()[:2])
        (3, 1)
    """
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if needs > back else len(data)
        if byte < 0x80:
            break
    return len(data)


def bad_encoding(file: SourceFile, line: int, error: UnicodeDecodeError) -> FileFormatError:
    """Words the error for text that is not UTF-8."""
    made: FileFormatError = FileFormatError.at(
        f"not valid UTF-8 text ({error.reason}: byte 0x{error.object[error.start]:02x})",
        file=file.name,
        line=line,
        remedy='Pass encoding= with the encoding the file was written in (for example "latin-1"), or encoding_errors=.',
    )
    return made


def cut_at_line(data: bytes) -> int:
    """Finds the end of the last whole line: newline, or a lone carriage return in files that have nothing else."""
    end = data.rfind(b"\n") + 1
    if not end and b"\r" in data[:-1]:
        end = data.rfind(b"\r", 0, len(data) - 1) + 1
    return end


def iter_blocks(
    file: SourceFile,
    *,
    size: int = BLOCK_BYTES,
    encoding: str | None = None,
    errors: str | None = None,
    start: Position | None = None,
    cut: Callable[[bytes], int] = cut_at_line,
    views: bool = False,
) -> Iterator[Block]:
    """Reads a text file in blocks that end where a record ends.

    Args:
        file: The file.
        size: Bytes to read at a time; a block grows beyond it only for a longer record.
        encoding: See `open_utf8`.
        errors: See `open_utf8`.
        start: Where to begin; its offset and line count.
        cut: Says how many bytes of the data at hand are whole records; 0 if none.
        views: Blocks may be views of memory that Arrow uses again, which takes less of the system's.

    Raises:
        DataError: A record is longer than `RECORD_LIMIT`.
    """
    start = start or Position()
    stream, plain = open_utf8(file, encoding, errors)
    with contextlib.closing(stream):
        offset, line = _go_to(stream, start, plain), start.line
        if plain and cut is cut_at_line and size > _TAIL and isinstance(stream, io.BufferedReader):
            offset, line = yield from _whole_lines(stream, offset, line, size, views)
            left = stream.seek(0, io.SEEK_END) - offset if views else 0
            stream.seek(offset)
            if views and left <= size:
                last = read_whole(stream, left)
                if last is not None:
                    start_at = _after_mark(last, offset)
                    if start_at < left:  # more than the mark
                        yield Block(last[start_at:], offset + start_at, line)
                    return
                stream.seek(offset)
        rest: list[bytes] = []
        # What comes over a network comes soon if it is little.
        step = min(size, _FIRST_BYTES) if file.is_remote else size
        data = stream.read(max(step, len(codecs.BOM_UTF8)))
        if offset == 0 and data.startswith(codecs.BOM_UTF8):
            data, offset = data[3:] or stream.read(step), 3
        while data:
            step = min(step * 2, size)
            following = stream.read(step)
            end = len(data)
            if following:
                end = (
                    cut(data) if cut is cut_at_line or not rest else cut(b"".join([*rest, data])) - _len(rest)
                )
            if end <= 0:
                rest.append(data)
                if _len(rest) > RECORD_LIMIT:
                    raise _too_long(file, line)
            else:
                # A view, so that a block is copied once.
                whole = data if end == len(data) and not rest else b"".join([*rest, memoryview(data)[:end]])
                rest = [data[end:]] if end < len(data) else []
                yield Block(whole, offset, line)
                if following:  # to count lines costs something
                    offset, line = offset + len(whole), line + _lines(whole)
            data = following


def _whole_lines(
    stream: io.BufferedReader, offset: int, line: int, size: int, views: bool
) -> Generator[Block, None, tuple[int, int]]:
    """Reads blocks of a file of its own, each without a copy: where its last line ends is looked for before it is read.

    Yields:
        Blocks, as long as there is a line end near where each has to end, and the file does not end before.

    Returns:
        Where to go on: bytes and lines of the file before that place.
    """
    while True:
        stream.seek(offset + size - _TAIL)
        tail = stream.read(_TAIL)
        end = tail.rfind(b"\n") + 1
        if len(tail) < _TAIL or not end:
            return offset, line
        stream.seek(offset)
        data = read_view(stream, size - _TAIL + end) if views else stream.read(size - _TAIL + end)
        start = _after_mark(data, offset)
        yield Block(data[start:] if start else data, offset + start, line)
        offset, line = offset + len(data), line + _lines(data)


def _after_mark(data: Any, offset: int) -> int:
    mark = codecs.BOM_UTF8
    return len(mark) if offset == 0 and data[: len(mark)] == mark else 0


def _len(parts: list[bytes]) -> int:
    return sum(map(len, parts))


def _lines(data: bytes) -> int:
    return count_byte(data, ord("\n")) or count_byte(data, ord("\r"))


def _go_to(stream: Any, start: Position, plain: bool) -> int:
    if plain:
        stream.seek(start.offset)
        return start.offset
    if isinstance(stream, _Recoded):
        stream.skip(start.offset)
        return start.offset
    left = start.offset
    while left > 0:
        data = stream.read(min(left, BLOCK_BYTES))
        if not data:
            break
        left -= len(data)
    return start.offset


def _too_long(file: SourceFile, line: int) -> DataError:
    error: DataError = DataError.at(
        f"a record is longer than {RECORD_LIMIT >> 20} MB", file=file.name, line=line + 1
    )
    return error
