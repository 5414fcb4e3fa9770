"""Writing Parquet: row groups by bytes, pages cut by content, dictionaries where they pay."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features.columnless import refuse_columnless
from gristmill.features.unheld import converted
from gristmill.features.visit import leaf_arrays

__all__ = ["ROW_GROUP_BYTES", "row_groups", "write_groups"]

ROW_GROUP_BYTES = 32 << 20
"""Size in memory of the row groups written: small enough to fetch one, large enough to compress well."""

_CAN_CHUNK = int(pa.__version__.partition(".")[0]) >= 21
_CHUNKING = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}
_LOOKED_AT = 2000
_UNITS = ("allow_truncated_timestamps", "coerce_timestamps", "version")
_LONG = 32


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
    first, groups = _peeked(groups)
    file = _Patient(out)
    if _CAN_CHUNK:
        options["use_content_defined_chunking"] = dict(_CHUNKING) if chunking is True else chunking
    try:
        if "use_dictionary" not in options and first is not None and (long := _long_texts(first)):
            options["use_dictionary"] = [path for path in _leaf_paths(schema) if path not in long]
        writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, **options)
    except (TypeError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(f"An option of to_parquet is not known: {error}") from error
    except (pa.ArrowNotImplementedError, OSError) as error:
        file.check()
        column = _refused_column(schema)
        if column is None:
            raise
        raise CastError.at(
            f"Parquet can't hold a column: {error}", column=column, remedy="Drop it, or cast it first."
        ) from error
    written = 0
    with writer:
        for table in groups:
            _check_times(table, written, options)
            _check_decimals(table, written)
            written += table.num_rows
            writer.write_table(table, row_group_size=table.num_rows)
            file.check()
        if options.get("use_content_defined_chunking"):
            # What the Hub looks for to tell such files.
            said = json.dumps(options["use_content_defined_chunking"])
            writer.add_key_value_metadata({"content_defined_chunking": said})
    file.check()


def _refused_column(schema: pa.Schema) -> str | None:
    """Finds the column that pyarrow does not write, whose error names only the innermost field."""

    def is_refused(field: pa.Field) -> bool:
        try:
            pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
        except (pa.ArrowNotImplementedError, OSError):  # decimals with a negative scale are the latter
            return True
        return False

    return next((field.name for field in schema if is_refused(field)), None)


def _check_times(table: pa.Table, row: int, options: Mapping[str, Any]) -> None:
    """Refuses times that Parquet, which has no seconds, or the options want in another unit and that do not fit.

    With pages cut by content, pyarrow does not raise there: it ends the process. So such columns are tried without.
    """
    given = {name: options[name] for name in _UNITS if name in options}

    def write(column: Any) -> None:
        pq.write_table(pa.table({"": column}), pa.BufferOutputStream(), **given)

    for name, column in zip(table.schema.names, table.columns, strict=True):
        leaves = leaf_arrays(column.slice(0, 0))
        if any(pt.is_timestamp(leaf.type) and (given or leaf.type.unit == "s") for leaf in leaves):
            converted(column, write, column=name, row=row, target="Parquet")


def _check_decimals(table: pa.Table, row: int) -> None:
    """Refuses decimals that are larger than the bytes that Parquet has for their precision: pyarrow would cut them off.

    Such values come from files; nothing here makes them.
    """
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if not any(pt.is_decimal(leaf.type) for leaf in leaf_arrays(column.slice(0, 0))):
            continue
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


def _peeked(groups: Iterable[pa.Table]) -> tuple[pa.Table | None, Iterable[pa.Table]]:
    drawn = iter(groups)
    first = next(drawn, None)
    return first, itertools.chain([] if first is None else [first], drawn)


def _long_texts(table: pa.Table) -> set[str]:
    """Names the columns of long texts that hardly repeat: a dictionary of them is built at length and then dropped."""
    found = set()
    for field in table.schema:
        if _is_bytes(field.type):
            values = table.column(field.name).slice(0, _LOOKED_AT).drop_null()
            length = pc.mean(pc.binary_length(values)).as_py() or 0
            if length > _LONG and pc.count_distinct(values).as_py() > 0.9 * len(values):
                found.add(field.name)
    return found


def _is_bytes(type_: Any) -> bool:
    return bool(
        pt.is_string(type_) or pt.is_large_string(type_) or pt.is_binary(type_) or pt.is_large_binary(type_)
    )


def _leaf_paths(schema: pa.Schema) -> list[str]:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema):
        pass
    leaves = pq.ParquetFile(sink.getvalue()).schema
    return [leaves.column(i).path for i in range(len(leaves.names))]
