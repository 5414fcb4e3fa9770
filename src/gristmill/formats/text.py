"""Plain text: a row for each line, paragraph or file, in the column ``text``."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import DataError, FileFormatError, InvalidArgumentError
from gristmill.formats.base import Batches, Format, fitter, one_batch
from gristmill.formats.loose import Bad, LooseRows, in_turn
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import (
    BLOCK_BYTES,
    RECORD_LIMIT,
    Block,
    cut_at_line,
    iter_blocks,
    reading_text,
)
from gristmill.formats.views import has_byte

__all__ = ["TextFormat", "TextOptions", "renamed", "text_rows"]

_SCHEMA = pa.schema({"text": pa.string()})
_WAYS = ("line", "paragraph", "document")


@dataclass(frozen=True)
class TextOptions:
    r"""Options of ``load_dataset("text", ...)``.

    Attributes:
        encoding: Encoding of the text.
        encoding_errors: What to do with bytes that are no text, as in `open`.
        chunksize: Bytes to read at a time; results do not depend on it.
        keep_linebreaks: Keep the line end, as ``\n``, at the end of each line.
        sample_by: A row for each ``"line"``, each ``"paragraph"`` (blank lines between) or the whole ``"document"``.
    """

    encoding: str | None = "utf-8"
    encoding_errors: str | None = None
    chunksize: int = BLOCK_BYTES
    keep_linebreaks: bool = False
    sample_by: Literal["line", "paragraph", "document"] = "line"

    def __post_init__(self) -> None:
        if self.sample_by not in _WAYS:
            raise InvalidArgumentError.from_choice("sample_by", str(self.sample_by), _WAYS)
        if self.chunksize < 1:
            raise InvalidArgumentError.from_value("chunksize", self.chunksize, "a positive number of bytes")


class TextFormat(Format[TextOptions]):
    r"""Plain text. Lines end with ``\n``, ``\r\n`` or ``\r`` and with nothing else: U+2028 is a character."""

    name = "text"
    suffixes = (".txt",)
    options = TextOptions

    def _read(
        self,
        file: SourceFile,
        options: TextOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        shape, name = renamed(_SCHEMA, schema)
        fit = fitter(schema, columns, file)
        row = start.row
        with reading_text(file, "text"):
            for block, rows in text_rows(file, options, start):
                if not len(rows):
                    continue
                table = pa.table([rows], schema=shape)
                if columns is not None and name not in columns:
                    table = table.select([])
                yield Position(row, block.offset, line=block.line), one_batch(fit(table, row))
                row += len(rows)

    def read_by_row(
        self,
        file: SourceFile,
        options: TextOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        bad: Bad | None,
    ) -> Iterator[tuple[Position, LooseRows]] | None:
        """Reads for a stream that leaves out lines which are no text in the encoding."""
        if bad is None or options.sample_by != "line":
            return None
        return _good_lines(file, options, columns, start, schema, bad)

    def infer_schema(
        self, file: SourceFile, options: TextOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Gives the one column ``text``; the file is not read."""
        self.parse_options(options)
        return _SCHEMA


def _good_lines(
    file: SourceFile,
    options: TextOptions,
    columns: list[str] | None,
    start: Position,
    schema: pa.Schema | None,
    bad: Bad,
) -> Iterator[tuple[Position, LooseRows]]:
    shape, name = renamed(_SCHEMA, schema)
    fit = fitter(schema, columns, file)
    row = start.row
    with reading_text(file, "text"):
        for block in _blocks(file, options, start):
            data = _one_kind_of_line_end(block.data)
            lines = data.removesuffix(b"\n").split(b"\n")
            kept = lines
            try:
                block.check(file)
            except FileFormatError:
                kept = []
                for number, line in enumerate(lines):
                    try:
                        Block(line, block.offset, block.line + number).check(file)
                    except FileFormatError as error:  # noqa: PERF203  # only where a line is bad
                        bad.add(error)
                    else:
                        kept.append(line)
            ends = data.endswith(b"\n")
            text = b"".join(line + b"\n" for line in kept) if ends else b"\n".join(kept)
            rows = _lines(text, options.keep_linebreaks) if kept else pa.array([], pa.string())
            table = pa.table([rows], schema=shape)
            if columns is not None and name not in columns:
                table = table.select([])
            yield (
                Position(row, block.offset, line=block.line),
                in_turn([one_batch(fit(table, row))], len(lines)),
            )
            row += len(lines)


