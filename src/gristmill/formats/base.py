"""The contract of a format: options, reading as record batches, the schema of a whole file, writing.

A format is one module with a subclass of `Format` and one line in the registry.
"""

from __future__ import annotations

import bz2
import contextlib
import dataclasses
import functools
import gzip
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, ClassVar, Generic, TypeVar, cast

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features.cast import cast_table
from gristmill.features.columnless import with_metadata
from gristmill.features.infer import Clash, refuse
from gristmill.features.kinds import Value
from gristmill.features.schema import Features
from gristmill.files.atomic import exported_file
from gristmill.files.borders import writing
from gristmill.files.compression import COMPRESSION_SUFFIXES, compression_suffix
from gristmill.formats.filtering import columns_needed, filter_expression, one_batch, rows_of
from gristmill.formats.source import Position, SourceFile

__all__ = [
    "Batches",
    "CountingFile",
    "Format",
    "Target",
    "columns_needed",
    "filter_expression",
    "fitter",
    "one_batch",
    "rows_of",
]

Options = TypeVar("Options")
Batches = Iterator[tuple[Position, Any]]
"""(position of the first row, `pyarrow.RecordBatch`) pairs."""
Target = Any
"""Where a writer writes: a path (written atomically) or a binary file object."""


class Format(ABC, Generic[Options]):
    """One file format.

    Attributes:
        name: Its name as in ``load_dataset("csv")``.
        suffixes: File name endings, with the dot, without a compression suffix.
        options: Dataclass with the format's options; all fields have defaults.
        reads_archives: It reads archives itself; of other formats, the files inside are the data files.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    options: ClassVar[type[Any]]
    reads_archives: ClassVar[bool] = False

    def parse_options(self, options: Options | Mapping[str, Any] | None) -> Options:
        """Checks options.

        Args:
            options: A dict of option names as users pass them to ``load_dataset``, or the dataclass itself.

        Raises:
            InvalidArgumentError: An option is not known (the message lists those that are) or has a wrong value.
        """
        if isinstance(options, self.options):
            return cast("Options", options)
        given = dict(cast("Mapping[str, Any]", options or {}))
        known = [field.name for field in dataclasses.fields(self.options)]
        for name in given:
            if name not in known:
                raise InvalidArgumentError.from_unknown(f"{self.name} has no option", str(name), known)
        parsed: Options = self.options(**given)
        return parsed

    def read(
        self,
        file: SourceFile,
        *,
        options: Options | Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        start: Position | None = None,
        schema: pa.Schema | None = None,
    ) -> Batches:
        """Reads a file as record batches, a bounded piece at a time; lazily, nothing is opened before the first one.

        All batches have one schema: `schema`, or the one of `infer_schema` (which for text formats reads the file
        once before).

        Args:
            file: The file.
            options: See `parse_options`.
            columns: Columns to read, in this order; all if None. Those that the file lacks are left out.
            filters: Rows to keep: a `pyarrow.compute.Expression`, or the list form ``[("column", "op", value), ...]``
                (an "or" of "and"s if nested). Rows for which it is null are dropped. A column that the file lacks is
                null in it, where `SourceFile.lacks` says that another file has it.
            start: Position that an earlier read gave: read from there on.
            schema: Types to bring the columns to, for example those settled over several files or asked for by the
                user; its ``huggingface`` metadata counts. Columns that the file lacks become null.

        Yields:
            (position of the batch's first row, batch). With `filters` a batch holds fewer rows than lie between two
            positions.

        Raises:
            FileMissingError: The file does not exist.
            FileFormatError: Its content is not what the format says.
            SchemaConflictError: A column has no one type.
            CastError: A value does not fit `schema`.
        """
        settings = self.parse_options(options)
        wanted = None if columns is None else list(dict.fromkeys(columns))
        predicate = filter_expression(filters)
        start = start or Position()
        if predicate is None:
            yield from self._read(file, settings, wanted, start, schema, None)
            return
        # A filter may look at columns that are not asked for: they are read and dropped again.
        needed = self.columns_needed(file, settings, wanted, filters)
        if schema is not None and wanted is not None and needed != wanted:
            own = self.infer_schema(file, settings)
            beside = [field for field in own if field.name not in schema.names]
            schema = pa.schema([*schema, *beside], schema.metadata)
        for position, batch in self._read(file, settings, needed, start, schema, predicate):
            kept = rows_of(batch, predicate, file)
            if kept.num_rows:
                yield (
                    position,
                    kept if wanted is None else kept.select([c for c in wanted if c in kept.schema.names]),
                )

    @abstractmethod
    def _read(
        self,
        file: SourceFile,
        options: Options,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        """Reads, see `read`; `predicate` may be used to skip what can't match, rows are filtered afterwards."""

    def columns_needed(
        self, file: SourceFile, options: Options, columns: list[str] | None, filters: Any
    ) -> list[str] | None:
        """Says which columns have to be read to filter rows, see `columns_needed`."""
        return columns_needed(columns, filters)

    @abstractmethod
    def infer_schema(self, file: SourceFile, options: Options | Mapping[str, Any] | None = None) -> pa.Schema:
        """Finds the schema that holds all rows of a file.

        Raises:
            FileFormatError: The file's content is not what the format says.
            SchemaConflictError: A column has types that no type holds; names row and column.
        """

    def column_names(self, file: SourceFile, options: Options | Mapping[str, Any] | None = None) -> list[str]:
        """Finds the names of the columns of a file, without settling types where that takes longer.

        Raises:
            FileFormatError: The file's content is not what the format says.
        """
        names: list[str] = self.infer_schema(file, options).names
        return names

    def first_columns(
        self, file: SourceFile, options: Options | Mapping[str, Any] | None = None
    ) -> list[str]:
        """Finds the names of the columns that a file begins with, as a stream reads it.

        Raises:
            FileFormatError: The file's content is not what the format says.
        """
        return self.column_names(file, options)

    def read_by_row(
        self,
        file: SourceFile,
        options: Options,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        bad: Any,
    ) -> Any:
        """Reads for a stream, see `loose`: (position, `LooseRows`) pairs; None where reading batches does as well.

        Args:
            file: The file.
            options: The format's options.
            columns: Columns to read, in this order; all if None.
            start: Position that an earlier read gave.
            schema: Types to bring the columns to; those of the head of the file, as far as values fit them, if None.
            bad: A `loose.Bad` that takes rows which can't be read; None to make them errors.
        """
        return None

    def group_rows(self, file: SourceFile) -> list[int] | None:
        """Gives the rows of each part of a file that can be read apart from the others; None if there are no such parts.

        Args:
            file: The file; only its end is read.

        Raises:
            FileFormatError: Its content is not what the format says.
        """
        return None

    def clash(self, options: Options | Mapping[str, Any] | None = None) -> Clash:
        """Says what the types of a column in two files become if they have no common type; by default an error.

        Args:
            options: See `parse_options`.
        """
        return refuse

    def write(
        self, batches: Iterable[pa.RecordBatch], target: Target, *, schema: pa.Schema, **options: Any
    ) -> int:
        """Writes record batches as one file.

        Args:
            batches: Record batches (or tables) with this schema; drawn one by one.
            target: Path to write, atomically; or a binary file object.
            schema: Schema of the batches; needed since there may be none.
            **options: As documented for ``to_csv``, ``to_json``, ``to_parquet``.

        Returns:
            Number of bytes written.

        Raises:
            InvalidArgumentError: The format can't be written, or an option is not known.
            FileError: The target can't be written.
        """
        raise InvalidArgumentError(f'Files of the format "{self.name}" can be read, not written.')


def fitter(
    schema: pa.Schema | None, columns: Sequence[str] | None, file: SourceFile
) -> Callable[[pa.Table, int], pa.Table]:
    """Makes the function that brings tables of a file to a schema.

    Args:
        schema: Types asked for; None leaves tables as they are.
        columns: Columns of `schema` asked for, in order; None for all.
        file: The file, for errors.

    Returns:
        A function of a table and the index of its first row.
    """
    if schema is None:
        return lambda table, _: table
    features = Features.from_arrow_schema(schema)
    if columns is not None:
        features = Features({name: features[name] for name in columns if name in features})

    shape = features.arrow_schema
    plain = all(type(feature) is Value for feature in features.values())

    def fit(table: pa.Table, row: int) -> pa.Table:
        if plain and table.schema.equals(shape):  # nothing to check or to change
            return with_metadata(table, shape.metadata)
        return cast_table(table, features, file=file.name, first_row=row)

    return fit


@contextlib.contextmanager
def output(target: Target, compression: str | None = "infer") -> Iterator[CountingFile]:
    """Opens what a text writer writes to.

    Args:
        target: Path (the file appears when it is whole) or binary file object (left open).
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, ``"lz4"``, None; ``"infer"`` goes by the path's suffix.

    Yields:
        A file object whose `count` is the number of bytes written, before compression.

    Raises:
        InvalidArgumentError: No such compression.
        FileError: The target can't be written.
    """
    is_path = not hasattr(target, "write")
    if compression == "infer":
        compression = COMPRESSION_SUFFIXES.get(compression_suffix(str(target))) if is_path else None
    if compression not in _OPENERS:
        raise InvalidArgumentError.from_choice("compression", str(compression), [k for k in _OPENERS if k])
    with writing(target), contextlib.ExitStack() as stack:
        raw = stack.enter_context(exported_file(target)) if is_path else target
        wrap = _OPENERS[compression]
        yield CountingFile(raw if wrap is None else stack.enter_context(wrap(raw)))


_OPENERS: dict[str | None, Callable[[Any], Any] | None] = {
    None: None,
    # No time stamp inside: the same rows give the same bytes.
    "gzip": lambda raw: gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0),
    "bz2": functools.partial(bz2.BZ2File, mode="wb"),
    "xz": functools.partial(lzma.LZMAFile, mode="wb"),
    "zstd": lambda raw: pa.CompressedOutputStream(pa.PythonFile(CountingFile(raw), mode="w"), "zstd"),
    "lz4": lambda raw: pa.CompressedOutputStream(pa.PythonFile(CountingFile(raw), mode="w"), "lz4"),
}


class CountingFile:
    """A binary file object for writing that counts what goes through it; closing it leaves the one below open."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def write(self, data: bytes | memoryview) -> int:
        """Writes and counts bytes."""
        self.count += len(data)
        self._file.write(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing: whoever opened the file below flushes it."""

    def close(self) -> None:
        """Does nothing: whoever opened the file below closes it."""
