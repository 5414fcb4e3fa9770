"""Parquet: row group by row group, in batches bounded by bytes, columns and filters pushed down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import CastError, FileFormatError, InvalidArgumentError
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import reading, writing
from gristmill.formats.base import Batches, CountingFile, Format, Target, filter_expression, fitter, one_batch
from gristmill.formats.source import Position, SourceFile
from gristmill.logging import get_logger

_log = get_logger(__name__)

BATCH_BYTES = 16 << 20
"""Decoded size aimed at for one batch."""
BATCH_ROWS = 1 << 16
ROW_GROUP_BYTES = 32 << 20
"""Size in memory of the row groups written: small enough to fetch one, large enough to compress well."""


@dataclass(frozen=True)
class ParquetOptions:
    """Options of ``load_dataset("parquet", ...)``.

    Attributes:
        batch_size: Rows of a batch at most; bounded by bytes in any case.
        columns: Columns to read.
        filters: Rows to keep, see `Format.read`.
        on_bad_files: What to do with a file that can't be read: ``"error"``, ``"warn"`` or ``"skip"``.
    """

    batch_size: int | None = None
    columns: list[str] | None = None
    filters: Any = None
    on_bad_files: Literal["error", "warn", "skip"] = "error"

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InvalidArgumentError.from_value("batch_size", self.batch_size, "a positive number of rows")
        if self.on_bad_files not in ("error", "warn", "skip"):
            raise InvalidArgumentError.from_choice(
                "on_bad_files", self.on_bad_files, ["error", "warn", "skip"]
            )
        filter_expression(self.filters)


class ParquetFormat(Format[ParquetOptions]):
    """Apache Parquet."""

    name = "parquet"
    suffixes = (".parquet", ".geoparquet", ".gpq")
    options = ParquetOptions

    def read(
        self,
        file: SourceFile,
        *,
        options: ParquetOptions | Mapping[str, Any] | None = None,
        columns: Any = None,
        filters: Any = None,
        start: Position | None = None,
        schema: pa.Schema | None = None,
    ) -> Batches:
        """Reads as `Format.read` says; row groups whose statistics rule them out are not touched."""
        settings = self.parse_options(options)
        columns = settings.columns if columns is None else columns
        filters = settings.filters if filters is None else filters
        reader = super().read(
            file, options=settings, columns=columns, filters=filters, start=start, schema=schema
        )
        try:
            yield from reader
        except FileFormatError as error:
            if settings.on_bad_files == "error":
                raise
            if settings.on_bad_files == "warn":
                _log.warning("%s Left out, as on_bad_files says.", error)

    def _read(
        self,
        file: SourceFile,
        options: ParquetOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        fit = fitter(schema, columns, file)
        with _opened(file) as parquet:
            footer, possible = parquet.metadata, _possible_groups(file, predicate)
            shape = _projected(_arrow_schema(parquet, file), columns)
            row = 0
            for group in range(footer.num_row_groups):
                rows = footer.row_group(group).num_rows
                if group >= start.group and (possible is None or group in possible):
                    if file.ensure is not None:
                        file.ensure(group, columns)
                    skip = start.row - row if group == start.group else 0
                    for first, batch in _group(parquet, group, options, shape, file):
                        if first + batch.num_rows > skip:
                            at = Position(row + max(first, skip), group=group)
                            rest = pa.Table.from_batches([batch.slice(max(0, skip - first))])
                            yield at, one_batch(fit(rest, at.row))
                row += rows

    def group_rows(self, file: SourceFile) -> list[int] | None:
        """Gives the rows of each row group, from the footer."""
        with _opened(file) as parquet:
            footer = parquet.metadata
            return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]

    def infer_schema(
        self, file: SourceFile, options: ParquetOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Reads the schema from the footer, with its metadata; a bad file that is left out has no columns."""
        settings = self.parse_options(options)
        try:
            with _opened(file) as parquet:
                return _projected(_arrow_schema(parquet, file), settings.columns)
        except FileFormatError:
            if settings.on_bad_files == "error":
                raise
            return pa.schema([])

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        target: Target,
        *,
        schema: pa.Schema,
        row_group_bytes: int = ROW_GROUP_BYTES,
        batch_size: int | None = None,
        **options: Any,
    ) -> int:
        """Writes Parquet, the features kept in the schema metadata.

        Args:
            batches: See `Format.write`.
            target: See `Format.write`.
            schema: See `Format.write`.
            row_group_bytes: Size in memory at which a row group is closed.
            batch_size: Rows at which a row group is closed at the latest.
            **options: Of `pyarrow.parquet.ParquetWriter`, for example ``compression="zstd"``.

        Returns:
            Number of bytes written.
        """
        with writing(target):
            if hasattr(target, "write"):
                counting = CountingFile(target)
                _write(
                    pa.PythonFile(counting, mode="w"), batches, schema, row_group_bytes, batch_size, options
                )
                return counting.count
            with atomic_file(target) as out:
                _write(out, batches, schema, row_group_bytes, batch_size, options)
                return int(out.tell())


