"""JSON that is not one object a line, brought to the form that is: arrays, pretty-printed objects, one field.

Python's scanner finds where each value ends; its text, newlines blanked (a JSON string can't hold one), becomes a line.
So an array of any length is read in bounded memory and parsed by the same code as JSON lines.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple

from gristmill.errors import DataError, FileFormatError, suggest
from gristmill.formats.json_arrays import find_items
from gristmill.formats.json_parse import not_json, too_deep
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import RECORD_LIMIT, Block, bad_encoding, open_utf8

__all__ = ["field_blocks", "is_lines", "value_blocks"]

_BLANKS = " \t\r\n"
_CHUNK = 1 << 20
_LONGEST = 64 << 20
_MARK = 4  # bytes of the longest mark of byte order, and one more


def is_lines(file: SourceFile, encoding: str | None, errors: str | None) -> bool:
    """Looks at the beginning of a file: does its first line hold whole objects?

    Raises:
        FileFormatError: It begins with neither an object nor an array.
    """
    stream, _ = open_utf8(file, encoding, errors)
    with contextlib.closing(stream):
        head = b""
        while data := stream.read(_CHUNK):
            head = (head + data).removeprefix(b"\xef\xbb\xbf").lstrip()
            line, newline, _ = head.replace(b"\r", b"\n").partition(b"\n")
            if head[:1] == b"[":
                return False
            if newline or len(head) > RECORD_LIMIT:
                return _is_whole(line)
    if head and head[:1] != b"{":
        raise FileFormatError.at(
            f"not JSON: it begins with {head[:20].decode('utf-8', 'replace')!r}", file=file.name, line=1
        )
    # One line, or nothing: where it is damaged, parsing it as a line says where.
    return True


def _is_whole(line: bytes) -> bool:
    text = line.decode("utf-8", "replace")
    try:
        json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        # Only a line that ends too early can be the beginning of a longer value.
        return error.pos < len(text.rstrip()) - 1
    except (ValueError, RecursionError):
        return True
    return True


class _Text:
    """A growing window over the text of a stream."""

    def __init__(self, stream: Any, file: SourceFile, read: bytes = b"", line: int = 0) -> None:
        self._stream, self._file = stream, file
        self._read = read
        self._bytes = b""
        self.text = ""
        self.at = 0
        self.line = line
        self.done = False

    def more(self) -> bool:
        """Drops what was consumed and reads on; False at the end. Doubles, so that a long value is scanned few times."""
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0
        if len(self.text) > RECORD_LIMIT:
            raise DataError.at(f"a value is longer than {RECORD_LIMIT >> 20} MB", file=self._file.name)
        data, self._read = self._read or self._stream.read(max(_CHUNK, len(self.text))), b""
        self.done = not data
        raw = self._bytes + data
        try:
            text = raw.decode("utf-8")
            self._bytes = b""
        except UnicodeDecodeError as error:
            if self.done or error.start < len(raw) - 3:
                line = self.line + self.text.count("\n") + raw.count(b"\n", 0, error.start) + 1
                raise bad_encoding(self._file, line, error) from error
            text, self._bytes = raw[: error.start].decode("utf-8"), raw[error.start :]
        self.text += text.removeprefix("\ufeff") if self.line == 0 and not self.text else text
        return not self.done

    def peek(self) -> str:
        """Gives the next character that is no blank, or "" at the end; moves there."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANKS:
                self.at += 1
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def where(self, position: int) -> int:
        """Gives the line, counted from 1, of a position in the window."""
        return self.line + self.text.count("\n", 0, position) + 1


def value_blocks(file: SourceFile, size: int, encoding: str | None, errors: str | None) -> Iterator[Block]:
    """Reads a file of JSON values (arrays whose items are rows, or objects) as blocks of one object a line.

    An item that is no object becomes an object with the one key ``text``.

    Args:
        file: The file.
        size: Characters of a block, about.
        encoding: See `open_utf8`.
        errors: See `open_utf8`.

    Raises:
        FileFormatError: Not JSON; names line and row.
    """
    stream, _ = open_utf8(file, encoding, errors)
    with contextlib.closing(stream):
        row, rest = yield from _array_blocks(stream, size)
        held: list[str] = []
        length, line = 0, rest.line
        window = _Text(stream, file, rest.data, rest.line)
        for value in _values(window, file, row, rest):
            held.append(value)
            length += len(value)
            if length >= size:
                yield Block("\n".join(held).encode(), 0, line)
                held, length, line = [], 0, window.where(window.at)
        if held:
            yield Block("\n".join(held).encode(), 0, line)


class _Rest(NamedTuple):
    """Where to go on value by value: text read, lines before it, whether it lies in an array and behind an item."""

    data: bytes
    line: int
    inside: bool
    behind: bool


def _array_blocks(stream: Any, size: int) -> Generator[Block, None, tuple[int, _Rest]]:
    """Yields what is plainly an array of objects; gives the number of rows, and where to go on."""
    data = b""
    while not (text := data.removeprefix(b"\xef\xbb\xbf").lstrip()) and len(data) <= RECORD_LIMIT:
        more = stream.read(max(min(size, _LONGEST), len(data), _MARK))
        if not more:
            break
        data += more
    if text[:1] != b"[":
        return 0, _Rest(data, 0, inside=False, behind=False)
    row, line, text = 0, data.count(b"\n", 0, len(data) - len(text)), text[1:]
    while (items := find_items(text, not row)) is not None:
        if items.rows:
            yield Block(items.lines, 0, line, text[: items.end - items.closed])
        row, line, text = row + items.rows, line + text.count(b"\n", 0, items.end), text[items.end :]
        if items.closed:
            return row, _Rest(text, line, inside=False, behind=False)
        # Where an item is longer than that, positions of all its quotes would take too much memory.
        more = stream.read(max(min(size, _LONGEST), len(text))) if len(text) <= _LONGEST else b""
        if not more:
            break
        text += more
    return row, _Rest(text, line, inside=True, behind=row > 0)