def renamed(shape: pa.Schema, schema: pa.Schema | None) -> tuple[pa.Schema, str]:
    """Lets the user name the one column of a format that has one: ``features=Features({"line": Value("string")})``.

    Args:
        shape: The format's own schema.
        schema: The one asked for.

    Returns:
        `shape` with the name asked for, and that name.
    """
    name = shape.names[0] if schema is None or len(schema) != 1 else schema.names[0]
    return pa.schema([shape.field(0).with_name(name)]), name


def text_rows(file: SourceFile, options: TextOptions, start: Position) -> Iterator[tuple[Block, Any]]:
    """Reads the lines, paragraphs or document of a file: blocks of it, each with an array of its rows."""
    split = {"line": _lines, "paragraph": _paragraphs, "document": _document}[options.sample_by]
    for block in _blocks(file, options, start, views=True):
        block.check(file)
        data = _one_kind_of_line_end(block.data)
        if len(data) > RECORD_LIMIT * 2 - 1:
            raise DataError.at("a row is longer than 2 GB", file=file.name, line=block.line + 1)
        yield block, split(data, options.keep_linebreaks)


def _one_kind_of_line_end(data: bytes) -> bytes:
    return bytes(data).replace(b"\r\n", b"\n").replace(b"\r", b"\n") if has_byte(data, b"\r") else data


def _blocks(file: SourceFile, options: TextOptions, start: Position, views: bool = False) -> Iterator[Block]:
    cut = {"line": cut_at_line, "paragraph": _cut_at_paragraph, "document": _never}[options.sample_by]
    return iter_blocks(
        file,
        size=RECORD_LIMIT if options.sample_by == "document" else options.chunksize,
        encoding=options.encoding,
        errors=options.encoding_errors,
        start=start,
        cut=cut,
        views=views,
    )


def _never(_: bytes) -> int:
    return 0


def _cut_at_paragraph(data: bytes) -> int:
    """Finds the end of the last whole paragraph: the blank lines after it belong to it."""
    for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"):
        at = data.rfind(blank)
        # A run of blank lines that reaches the end may go on.
        while at > 0 and not data[at + len(blank) :].strip(b"\r\n"):
            at = data.rfind(blank, 0, at)
        if at >= 0:
            return at + len(blank)
    return 0


def _split(data: bytes | memoryview, separator: str) -> Any:
    return pc.split_pattern(_document(data, False), separator).flatten()


def _lines(data: bytes, keep: bool) -> Any:
    whole = data[-1:] == b"\n"  # a view has no `endswith`
    lines = _split(memoryview(data)[:-1] if whole else data, "\n")
    if not keep:
        return lines
    ends = pa.array(["\n"] * len(lines) if whole else ["\n"] * (len(lines) - 1) + [""])
    return pc.binary_join_element_wise(lines, ends, "")


def _paragraphs(data: bytes, _: bool) -> Any:
    parts = _split(data, "\n\n")
    # An odd newline of a longer gap, and the one at the end of the file, are no part of a paragraph.
    parts = pc.utf8_trim(parts, "\n")
    return parts.filter(pc.not_equal(parts, ""))


def _document(data: bytes | memoryview, _: bool) -> Any:
    # Text of known bytes needs no look at it, no copy, and not pandas, which `pyarrow.array` loads.
    return pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(struct.pack("=2i", 0, len(data))), pa.py_buffer(data)]
    )
