"""What a prepared folder says of itself, in three JSON files: read at each load, parsed when they say something new.

Parsing them and building the objects takes several times as long as reading them, so what was parsed is kept by the
very bytes it was parsed from: a file that says something else is parsed anew, whenever and by whomever it was changed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from gristmill import config
from gristmill.errors import FileFormatError
from gristmill.features import Features
from gristmill.files.borders import reading
from gristmill.info import DatasetInfo
from gristmill.prepared.prepare import ORIGINS_FILENAME
from gristmill.prepared.shards import FILES_FILENAME, FileRecord, parse_shards
from gristmill.table.origins import Origins

__all__ = ["FolderRecord", "read_record"]

_PIECE = 1 << 16
# Of larger ones, parsing is not what takes long: they tell of very many files, each of which is looked at.
_LARGEST_KEPT = 1 << 18
_MOST_KEPT = 32
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class FolderRecord:
    """What a prepared folder says of itself; it is shared, so whoever hands `info` on copies it.

    Attributes:
        info: What is known about the split; `info.splits` has this split alone.
        schema: The Arrow schema of its features.
        shards: Its Arrow files, in order.
        origins: Where each row came from, if known.
        fingerprint: The hash that stands for its rows: the folder's name holds everything that decides them.
    """

    info: DatasetInfo
    schema: pa.Schema
    shards: Sequence[FileRecord]
    origins: Origins | None
    fingerprint: str


def read_record(folder: Path, source: str, revision: str | None) -> FolderRecord:
    """Reads what a prepared folder says of itself.

    Args:
        folder: The folder.
        source: Repository id, folder or format that its rows are traced back to.
        revision: The commit it is loaded at, if the source has commits.

    Raises:
        FileMissingError: One of the three files is missing.
        FileFormatError: One of them holds what no run writes.
        FileError: One of them can't be read.
    """
    where = str(folder)
    info = _bytes_of(f"{where}{os.sep}{config.DATASET_INFO_FILENAME}")
    shards = _bytes_of(f"{where}{os.sep}{FILES_FILENAME}")
    origins = _bytes_of(f"{where}{os.sep}{ORIGINS_FILENAME}")
    parse = _parse if len(info) + len(shards) + len(origins) <= _LARGEST_KEPT else _parse.__wrapped__
    return parse(where, source, revision, info, shards, origins)


def _bytes_of(path: str) -> bytes:
    # Python's files are five times as slow, as they make ready for what is not asked of them here.
    with reading(path, "JSON"):
        handle = os.open(path, _FLAGS)
        try:
            pieces = [os.read(handle, _PIECE)]
            while pieces[-1]:
                pieces.append(os.read(handle, _PIECE))
        finally:
            os.close(handle)
    return b"".join(pieces)


@lru_cache(_MOST_KEPT)
def _parse(
    where: str, source: str, revision: str | None, info: bytes, shards: bytes, origins: bytes
) -> FolderRecord:
    folder = Path(where)
    known = _parse_info(folder, info)
    return FolderRecord(
        known,
        (known.features or Features()).arrow_schema,
        # Listed, not searched for: results of `map` are kept in the same folder.
        parse_shards(folder, _text(folder / FILES_FILENAME, shards)),
        _parse_origins(folder / ORIGINS_FILENAME, origins, source, revision),
        hashlib.sha256("/".join(folder.parts[-4:]).encode()).hexdigest()[:16],
    )


def _text(path: Path, content: bytes) -> str:
    with reading(path, "JSON"):
        return content.decode("utf-8")


def _parse_info(folder: Path, content: bytes) -> DatasetInfo:
    path = folder / config.DATASET_INFO_FILENAME
    info = DatasetInfo._from_json(_text(path, content), path)
    if not isinstance(info.splits, dict) or len(info.splits) != 1:
        raise FileFormatError.at("does not name the one split it holds", file=folder)
    [split] = info.splits.values()
    names: tuple[object, ...] = (split.name, info.dataset_name or "")
    sizes: tuple[object, ...] = (
        split.num_examples,
        split.num_bytes,
        info.dataset_size or 0,
        info.download_size or 0,
    )
    # Read from a file, so nothing has been checked yet; what is odd here would surface somewhere far away.
    sound = all(isinstance(size, int) and size >= 0 for size in sizes)
    sound = sound and isinstance(info.download_checksums or {}, dict)
    if not sound or not all(isinstance(name, str) for name in names):
        raise FileFormatError.at("its dataset_info.json holds what no run writes", file=folder)
    return info


def _parse_origins(path: Path, content: bytes, source: str, revision: str | None) -> Origins | None:
    text = _text(path, content)
    try:
        value = json.loads(text)
        if value is None:
            return None
        origins = Origins.from_json(value)
        "".join(file or "" for _, _, file in origins.places).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read ({error})", file=path) from error
    places = tuple((source, revision, file) for _, _, file in origins.places)
    return dataclasses.replace(origins, places=places)
