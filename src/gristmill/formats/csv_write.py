"""Rows as CSV text, built column by column: each becomes text by an Arrow kernel, the rows are joined by another."""

from __future__ import annotations

import csv
import operator
from collections.abc import Iterable
from decimal import Decimal
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError
from gristmill.features.columnless import refuse_columnless
from gristmill.features.encode import decoded_values
from gristmill.features.unheld import converted, first_failing
from gristmill.formats.base import Target, output
from gristmill.formats.csv_dialect import ESCAPES, Dialect
from gristmill.formats.csv_missing import MISSING
from gristmill.formats.json_write import encoder, json_texts, time_texts
from gristmill.formats.text_columns import (
    TEXT,
    constant,
    edge_bytes,
    join,
    replaced,
    texts_with_bytes,
    view_of,
)

__all__ = ["write_csv", "write_csv_file"]

_ROWS = 50_000


def _among(characters: Iterable[str]) -> Any:
    return np.isin(np.arange(256), [ord(character) for character in characters])


_BLANK = _among("\t\n\f\r ")
_MISSING_FIRST = _among(word[0] for word in MISSING if word)
_MISSING_LAST = _among(word[-1] for word in MISSING if word)


def write_csv_file(
    batches: Iterable[pa.RecordBatch],
    target: Target,
    *,
    schema: pa.Schema,
    compression: str | None = "infer",
    **options: Any,
) -> int:
    """Writes CSV: a header, cells quoted where needed, numbers so that they read back equal.

    Args:
        batches: See `Format.write`.
        target: See `Format.write`.
        schema: See `Format.write`.
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, None, or ``"infer"`` from the target's suffix.
        **options: See `Dialect`.

    Returns:
        Number of bytes written, before compression.
    """
    with output(target, compression) as out:
        write_csv(batches, out, schema, **options)
        return out.count


def write_csv(batches: Iterable[pa.RecordBatch], out: Any, schema: pa.Schema, **options: Any) -> None:
    r"""Writes record batches as CSV.

    Text is quoted where it holds separators, quotes or line ends, and where it would otherwise read as missing (empty
    text, "NA"). Floats are written in the shortest form that reads back equal, whole ones with ``.0``; NaN as a
    missing value; times in ISO form, lists and structs as JSON.

    Args:
        batches: Record batches (or tables) with this schema.
        out: Binary file object.
        schema: Schema of the batches.
        **options: See `Dialect`. In a table of one column a missing value without text would be a blank line, which
            readers skip; there it is written as ``NA``.

    Raises:
        InvalidArgumentError: An option can't be used, or there are rows without columns.
        CastError: A binary column holds bytes that are no text, or text has characters that can't be written.
        DataError: A value has no text, such as a date after the year 9999; names row and column.
    """
    dialect = Dialect.parse(options, schema.names)
    encode = dialect.encoder()

    def write(text: Any) -> None:
        out.write(text if dialect.is_utf8 else encode.encode(bytes(text).decode()))

    write(dialect.head(schema.names).encode())
    row = 0
    for batch in batches:
        if not batch.num_columns:
            refuse_columnless(batch.num_rows, "CSV")
        for start in range(0, batch.num_rows, _ROWS):
            piece = dialect.chosen(batch.slice(start, _ROWS), row + start)
            try:
                write(_lines(piece, dialect, row + start))
                write(str(dialect.lineterminator).encode())
            except UnicodeEncodeError as error:
                raise CastError.at(
                    f"{error.object[error.start : error.end]!r} can't be written as {dialect.encoding}",
                    remedy='Write UTF-8, or pass errors="replace" or "xmlcharrefreplace".',
                ) from error
        row += batch.num_rows


def _lines(batch: Any, dialect: Dialect, row: int) -> memoryview:
    """Gives the lines of a batch; the last one has no end."""
    cells: list[Any] = []
    missing = dialect.missing(batch.num_columns)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        text = converted(whole, partial(_text, dialect=dialect, name=name, row=row), column=name, row=row)
        cells.append(pc.fill_null(text, constant(missing)) if text.null_count else text)
    lines = join(cells, dialect.sep)
    # All lines as one list, whose texts are joined: less than half of what a line end in each line costs.
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return view_of(pc.binary_join(whole, constant(dialect.lineterminator)))


def _text(column: Any, dialect: Dialect, name: str, row: int) -> Any:
    """Turns a column into the text of its cells, quoted where needed; null stays null."""
    type_ = column.type
    if isinstance(column, pa.DictionaryArray):
        return _text(column.dictionary_decode(), dialect, name, row)
    if isinstance(type_, pa.BaseExtensionType):
        return _text(column.storage, dialect, name, row)
    if pt.is_null(type_):
        return pa.nulls(len(column), TEXT)
    if pt.is_boolean(type_):
        return _plain(pc.if_else(column, constant("True"), constant("False")), dialect)
    if pt.is_floating(type_):
        return _plain(_float_text(column, dialect), dialect)
    if pt.is_integer(type_) or pt.is_decimal(type_):
        text = pc.cast(column, TEXT)
        if pt.is_decimal(type_) and dialect.decimal != ".":
            text = pc.replace_substring(text, ".", dialect.decimal)
        return _plain(text, dialect)
    if pt.is_nested(type_):
        text = json_texts(column, force_ascii=False)
        text = pc.if_else(column.is_valid(), text, constant(None)) if column.null_count else text
        return _quoted(text, dialect)
    if type_ == pa.time64("ns"):
        return _quoted(time_texts(column), dialect)
    if pt.is_temporal(type_):
        encode = encoder(force_ascii=False)
        form = dialect.date_format if pt.is_timestamp(type_) else None
        plain = [None if value is None
                 else value.strftime(form) if form is not None
                 else encode(value).strip('"')
                 for value in decoded_values(column)]  # fmt: skip
        if pt.is_duration(type_):
            plain = _exact_seconds(column, plain)
        return _quoted(pa.array(plain, TEXT), dialect)
    try:
        return _quoted(pc.cast(column, TEXT), dialect)
    except pa.ArrowInvalid as error:
        raise CastError.at(
            f"{type_} can't be written as text ({error})",
            row=row + first_failing(column, lambda part: pc.cast(part, TEXT)),
            column=name,
            remedy="Write Parquet, or drop the column.",
        ) from error


