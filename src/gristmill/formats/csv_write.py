"""Rows as CSV, built column by column: each becomes text by an Arrow kernel, the rows are joined by another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import CastError
from gristmill.features.columnless import refuse_columnless
from gristmill.features.unheld import converted
from gristmill.formats.base import Target, output
from gristmill.formats.csv_dialect import Dialect
from gristmill.formats.csv_marks import can_be_marked, write_marked
from gristmill.formats.csv_quotes import need_quotes, put_in_quotes, quoted
from gristmill.formats.csv_texts import cell_texts, is_numeric, is_plain
from gristmill.formats.text_columns import TEXT, constant, join, view_of

__all__ = ["write_csv", "write_csv_file"]

_ROWS = 50_000
_NONE = np.empty(0, np.int64)


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
                _write_rows(piece, dialect, row + start, write)
            except UnicodeEncodeError as error:
                raise CastError.at(
                    f"{error.object[error.start : error.end]!r} can't be written as {dialect.encoding}",
                    remedy='Write UTF-8, or pass errors="replace" or "xmlcharrefreplace".',
                ) from error
        row += batch.num_rows


def _write_rows(batch: Any, dialect: Dialect, row: int, write: Callable[[Any], object]) -> None:
    """Writes the lines of a batch, each with its end."""
    missing = dialect.missing(batch.num_columns)
    by_marks = can_be_marked(dialect)
    cells: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if by_marks and is_plain(whole):
            cells.append(whole)
        else:
            text = partial(cell_texts, dialect=dialect, name=name, row=row)
            cells.append(converted(whole, text, column=name, row=row))
    numeric = [is_numeric(type_) for type_ in batch.schema.types]
    if by_marks and not (missing and any(column.null_count for column in cells)):
        columns = [
            (column, _NONE if is_number else need_quotes(column, dialect))
            for column, is_number in zip(cells, numeric, strict=True)
        ]
        if write_marked(columns, dialect, write):
            return
        texts = [put_in_quotes(_as_text(values), odd, dialect) for values, odd in columns]
    else:
        texts = [
            quoted(_as_text(column), dialect, is_number)
            for column, is_number in zip(cells, numeric, strict=True)
        ]
    filled = [pc.fill_null(text, constant(missing)) if text.null_count else text for text in texts]
    write(_joined(filled, dialect))
    write(str(dialect.lineterminator).encode())


def _as_text(column: Any) -> Any:
    return column if column.type == TEXT else pc.cast(column, TEXT)


def _joined(texts: list[Any], dialect: Dialect) -> memoryview:
    """Gives the lines of a batch; the last one has no end."""
    lines = join(texts, dialect.sep)
    # All lines as one list, whose texts are joined: less than half of what a line end in each line costs.
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return view_of(pc.binary_join(whole, constant(dialect.lineterminator)))