def _values(window: _Text, file: SourceFile, row: int, rest: _Rest) -> Iterator[str]:
    decoder = json.JSONDecoder()
    inside = _after_item(window, file, row) if rest.behind else rest.inside
    if inside and not rest.behind and window.peek() == "]":
        window.at, inside = window.at + 1, False
    while first := window.peek():
        if not inside and first == "[":
            window.at += 1
            if window.peek() == "]":
                window.at += 1
            else:
                inside = True
            continue
        if not inside and first != "{":
            raise FileFormatError.at(
                f"a row must be a JSON object, not something that begins with {first!r}",
                file=file.name, row=row, line=window.where(window.at),
            )  # fmt: skip
        text = _one_value(window, decoder, file, row)
        yield text if text[0] == "{" else f'{{"text":{text}}}'
        row += 1
        if inside:
            inside = _after_item(window, file, row)
    if inside:
        raise FileFormatError.at(
            "the array does not end", file=file.name, row=row, line=window.where(window.at)
        )


def _after_item(window: _Text, file: SourceFile, row: int) -> bool:
    """Steps over the comma or bracket after an item; says whether the array goes on."""
    mark = window.peek()
    if mark not in (",", "]") or not mark:
        what = f"{mark!r} stands where a comma or ] must" if mark else "the array does not end"
        raise FileFormatError.at(
            f"not valid JSON ({what})", file=file.name, row=row, line=window.where(window.at)
        )
    window.at += 1
    return mark == ","


def _one_value(window: _Text, decoder: json.JSONDecoder, file: SourceFile, row: int) -> str:
    while (end := _end_of_value(window, decoder, file, row)) is None:
        window.more()
    text, window.at = window.text[window.at : end], end
    return text.replace("\n", " ").replace("\r", " ")


def _end_of_value(window: _Text, decoder: json.JSONDecoder, file: SourceFile, row: int) -> int | None:
    """Finds where the value at hand ends; None if the window has to grow first."""
    try:
        _, end = decoder.raw_decode(window.text, window.at)
    except RecursionError as error:
        raise too_deep(file, row, window.where(window.at)) from error
    except json.JSONDecodeError as error:
        # A value cut off by the window's end fails near it, or says where its unfinished string begins.
        cut = error.pos >= len(window.text) - 16 or error.msg.startswith("Unterminated string")
        if window.done or not cut:
            not_json(file, error, line=window.where(error.pos), row=row)
        return None
    except ValueError as error:  # an integer of thousands of digits
        raise FileFormatError.at(f"not usable JSON ({error})", file=file.name, row=row) from error
    # A number at the very end of the window may go on.
    return end if end < len(window.text) or window.done else None


def field_blocks(
    file: SourceFile, field: str, size: int, encoding: str | None, errors: str | None
) -> Iterator[Block]:
    """Reads the rows in one field of a file that is one JSON object: a list of rows, or columns as lists.

    The file is parsed whole, so it may not be larger than `RECORD_LIMIT`.

    Args:
        file: The file.
        field: The field's name.
        size: Characters of a block, about.
        encoding: See `open_utf8`.
        errors: See `open_utf8`.

    Raises:
        FileFormatError: Not JSON, not an object, or without the field.
    """
    document = _document(file, encoding, errors)
    if not isinstance(document, Mapping) or field not in document:
        known = suggest(field, document) if isinstance(document, Mapping) else "The file holds no object."
        raise FileFormatError.at(f'there is no field "{field}"', file=file.name, remedy=known)
    held: list[str] = []
    length = 0
    for row in _rows_of(document[field], file, field):
        held.append(json.dumps(row if isinstance(row, dict) else {"text": row}))
        length += len(held[-1])
        if length >= size:
            yield Block("\n".join(held).encode(), 0, 0)
            held, length = [], 0
    if held:
        yield Block("\n".join(held).encode(), 0, 0)


def _document(file: SourceFile, encoding: str | None, errors: str | None) -> Any:
    stream, _ = open_utf8(file, encoding, errors)
    with contextlib.closing(stream):
        window = _Text(stream, file)
        while window.more():
            pass
    try:
        return json.loads(window.text)
    except json.JSONDecodeError as error:
        not_json(file, error, line=window.where(error.pos), row=None)
    except RecursionError as error:
        raise too_deep(file, 0) from error
    except ValueError as error:
        raise FileFormatError.at(f"not usable JSON ({error})", file=file.name) from error


def _rows_of(value: Any, file: SourceFile, field: str) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        lengths = {len(column) for column in value.values()}
        if len(lengths) > 1:
            raise FileFormatError.at(f'the columns in the field "{field}" differ in length', file=file.name)
        yield from (dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True))
    elif isinstance(value, dict):
        yield value
    else:
        raise FileFormatError.at(f'the field "{field}" holds neither a list nor an object', file=file.name)
