"""Archives and compressed files, extracted once into the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gristmill import config
from gristmill.errors import FileMissingError
from gristmill.files.archives import archive_suffix, detect_archive, extract_archive, iter_archive
from gristmill.files.atomic import atomic_file
from gristmill.files.compression import open_decompressed
from gristmill.files.locations import plain_name
from gristmill.files.lock import lock
from gristmill.files.packed_names import check_name, read_head
from gristmill.files.stamps import change_stamp

__all__ = ["ArchiveIterable", "ExtractManager", "FilesIterable", "extract_file"]

_HIDDEN = (".", "__")
_COPY_BYTES = 1 << 20


def extract_file(path: Path, folder: Path, force: bool = False, name: object = None) -> Path:
    """Extracts an archive into a folder, or decompresses a file; anything else is given back as it is.

    So is a file that is called like a compressed one and is not compressed: what is in it is what was asked for. Where an
    archive was asked for, nothing in it would be found.

    Args:
        path: The file; what it is, its content says.
        folder: The cache of extracted files.
        force: Extract again.
        name: What it is called, for example its URL; its path if left out.

    Returns:
        A folder for an archive, a file for a compressed file; the path itself for any other.

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: It is called like an archive, and is neither an archive nor compressed.
        DataError: It is damaged, grows out of all proportion, or names in it leave its folder.
    """
    name = path if name is None else name
    if path.is_dir():
        return path
    kind = detect_archive(path)
    if kind is None:
        with open_decompressed(path)[0] as stream:
            compressed = not _is_plain(stream)
        if not compressed:
            if archive_suffix(plain_name(str(name))):
                check_name(name, read_head(path, name))
            return path
    size, written, changed = change_stamp(path.stat())
    identity = f"{path.resolve()}:{size}:{written}:{changed}"
    target = folder / hashlib.sha256(identity.encode()).hexdigest()
    with lock(target.with_name(f"{target.name}.lock")):
        if force or not target.exists():
            if kind is not None:
                extract_archive(path, target, name)
            else:
                with open_decompressed(path)[0] as stream, atomic_file(target) as out:
                    shutil.copyfileobj(stream, out, _COPY_BYTES)
    return target


def _is_plain(stream: IO[bytes]) -> bool:
    return stream.seekable()


class ExtractManager:
    """Extracts archives and decompresses files, once.

    Args:
        cache_dir: What is extracted goes below it; `config.EXTRACTED_DATASETS_PATH` if None.
    """

    def __init__(self, cache_dir: str | None = None) -> None:
        folder = None if cache_dir is None else Path(cache_dir) / config.EXTRACTED_DATASETS_DIR
        self.extract_dir = str(folder or config.EXTRACTED_DATASETS_PATH)

    def extract(self, input_path: str, force_extract: bool = False) -> str:
        """Gives the path of what a file holds: a folder for an archive; the path itself if there is nothing to do.

        Args:
            input_path: The file.
            force_extract: Extract again.

        Raises:
            FileMissingError: There is no such file.
            DataError: It is damaged, or hostile.
        """
        return str(extract_file(Path(input_path), Path(self.extract_dir), force_extract))


class ArchiveIterable:
    """The files of an archive as (path in it, open file), in its order; can be gone through again if it is a path.

    Args:
        source: Path of the archive, or an open file.
    """

    def __init__(self, source: str | os.PathLike[str] | IO[bytes]) -> None:
        self._source = source

    def __iter__(self) -> Iterator[tuple[str, IO[bytes]]]:
        source = self._source
        opened = Path(source) if isinstance(source, str | os.PathLike) else source
        for name, file in iter_archive(opened):
            if not name.rpartition("/")[2].startswith(_HIDDEN):
                yield name, file


class FilesIterable:
    """Paths of files: those given, and those in folders given, sorted; hidden ones are left out.

    Args:
        paths: Files and folders: one path or a list.
    """

    def __init__(self, paths: str | os.PathLike[str] | list[str | os.PathLike[str]]) -> None:
        self._paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)

    def __iter__(self) -> Iterator[str]:
        for path in self._paths:
            name = os.fspath(path)
            if Path(name).is_file():
                if not Path(name).name.startswith(_HIDDEN):
                    yield name
            elif Path(name).is_dir():
                yield from _walk(name)
            else:
                raise FileMissingError.from_path(name)


def _walk(folder: str) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        if Path(root).name.startswith(_HIDDEN):
            continue
        for name in sorted(names):
            if not name.startswith(_HIDDEN):
                yield str(Path(root, name))
