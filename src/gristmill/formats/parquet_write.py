"""Writing Parquet: row groups by bytes, pages cut by content, dictionaries where they pay."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features.columnless import refuse_columnless
from gristmill.features.unheld import converted
from gristmill.features.visit import leaf_arrays
from gristmill.formats.parquet_pieces import copied
from gristmill.formats.parquet_splice import Splice
from gristmill.formats.parquet_threads import can_be_apart, encoded_groups, pays, threads_at_hand

__all__ = ["ROW_GROUP_BYTES", "row_groups", "write_groups"]

ROW_GROUP_BYTES = 32 << 20
"""Size in memory of the row groups written: small enough to fetch one, large enough to compress well."""

_CAN_CHUNK = int(pa.__version__.partition(".")[0]) >= 21
_CHUNKING = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}
_LOOKED_AT = 2000
_UNITS = ("allow_truncated_timestamps", "coerce_timestamps", "version")
_LONG = 32
_MANY_BYTES = 128 << 10
"""Bytes of a column of numbers up to which it does not matter how it is encoded."""


def write_groups(
    out: Any,
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    chunking: bool | Mapping[str, int],
    options: dict[str, Any],
) -> None:
    """Writes row groups as one Parquet file.

    Args:
        out: A binary file object.
        groups: From `row_groups`; drawn one by one.
        schema: Their schema.
        chunking: See `ParquetFormat.write`.
        options: Of `pyarrow.parquet.ParquetWriter`.

    Raises:
        InvalidArgumentError: An option is not known, or there are rows without columns.
        CastError: Parquet can't hold a column.
        DataError: It can't hold a value; names row and column.
    """
    options = dict(options)
    threads = threads_at_hand()
    # One row group of one column is nothing to share.
    heads, groups = _peeked(groups, 2 if len(schema) == 1 and threads > 1 else 1)
    first = heads[0] if heads else None
    if _CAN_CHUNK:
        options["use_content_defined_chunking"] = dict(_CHUNKING) if chunking is True else chunking
    if "use_dictionary" not in options and first is not None and (plain := _without_dictionary(first)):
        options["use_dictionary"] = [path for path in _leaf_paths(schema) if path not in plain]
    shared = threads > 1 and len(heads) + len(schema) > 2 and first is not None
    shared = shared and can_be_apart(options) and pays(heads[0])
    del heads, first
    if shared:
        _write_spliced(out, groups, schema, options, threads)
        return
    file = _Patient(out)
    writer = _opened(file, schema, options)
    written = 0
    with writer:
        for table in groups:
            _check_values(table, written, options)
            written += table.num_rows
            writer.write_table(table, row_group_size=table.num_rows)
            file.check()
        _tell_chunking(writer, options)
    file.check()


def _write_spliced(
    out: Any, groups: Iterable[pa.Table], schema: pa.Schema, options: Mapping[str, Any], threads: int
) -> None:
    """Writes the same bytes from pieces that several threads encode."""
    empty = pa.BufferOutputStream()
    with _opened(empty, schema, options) as writer:
        _tell_chunking(writer, options)
    splice = Splice(out)
    check = partial(_check_values, options=options)
    with contextlib.closing(encoded_groups(groups, options, threads, check)) as encoded:
        for pieces in encoded:
            splice.add_group(pieces)
            del pieces
    splice.close(empty.getvalue().to_pybytes())


def _opened(sink: Any, schema: pa.Schema, options: Mapping[str, Any]) -> pq.ParquetWriter:
    """Begins a file."""
    is_ours = isinstance(sink, _Patient)
    try:
        return pq.ParquetWriter(pa.PythonFile(sink, mode="w") if is_ours else sink, schema, **copied(options))
    except (TypeError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(f"An option of to_parquet is not known: {error}") from error
    except (pa.ArrowNotImplementedError, OSError) as error:
        if is_ours:
            sink.check()
        column = _refused_column(schema)
        if column is None:
            raise
        raise CastError.at(
            f"Parquet can't hold a column: {error}", column=column, remedy="Drop it, or cast it first."
        ) from error
    except pa.ArrowException as error:  # no such compression or encoding
        raise InvalidArgumentError(f"An option of to_parquet can't be used: {error}") from error


def _tell_chunking(writer: pq.ParquetWriter, options: Mapping[str, Any]) -> None:
    """Says how pages are cut by content, which is what the Hub looks for."""
    if options.get("use_content_defined_chunking"):
        said = json.dumps(options["use_content_defined_chunking"])
        writer.add_key_value_metadata({"content_defined_chunking": said})


def _refused_column(schema: pa.Schema) -> str | None:
    """Finds the column that pyarrow does not write, whose error names only the innermost field."""

    def is_refused(field: pa.Field) -> bool:
        try:
            pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
        except (pa.ArrowNotImplementedError, OSError):  # decimals with a negative scale are the latter
            return True
        return False

    return next((field.name for field in schema if is_refused(field)), None)


def _check_values(table: pa.Table, row: int, options: Mapping[str, Any]) -> None:
    """Refuses values that pyarrow would not write as they are, of the first column that has some."""
    given = {name: options[name] for name in _UNITS if name in options}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        types = [leaf.type for leaf in leaf_arrays(column.slice(0, 0))]
        if any(pt.is_timestamp(type_) and (given or type_.unit == "s") for type_ in types):
            _check_times(name, column, row, given)
        if any(map(pt.is_decimal, types)):
            _check_decimals(name, column, row)


def _check_times(name: str, column: Any, row: int, given: Mapping[str, Any]) -> None:
    """Refuses times that Parquet, which has no seconds, or the options want in another unit and that do not fit.

    With pages cut by content, pyarrow does not raise there: it ends the process. So such columns are tried without.
    """

    def write(column: Any) -> None:
        pq.write_table(pa.table({"": column}), pa.BufferOutputStream(), **given)

    converted(column, write, column=name, row=row, target="Parquet")


def _check_decimals(name: str, column: Any, row: int) -> None:
    """Refuses decimals that are larger than the bytes that Parquet has for their precision: pyarrow would cut them off.

    Such values come from files; nothing here makes them.
    """
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        converted(column, _check_size, column=name, row=row, target="Parquet")


def _check_size(column: Any) -> None:
    for leaf in leaf_arrays(column):
        if not pt.is_decimal(leaf.type):
            continue
        least = ((10**leaf.type.precision - 1).bit_length() + 8) // 8  # with a bit for the sign
        for chunk in leaf.chunks if isinstance(leaf, pa.ChunkedArray) else [leaf]:
            for value in chunk.view(pa.binary(leaf.type.bit_width // 8)).drop_null().to_pylist():
                number = int.from_bytes(value, "little", signed=True)
                if (number if number >= 0 else ~number).bit_length() >= 8 * least:
                    raise ValueError(f"it is larger than the {least} bytes of this precision hold")


class _Patient:
    """A file that takes everything and tells later of what went wrong.

    Where writing fails in the middle of a column, as on a full disk, pyarrow does not raise: it ends the process.
    """

    closed = False

    def __init__(self, out: Any) -> None:
        self._out = out
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        if self._error is None:
            try:
                self._out.write(data)
            except OSError as error:
                self._error = error
        return len(data)

    def flush(self) -> None:
        if self._error is None:
            self._out.flush()

    def check(self) -> None:
        if self._error is not None:
            raise self._error


def row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, limit_bytes: int, limit_rows: int
) -> Iterator[pa.Table]:
    """Cuts and joins batches to pieces of about the size of a row group.

    Args:
        batches: Record batches or tables.
        schema: Their schema.
        limit_bytes: Size in memory of a piece.
        limit_rows: Rows of a piece.

    Yields:
        Tables, none of them empty.
    """
    held: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        pieces = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        for piece in pieces:
            if not piece.num_columns:
                refuse_columnless(piece.num_rows, "Parquet")
                continue
            step = max(1, min(limit_rows, piece.num_rows * limit_bytes // max(1, piece.nbytes)))
            for at in range(0, piece.num_rows, step):
                part = piece.slice(at, step)
                if held and (rows + part.num_rows > limit_rows or size + part.nbytes > limit_bytes):
                    yield pa.Table.from_batches(held, schema)
                    held, size, rows = [], 0, 0
                held.append(part)
                size, rows = size + part.nbytes, rows + part.num_rows
    if held:
        yield pa.Table.from_batches(held, schema)


def _peeked(groups: Iterable[pa.Table], count: int) -> tuple[list[pa.Table], Iterable[pa.Table]]:
    drawn = iter(groups)
    heads = list(itertools.islice(drawn, count))
    return heads, itertools.chain(heads, drawn)


def _without_dictionary(table: pa.Table) -> set[str]:
    """Names the columns whose values hardly repeat: a dictionary of them is built at length, and of no use.

    It is dropped when it has become too large, or else, of numbers, takes more bytes than they.
    """
    found = set()
    looked_at = np.random.default_rng(0).integers(max(1, table.num_rows), size=_LOOKED_AT)
    rows = pa.array(np.unique(looked_at))
    for field, column in zip(table.schema, table.columns, strict=True):
        if _is_bytes(field.type):
            values = column.slice(0, _LOOKED_AT).drop_null()
            length = pc.mean(pc.binary_length(values)).as_py() or 0
            if length > _LONG and pc.count_distinct(values).as_py() > 0.9 * len(values):
                found.add(field.name)
        elif _is_number(field.type) and column.nbytes > _MANY_BYTES:
            # From everywhere, as numbers may go up for a while and begin again. This many pairs are equal where there
            # are about as many different numbers as rows.
            values = column.take(rows).drop_null()
            pairs = len(values) - pc.count_distinct(values).as_py()
            if len(values) and 2 * pairs * table.num_rows <= len(values) * len(rows):
                found.add(field.name)
    return found


def _is_number(type_: Any) -> bool:
    return bool(pt.is_integer(type_) or pt.is_floating(type_)) and type_.bit_width >= 32


def _is_bytes(type_: Any) -> bool:
    return bool(
        pt.is_string(type_) or pt.is_large_string(type_) or pt.is_binary(type_) or pt.is_large_binary(type_)
    )


def _leaf_paths(schema: pa.Schema) -> list[str]:
    sink = pa.BufferOutputStream()
    _opened(sink, schema, {}).close()
    leaves = pq.ParquetFile(sink.getvalue()).schema
    return [leaves.column(i).path for i in range(len(leaves.names))]
