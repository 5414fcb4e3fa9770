"""Writing rows as files of other formats: one file, or several of bounded size."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.dataset.sharding import Sharding
from gristmill.engine import Context, Task, run_tasks
from gristmill.errors import DataError, InvalidArgumentError
from gristmill.features import Features
from gristmill.features.columnless import with_metadata
from gristmill.features.schema import schema_metadata
from gristmill.files.atomic import give_name, sweep, temporary_name
from gristmill.files.borders import writing
from gristmill.files.compression import compression_suffix
from gristmill.files.remote import local_path, upload_files
from gristmill.files.temporary import temporary_prefix
from gristmill.formats.exporting import check_target, opened_target
from gristmill.formats.registry import get_writer
from gristmill.table.view import View

_ROWS = 25_000
_BYTES = 16 << 20


def write_rows(
    view: View,
    features: Features,
    format: str,
    target: Any,
    storage_options: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    sharding: Sharding | None = None,
) -> int:
    """Writes rows with one of the formats' writers, a bounded number at a time.

    Args:
        view: The rows.
        features: The feature of each column; kept in the file where the format can.
        format: ``"parquet"``, ``"json"`` or ``"csv"``.
        target: Path, URL of another file system, or an open binary file.
        storage_options: Options of that file system.
        options: Options of the format's writer.
        sharding: How many files; None writes one under the name that `target` is. Several are named after it:
            ``data/train.parquet`` becomes ``data/train-00000-of-00002.parquet`` and so on.

    Returns:
        Bytes written.

    Raises:
        InvalidArgumentError: An option is not known.
        FileError: A file can't be written.
    """
    target = check_target(target)
    write = _Writer(view, view.schema.with_metadata(schema_metadata(features)), format, options)
    if sharding is not None:
        if not isinstance(target, str | os.PathLike):
            raise InvalidArgumentError("Several files can't be written to one open file: pass a path.")
        return _write_shards(write, os.fspath(target), storage_options, sharding)
    with opened_target(target, storage_options) as opened:
        return write.to(opened)


@dataclass(frozen=True)
class _Writer:
    """Writes rows as one file; called by the engine, a range of them."""

    view: View
    schema: pa.Schema
    format: str
    options: Mapping[str, Any]

    def to(self, target: Any, rows: tuple[int, int] | None = None) -> int:
        rows = rows or (0, self.view.num_rows)
        try:
            return get_writer(self.format)(self._batches(rows), target, schema=self.schema, **self.options)
        except DataError as error:
            # A writer counts the rows of its file.
            if error.is_located or error.row_in_block is None:
                raise
            raise error.located(None, error.row_in_block + rows[0]) from error.__cause__

    def __call__(self, argument: tuple[int, int], output: Path, context: Context) -> None:
        self.to(output, argument)
        context.advance(argument[1] - argument[0])

    def _batches(self, rows: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        for table in self.view.blocks(self.view.block_rows(_ROWS, _BYTES), *rows):
            yield from with_metadata(table, self.schema.metadata).to_batches()


def _write_shards(
    write: _Writer, target: str, storage_options: Mapping[str, Any] | None, sharding: Sharding
) -> int:
    """Writes several files: none of them has its name before all are whole."""
    parent, slash, name = target.rpartition("/")
    stem, ending = _cut(name)
    old = re.compile(rf"{re.escape(stem)}-[0-9]{{5,}}-of-[0-9]{{5,}}{re.escape(ending)}")
    local = local_path(target)
    with contextlib.ExitStack() as stack:
        if local is None:
            prefix = temporary_prefix("upload")
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        else:
            folder = temporary_name(local)
            with writing(target):
                folder.mkdir(parents=True)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        paths = _run(write, folder, stem, ending, sharding)
        size = sum(path.stat().st_size for path in paths)
        if local is None:
            upload_files(folder, parent + slash, storage_options, lambda name: bool(old.fullmatch(name)))
            return size
        with writing(target):
            for path in paths:
                give_name(path, local.parent / path.name)
            # What an earlier call wrote under this name, in another number of files, would be read along with these.
            names = {path.name for path in paths}
            for entry in local.parent.iterdir():
                if old.fullmatch(entry.name) and entry.name not in names:
                    entry.unlink()
            sweep(local.parent)
        return size


def _run(write: _Writer, folder: Path, stem: str, ending: str, sharding: Sharding) -> list[Path]:
    ranges = sharding.ranges(write.view)
    tasks = [
        Task(name, folder / name, rows, rows[1] - rows[0])
        for number, rows in enumerate(ranges)
        for name in [f"{stem}-{number:05d}-of-{len(ranges):05d}{ending}"]
    ]
    run = partial(
        run_tasks, tasks=tasks, num_proc=sharding.num_proc, description="Writing files", reuse=False
    )
    if sharding.num_proc is None or len(tasks) == 1:
        return run(write)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("rows")) as rows_folder:
        stored = write.view.stored(Path(rows_folder))
        return run(_Writer(stored, write.schema, write.format, write.options))


def _cut(name: str) -> tuple[str, str]:
    """Cuts a file name before its ending, a compression's included.

    Example:
        >>> _cut("my.data.jsonl.gz"), _cut("data")
        (('my.data', '.jsonl.gz'), ('data', ''))
    """
    packed = compression_suffix(name)
    stem, dot, ending = name.removesuffix(packed).rpartition(".")
    return (stem, dot + ending + packed) if stem else (ending, packed)
