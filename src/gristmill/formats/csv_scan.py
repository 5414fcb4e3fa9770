"""CSV in any dialect, cell by cell: slower than Arrow's parser, and knows every option.

`records` finds the cells of lines at hand. `RewrittenCsv` is a stream of plain CSV (commas, double quotes, newlines)
made from a file of another dialect; a cell is quoted there exactly if it was.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gristmill.errors import CastError, FileFormatError, InvalidArgumentError, shorten
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import cut_at_line, iter_blocks

__all__ = ["Cell", "Record", "RewrittenCsv", "bad_row", "records"]

Cell = tuple[str, bool]
"""(text, whether it was in quotes)."""
Line = tuple[str, str]
"""(text, what ends it)."""
_SKIPPED: Line = ("skipped", "")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
_SPECIAL = re.compile(r'[,"\r\n]')


class Record:
    """Cells of one row.

    Attributes:
        cells: Text of each, and whether it was quoted; none if all of it is a comment.
        line: Index of its first line.
        lines: How many lines it takes.
        is_blank: There is nothing in its line.
        is_open: The text ended inside quotes.
    """

    __slots__ = ("cells", "is_blank", "is_open", "line", "lines")

    def __init__(self, cells: list[Cell], line: int, *, is_blank: bool = False) -> None:
        self.cells = cells
        self.line = line
        self.lines = 1
        self.is_blank = is_blank
        self.is_open = False


def split_lines(text: str, terminator: str | None = None) -> list[Line]:
    r"""Cuts text into lines.

    Example:
        >>> split_lines("a\r\nb"), split_lines("a;b", ";")
        ([('a', '\r\n'), ('b', '')], [('a', ';'), ('b', '')])
    """
    if terminator is None:
        found = [(match[1], match[2]) for match in _LINE.finditer(text)]
        return [line for line in found if line != ("", "")]
    parts = text.split(terminator)
    return [(part, terminator) for part in parts[:-1]] + ([(parts[-1], "")] if parts[-1] else [])


def records(lines: Iterable[Line], options: CsvOptions, first: int = 0) -> Iterator[Record]:
    """Finds the cells of lines.

    Args:
        lines: Lines of text.
        options: How cells are written.
        first: Index of the first line.

    Yields:
        Records, those of blank lines and comments too. The last one is open if a quote does not end.

    Example:
        >>> [r.cells for r in records(split_lines('a;"b;c"'), CsvOptions(sep=";"))]
        [[('a', False), ('b;c', True)]]
    """
    scanner = _Scanner(iter(lines), options, first)
    while (record := scanner.next_record()) is not None:
        yield record


class _Scanner:
    def __init__(self, lines: Iterator[Line], options: CsvOptions, first: int) -> None:
        self._lines, self._line = lines, first
        sep = options.separator
        self._sep = sep if len(sep) == 1 else None
        self._trims = self._sep is None and re.compile(sep).match(" ") is not None
        self._skips_space = options.skipinitialspace or self._trims
        self._quote, self._double = options.quote, options.doublequote
        self._escape, self._comment = options.escapechar, options.comment
        self._odd = [mark for mark in (self._quote, self._escape, self._comment) if mark]
        marks = [f"(?P<sep>{sep if self._sep is None else re.escape(sep)})"]
        marks += [f"(?P<escape>{re.escape(self._escape)})"] if self._escape else []
        marks += [f"(?P<comment>{re.escape(self._comment)})"] if self._comment else []
        self._mark = re.compile("|".join(marks))
        ends = "".join(re.escape(mark) for mark in (self._quote, self._escape) if mark)
        self._in_quotes = re.compile(f"[{ends}]") if ends else None

    def next_record(self) -> Record | None:
        line = next(self._lines, None)
        if line is None:
            return None
        text, end = line
        record = Record([], self._line)
        self._line += 1
        if line is _SKIPPED:
            return record
        if self._trims:
            text = text.strip()
        if not text:
            return Record([("", False)], record.line, is_blank=True)
        if self._comment and text.startswith(self._comment):
            return record
        if self._sep is not None and not any(mark in text for mark in self._odd):
            cells = text.split(self._sep)
            record.cells = [(cell.lstrip(" ") if self._skips_space else cell, False) for cell in cells]
            return record
        at: int | None = 0
        while at is not None:
            text, end, at = self._cell(record, text, end, at)
        record.lines = self._line - record.line
        return record

    def _cell(self, record: Record, text: str, end: str, at: int) -> tuple[str, str, int | None]:
        """Reads one cell; gives the line it ends in and where the next begins, None at the end of the record."""
        parts: list[str] = []
        if self._skips_space:
            while at < len(text) and text[at] == " ":
                at += 1
        quoted = bool(self._quote) and text.startswith(self._quote or "", at)
        if quoted:
            at += 1
            while True:
                assert self._in_quotes is not None
                found = self._in_quotes.search(text, at)
                if found is not None and found[0] == self._quote:
                    parts.append(text[at : found.start()])
                    at = found.end()
                    if not (self._double and text.startswith(found[0], at)):
                        break
                    parts.append(found[0])
                    at += 1
                elif found is not None and found.end() < len(text):
                    parts += [text[at : found.start()], text[found.end()]]
                    at = found.end() + 1
                else:
                    parts += [text[at : None if found is None else found.start()], end]
                    following = next((line for line in self._lines if line is not _SKIPPED), None)
                    if following is None:
                        record.is_open = True
                        record.cells.append(("".join(parts), True))
                        return text, end, None
                    text, end = following
                    self._line += 1
                    at = 0
        while (found := self._mark.search(text, at)) is not None:
            parts.append(text[at : found.start()])
            at = found.end()
            if found.lastgroup != "escape":
                record.cells.append(("".join(parts), quoted))
                return text, end, at if found.lastgroup == "sep" else None
            parts.append(text[at : at + 1])
            at += 1
        parts.append(text[at:])
        record.cells.append(("".join(parts), quoted))
        return text, end, None


def bad_row(file: SourceFile, line: int | None, cells: int, expected: int, text: str) -> FileFormatError:
    """Words the error for a row with more or fewer cells than there are columns."""
    made: FileFormatError = FileFormatError.at(
        f"a row has {cells} cells where there are {expected} columns: {text[:80]!r}",
        file=file.name,
        line=line,
        remedy='Mend the row, pass the right sep= or quotechar=, or on_bad_lines="skip".',
    )
    return made


class RewrittenCsv:
    """A stream of plain CSV made from a file of another dialect.

    Args:
        file: The file.
        options: How it is written.
    """

    def __init__(self, file: SourceFile, options: CsvOptions) -> None:
        self._file, self._options = file, options
        skipped = options.skiprows
        self._skipped = frozenset(skipped) if isinstance(skipped, tuple) else skipped
        self._pieces = self._rewritten()
        self._rest = b""
        self._width: int | None = None
        header = options.header_row
        self._rows_before = 0 if header is None else header + 1
        self._last = None if options.nrows is None else options.nrows + self._rows_before

    def read(self, size: int = -1) -> bytes:
        """Reads up to `size` bytes; b"" only at the end."""
        parts, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            parts.append(piece)
            length += len(piece)
        data = b"".join(parts)
        size = len(data) if size < 0 else size
        self._rest = data[size:]
        return data[:size]

    def close(self) -> None:
        """Closes the file."""
        self._pieces.close()  # type: ignore[attr-defined]  # a generator

    def _rewritten(self) -> Iterator[bytes]:
        written: list[str] = []
        size = count = 0
        for record in self._kept():
            cells = self._fitting(record, count)
            if cells is None:
                continue
            text = self._text(cells)
            written.append(text)
            size, count = size + len(text), count + 1
            if size >= 1 << 16:
                yield "".join(written).encode()
                written, size = [], 0
            if count == self._last:
                break
        if written:
            yield "".join(written).encode()

    def _kept(self) -> Iterator[Record]:
        """Leaves out the lines at the end that are not wanted, comments, and blank lines if they are no rows."""
        waiting: deque[Record] = deque()
        for record in records(self._lines(), self._options):
            if record.is_open:
                raise FileFormatError.at("a quote does not end", file=self._file.name, line=record.line + 1)
            waiting.append(record)
            if len(waiting) <= self._options.skipfooter:
                continue
            oldest = waiting.popleft()
            if oldest.cells and not (oldest.is_blank and self._options.skip_blank_lines):
                yield oldest

    def _lines(self) -> Iterator[Line]:
        """Reads the lines of the file, those that are skipped as comments are: so lines keep their numbers."""
        options = self._options
        end = options.lineterminator
        cut = cut_at_line if end is None else lambda data: data.rfind(end.encode()) + len(end.encode())
        number = 0
        for block in iter_blocks(
            self._file, size=1 << 20, encoding=options.encoding, errors=options.encoding_errors, cut=cut
        ):
            for line in split_lines(block.text(self._file), end):
                yield _SKIPPED if _is_skipped(number, self._skipped) else line
                number += 1

    def _fitting(self, record: Record, count: int) -> list[Cell] | None:
        """Gives the cells of a record, as many as there are columns if that is what the options mean."""
        cells, options = record.cells, self._options
        if count < self._rows_before - 1:
            return cells
        if self._width is None:
            names = options.given_names
            self._width = len(names) if names and options.header_row is None else len(cells)
            if count == self._rows_before - 1:
                return cells
        if len(cells) == self._width:
            return cells
        if record.is_blank:
            return [("", False)] * self._width
        extra = cells[self._width :]
        if options.index_col is False and extra and not any(text for text, _ in extra):
            return cells[: self._width]
        action = options.bad_lines
        if callable(action):
            return self._mended(action, record)
        if action == "error":
            text = options.separator.join(text for text, _ in cells)
            raise bad_row(self._file, record.line + 1, len(cells), self._width, text)
        return cells

    def _mended(self, action: Callable[[list[str]], Any], record: Record) -> list[Cell] | None:
        """Gives the cells that the user's function makes of those of a bad line; None to leave it out."""
        try:
            mended = action([text for text, _ in record.cells])
        except Exception as error:
            problem = f"on_bad_lines fails on it: {type(error).__name__}: {error}"
            raise CastError.at(problem, file=self._file.name, line=record.line + 1) from error
        if mended is None:
            return None
        if not isinstance(mended, Sequence) or isinstance(mended, str):
            problem = f"on_bad_lines gives {shorten(mended)}, neither a list of cells nor None"
        elif len(mended) != self._width:
            problem = f"on_bad_lines gives {len(mended)} cells where there are {self._width} columns"
        else:
            return [("" if cell is None else str(cell), False) for cell in mended]
        raise CastError.at(problem, file=self._file.name, line=record.line + 1)

    def _text(self, cells: list[Cell]) -> str:
        if len(cells) == 1 and cells[0] == ("", False):
            # A blank line would not be a row.
            missing = next(filter(None, self._options.missing), "")
            return f"{missing}\n" if missing else '""\n'
        return ",".join(map(_quoted, cells)) + "\n"


def _is_skipped(number: int, rows: Any) -> bool:
    if rows is None:
        return False
    if isinstance(rows, int):
        return number < rows
    if not callable(rows):
        return number in rows
    try:
        return bool(rows(number))
    except Exception as error:
        expected = (
            f"a function of the index of a line: it fails on {number} ({type(error).__name__}: {error})"
        )
        raise InvalidArgumentError.from_value("skiprows", rows, expected) from error


def _quoted(cell: Cell) -> str:
    text, quoted = cell
    if quoted or _SPECIAL.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
