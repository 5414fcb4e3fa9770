"""Makes sure that a split is in the cache: whole under its final name, made once, whoever else wants it.

The folder is written under a temporary name and renamed; a lock beside it makes other processes wait and then use what
the first one made. Killed at any moment, the next run finds the folder whole or not at all, and sweeps what was left.
Where a disk can't lock, two processes may build at once: the first to finish wins, the other one uses what it made.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gristmill import config
from gristmill.errors import (
    CastError,
    DataError,
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    FileError,
    FileMissingError,
    SchemaConflictError,
)
from gristmill.files.atomic import atomic_folder, sweep
from gristmill.files.borders import writing
from gristmill.files.lock import sweep_lock
from gristmill.formats.source import SourceFile
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.prepared import is_room_for
from gristmill.prepared.archives import unpack_archives
from gristmill.prepared.downloaded import checksums_of, drop_damaged, prepared_size
from gristmill.prepared.guarded import make_alone
from gristmill.prepared.in_place import use_in_place
from gristmill.prepared.keys import split_folder
from gristmill.prepared.local import has_changed
from gristmill.prepared.parts import closing_files, ready_files
from gristmill.prepared.shards import record, write_files
from gristmill.prepared.source import SplitSource
from gristmill.prepared.write_split import WrittenSplit, write_split
from gristmill.splits import SplitDict, SplitInfo

ORIGINS_FILENAME = "origins.json"
_log = get_logger(__name__)


class _FasterError(Exception):
    """Another process has given the folder its name while this one was building."""


class _DamagedError(Exception):
    """A download was damaged on this disk. It is gone, so that it will be fetched again; `.failure` is what it did."""

    def __init__(self, failure: DatasetGenerationError) -> None:
        super().__init__(str(failure))
        self.failure = failure


def prepare(
    source: SplitSource,
    cache: Path,
    *,
    force: bool = False,
    num_proc: int | None = None,
    checksums: bool = False,
) -> Path:
    """Makes sure that a split is prepared.

    Args:
        source: The split; its files are fetched only if it has to be prepared.
        cache: The datasets cache.
        force: Prepare again what is there already.
        num_proc: How many groups of files are worked on at a time; as many as there are processors, up to four, if left
            out. The result does not depend on it.
        checksums: Record the SHA-256 of each data file in `DatasetInfo.download_checksums`, not only its size; for
            what is prepared already it is left as it is.

    Returns:
        The folder with ``dataset_info.json``, ``origins.json``, ``files.json`` and, unless the data files themselves
        serve as such, its Arrow files.

    Raises:
        DatasetGenerationCastError: The files do not share one schema, or a value does not fit a declared type.
        DatasetGenerationError: A file can't be read; the cause says which and where.
        DiskFullError: There is not enough room.
        FileError: A file was changed while it was read, the cache can't be written, or it was deleted meanwhile, and once
            more when all was begun again.
        HubError: A file can't be fetched.
    """
    folder = split_folder(source, cache)
    if not force and is_prepared(folder):
        _log.info("using the prepared split %s in %s", source.split, folder)
        sweep_lock(lock_of(folder))
        return folder
    what = f'the split "{source.split}" of {source.source}'
    make_alone(what, lock_of(folder), cache, partial(_prepare, source, folder, force, num_proc, checksums))
    return folder


def _prepare(source: SplitSource, folder: Path, force: bool, num_proc: int | None, checksums: bool) -> None:
    """Prepares a split unless another process just has."""
    if force or not is_prepared(folder):
        sweep(folder.parent)
        with contextlib.suppress(_FasterError):
            try:
                _build(source, folder, force, num_proc, checksums)
            except _DamagedError:
                try:
                    _build(source, folder, force, num_proc, checksums)
                except _DamagedError as error:
                    raise error.failure from error.failure.__cause__
    if not is_prepared(folder):  # deleted since
        raise FileMissingError.from_path(folder)


def lock_of(folder: Path) -> Path:
    """Names the lock that whoever writes or deletes a prepared folder holds."""
    return folder.with_name(f"{folder.name}.lock")


def is_prepared(folder: Path) -> bool:
    """Says whether a folder of the cache is there; there is no half of one."""
    return os.path.isfile(f"{folder}{os.sep}{config.DATASET_INFO_FILENAME}")  # noqa: PTH113  # at each load


def _build(source: SplitSource, folder: Path, force: bool, num_proc: int | None, checksums: bool) -> None:
    size = sum(file.size for file in source.files)
    if source.format != "arrow":
        _check_room(size, folder.parent)
    files = ready_files(source, whole=checksums)
    try:
        _write(source, files, size, folder, force, num_proc, checksums)
    except DatasetGenerationError as error:
        if drop_damaged(source.files, files):
            raise _DamagedError(error) from error
        raise


def _write(
    source: SplitSource,
    files: Sequence[SourceFile],
    size: int,
    folder: Path,
    force: bool,
    num_proc: int | None,
    checksums: bool,
) -> None:
    paths = [file.path for file in files]
    # Not synced: a disk takes longer for that than all the rest, and a file that a power cut left short is noticed when
    # the split is opened, by its recorded size, and prepared again.
    with _generating(source), closing_files(files), atomic_folder(folder, durable=False) as temporary:
        extracted = temporary / "extracted"
        unpacked, inside = unpack_archives(source, paths, extracted, durable=False)
        # What was extracted goes with the rows written, so it can't be used in place.
        written = use_in_place(source, paths, temporary) if unpacked is source else None
        if written is None:
            _check_prepared(unpacked, inside, folder.parent)
            ready = {file.path: file for file in files}
            named = zip(inside, unpacked.files, strict=True)
            members = [ready.get(path) or SourceFile(path, file.name) for path, file in named]
            written = write_split(unpacked, members, temporary, num_proc)
            shutil.rmtree(extracted, ignore_errors=True)
        for file in source.files:
            if has_changed(file):  # what was written may be of no state it ever was in
                raise FileError(
                    f"{file.name} was changed while it was read. Load it again when nobody writes to it."
                )
        origins = None if written.origins is None else written.origins.to_json()
        info = _info(source, written, size)
        info.download_checksums = checksums_of(source.files, files, checksums)
        # No file here needs to be atomic by itself: the folder is.
        _write_json(temporary / ORIGINS_FILENAME, origins, separators=(",", ":"))
        _write_json(temporary / config.DATASET_INFO_FILENAME, info.to_dict(), indent=2)
        sums = written.checksums or [None] * len(written.shards)
        shards = [
            record(path, in_place=written.in_place, known=known)
            for path, known in zip(written.shards, sums, strict=True)
        ]
        write_files(temporary, shards)
        if not force and is_prepared(folder):
            raise _FasterError
    _log.info(
        "prepared %d rows of the split %s of %s in %s%s",
        sum(written.shard_rows),
        source.split,
        source.source,
        folder,
        ", used in place" if written.in_place else "",
    )


def _check_prepared(source: SplitSource, paths: Sequence[Path], folder: Path) -> None:
    # Column by column takes long where there are many: it is counted where there may be no room for all of them.
    if source.columns is None or not is_room_for(prepared_size(replace(source, columns=None), paths), folder):
        _check_room(prepared_size(source, paths), folder)


def _check_room(needed: int, folder: Path) -> None:
    if not is_room_for(needed, folder):
        raise DiskFullError.from_sizes(folder, needed, _free(folder))


def _write_json(path: Path, value: object, **style: Any) -> None:
    with writing(path):
        path.write_text(json.dumps(value, ensure_ascii=False, **style) + "\n", encoding="utf-8")


def _free(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _info(source: SplitSource, written: WrittenSplit, download_size: int) -> DatasetInfo:
    info = source.info.copy()
    size = written.num_bytes
    info.features = written.features
    info.builder_name = source.format
    info.dataset_name = source.dataset
    info.config_name = source.config
    info.version = "0.0.0"
    info.splits = SplitDict(dataset_name=source.dataset)
    info.splits.add(
        SplitInfo(
            name=source.split,
            num_bytes=size,
            num_examples=sum(written.shard_rows),
            shard_lengths=written.shard_rows if len(written.shards) > 1 else None,
            original_shard_lengths=written.rows_by_file if len(written.rows_by_file) > 1 else None,
        )
    )
    info.download_size = download_size
    info.dataset_size = size
    info.size_in_bytes = size + download_size
    return info


@contextlib.contextmanager
def _generating(source: SplitSource) -> Iterator[None]:
    """Says of an error in the data which dataset and split were being prepared; the cause stays attached."""
    what = f'Preparing the split "{source.split}" of {source.source} failed: '
    try:
        yield
    except (CastError, SchemaConflictError) as error:
        raise DatasetGenerationCastError(f"{what}{error}") from error
    except DataError as error:
        raise DatasetGenerationError(f"{what}{error}") from error
