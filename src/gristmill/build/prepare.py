"""Makes sure that a split is in the cache: whole under its final name, made once, whoever else wants it.

The folder is written under a temporary name and renamed; a lock beside it makes other processes wait and then use what
the first one made. Killed at any moment, the next run finds the folder whole or not at all, and sweeps what was left.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gristmill import build, config
from gristmill.build.keys import split_folder
from gristmill.build.source import SplitSource
from gristmill.build.write_split import WrittenSplit, write_split
from gristmill.errors import (
    CastError,
    DataError,
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    SchemaConflictError,
)
from gristmill.files.atomic import atomic_folder, sweep
from gristmill.files.borders import writing
from gristmill.files.lock import lock
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.splits import SplitDict, SplitInfo

ORIGINS_FILENAME = "origins.json"
_log = get_logger(__name__)


def prepare(source: SplitSource, cache: Path, *, force: bool = False) -> Path:
    """Makes sure that a split is prepared.

    Args:
        source: The split; its files are fetched only if it has to be prepared.
        cache: The datasets cache.
        force: Prepare again what is there already.

    Returns:
        The folder with its Arrow files, ``dataset_info.json`` and ``origins.json``.

    Raises:
        DatasetGenerationCastError: The files do not share one schema, or a value does not fit a declared type.
        DatasetGenerationError: A file can't be read; the cause says which and where.
        DiskFullError: There is not enough room.
        HubError: A file can't be fetched.
    """
    folder = split_folder(source, cache)
    if not force and is_prepared(folder):
        _log.info("using the prepared split %s in %s", source.split, folder)
        return folder
    with lock(folder.with_name(folder.name + ".lock")):
        if force or not is_prepared(folder):
            sweep(folder.parent)
            _build(source, folder)
    return folder


def is_prepared(folder: Path) -> bool:
    """Says whether a folder of the cache is there; there is no half of one."""
    return (folder / config.DATASET_INFO_FILENAME).is_file()


def _build(source: SplitSource, folder: Path) -> None:
    size = sum(file.size for file in source.files)
    # Looked up at the call: users replace it where a cluster's disks report nonsense.
    if not build.has_sufficient_disk_space(size, folder.parent):
        raise DiskFullError.from_sizes(folder.parent, size, _free(folder.parent))
    paths = source.fetch(source.files)
    with _generating(source), atomic_folder(folder) as temporary:
        written = write_split(source, paths, temporary)
        origins = None if written.origins is None else written.origins.to_json()
        # No file here needs to be atomic by itself: the folder is, and all of it is synced once before the rename.
        _write_json(temporary / ORIGINS_FILENAME, origins, separators=(",", ":"))
        _write_json(
            temporary / config.DATASET_INFO_FILENAME, _info(source, written, size).to_dict(), indent=2
        )
        rows = sum(written.shard_rows)
    _log.info("prepared %d rows of the split %s of %s in %s", rows, source.split, source.source, folder)


def _write_json(path: Path, value: object, **style: Any) -> None:
    with writing(path):
        path.write_text(json.dumps(value, ensure_ascii=False, **style) + "\n", encoding="utf-8")


def _free(folder: Path) -> int:
    import shutil

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
            shard_lengths=written.shard_rows if len(written.shard_rows) > 1 else None,
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
