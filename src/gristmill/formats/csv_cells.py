"""The cells of a CSV file as columns of text: header, names, rows; what pyarrow's parser says put into words."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import threading
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv

from gristmill.errors import DataError, FileFormatError, InvalidArgumentError
from gristmill.formats.csv_blocks import has_rows
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_scan import Record, RewrittenCsv, bad_row, records, split_lines
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import (
    RECORD_LIMIT,
    Block,
    bad_encoding,
    check_utf8,
    open_utf8,
    whole_characters,
)
from gristmill.logging import get_logger

__all__ = ["BadRows", "Head", "cell_batches", "column_names", "opened"]

_log = get_logger(__name__)
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|$)")
_HEAD = 1 << 16


class Head(NamedTuple):
    """The beginning of a file.

    Attributes:
        names: Of the columns.
        lines: Lines before the first row.
        rest: Bytes of that row and of what follows, as far as they were read.
        offset: Bytes of the stream before it.
        plain: Whether the stream is the file itself, in which one can go anywhere.
    """

    names: list[str]
    lines: int
    rest: bytes
    offset: int = 0
    plain: bool = False


class _Rest:
    """The stream from the first row on, as a file that pyarrow reads; checked to be UTF-8 on the way."""

    closed = False

    def __init__(self, head: Head, stream: Any, file: SourceFile) -> None:
        self._rest, self._stream, self._file = head.rest, stream, file
        if isinstance(stream, io.BufferedReader):
            # Reading those bytes once more costs less than a copy of the first block with them in front.
            stream.seek(-len(head.rest), io.SEEK_CUR)
            self._rest = b""
        if head.rest.startswith(codecs.BOM_UTF8):
            # pyarrow drops the mark from the start of what it is given; here it is the first cell's own text.
            self._rest = codecs.BOM_UTF8 + self._rest
        self._lines = head.lines
        self._half = b""  # a character's bytes in the last block, when it goes on in the next

    def read(self, size: int = -1) -> bytes:
        """Reads about `size` bytes.

        Raises:
            FileFormatError: They are not UTF-8; names the line.
        """
        if len(self._rest) < size:
            self._rest += self._stream.read(size - len(self._rest))
        data = self._rest[:size]
        # pyarrow takes a newline that begins a block for the second half of a line end if the last block ended with
        # a carriage return, inside quotes too: so no block ends with one, but at the end of the file.
        data = data.rstrip(b"\r") or data
        self._rest = self._rest[len(data) :]
        self._check(data)
        self._lines += data.count(b"\n")
        return data

    def _check(self, data: bytes) -> None:
        text = self._half + data
        size = whole_characters(text) if data else len(text)
        try:
            check_utf8(text, size)
        except UnicodeDecodeError as error:
            line = self._lines + text.count(b"\n", 0, error.start) + 1
            raise bad_encoding(self._file, line, error) from error
        self._half = text[size:]


def column_names(file: SourceFile, options: CsvOptions) -> list[str]:
    """Reads the names of a file's columns, or makes them.

    An empty name becomes ``Unnamed: 3``, a second ``a`` becomes ``a.1``; without a header they are ``0``, ``1``, ...

    Raises:
        FileFormatError: The header can't be read.
    """
    with opened(file, options) as (head, _):
        return head.names


@contextlib.contextmanager
def opened(file: SourceFile, options: CsvOptions) -> Iterator[tuple[Head, Any]]:
    """Opens a file and reads its head; gives the stream behind what was read."""
    stream, plain = (
        (RewrittenCsv(file, options), False)
        if options.needs_rewriting
        else open_utf8(file, options.encoding, options.encoding_errors)
    )
    with contextlib.closing(stream):
        yield _head(stream, file, options.plain)._replace(plain=plain), stream


def _head(stream: Any, file: SourceFile, options: CsvOptions) -> Head:
    """Reads until the header and one row are there; the header may have newlines inside quotes."""
    data, size = b"", 0
    while True:
        more = stream.read(max(_HEAD, len(data)))
        size += len(more)
        data = (data + more).removeprefix(codecs.BOM_UTF8)
        found = _split_head(data, not more, file, options)
        if found is not None:
            return found._replace(offset=size - len(found.rest))
        if len(data) > RECORD_LIMIT:
            raise DataError.at(f"a record is longer than {RECORD_LIMIT >> 20} MB", file=file.name, line=1)


def _split_head(data: bytes, done: bool, file: SourceFile, options: CsvOptions) -> Head | None:
    lines = _Lines(data, done)
    first = options.skiprows or 0
    assert isinstance(first, int)  # other forms are rewritten
    header = options.header_row
    wanted = header + 1 if header is not None else 1
    found: list[Record] = []
    for record in records(_texts(lines, first, file), options, first):
        if not (record.is_blank and options.skip_blank_lines):
            found.append(record)
        if len(found) == wanted:
            break
    used = found[-1].line + found[-1].lines if found else first
    if not done and (len(found) < wanted or found[-1].is_open):
        return None
    if found and found[-1].is_open and header is not None:
        raise FileFormatError.at("a quote does not end", file=file.name, line=found[-1].line + 1)
    cells = [text for text, _ in found[-1].cells] if len(found) == wanted else []
    if header is None:
        names = _given(options, len(cells), file) if cells else options.given_names or []
        begin = first
    else:
        names = _given(options, len(cells), file) if options.given_names else _named(cells)
        begin = used if cells else len(list(lines))
    return Head(names, begin, data[lines.start(begin) :])


class _Lines:
    """The lines of a file's beginning, found as they are asked for: mostly two of very many are.

    Args:
        data: The beginning.
        done: Whether it is the whole file; if not, the last line is left out, as it may go on.
    """

    def __init__(self, data: bytes, done: bool) -> None:
        self._data, self._done = data, done

    def __iter__(self) -> Iterator[bytes]:
        for match in _LINE.finditer(self._data):
            if match.group() and (self._done or match.end() < len(self._data)):
                yield match.group()

    def start(self, number: int) -> int:
        """Gives the place where the line with this index begins, or the last one ends."""
        return sum(map(len, islice(self, number)))


def _texts(lines: _Lines, first: int, file: SourceFile) -> Iterator[tuple[str, str]]:
    for i, line in enumerate(islice(lines, first, None), first):
        yield from split_lines(Block(line, 0, i).text(file))


def _given(options: CsvOptions, cells: int, file: SourceFile) -> list[str]:
    names = options.given_names
    if names is None:
        return [str(i) for i in range(cells)]
    if len(names) != cells:
        raise InvalidArgumentError(f"names= gives {len(names)} names, but {file.name} has {cells} columns.")
    return _named(names)


def _named(cells: list[str]) -> list[str]:
    names: dict[str, None] = {}  # in order
    taken, counts = set(cells), dict[str, int]()
    for i, cell in enumerate(cells):
        name = base = cell or f"Unnamed: {i}"
        # From where it was left: a name that stands thousands of times would take the square of that.
        count = counts.get(base, 0)
        while name in names or (count and name in taken):
            count += 1
            name = f"{base}.{count}"
        names[name], counts[base] = None, count
    return list(names)


def cell_batches(
    file: SourceFile, options: CsvOptions, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Reads the rows of a file as columns of text, block by block; missing cells are null.

    Args:
        file: The file.
        options: Its options.
        columns: Columns to read; all if None.

    Raises:
        FileFormatError: A row has more or fewer cells than there are names, or text is not UTF-8; names the line.
        InvalidArgumentError: `usecols` names a column that is not there.
    """
    block_bytes, progress = options.block_bytes, _Progress()
    while (yield from _parse(file, options, columns, block_bytes, progress)):
        block_bytes *= 8
        if block_bytes > RECORD_LIMIT:
            raise DataError.at(
                f"a record is longer than {RECORD_LIMIT >> 23} MB, or a quote does not end",
                file=file.name,
                row=progress.rows,
            )


