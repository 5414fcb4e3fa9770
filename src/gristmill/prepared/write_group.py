"""Neighbouring data files of a split, written as Arrow files of their own: the piece that one worker does.

How a split is cut into groups depends on its files alone, so the same files give the same bytes however many workers
there are.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa
from typing_extensions import Self

from gristmill.errors import ColumnNotFoundError
from gristmill.features import Features
from gristmill.formats.base import Format
from gristmill.formats.filtering import type_in_schemas
from gristmill.formats.source import Position, SourceFile
from gristmill.prepared.ahead import read_ahead
from gristmill.prepared.columns import SplitColumns
from gristmill.prepared.source import SplitSource
from gristmill.progress import Progress
from gristmill.table.arrow_file import ArrowFileWriter

SHARD_BYTES = 500_000_000
"""A new Arrow file begins when one has grown to this size."""
GROUP_BYTES = 16_000_000
"""Files are put together until they have this many bytes ..."""
MOST_GROUPS = 64
"""... or more, so that there are no more groups than this."""


class StoppedError(Exception):
    """Ends a worker when another one has failed; never leaves `write_split`."""


@dataclass
class Run:
    """Rows that follow each other in one file: the index of the first, and how many."""

    first: int
    rows: int


@dataclass(frozen=True)
class Job:
    """What all groups of a split have in common.

    Attributes:
        source: The split.
        format: The format of its files.
        options: The format's options.
        folder: Where Arrow files go.
        bar: Told of rows as they are written.
        alone: One worker does it all, so each reads ahead while it writes; several keep the processors busy as it is.
        stop: Once set, workers end.
        seen: The columns of the files looked at, to list them where one that is asked for is in none.
        files: All files of the split.
        types: Types of columns that were looked for in all files.
    """

    source: SplitSource
    format: Format[Any]
    options: Any
    folder: Path
    bar: Progress
    alone: bool = True
    stop: threading.Event = field(default_factory=threading.Event)
    seen: dict[str, None] = field(default_factory=dict)
    files: Sequence[SourceFile] = ()
    types: dict[str, Any] = field(default_factory=dict)

    def infer(self, file: SourceFile) -> pa.Schema:
        """Finds the schema of a file, of the columns asked for."""
        if self.stop.is_set():
            raise StoppedError
        schema = self.format.infer_schema(file, self.options)
        if self.source.columns is None:
            return schema
        self.seen.update(dict.fromkeys(schema.names))
        kept = [schema.field(name) for name in self.source.columns if name in schema.names]
        if self.source.columns and not kept and len(self.source.files) == 1:
            raise ColumnNotFoundError.from_name(self.source.columns[0], schema.names, file.name)
        return pa.schema(kept, schema.metadata)

    def type_of(self, name: str) -> Any:
        """Finds the type that a column has in the first of all files that has it; structs have the fields of all files.

        Raises:
            ColumnNotFoundError: None has it.
        """
        if name not in self.types:
            schemas = (self.format.infer_schema(file, self.options) for file in self.files)
            found, there = type_in_schemas(name, schemas)
            if found is None:
                raise ColumnNotFoundError.from_name(name, there, files_named(self.source))
            self.types[name] = found
        return self.types[name]

    def columns(self) -> SplitColumns:
        """Begins to settle columns."""
        return SplitColumns(self.source.card_features, self.format.clash(self.options), self.source.columns)


class WrittenShard(NamedTuple):
    """An Arrow file.

    Attributes:
        path: Where it is.
        rows: Its rows.
        num_bytes: Bytes of Arrow data in it.
        checksum: What `gristmill.prepared.shards.checksum` gives for it.
    """

    path: Path
    rows: int
    num_bytes: int
    checksum: str


@dataclass(frozen=True)
class WrittenGroup:
    """What writing a group gave.

    Attributes:
        features: The columns it was written with.
        schemas: The schema of each file, if they had to be found.
        shards: Its Arrow files.
        runs: For each file, the rows it gave.
    """

    features: Features
    schemas: list[pa.Schema]
    shards: list[WrittenShard]
    runs: list[list[Run]]


def files_named(source: SplitSource) -> str:
    """Names the files of a split, for errors: the first one, if they are many."""
    names = [file.name for file in source.files]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other files"


def cut_into_groups(sizes: Sequence[int]) -> list[range]:
    """Cuts the files of a split into groups of neighbours.

    Args:
        sizes: Bytes of each file.

    Returns:
        Positions of the files of each group; at least one group.

    Example:
        >>> cut_into_groups([9_000_000, 9_000_000, 1, 40_000_000])
        [range(0, 2), range(2, 4)]
    """
    wanted = max(GROUP_BYTES, -(-sum(sizes) // MOST_GROUPS))
    groups, start, held = [], 0, 0
    for position, size in enumerate(sizes):
        held += size
        if held >= wanted:
            groups.append(range(start, position + 1))
            start, held = position + 1, 0
    if start < len(sizes) or not groups:
        groups.append(range(start, len(sizes)))
    return groups


def write_group(
    job: Job, number: int, files: Sequence[SourceFile], features: Features | None = None
) -> WrittenGroup:
    """Writes the rows of a group.

    Args:
        job: What all groups have in common.
        number: Which group it is; part of the names of its Arrow files.
        files: Its files.
        features: The columns, if they are settled. If not, each file is written right after its types were found, while
            what was parsed is still there; should a later file of the group widen them, the group is written anew.

    Raises:
        SchemaConflictError: Two files disagree on a column's type.
        CastError: A value does not fit a declared type.
        FileFormatError: A file is damaged.
        StoppedError: Another group has failed.
    """
    if features is not None:
        with _Shards(job.folder, number, features) as shards:
            runs = _write_files(job, files, shards, lambda _: True)
        return WrittenGroup(features, [], shards.done, runs)
    columns, schemas = job.columns(), list[pa.Schema]()

    def learn(file: SourceFile) -> None:
        schemas.append(job.infer(file))
        columns.learn(schemas[-1], file.name)

    for file in files[:1]:
        learn(file)
    first = columns.features()

    def still_fits(file: SourceFile) -> bool:
        if file is not files[0]:
            learn(file)
        return same_columns(columns.features(), first)

    with _Shards(job.folder, number, first) as shards:
        runs = _write_files(job, files, shards, still_fits)
    if same_columns(columns.features(), first):
        return WrittenGroup(first, schemas, shards.done, runs)
    shards.discard()
    for file in files[len(schemas) :]:
        learn(file)
    again = write_group(job, number, files, columns.features())
    return WrittenGroup(again.features, schemas, again.shards, again.runs)


def same_columns(one: Features, other: Features) -> bool:
    """Says whether two sets of columns are the same, their order included."""
    return list(one) == list(other) and one == other


def _write_files(
    job: Job, files: Sequence[SourceFile], shards: _Shards, fits: Callable[[SourceFile], bool]
) -> list[list[Run]]:
    """Writes files one after another, up to the first that does not fit; the next is read while one is written."""
    runs: list[list[Run]] = [[] for _ in files]
    coming = read_ahead(_read_files(job, files, shards.schema, fits), in_thread=job.alone)
    with contextlib.closing(coming):
        for number, position, batch in coming:
            if job.stop.is_set():
                raise StoppedError
            shards.write(batch)
            _extend(runs[number], position.row, batch.num_rows)
            job.bar.update(batch.num_rows)
    return runs


def _read_files(
    job: Job, files: Sequence[SourceFile], schema: pa.Schema, fits: Callable[[SourceFile], bool]
) -> Iterator[tuple[int, Position, pa.RecordBatch]]:
    columns = job.source.columns
    if columns is not None:  # in the order in which they are written
        columns = tuple(name for name in schema.names if name in columns)
    for number, file in enumerate(files):
        if not fits(file):
            return
        read = file if job.source.filters is None else replace(file, lacks=job.type_of)
        batches = job.format.read(
            read, options=job.options, columns=columns, filters=job.source.filters, schema=schema
        )
        for position, batch in batches:
            yield number, position, batch


def _extend(runs: list[Run], first: int, rows: int) -> None:
    if runs and runs[-1].first + runs[-1].rows == first:
        runs[-1].rows += rows
    elif rows:
        runs.append(Run(first, rows))


class _Shards:
    """Arrow files of bounded size, written one after another."""

    def __init__(self, folder: Path, number: int, features: Features) -> None:
        self.schema = features.arrow_schema
        self.done: list[WrittenShard] = []
        self._folder = folder
        self._number = number
        self._writer: ArrowFileWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._close()
        elif self._writer is not None:
            self._writer.__exit__(kind, error, trace)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows; those of a batch stay in one file."""
        if batch.num_rows == 0:
            return
        if self._writer is not None and self._writer.num_bytes >= SHARD_BYTES:
            self._close()
        if self._writer is None:
            path = self._folder / f"part-{self._number:05}-{len(self.done):05}.arrow"
            self._writer = ArrowFileWriter(path, self.schema, durable=False, checksum=True).__enter__()
        self._writer.write_batch(batch)

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.__exit__(None, None, None)
            self.done.append(WrittenShard(writer.path, writer.num_rows, writer.num_bytes, writer.checksum))

    def discard(self) -> None:
        """Deletes what was written."""
        for shard in self.done:
            shard.path.unlink(missing_ok=True)
        self.done.clear()


def numbered(files: Sequence[SourceFile], groups: Sequence[range]) -> Iterator[tuple[int, list[SourceFile]]]:
    """Yields the number and the files of each group."""
    for number, group in enumerate(groups):
        yield number, [files[position] for position in group]