def _exact_seconds(column: Any, plain: list[str | None]) -> list[str | None]:
    """Gives the digits of seconds that a float can't hold; the others stay as they are."""
    counts, places = (
        column.cast(pa.int64()).to_pylist(),
        {"s": 0, "ms": 3, "us": 6, "ns": 9}[column.type.unit],
    )
    return [
        text if count is None or abs(count) < 2**52 else f"{Decimal(count).scaleb(-places):f}"
        for count, text in zip(counts, plain, strict=True)
    ]


def _plain(text: Any, dialect: Dialect) -> Any:
    """Gives the cells of numbers and truth values, which are quoted only if all cells are, or if they hold a separator."""
    if dialect.quoting == csv.QUOTE_ALL:
        return _in_quotes(text, dialect)
    return (
        _quoted(text, dialect, numbers=True) if dialect.sep in _OF_NUMBERS or dialect.decimal != "." else text
    )


_OF_NUMBERS = frozenset("0123456789.-+einfTrualsF")


def _float_text(column: Any, dialect: Dialect) -> Any:
    if dialect.float_format is not None:
        values = column.to_pylist()
        written = [None if value is None or value != value else dialect.float_text(value) for value in values]
        return pa.array(written, TEXT)
    text = _shortest(column)
    return text if dialect.decimal == "." else pc.replace_substring(text, ".", dialect.decimal)


def _shortest(column: Any) -> Any:
    if pt.is_float16(column.type):
        column = pc.cast(column, pa.float32())
    text = pc.cast(column, TEXT)
    numbers = column.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = numbers == np.trunc(numbers)
        large = bool((np.abs(numbers) >= 1e9).any())
    if large:  # a whole number may be written with an exponent, and then needs nothing
        whole &= pc.fill_null(pc.match_substring_regex(text, r"^-?[0-9]+$"), False).to_numpy(
            zero_copy_only=False
        )
    if whole.any():
        text = pc.if_else(pa.array(whole), join([text, constant(".0")]), text)
    return pc.if_else(pc.is_nan(column), constant(None), text) if np.isnan(numbers).any() else text


def _any_of(data: Any, wanted: bytes) -> Any:
    """Says which bytes are wanted ones."""
    content = data.tobytes()
    # A search for a byte takes a tenth of what comparing all with it does, and most pieces of text lack most of these.
    found = [data == byte for byte in wanted if byte in content]
    return reduce(operator.or_, found) if found else np.zeros(len(data), np.bool_)


def _quoted(text: Any, dialect: Dialect, numbers: bool = False) -> Any:
    if dialect.quoting == csv.QUOTE_ALL or (dialect.quoting == csv.QUOTE_NONNUMERIC and not numbers):
        return _in_quotes(text, dialect)
    special = f"\n\r{dialect.quotechar}{dialect.sep}{dialect.lineterminator}{dialect.escapechar or ''}"
    needs = np.zeros(len(text), np.bool_)
    needs[texts_with_bytes(text, partial(_any_of, wanted=bytes(set(special.encode()))))] = True
    if dialect.quoting == csv.QUOTE_NONE:
        return _escaped_only(text, np.flatnonzero(needs), special, dialect)
    if not numbers:
        filled, first, last = edge_bytes(text)
        if len(filled) < len(text):
            empty = np.ones(len(text), np.bool_)
            empty[filled] = False
            needs |= empty
        needs[filled[_BLANK[first] | _BLANK[last]]] = True
        like_missing = filled[_MISSING_FIRST[first] & _MISSING_LAST[last]]
        if len(like_missing):
            missing = pc.is_in(text.take(pa.array(like_missing)), pa.array(MISSING, TEXT))
            needs[like_missing[missing.to_numpy(zero_copy_only=False)]] = True
    if text.null_count:
        needs &= text.is_valid().to_numpy(zero_copy_only=False)
    odd = np.flatnonzero(needs)
    return replaced(text, odd, _in_quotes(text.take(pa.array(odd)), dialect)) if len(odd) else text


def _in_quotes(text: Any, dialect: Dialect) -> Any:
    quote, escape = dialect.quotechar, dialect.escapechar
    if escape is not None:
        text = pc.replace_substring(text, escape, escape * 2)
    if dialect.doublequote:
        text = pc.replace_substring(text, quote, quote * 2)
    elif escape is not None:
        text = pc.replace_substring(text, quote, escape + quote)
    elif len(odd := text.filter(pc.fill_null(pc.match_substring(text, quote), False))):
        raise CastError.at(f"{odd[0].as_py()!r} can't be quoted with doublequote=False", remedy=ESCAPES)
    return join([constant(quote), text, constant(quote)])


def _escaped_only(text: Any, odd: Any, special: str, dialect: Dialect) -> Any:
    if not len(odd):
        return text
    if dialect.escapechar is None:
        found = text.take(pa.array(odd[:1]))[0].as_py()
        raise CastError.at(f"{found!r} can't be written without quotes", remedy=ESCAPES)
    marks = {ord(character): dialect.escapechar + character for character in special}
    return replaced(text, odd, [value.translate(marks) for value in text.take(pa.array(odd)).to_pylist()])