class _Progress:
    """Rows given out so far."""

    rows: int = 0


def _parse(
    file: SourceFile,
    options: CsvOptions,
    columns: list[str] | None,
    block_bytes: int,
    progress: _Progress,
) -> Generator[pa.RecordBatch, None, bool]:
    """Yields the rows after `progress`; says at the end whether larger blocks are needed to go on."""
    skip = progress.rows
    with opened(file, options) as (head, stream):
        if not head.names or not has_rows(head.rest):
            return False
        wanted, plain = wanted_names(head.names, options, columns, file), options.plain
        bad = BadRows(file, plain)
        try:
            reader = pacsv.open_csv(
                pa.PythonFile(_Rest(head, stream, file), mode="r"),
                read_options=pacsv.ReadOptions(block_size=block_bytes, column_names=head.names),
                parse_options=pacsv.ParseOptions(
                    delimiter=plain.separator,
                    quote_char=plain.quote or False,
                    double_quote=plain.doublequote,
                    escape_char=plain.escapechar or False,
                    newlines_in_values=plain.quote is not None,
                    ignore_empty_lines=plain.skip_blank_lines,
                    invalid_row_handler=bad,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(head.names, pa.string()),
                    null_values=options.missing,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    include_columns=wanted,
                ),
            )
            for batch in reader:
                if skip < batch.num_rows:
                    progress.rows += batch.num_rows - skip
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
        except pa.ArrowInvalid as error:
            # A record is longer than a block.
            if "straddl" in str(error):
                return True
            _explain(error, bad, file, options, head)
            raise
        bad.tell()
    return False


