"""A prepared split, opened: its Arrow files are mapped, nothing is read; slices and joins of such splits.

What Gristmill prepared was whole when it got its name, and what is used in place was looked through; so here sizes, end
marks, numbers of rows and columns are compared, which costs the same for a file of any size.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gristmill import config
from gristmill.errors import FileFormatError
from gristmill.features import Features
from gristmill.features.columnless import concat_tables
from gristmill.info import DatasetInfo
from gristmill.prepared.folder_record import read_record
from gristmill.prepared.in_place import with_columns
from gristmill.prepared.split_spec import SplitPart
from gristmill.splits import SplitInfo
from gristmill.splits.slices import check_rows
from gristmill.table.arrow_file import open_arrow
from gristmill.table.origins import Origins


@dataclass(frozen=True)
class OpenRows:
    """Rows of prepared splits, ready to become a dataset: the fields are what its private constructor takes.

    Attributes:
        table: The rows.
        split: Name of the split.
        fingerprint: The hash that stands for the rows.
        origins: Where each row came from, if known.
        cache_dir: Where transforms keep their results.
        cache_files: The Arrow files behind the table, in order; those used in place lie elsewhere.
    """

    table: pa.Table
    split: str
    fingerprint: str
    origins: Origins | None
    cache_dir: Path
    cache_files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class OpenSplit:
    """A prepared split whose files are open.

    Attributes:
        folder: Its folder in the cache.
        files: Its Arrow files, in order.
        table: Its rows.
        info: What is known about it; `info.splits` has this split alone.
        split: Its own entry there.
        origins: Where each row came from, if known.
        fingerprint: The hash that stands for its rows: its folder's name holds everything that decides them.
    """

    folder: Path
    files: tuple[Path, ...]
    table: pa.Table
    info: DatasetInfo
    split: SplitInfo
    origins: Origins | None
    fingerprint: str

    @property
    def features(self) -> Features:
        """Its columns."""
        return self.info.features or Features()

    def all_rows(self) -> OpenRows:
        """Gives all its rows."""
        return OpenRows(self.table, self.split.name, self.fingerprint, self.origins, self.folder, self.files)


def open_prepared(
    folder: Path, *, source: str, revision: str | None = None, keep_in_memory: bool | None = None
) -> OpenSplit:
    """Opens a prepared split.

    Args:
        folder: The folder `prepare` gave.
        source: Repository id, folder or format that its rows are traced back to.
        revision: The commit it was loaded at, if the source has commits. Equal files at two commits are prepared
            once; which commit a row is from is known only here.
        keep_in_memory: Read the rows into memory instead of mapping the files; None reads what is smaller than
            `config.IN_MEMORY_MAX_SIZE`.

    Raises:
        FileError: A file is missing.
        FileFormatError: A file is damaged.
    """
    record = read_record(folder, source, revision)
    for shard in record.shards:
        shard.check()
    files = tuple(shard.path for shard in record.shards)
    info = record.info.copy()
    assert info.splits is not None  # looked at when it was read
    [split] = info.splits.values()
    in_memory = keep_in_memory
    if in_memory is None:
        in_memory = (info.dataset_size or 0) < config.IN_MEMORY_MAX_SIZE
    table = _open_files(folder, files, record.schema, in_memory)
    if table.num_rows != split.num_examples:
        raise FileFormatError.at(f"has {table.num_rows} rows, not {split.num_examples}", file=folder)
    with contextlib.suppress(OSError):
        os.utime(
            folder
        )  # "last used", for whoever tidies the cache; a cache that is read-only is never tidied
    return OpenSplit(folder, files, table, info, split, record.origins, record.fingerprint)


def _open_files(folder: Path, files: Sequence[Path], schema: pa.Schema, in_memory: bool) -> pa.Table:
    if not files:
        raise FileFormatError.at("names no Arrow file", file=folder)
    tables = []
    for file in files:
        table = with_columns(open_arrow(file, in_memory, schema=schema), schema)
        if table is None:
            raise FileFormatError.at(f"has other columns than {folder}/dataset_info.json names", file=file)
        tables.append(table)
    return tables[0] if len(tables) == 1 else concat_tables(tables)


def join_parts(parts: Sequence[SplitPart], opened: Mapping[str, OpenSplit]) -> OpenRows:
    """Gives the rows that parts of splits mean, one after another.

    Args:
        parts: From `wanted_parts`.
        opened: Split -> its open files.

    Returns:
        Rows over the same files; nothing is copied.

    Raises:
        InvalidArgumentError: The slices mean no rows, although their splits have some.
    """
    if len(parts) == 1 and parts[0].whole:
        return opened[parts[0].split].all_rows()
    check_rows(parts, {part.split: opened[part.split].table.num_rows for part in parts})
    tables, origins, names = [], [], []
    for part in parts:
        split = opened[part.split]
        rows = part.rows(split.table.num_rows)
        tables.append(split.table.slice(rows.start, len(rows)))
        names.append(f"{split.fingerprint}[{rows.start}:{rows.stop}]")
        if split.origins is not None:
            origins.append(split.origins.slice(rows.start, len(rows)))
    return OpenRows(
        concat_tables(tables),
        split="+".join(part.text for part in parts),
        fingerprint=hashlib.sha256("+".join(names).encode()).hexdigest()[:16],
        origins=Origins.concat(origins) if len(origins) == len(parts) else None,
        cache_dir=opened[parts[0].split].folder,
    )
