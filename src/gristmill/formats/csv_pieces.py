"""CSV parsed a block at a time, several at once.

While types are being settled all cells are parsed as text, since that is what says whether a number would lose something
(a leading zero, digits beyond those of a float). Once they are known, Arrow's parser makes numbers at once; in a block
where that fails the text is looked at.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv

from gristmill.formats.base import one_batch
from gristmill.formats.csv_blocks import RowBlock, StrayQuote, has_rows, iter_row_blocks
from gristmill.formats.csv_cells import BadRows, Head, cell_batches, opened, wanted_names
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_scan import bad_row, records, split_lines
from gristmill.formats.csv_settle import EXACT, kind_of, largest, spellings
from gristmill.formats.csv_wide import settled_together
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import bad_encoding, check_utf8

__all__ = ["Piece", "iter_pieces", "iter_settled"]

_STRING = pa.string()
# What comes over a network comes soon if it is little, and may be all that is wanted.
_REMOTE_BYTES = 1 << 20


class Piece(NamedTuple):
    """Rows of one block.

    Attributes:
        at: Where they are.
        batch: Their columns, as text or as numbers.
        kinds: What the columns hold; only from `iter_settled`.
    """

    at: Position
    batch: pa.RecordBatch
    kinds: Mapping[str, str]


def iter_pieces(
    file: SourceFile,
    options: CsvOptions,
    columns: Sequence[str] | None,
    types: Mapping[str, Any],
    start: Position,
) -> Iterator[Piece]:
    """Reads rows with some columns as numbers; a block in which that fails has text in all of them.

    Args:
        file: The file.
        options: Its options.
        columns: Columns to read; all if None.
        types: Types by column, of those that are not to be read as text.
        start: Where to begin.
    """

    def parse(parser: _Parser, block: RowBlock) -> tuple[Any, Mapping[str, str]]:
        return parser.parse_or_text(block, types), {}

    yield from _pieces(file, options, columns, start, parse)


def iter_settled(file: SourceFile, options: CsvOptions, literal: set[str]) -> Iterator[Piece]:
    """Reads all rows and says of each piece what its columns hold.

    Args:
        file: The file.
        options: Its options.
        literal: Columns to read as text in any case, and not to look at.
    """
    guess: dict[str, str] = {}

    def parse(parser: _Parser, block: RowBlock) -> tuple[Any, Mapping[str, str]]:
        batch, kinds = parser.settle(block, dict(guess), literal)
        for name, kind in kinds.items():
            guess[name] = (
                "text"
                if guess.get(name) == "text"
                else kind
                if kind not in ("null", "blank")
                else guess.get(name, "null")
            )
        return batch, kinds

    yield from _pieces(file, options, None, Position(), parse)


Parse = Callable[["_Parser", RowBlock], tuple[Any, Mapping[str, str]]]


def _pieces(
    file: SourceFile, options: CsvOptions, columns: Sequence[str] | None, start: Position, parse: Parse
) -> Iterator[Piece]:
    row = 0
    if _can_be_cut(options):
        try:
            for piece in _cut_pieces(file, options, columns, start, parse):
                row = piece.at.row + piece.batch.num_rows
                yield piece
            return
        except StrayQuote:
            pass
    first = 0
    for batch in cell_batches(file, options, None if columns is None else list(columns)):
        end = first + batch.num_rows
        if end > row:
            rest = batch.slice(max(0, row - first))
            kinds = {
                name: kind_of(cells, options)
                for name, cells in zip(batch.schema.names, rest.columns, strict=True)
            }
            yield Piece(Position(max(first, row)), rest, kinds)
        first = end


def _can_be_cut(options: CsvOptions) -> bool:
    plain = options.plain
    simple_quotes = plain.quote is None or plain.doublequote
    return plain.escapechar is None and simple_quotes and not options.converters


def _cut_pieces(
    file: SourceFile, options: CsvOptions, columns: Sequence[str] | None, start: Position, parse: Parse
) -> Iterator[Piece]:
    with opened(file, options) as (head, stream):
        if not head.names or not has_rows(head.rest):
            return
        parser = _Parser(file, options, head, columns)
        goes_on = start.offset >= head.offset and start.row > 0
        row = start.row if goes_on else 0
        line = start.line if goes_on else head.lines
        rest, offset = head.rest, head.offset
        if goes_on:
            rest = b"" if head.plain else _forward(stream, rest, offset, start.offset)
            offset = start.offset
        blocks = iter_row_blocks(
            stream, rest, offset, line, file, plain=head.plain,
            size=min(options.block_bytes, _REMOTE_BYTES) if file.is_remote else options.block_bytes,
            separator=options.plain.separator, quote=options.plain.quote,
        )  # fmt: skip
        for block, (batch, kinds) in _in_order(blocks, lambda block: parse(parser, block), file.threads):
            if batch is not None and batch.num_rows:
                yield Piece(Position(row, block.offset, line=block.line), batch, kinds)
                row += batch.num_rows
        parser.bad.tell()


def _forward(stream: Any, rest: bytes, offset: int, to: int) -> bytes:
    """Moves a stream on; gives what was read of it and lies behind the place."""
    while rest and offset + len(rest) < to:
        offset += len(rest)
        rest = stream.read(1 << 20)
    return rest[to - offset :]


def _in_order(
    blocks: Iterator[RowBlock], work: Callable[[RowBlock], Any], in_threads: bool
) -> Iterator[tuple[RowBlock, Any]]:
    """Works on blocks in threads, a few ahead, or else one after another; results in order."""
    if not in_threads:
        for each in blocks:
            yield each, work(each)
        return
    threads = max(1, pa.cpu_count())
    first = next(blocks, None)
    if first is None:
        return
    # What is found in the first block helps with all others.
    yield first, work(first)
    waiting: deque[tuple[RowBlock, Future[Any]]] = deque()
    error: BaseException | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="gristmill-csv") as pool:
        try:
            while True:
                try:
                    block = next(blocks, None) if error is None else None
                except Exception as caught:  # noqa: BLE001  # raised below: what comes before it is good
                    block, error = None, caught
                if block is not None:
                    waiting.append((block, pool.submit(work, block)))
                if not waiting:
                    break
                if block is None or len(waiting) > threads:
                    done, future = waiting.popleft()
                    yield done, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
    if error is not None:
        raise error


class _Parser:
    """Parses blocks of one file; several threads use it."""

    def __init__(
        self, file: SourceFile, options: CsvOptions, head: Head, columns: Sequence[str] | None
    ) -> None:
        self._file, self._options, self._plain = file, options, options.plain
        self._names = head.names
        self._wanted = wanted_names(head.names, options, columns, file)
        self.bad = BadRows(file, self._plain)
        truths = spellings(options)
        self._true = [text for text, value in truths.items() if value]
        self._false = [text for text, value in truths.items() if not value]
        self._can_type = not options.thousands and options.decimal.isascii()

    def parse_or_text(self, block: RowBlock, types: Mapping[str, Any]) -> Any:
        """Parses columns as types; all of them as text if one can't be."""
        if not self._check(block):
            return None
        if types and self._can_type:
            batch, bad = self._typed(block, types)
            if batch is not None and not any(map(_may_be_rounded, batch.columns)):
                self.bad.add(bad)
                return batch
        return self._text(block, self._wanted)

    def _typed(self, block: RowBlock, types: Mapping[str, Any]) -> tuple[Any, BadRows]:
        """Parses columns as types; None if one can't be."""
        bad = BadRows(self._file, self._plain)
        try:
            return self._parse(block, types, self._wanted, bad), bad
        except pa.ArrowInvalid:
            return None, bad

    def settle(
        self, block: RowBlock, guess: dict[str, str], literal: set[str]
    ) -> tuple[Any, Mapping[str, str]]:
        """Finds what columns hold, knowing what they held before, and makes values of it."""
        if not self._check(block):
            return None, {}
        batch = self._text(block, self._wanted)
        names, columns = batch.schema.names, batch.columns
        kinds = dict.fromkeys(names, "text")
        looked_at = [i for i, name in enumerate(names) if name not in literal]
        found = settled_together(
            [columns[i] for i in looked_at], self._options, [guess.get(names[i], "null") for i in looked_at]
        )
        for i, (kind, values) in zip(looked_at, found, strict=True):
            kinds[names[i]] = kind
            if values is not None:
                columns[i] = values
        return pa.RecordBatch.from_arrays(columns, names=names), kinds

    def _check(self, block: RowBlock) -> bool:
        """Says whether a block has rows.

        Raises:
            FileFormatError: It is not UTF-8; names the line.
        """
        try:
            check_utf8(block.data, len(block.data))
        except UnicodeDecodeError as error:
            line = block.line + bytes(block.data).count(b"\n", 0, error.start) + 1
            raise bad_encoding(self._file, line, error) from error
        return has_rows(block.data)

    def _text(self, block: RowBlock, columns: Sequence[str]) -> Any:
        bad = BadRows(self._file, self._plain)
        try:
            batch = self._parse(block, {}, columns, bad)
        except pa.ArrowInvalid as error:
            if bad.first is None:
                raise
            row = bad.first
            raise bad_row(
                self._file, self._line_of_bad_row(block), row.actual_columns, row.expected_columns, row.text
            ) from error
        self.bad.add(bad)
        return batch

    def _line_of_bad_row(self, block: RowBlock) -> int | None:
        for record in records(split_lines(bytes(block.data).decode()), self._plain, block.line):
            if len(record.cells) != len(self._names) and not (
                record.is_blank and self._plain.skip_blank_lines
            ):
                return record.line + 1
        return None

    def _parse(self, block: RowBlock, types: Mapping[str, Any], columns: Sequence[str], bad: BadRows) -> Any:
        data = block.data
        if data[:3] == codecs.BOM_UTF8:
            # pyarrow drops the mark from the start of what it is given; here it is the first cell's own text.
            data = b"".join((codecs.BOM_UTF8, data))
        options, plain = self._options, self._plain
        table = pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self._names
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=plain.separator,
                quote_char=plain.quote or False,
                double_quote=plain.doublequote,
                escape_char=False,
                newlines_in_values=plain.quote is not None,
                ignore_empty_lines=plain.skip_blank_lines,
                invalid_row_handler=bad,
            ),
            convert_options=pacsv.ConvertOptions(
                check_utf8=False,
                column_types={name: types.get(name, _STRING) for name in self._names},
                null_values=options.missing,
                true_values=self._true,
                false_values=self._false,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                include_columns=list(columns),
                decimal_point=options.decimal if self._can_type else ".",
            ),
        )
        return one_batch(table)


def _may_be_rounded(column: Any) -> bool:
    return bool(column.type == pa.float64() and largest(column) >= EXACT)