def wanted_names(
    names: list[str], options: CsvOptions, columns: Sequence[str] | None, file: SourceFile
) -> list[str]:
    """Gives the columns to parse: those to read, or one if there are none, to know how many rows there are.

    Args:
        names: Those the file has.
        options: Its options.
        columns: Those asked for; all if None.
        file: The file.

    Raises:
        ColumnNotFoundError: `usecols` names a column that is not there.
    """
    used = options.used_names(names, file.name)
    there = set(used)
    return (used if columns is None else [name for name in columns if name in there]) or names[:1]


class BadRows:
    """What pyarrow asks about rows with more or fewer cells than there are columns."""

    def __init__(self, file: SourceFile, options: CsvOptions) -> None:
        self._file, self._action = file, options.bad_lines
        self.first: Any = None
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self, row: Any) -> str:
        """Decides about one row."""
        self.first = self.first or row
        self.count += 1
        return "error" if self._action == "error" else "skip"

    def add(self, other: BadRows) -> None:
        """Counts those of another parse of the same file."""
        with self._lock:
            self.first = self.first or other.first
            self.count += other.count

    def tell(self) -> None:
        """Says how many rows were left out, once for a file."""
        if self.count and self._action == "warn":
            row = self.first
            first = f"{row.actual_columns} cells instead of {row.expected_columns}: {row.text[:80]!r}"
            _warn_once(self._file.name, str(self._file.path), self.count, first)


@lru_cache(maxsize=256)
def _warn_once(name: str, _path: str, count: int, first: str) -> None:
    _log.warning("%s: %d rows are left out; the first has %s", name, count, first)


def _explain(error: Exception, bad: BadRows, file: SourceFile, options: CsvOptions, head: Head) -> None:
    """Raises an error that names the line, as far as a second, slower look finds it."""
    if bad.first is not None:
        line = _line_of_bad_row(file, options, head)
        row = bad.first
        raise bad_row(file, line, row.actual_columns, row.expected_columns, row.text) from error


def _line_of_bad_row(file: SourceFile, options: CsvOptions, head: Head) -> int | None:
    with opened(file, options) as (_, stream):
        lines = (match[0].decode("utf-8", "replace") for match in _stream_lines(_Rest(head, stream, file)))
        for record in records(
            (line for text in lines for line in split_lines(text)), options.plain, head.lines
        ):
            if len(record.cells) != len(head.names) and not (record.is_blank and options.skip_blank_lines):
                return record.line + 1
    return None


def _stream_lines(rest: _Rest) -> Iterator[Any]:
    data = b""
    while more := rest.read(1 << 20):
        found = [match for match in _LINE.finditer(data + more) if match[0]]
        data = found.pop()[0] if found else b""
        yield from found
    yield from (match for match in _LINE.finditer(data) if match[0])
