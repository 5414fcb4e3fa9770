"""Rows as CSV text, built column by column: each becomes text by an Arrow kernel, the rows are joined by another."""

from __future__ import annotations

import csv
import io
import operator
from collections.abc import Iterable
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features.columnless import refuse_columnless
from gristmill.features.encode import decoded_values
from gristmill.features.unheld import converted, first_failing
from gristmill.formats.base import Target, output
from gristmill.formats.csv_missing import MISSING
from gristmill.formats.json_write import encoder
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
        **options: ``sep``, ``header``, ``na_rep``, see `write_csv`.

    Returns:
        Number of bytes written, before compression.
    """
    with output(target, compression) as out:
        write_csv(batches, out, schema, **options)
        return out.count


def write_csv(
    batches: Iterable[pa.RecordBatch],
    out: Any,
    schema: pa.Schema,
    *,
    sep: str = ",",
    header: bool = True,
    na_rep: str = "",
    index: bool = False,
) -> None:
    r"""Writes record batches as CSV.

    Text is quoted where it holds separators, quotes or line ends, and where it would otherwise read as missing (empty
    text, "NA"). Floats are written in the shortest form that reads back equal, whole ones with ``.0``; NaN as a
    missing value; times in ISO form, lists and structs as JSON.

    Args:
        batches: Record batches (or tables) with this schema.
        out: Binary file object.
        schema: Schema of the batches.
        sep: Character between cells.
        header: Whether to write the column names.
        na_rep: What a missing value is written as. In a table of one column an empty one would be a blank line, which
            readers skip; there it is written as ``NA``.
        index: Only False: datasets have no index.

    Raises:
        InvalidArgumentError: An option can't be used, or there are rows without columns.
        CastError: A binary column holds bytes that are no text.
        DataError: A value has no text, such as a date after the year 9999; names row and column.
    """
    if type(sep) is not str or len(sep) != 1 or not sep.isascii() or sep in '\r\n"':
        raise InvalidArgumentError.from_value("sep", sep, "one ASCII character")
    if index:
        raise InvalidArgumentError.from_value("index", index, "False: a dataset has no index to write")
    missing = na_rep if na_rep or len(schema) != 1 else "NA"
    if header:
        text = io.StringIO()
        csv.writer(text, delimiter=sep, lineterminator="\n").writerow(schema.names)
        out.write(text.getvalue().encode())
    row = 0
    for batch in batches:
        if not batch.num_columns:
            refuse_columnless(batch.num_rows, "CSV")
        for start in range(0, batch.num_rows, _ROWS):
            out.write(_lines(batch.slice(start, _ROWS), sep, missing, row + start))
            out.write(b"\n")
        row += batch.num_rows


def _lines(batch: Any, sep: str, missing: str, row: int) -> memoryview:
    """Gives the lines of a batch; the last one has no end."""
    cells: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        text = converted(whole, partial(_text, sep=sep, name=name, row=row), column=name, row=row)
        cells.append(pc.fill_null(text, constant(missing)) if text.null_count else text)
    lines = join(cells, sep)
    # All lines as one list, whose texts are joined: less than half of what a line end in each line costs.
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return view_of(pc.binary_join(whole, constant("\n")))


def _text(column: Any, sep: str, name: str, row: int) -> Any:
    """Turns a column into the text of its cells, quoted where needed; null stays null."""
    type_ = column.type
    if isinstance(column, pa.DictionaryArray):
        return _text(column.dictionary_decode(), sep, name, row)
    if isinstance(type_, pa.BaseExtensionType):
        return _text(column.storage, sep, name, row)
    if pt.is_null(type_):
        return pa.nulls(len(column), TEXT)
    if pt.is_boolean(type_):
        return pc.if_else(column, constant("True"), constant("False"))
    if pt.is_floating(type_):
        return _float_text(column)
    if pt.is_integer(type_) or pt.is_decimal(type_):
        return pc.cast(column, TEXT)
    if pt.is_nested(type_) or pt.is_temporal(type_):
        encode = encoder(force_ascii=False)
        plain = [None if value is None else encode(value).strip('"') if pt.is_temporal(type_) else encode(value)
                 for value in decoded_values(column)]  # fmt: skip
        return _quoted(pa.array(plain, TEXT), sep)
    try:
        return _quoted(pc.cast(column, TEXT), sep)
    except pa.ArrowInvalid as error:
        raise CastError.at(
            f"{type_} can't be written as text ({error})",
            row=row + first_failing(column, lambda part: pc.cast(part, TEXT)),
            column=name,
            remedy="Write Parquet, or drop the column.",
        ) from error


def _float_text(column: Any) -> Any:
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


def _quoted(text: Any, sep: str) -> Any:
    needs = np.zeros(len(text), np.bool_)
    needs[texts_with_bytes(text, partial(_any_of, wanted=f'\n\r"{sep}'.encode()))] = True
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
    if not len(odd):
        return text
    doubled = pc.replace_substring(text.take(pa.array(odd)), '"', '""')
    return replaced(text, odd, join([constant('"'), doubled, constant('"')]))