@contextlib.contextmanager
def _opened(file: SourceFile) -> Iterator[pq.ParquetFile]:
    """Opens a file; whatever pyarrow raises inside the block names the file.

    Column chunks are read through small buffers, so that memory does not follow the size of row groups, and page
    checksums are checked where a file has them.
    """
    with (
        _translated(file),
        pq.ParquetFile(
            file.path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
        ) as parquet,
    ):
        yield parquet


@contextlib.contextmanager
def _translated(file: SourceFile) -> Iterator[None]:
    try:
        with reading(file.name, "Parquet"):
            try:
                yield
            except UnicodeDecodeError as error:
                raise FileFormatError.at(
                    "a name in the footer is not UTF-8; the file is damaged", file=file.name
                ) from error
    except (OverflowError, KeyError, IndexError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read as Parquet ({error})", file=file.name) from error


def _arrow_schema(parquet: pq.ParquetFile, file: SourceFile) -> pa.Schema:
    schema = parquet.schema_arrow
    names = schema.names
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError.at("two columns have this name", file=file.name, column=twice)
    return schema


def _projected(schema: pa.Schema, columns: Iterable[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    return pa.schema(
        [schema.field(name) for name in columns if name in schema.names], metadata=schema.metadata
    )


def _possible_groups(file: SourceFile, predicate: Any) -> set[int] | None:
    """Asks the footer's statistics which row groups can hold rows that match; None for all."""
    if predicate is None:
        return None
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    fragment = ds.ParquetFileFormat().make_fragment(str(file.path), filesystem=LocalFileSystem())
    try:
        return {
            group.id
            for group in fragment.subset(filter=predicate, schema=fragment.physical_schema).row_groups
        }
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None  # a column of the filter is missing or of another type: filtering says so properly


def _group(
    parquet: pq.ParquetFile, group: int, options: ParquetOptions, shape: pa.Schema, file: SourceFile
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Reads one row group; yields each batch with the index of its first row in the group."""
    footer = parquet.metadata.row_group(group)
    rows = _batch_rows(footer.total_byte_size, footer.num_rows, options)
    names = None if len(shape) == len(parquet.schema_arrow) else shape.names
    first = 0
    for batch in parquet.iter_batches(rows, row_groups=[group], columns=names):
        # "a" also selects a column called "a.b", and the order is the file's: pick by name.
        whole = pa.RecordBatch.from_arrays([_column(batch, field) for field in shape], schema=shape)
        whole.validate(
            full=True
        )  # a damaged page can decode to text that is not UTF-8, or to offsets out of range
        yield first, whole
        first += batch.num_rows
    if first != footer.num_rows:
        raise FileFormatError.at(
            f"row group {group} holds {first} rows where the footer says {footer.num_rows}", file=file.name
        )


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    # A struct without fields has no leaf that could be asked for by name.
    return batch.column(field.name) if field.name in batch.schema.names else pa.nulls(len(batch), field.type)


def _batch_rows(group_bytes: int, group_rows: int, options: ParquetOptions) -> int:
    width = max(1, group_bytes // max(1, group_rows))
    bounded = max(1, min(BATCH_ROWS, BATCH_BYTES // width))
    return min(bounded, options.batch_size or bounded)


def _write(
    out: Any,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    row_group_bytes: int,
    batch_size: int | None,
    options: dict[str, Any],
) -> None:
    try:
        writer = pq.ParquetWriter(out, schema, **{"write_page_index": True, **options})
    except (TypeError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(f"An option of to_parquet is not known: {error}") from error
    except pa.ArrowNotImplementedError as error:
        raise CastError.at(
            f"Parquet can't hold a column: {error}", remedy="Drop it, or cast it first."
        ) from error
    with writer:
        for table in _row_groups(batches, schema, row_group_bytes, batch_size or 1 << 20):
            writer.write_table(table, row_group_size=table.num_rows)


def _row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, limit_bytes: int, limit_rows: int
) -> Iterator[pa.Table]:
    """Cuts and joins batches to pieces of about the size of a row group."""
    held: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        pieces = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        for piece in pieces:
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
