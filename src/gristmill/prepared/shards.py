"""Which Arrow files hold a prepared split, and what every file of its folder should be: ``files.json``.

The Arrow files lie in the folder itself, or, if the data files are Arrow files that can be mapped, where they were
found. Each file's checksum was taken while it was written (or, in place, looked through), so that a damaged byte can be
found later without reading the data files again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from gristmill.errors import FileError, FileFormatError, FileMissingError
from gristmill.files.borders import reading, writing

__all__ = ["FILES_FILENAME", "FileRecord", "checksum", "parse_shards", "read_files", "record", "write_files"]

FILES_FILENAME = "files.json"
_PIECE = 1 << 20


@dataclass(frozen=True)
class FileRecord:
    """One file that belongs to a prepared split.

    Attributes:
        path: Where it is.
        size: Its bytes.
        checksum: XXH3 of its content, 32 hexadecimal digits.
        mtime_ns: When it was last changed, for a file that is used in place; None for one of the folder.
    """

    path: Path
    size: int
    checksum: str
    mtime_ns: int | None = None

    def check(self) -> None:
        """Checks that the file is there and, as far as the folder's listing tells, as it was; nothing is read.

        Raises:
            FileMissingError: It is not there.
            FileFormatError: It has another size, or (in place) was changed since.
            FileError: It can't be looked at.
        """
        try:
            status = os.stat(self.path)  # noqa: PTH116  # at each load
        except FileNotFoundError as error:
            raise FileMissingError.from_path(self.path) from error
        except OSError as error:
            raise FileError.from_os_error("read", self.path, error) from error
        if status.st_size != self.size:
            raise FileFormatError.at(f"has {status.st_size:,} bytes, not {self.size:,}", file=self.path)
        if self.mtime_ns not in (None, status.st_mtime_ns):
            raise FileFormatError.at("was changed since it was prepared", file=self.path)


def checksum(path: Path) -> str:
    """Computes the checksum that `FileRecord` holds.

    Args:
        path: A file; read in pieces.

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be read.
    """
    state, buffer = xxhash.xxh3_128(), bytearray(_PIECE)
    view = memoryview(buffer)
    try:
        with path.open("rb", buffering=0) as file:
            while size := file.readinto(buffer):
                state.update(view[:size])
    except FileNotFoundError as error:
        raise FileMissingError.from_path(path) from error
    except OSError as error:
        raise FileError.from_os_error("read", path, error) from error
    return str(state.hexdigest())


def record(path: Path, *, in_place: bool = False, known: str | None = None) -> FileRecord:
    """Records what a file is now.

    Args:
        path: The file.
        in_place: It is not the cache's own, so its time of change counts.
        known: Its checksum, if whoever wrote it has taken it.

    Raises:
        FileError: It can't be read.
    """
    path = path.resolve() if in_place else path
    with writing(path):
        before = path.stat()
    return FileRecord(path, before.st_size, known or checksum(path), before.st_mtime_ns if in_place else None)


def write_files(folder: Path, shards: Iterable[FileRecord]) -> None:
    """Writes ``files.json`` into a folder that is about to get its name; it is the last file to be written.

    Args:
        folder: The folder; its other files are recorded too.
        shards: Its Arrow files in order, or those used in place.

    Raises:
        FileError: A file can't be read or written.
    """
    shards = list(shards)
    known = {shard.path for shard in shards}
    others = [record(path) for path in sorted(folder.iterdir()) if path not in known]
    value = {"shards": [_plain(shard) for shard in shards], "others": [_plain(other) for other in others]}
    with writing(folder / FILES_FILENAME):
        (folder / FILES_FILENAME).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _plain(file: FileRecord) -> dict[str, Any]:
    if file.mtime_ns is None:
        return {"name": file.path.name, "size": file.size, "xxh3_128": file.checksum}
    return {
        "path": str(file.path),
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "xxh3_128": file.checksum,
    }


def read_files(folder: Path) -> tuple[Sequence[FileRecord], Sequence[FileRecord]]:
    """Reads ``files.json``.

    Args:
        folder: A prepared folder.

    Returns:
        The Arrow files in order, and the other files of the folder.

    Raises:
        FileMissingError: There is none.
        FileFormatError: It holds what no run writes.
    """
    path = folder / FILES_FILENAME
    with reading(path, "JSON"):
        text = path.read_text(encoding="utf-8")
    shards, others = _parsed(folder, text, "shards", "others")
    return shards, others


def parse_shards(folder: Path, text: str) -> Sequence[FileRecord]:
    """Gives the Arrow files that hold the rows, which is all that opening them takes.

    Args:
        folder: A prepared folder.
        text: What its ``files.json`` holds.

    Raises:
        FileFormatError: It is what no run writes.
    """
    [shards] = _parsed(folder, text, "shards")
    return shards


def _parsed(folder: Path, text: str, *parts: str) -> list[list[FileRecord]]:
    path = folder / FILES_FILENAME
    try:
        value = json.loads(text)
        return [[_parse(folder, item) for item in value[part]] for part in parts]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read ({error!r})", file=path) from error


def _parse(folder: Path, item: Any) -> FileRecord:
    size, digest, when = item["size"], item["xxh3_128"], item.get("mtime_ns")
    if not isinstance(size, int) or not isinstance(digest, str):
        raise TypeError("a size or checksum is of the wrong type")
    if when is not None:
        return FileRecord(Path(_possible(item["path"])), size, digest, int(when))
    name = item["name"]
    if not isinstance(name, str) or name in _NO_NAMES or os.path.basename(name) != name:  # noqa: PTH119  # at each load
        raise ValueError(f"{name!r} is no name of a file")
    return FileRecord(folder / _possible(name), size, digest)


_NO_NAMES = ("", os.curdir, os.pardir)


def _possible(path: Any) -> str:
    if not isinstance(path, str) or b"\0" in os.fsencode(path):
        # It would surface at the first use, as would text that no file system encodes.
        raise ValueError(f"{path!r} is no path")
    return path
