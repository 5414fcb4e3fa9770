"""What is on record of the data files themselves: sizes, checksums, the room their rows will take."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gristmill.errors import FileFormatError
from gristmill.files.borders import reading, writing
from gristmill.formats.parquet_footer import has_sound_chunks
from gristmill.formats.source import SourceFile
from gristmill.logging import get_logger
from gristmill.prepared.source import DataFile, SplitSource

__all__ = ["checksums_of", "drop_damaged", "has_hash", "hash_of", "prepared_size", "sha256_of"]

_log = get_logger(__name__)
_HEX = frozenset("0123456789abcdef")


def sha256_of(path: Path) -> str:
    """Computes the SHA-256 of a file, in pieces.

    Args:
        path: The file.

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be read.
    """
    return _digest(path, hashlib.sha256())


def _digest(path: Path, state: Any) -> str:
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    with reading(path, "bytes"), path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            state.update(view[:size])
    return str(state.hexdigest())


def has_hash(file: DataFile) -> bool:
    """Says whether a file is identified by the hash of its content, as the Hub does."""
    identity = file.identity
    # Zeros stand for a copy in the cache of which nobody knows the hash.
    return len(identity) in (40, 64) and set(identity) <= _HEX and set(identity) != {"0"}


def hash_of(file: DataFile, path: Path) -> str:
    """Computes the hash that should be the identity of a file, if `has_hash` says that it is one.

    Args:
        file: The file.
        path: Its local copy.

    Raises:
        FileError: It can't be read.
    """
    if len(file.identity) == 64:
        return sha256_of(path)
    # What is not in large-file storage is known by its git blob id.
    return _digest(path, hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False))


def drop_damaged(files: Sequence[DataFile], here: Sequence[SourceFile]) -> bool:
    """Deletes downloads that do not have the hash the Hub names any more, so that they are fetched again.

    Args:
        files: The data files.
        here: The same files on this machine; those that are here in part are left alone.

    Returns:
        Whether there were any.

    Raises:
        FileError: A file can't be read or deleted.
    """
    damaged = [
        (file.name, local.path)
        for file, local in zip(files, here, strict=True)
        if local.ensure is None and has_hash(file) and hash_of(file, local.path) != file.identity
    ]
    for name, path in damaged:
        _log.warning(
            "%s was damaged since it was downloaded, and is fetched again: it has another hash", name
        )
        with writing(path):
            path.resolve().unlink(missing_ok=True)
    return bool(damaged)


def checksums_of(files: Sequence[DataFile], here: Sequence[SourceFile], hashed: bool) -> dict[str, Any]:
    """Gives what `DatasetInfo.download_checksums` documents: size and SHA-256 of each data file by its name.

    Args:
        files: The data files.
        here: The same files on this machine; of those that are here in part only the size is given.
        hashed: Compute the hashes that are not known; if not, those are None.

    Raises:
        FileError: A file can't be read.
    """
    known = {}
    for file, local in zip(files, here, strict=True):
        partial = local.ensure is not None
        # The Hub identifies large files by their SHA-256, which was checked as they came in.
        digest = file.identity if _is_sha256(file.identity) and not partial else None
        with reading(local.path, "bytes"):
            size = local.path.stat().st_size
        compute = digest is None and hashed and not partial
        known[file.name] = {"num_bytes": size, "checksum": sha256_of(local.path) if compute else digest}
    return known


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and set(text) <= _HEX


def prepared_size(source: SplitSource, paths: Sequence[Path]) -> int:
    """Estimates the bytes that the rows of files take once they are prepared, without reading rows.

    Args:
        source: The split.
        paths: Where its files are on this machine.

    Returns:
        For Parquet the bytes that the footers tell, of the columns asked for; else the size of the files.
    """
    if source.format != "parquet":
        return sum(path.stat().st_size for path in paths)
    return sum(_footer_bytes(path, source.columns) for path in paths)


def _footer_bytes(path: Path, columns: Sequence[str] | None) -> int:
    try:
        with reading(path, "Parquet"):
            return _bytes_of_columns(path, columns)
    except FileFormatError:
        return 0  # whoever reads the file says what is wrong with it


def _bytes_of_columns(path: Path, columns: Sequence[str] | None) -> int:
    import pyarrow.parquet as pq

    footer = pq.read_metadata(path)
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    if columns is None:
        return sum(group.total_byte_size for group in groups)
    if not has_sound_chunks(path, footer):
        return 0
    leaves = [number for number, name in enumerate(_columns_of_leaves(footer)) if name in columns]
    return sum(group.column(leaf).total_uncompressed_size for group in groups for leaf in leaves)


def _columns_of_leaves(footer: Any) -> list[str]:
    return [footer.schema.column(i).path.partition(".")[0] for i in range(len(footer.schema))]
