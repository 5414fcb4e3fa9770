"""Rows as CSV text, built column by column: each becomes text by an Arrow kernel, the rows are joined by another."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.formats.csv_options import MISSING
from gristmill.formats.json_write import encoder

__all__ = ["write_csv"]

_ROWS = 50_000


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
        InvalidArgumentError: An option can't be used.
        CastError: A binary column holds bytes that are no text.
    """
    if len(sep.encode()) != 1 or sep in '\r\n"':
        raise InvalidArgumentError.from_value("sep", sep, "one ASCII character")
    if index:
        raise InvalidArgumentError.from_value("index", index, "False: a dataset has no index to write")
    missing = na_rep if na_rep or len(schema) != 1 else "NA"
    if header:
        text = io.StringIO()
        csv.writer(text, delimiter=sep, lineterminator="\n").writerow(schema.names)
        out.write(text.getvalue().encode())
    if not len(schema):
        return
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            out.write(_lines(batch.slice(start, _ROWS), sep, missing))


def _lines(batch: Any, sep: str, missing: str) -> bytes:
    cells = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = _text(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column, sep, name)
        cells.append(pc.fill_null(text, _large(missing)))
    rows = pc.binary_join_element_wise(*cells, _large(sep)) if len(cells) > 1 else cells[0]
    lines = rows.to_pylist()
    return "".join(line + "\n" for line in lines).encode()


def _large(text: str | None) -> Any:
    return pa.scalar(text, pa.large_string())


def _text(column: Any, sep: str, name: str) -> Any:
    """Turns a column into the text of its cells, quoted where needed; null stays null."""
    type_ = column.type
    if isinstance(column, pa.DictionaryArray):
        return _text(column.dictionary_decode(), sep, name)
    if isinstance(type_, pa.BaseExtensionType):
        return _text(column.storage, sep, name)
    if pt.is_null(type_):
        return pa.nulls(len(column), pa.large_string())
    if pt.is_boolean(type_):
        return pc.if_else(column, _large("True"), _large("False"))
    if pt.is_floating(type_):
        return _float_text(column)
    if pt.is_integer(type_) or pt.is_decimal(type_):
        return pc.cast(column, pa.large_string())
    if pt.is_nested(type_) or pt.is_temporal(type_):
        encode = encoder(force_ascii=False)
        plain = [None if value is None else encode(value).strip('"') if pt.is_temporal(type_) else encode(value)
                 for value in column.to_pylist()]  # fmt: skip
        return _quoted(pa.array(plain, pa.large_string()), sep)
    try:
        return _quoted(pc.cast(column, pa.large_string()), sep)
    except pa.ArrowInvalid as error:
        raise CastError.at(
            f"{type_} can't be written as text ({error})",
            column=name,
            remedy="Write Parquet, or drop the column.",
        ) from error


def _float_text(column: Any) -> Any:
    if pt.is_float16(column.type):
        column = pc.cast(column, pa.float32())
    text = pc.cast(column, pa.large_string())
    whole = pc.match_substring_regex(text, r"^-?[0-9]+$")
    text = pc.if_else(whole, pc.binary_join_element_wise(text, _large(".0"), _large("")), text)
    return pc.if_else(pc.is_nan(column), _large(None), text)


def _quoted(text: Any, sep: str) -> Any:
    structural = pc.match_substring_regex(text, rf'["\r\n\x{ord(sep):02x}]|^\s|\s$')
    confusing = pc.is_in(text, pa.array(MISSING, pa.large_string()))
    needs = pc.or_(structural, confusing)
    if not pc.any(needs).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise(_large('"'), doubled, _large('"'), _large("")), text)
