"""Reads the files of a split and writes its Arrow files: first the columns are settled, then rows are written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.build.ahead import read_ahead
from gristmill.build.columns import SplitColumns
from gristmill.build.keys import shard_names, shard_stem
from gristmill.build.source import SplitSource
from gristmill.features import Features
from gristmill.formats.base import Format
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile
from gristmill.progress import progress
from gristmill.table.arrow_file import ArrowFileWriter
from gristmill.table.origins import Origins

SHARD_BYTES = 500_000_000
"""A new Arrow file begins when one has grown to this size."""


@dataclass(frozen=True)
class WrittenSplit:
    """What writing a split gave.

    Attributes:
        features: The columns.
        shard_rows: Rows of each Arrow file.
        num_bytes: Bytes of Arrow data in all of them.
        rows_by_file: Rows each data file gave.
        origins: Where each row came from; None if rows were filtered out while reading, so that nobody counted.
    """

    features: Features
    shard_rows: list[int]
    num_bytes: int
    rows_by_file: list[int]
    origins: Origins | None


def write_split(source: SplitSource, paths: Sequence[Path], folder: Path) -> WrittenSplit:
    """Writes the Arrow files of a split.

    Args:
        source: The split.
        paths: Where each of ``source.files`` is on this machine.
        folder: An empty folder for the Arrow files.

    Returns:
        What was written.

    Raises:
        SchemaConflictError: Two files disagree on a column's type.
        CastError: A value does not fit a declared type.
        FileFormatError: A file is damaged.
    """
    format = get_format(source.format)
    options = format.parse_options(source.options)
    files = [SourceFile(path, file.name) for file, path in zip(source.files, paths, strict=True)]
    features = settle_features(source, format, options, files)
    schema = features.arrow_schema
    shards = _Shards(folder, shard_stem(source.dataset, source.split), schema)
    runs: list[list[_Run]] = []
    try:
        with progress(f"Preparing {source.split}") as bar:
            for file in files:
                runs.append([])
                batches = format.read(
                    file, options=options, columns=source.columns, filters=source.filters, schema=schema
                )
                for position, batch in read_ahead(batches):
                    shards.write(batch)
                    _extend(runs[-1], position.row, batch.num_rows)
                    bar.update(batch.num_rows)
        rows, size = shards.finish()
    except BaseException as error:
        shards.abandon(error)
        raise
    filtered = source.filters is not None or getattr(options, "filters", None) is not None
    origins = None if filtered else _origins(source, runs)
    rows_by_file = [sum(run.rows for run in file_runs) for file_runs in runs]
    return WrittenSplit(features, rows, size, rows_by_file, origins)


def settle_features(
    source: SplitSource, format: Format[Any], options: Any, files: Sequence[SourceFile]
) -> Features:
    """Finds the columns that hold the rows of all files.

    Args:
        source: The split; its declared features come first.
        format: The format of the files.
        options: The format's options.
        files: The files.

    Raises:
        SchemaConflictError: Two files disagree on a column's type.
    """
    if source.features is not None:
        return source.features
    columns = SplitColumns(source.card_features, format.clash(options))
    for file in files:
        schema = format.infer_schema(file, options)
        if source.columns is not None:
            kept = [schema.field(name) for name in source.columns if name in schema.names]
            schema = pa.schema(kept, schema.metadata)
        columns.learn(schema, file.name)
    return columns.features()


class _Shards:
    """Arrow files of bounded size, written one after another; at the end they are numbered if there are several."""

    def __init__(self, folder: Path, stem: str, schema: pa.Schema) -> None:
        self._folder = folder
        self._stem = stem
        self._schema = schema
        self._writer: ArrowFileWriter | None = None
        self._done: list[ArrowFileWriter] = []

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is not None and self._writer.num_bytes >= SHARD_BYTES:
            self._close()
        if self._writer is None:
            path = self._folder / f"part-{len(self._done):05}.arrow"
            # The folder is synced as a whole before it gets its name.
            self._writer = ArrowFileWriter(path, self._schema, durable=False).__enter__()
        self._writer.write_batch(batch)

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.__exit__(None, None, None)
            self._done.append(writer)

    def finish(self) -> tuple[list[int], int]:
        """Gives the files their final names; there is at least one. Returns the rows of each, and the bytes of all."""
        if self._writer is None and not self._done:
            self.write(pa.RecordBatch.from_pylist([], schema=self._schema))
        self._close()
        for writer, name in zip(self._done, shard_names(self._stem, len(self._done)), strict=True):
            writer.path.replace(self._folder / name)
        return [writer.num_rows for writer in self._done], sum(writer.num_bytes for writer in self._done)

    def abandon(self, error: BaseException) -> None:
        """Drops the file being written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.__exit__(type(error), error, error.__traceback__)


@dataclass
class _Run:
    """Rows that follow each other in one file: the index of the first, and how many."""

    first: int
    rows: int


def _extend(runs: list[_Run], first: int, rows: int) -> None:
    if runs and runs[-1].first + runs[-1].rows == first:
        runs[-1].rows += rows
    elif rows:
        runs.append(_Run(first, rows))


def _origins(source: SplitSource, runs: list[list[_Run]]) -> Origins:
    return Origins.concat(
        Origins.single(source.source, None, file.name, run.rows, run.first)
        for file, file_runs in zip(source.files, runs, strict=True)
        for run in file_runs
    )
