"""Parquet: row group by row group, in batches bounded by bytes, columns and filters pushed down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.files.atomic import exported_file
from gristmill.files.borders import writing
from gristmill.formats.base import (
    Batches,
    CountingFile,
    Format,
    Target,
    columns_needed,
    filter_expression,
    fitter,
    one_batch,
)
from gristmill.formats.loose import Bad, LooseRows
from gristmill.formats.parquet_footer import has_sound_chunks
from gristmill.formats.parquet_groups import BATCH_BYTES, SMALL_BYTES, RowGroups, runs
from gristmill.formats.parquet_loose import good_groups
from gristmill.formats.parquet_open import arrow_schema, opened, scan_arguments, source_of, translated
from gristmill.formats.parquet_write import ROW_GROUP_BYTES, row_groups, write_groups
from gristmill.formats.side_by_side import side_by_side
from gristmill.formats.source import Position, SourceFile
from gristmill.logging import get_logger

_log = get_logger(__name__)

# Row groups that whoever fetches them is told of before they are read.
_SEEN_AHEAD = 256


@dataclass(frozen=True)
class ParquetOptions:
    """Options of ``load_dataset("parquet", ...)``.

    Attributes:
        batch_size: Rows of a batch at most; bounded by bytes in any case.
        columns: Columns to read.
        filters: Rows to keep, see `Format.read`.
        fragment_scan_options: A `pyarrow.dataset.ParquetFragmentScanOptions`: buffers, limits on what a footer may
            claim, page checksums, keys of encrypted files (`decryption_properties`).
        on_bad_files: What to do with a file that can't be read: ``"error"``, ``"warn"`` or ``"skip"``.
    """

    batch_size: int | None = None
    columns: list[str] | None = None
    filters: Any = None
    fragment_scan_options: Any = None
    on_bad_files: Literal["error", "warn", "skip"] = "error"

    def __post_init__(self) -> None:
        if self.batch_size is not None and (type(self.batch_size) is not int or self.batch_size < 1):
            raise InvalidArgumentError.from_value("batch_size", self.batch_size, "a positive number of rows")
        if self.on_bad_files not in ("error", "warn", "skip"):
            raise InvalidArgumentError.from_choice(
                "on_bad_files", self.on_bad_files, ["error", "warn", "skip"]
            )
        columns: object = self.columns
        if columns is not None and not (
            isinstance(columns, list | tuple) and all(isinstance(name, str) for name in columns)
        ):
            raise InvalidArgumentError.from_value("columns", columns, "a list of names")
        filter_expression(self.filters)
        scan_arguments(self.fragment_scan_options)


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

    def columns_needed(
        self, file: SourceFile, options: ParquetOptions, columns: list[str] | None, filters: Any
    ) -> list[str] | None:
        """Also tells it for filters that are expressions."""
        is_plain = columns is None or filters is None or isinstance(filters, list)
        return columns_needed(columns, filters, None if is_plain else self.infer_schema(file))

    def _read(
        self,
        file: SourceFile,
        options: ParquetOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        yield from self._batches(file, options, columns, start, schema, predicate, joined=True)

    def _batches(
        self,
        file: SourceFile,
        options: ParquetOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
        *,
        joined: bool,
    ) -> Batches:
        """Reads as `_read`; with `joined`, small row groups that follow each other are decoded together."""
        fit = fitter(schema, columns, file)
        with (
            translated(file),
            source_of(file) as source,
            opened(file, options.fragment_scan_options, source) as parquet,
        ):
            footer = parquet.metadata
            groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
            sizes = [group.num_rows for group in groups]
            shape = _projected(arrow_schema(parquet, file), columns)
            possible = _matching(file, predicate, options, footer)
            stop = len(sizes) if file.stop is None else file.stop
            coming = [group for group in possible if start.group <= group < stop]

            def groups_of(reader: pq.ParquetFile) -> RowGroups:
                return RowGroups(reader, sizes, shape, file, options.batch_size)

            def read(part: range, reader: RowGroups) -> Batches:
                for at, batch in reader.read(part, start.row):
                    yield at, one_batch(fit(pa.Table.from_batches([batch]), at.row))

            def read_apart(part: range) -> Batches:
                # A reader of its own, since one is used by one thread; of the same open file, whatever gets its name.
                with opened(replace(file, footer=footer), options.fragment_scan_options, source) as again:
                    yield from read(part, groups_of(again))

            reader = groups_of(parquet)
            # What comes over a network is fetched by the row group.
            if file.ensure is not None or not joined:
                for number, group in enumerate(coming):
                    if file.ensure is not None:
                        then = [] if file.peeks and number == 0 else coming[number + 1 :][:_SEEN_AHEAD]
                        file.ensure(group, columns, then)
                    yield from read(range(group, group + 1), reader)
                return
            largest = BATCH_BYTES if file.workers else SMALL_BYTES
            parts = list(runs(coming, [group.total_byte_size for group in groups], largest))
            # Only of a file that needs no key is the footer known to each reader.
            if file.workers <= 1 or options.fragment_scan_options is not None:
                for part in parts:
                    yield from read(part, reader)
                return
            pieces = [partial(read_apart, part) for part in parts]
            with contextlib.closing(side_by_side(pieces, file.workers, _bytes_of)) as batches:
                yield from batches

    def read_by_row(
        self,
        file: SourceFile,
        options: ParquetOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        bad: Bad | None,
    ) -> Iterator[tuple[Position, LooseRows]] | None:
        """Reads for a stream that leaves out rows which can't be read."""
        if bad is None or options.on_bad_files != "error" or options.filters is not None:
            return None
        wanted = options.columns if columns is None else columns
        sizes = self.group_rows(file) or []
        return good_groups(
            # A damaged row group takes no rows of others with it.
            lambda at: self._batches(file, options, wanted, at, None, None, joined=False),
            sizes,
            file,
            wanted,
            start,
            schema,
            bad,
        )

    def group_rows(self, file: SourceFile) -> list[int] | None:
        """Gives the rows of each row group, from the footer."""
        # Where the footer is known, the file itself may have no name any more: a forked process holds it open.
        with contextlib.nullcontext() if file.footer is not None else opened(file) as parquet:
            footer = file.footer if parquet is None else parquet.metadata
            return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]

    def infer_schema(
        self, file: SourceFile, options: ParquetOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Reads the schema from the footer, with its metadata; a bad file that is left out has no columns."""
        settings = self.parse_options(options)
        try:
            with opened(file, settings.fragment_scan_options) as parquet:
                return _projected(arrow_schema(parquet, file), settings.columns)
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
        use_content_defined_chunking: bool | Mapping[str, int] = True,
        write_page_index: bool = True,
        **options: Any,
    ) -> int:
        """Writes Parquet, the features kept in the schema metadata.

        Args:
            batches: See `Format.write`.
            target: See `Format.write`.
            schema: See `Format.write`.
            row_group_bytes: Size in memory at which a row group is closed.
            batch_size: Rows at which a row group is closed at the latest.
            use_content_defined_chunking: Cut pages where the content says, so that stores which keep equal pieces once
                find them again in the next version of the file; a mapping sets ``min_chunk_size``, ``max_chunk_size``
                (bytes) and ``norm_level``. Needs pyarrow 21; before that, pages are cut by size.
            write_page_index: Write where each page lies and its least and largest value, so that readers can skip pages.
            **options: Of `pyarrow.parquet.ParquetWriter`, for example ``compression="zstd"``.

        Returns:
            Number of bytes written.
        """
        groups = row_groups(batches, schema, row_group_bytes, batch_size or 1 << 20)
        options = {**options, "write_page_index": write_page_index}
        with writing(target):
            if hasattr(target, "write"):
                counting = CountingFile(target)
                write_groups(counting, groups, schema, use_content_defined_chunking, options)
                return counting.count
            with exported_file(target) as out:
                counting = CountingFile(out)
                write_groups(counting, groups, schema, use_content_defined_chunking, options)
                return counting.count


def _bytes_of(read: tuple[Position, pa.RecordBatch]) -> int:
    size: int = read[1].nbytes
    return size


def _projected(schema: pa.Schema, columns: Iterable[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    return pa.schema(
        [schema.field(name) for name in columns if name in schema.names], metadata=schema.metadata
    )


def possible_groups(
    file: SourceFile, filters: Any = None, options: ParquetOptions | None = None
) -> list[int]:
    """Asks the footer's statistics which row groups can hold rows that match.

    Args:
        file: The file; only its end is read.
        filters: See `Format.read`.
        options: Options of the format.

    Returns:
        Their numbers, in order.

    Raises:
        FileFormatError: It is no Parquet file, or damaged.
    """
    options = options or ParquetOptions()
    with opened(file, options.fragment_scan_options) as parquet:
        footer = parquet.metadata
    return _matching(file, filter_expression(filters), options, footer)


def _matching(file: SourceFile, predicate: Any, options: ParquetOptions, footer: Any) -> list[int]:
    """Does `possible_groups` for a file whose footer has been read."""
    every = list(range(footer.num_row_groups))
    keys = getattr(options.fragment_scan_options, "decryption_properties", None)
    # What keys are needed for can't be looked through, and whoever has keys trusts the file.
    if predicate is None or (keys is None and not has_sound_chunks(file.path, footer)):
        return every
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    with translated(file):
        format = ds.ParquetFileFormat(default_fragment_scan_options=options.fragment_scan_options)
        fragment = format.make_fragment(str(file.path), filesystem=LocalFileSystem())
        try:
            parts = fragment.subset(filter=predicate, schema=fragment.physical_schema).row_groups
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return every  # a column of the filter is missing or of another type: filtering says so properly
    possible = sorted(group.id for group in parts)
    return possible if file.prune is None else file.prune(possible, predicate)
