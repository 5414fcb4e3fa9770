"""The data files of a split, read and written as Arrow files with one schema, by several workers at a time.

The columns are settled over all files before the folder gets its name. Where a schema lies in a header or footer that
is done first; text has to be parsed to know its types, so there each group of files is written with the types it has
itself, and once more, rarely, if those of all files turn out to be wider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from gristmill.errors import ColumnNotFoundError
from gristmill.features import Features
from gristmill.files.borders import writing
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile
from gristmill.logging import get_logger
from gristmill.prepared.keys import shard_names, shard_stem
from gristmill.prepared.source import SplitSource
from gristmill.prepared.write_group import (
    Job,
    Run,
    WrittenGroup,
    WrittenShard,
    cut_into_groups,
    files_named,
    numbered,
    same_columns,
    write_group,
)
from gristmill.progress import progress
from gristmill.table.arrow_file import ArrowFileWriter
from gristmill.table.origins import Origins

T = TypeVar("T")
_SCHEMA_FIRST = ("arrow", "parquet")
# Each worker holds a few batches; more of them than this seldom finish sooner.
_MOST_WORKERS = 4
_MOST_LISTED = 5
_log = get_logger(__name__)


@dataclass(frozen=True)
class WrittenSplit:
    """What writing a split gave.

    Attributes:
        features: The columns.
        shards: Its Arrow files, in order.
        shard_rows: Rows of each Arrow file.
        num_bytes: Bytes of Arrow data in all of them.
        rows_by_file: Rows each data file gave.
        origins: Where each row came from; None if rows were filtered out while reading, so that nobody counted.
        in_place: The Arrow files are the data files themselves.
        checksums: Of each Arrow file, if they are known.
    """

    features: Features
    shards: list[Path]
    shard_rows: list[int]
    num_bytes: int
    rows_by_file: list[int]
    origins: Origins | None
    in_place: bool = False
    checksums: Sequence[str | None] = ()


def write_split(
    source: SplitSource, files: Sequence[SourceFile], folder: Path, num_proc: int | None = None
) -> WrittenSplit:
    """Writes the Arrow files of a split.

    Args:
        source: The split.
        files: Each of ``source.files``, ready to be read.
        folder: An empty folder for the Arrow files.
        num_proc: How many groups of files are worked on at a time; as many as there are processors, up to four, if left
            out. Reading and writing leave the interpreter's lock alone, so the workers are threads. What is written does
            not depend on it.

    Returns:
        What was written.

    Raises:
        ColumnNotFoundError: A column that was asked for is in none of the files.
        SchemaConflictError: Two files disagree on a column's type.
        CastError: A value does not fit a declared type.
        FileFormatError: A file is damaged.
    """
    format = get_format(source.format)
    options = format.parse_options(source.options)
    sizes = [file.path.stat().st_size for file in files]
    empty = [file.name for file, size in zip(files, sizes, strict=True) if not size]
    if empty:
        _log.warning("%d empty files give no rows: %s", len(empty), ", ".join(empty[:_MOST_LISTED]))
    members_of = cut_into_groups(sizes)
    most = num_proc or min(_MOST_WORKERS, _processors())
    workers = min(len(members_of), most)
    # Each in one thread is as fast, and leaves out joining what several threads have parsed.
    files = [
        replace(file, workers=most) if workers <= 1 else replace(file, workers=1, threads=False)
        for file in files
    ]
    groups = list(numbered(files, members_of))
    with progress(f"Preparing {source.split}") as bar:
        job = Job(source, format, options, folder, bar, alone=workers <= 1, files=files)
        features = source.features
        if features is None and source.format in _SCHEMA_FIRST:
            features = settle_features(job, files)
        work = [partial(write_group, job, number, members, features) for number, members in groups]
        written = _run(job, work, workers)
        if features is None:
            written = _with_common_columns(job, groups, written, workers)
    if source.columns is not None and source.features is None:
        for name in source.columns:
            if name not in written[0].features:
                raise ColumnNotFoundError.from_name(name, job.seen, files_named(source))
    shards = _named(folder, shard_stem(source.dataset, source.split), written)
    runs = [file_runs for group in written for file_runs in group.runs]
    filtered = source.filters is not None or getattr(options, "filters", None) is not None
    return WrittenSplit(
        written[0].features,
        [shard.path for shard in shards],
        [shard.rows for shard in shards],
        sum(shard.num_bytes for shard in shards),
        [sum(run.rows for run in file_runs) for file_runs in runs],
        None if filtered else origins_of(source, runs),
        checksums=[shard.checksum for shard in shards],
    )


def settle_features(job: Job, files: Sequence[SourceFile]) -> Features:
    """Finds the columns that hold the rows of all files, looking at headers and footers only.

    Args:
        job: The split and its format.
        files: Its files.

    Raises:
        SchemaConflictError: Two files disagree on a column's type.
    """
    columns = job.columns()
    for file in files:
        columns.learn(job.infer(file), file.name)
    return columns.features()


def _with_common_columns(
    job: Job,
    groups: Sequence[tuple[int, list[SourceFile]]],
    written: Sequence[WrittenGroup],
    workers: int,
) -> list[WrittenGroup]:
    """Writes groups once more whose columns are not those of all files."""
    if len(written) == 1:
        return list(written)
    columns = job.columns()
    for (_, files), group in zip(groups, written, strict=True):
        for file, schema in zip(files, group.schemas, strict=True):
            columns.learn(schema, file.name)
    features = columns.features()

    def settled(number: int, files: Sequence[SourceFile]) -> WrittenGroup:
        group = written[number]
        if same_columns(group.features, features):
            return replace(group, features=features)
        for shard in group.shards:
            shard.path.unlink()
        return write_group(job, number, files, features)

    return _run(job, [partial(settled, number, files) for number, files in groups], workers)


def _run(job: Job, work: Sequence[Callable[[], T]], workers: int) -> list[T]:
    """Does pieces of work in threads; the first of them that fails, in order, says what went wrong."""
    if workers <= 1:
        return [piece() for piece in work]
    with ThreadPoolExecutor(workers, thread_name_prefix="gristmill-prepare") as pool:
        coming = [pool.submit(piece) for piece in work]
        try:
            return [one.result() for one in coming]
        except BaseException:
            job.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _named(folder: Path, stem: str, written: Sequence[WrittenGroup]) -> list[WrittenShard]:
    """Gives the Arrow files their final names; there is at least one."""
    shards = [shard for group in written for shard in group.shards]
    if not shards:
        schema = written[0].features.arrow_schema
        with ArrowFileWriter(folder / "part.arrow", schema, durable=False, checksum=True) as writer:
            pass
        shards = [WrittenShard(writer.path, 0, 0, writer.checksum)]
    names = shard_names(stem, len(shards))
    with writing(folder):
        return [
            shard._replace(path=shard.path.replace(folder / name))
            for shard, name in zip(shards, names, strict=True)
        ]


def origins_of(source: SplitSource, runs: Sequence[Sequence[Run]]) -> Origins:
    """Says where each row came from.

    Args:
        source: The split.
        runs: For each of its files, the rows it gave.
    """
    return Origins.concat(
        Origins.single(source.source, None, file.name, run.rows, run.first)
        for file, file_runs in zip(source.files, runs, strict=True)
        for run in file_runs
    )
