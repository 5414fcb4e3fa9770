"""What settling the types of a file has parsed, kept for the reading that follows at once: parsing is what costs.

Little is held in memory; beyond that it goes to a nameless file beside the datasets cache, which the system takes back
however the process ends.
"""

from __future__ import annotations

import contextlib
import mmap
import shutil
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
from typing_extensions import Self

from gristmill import config
from gristmill.files.forks import ForkedLock

__all__ = ["Keeping", "Kept"]

_LIMIT = 64 << 20
_MOST_OF_THE_DISK = 4
"""A part of what is free that such files may take: one of so many."""


class Kept:
    """Holds parsed pieces of a few files; each is handed out once, the oldest go when room is needed.

    A piece is a pair: anything, and a table or record batch.

    Args:
        limit: Bytes to hold in memory at most, over all files.

    Example:
        >>> kept = Kept()
        >>> with kept.keeping("file") as keeping:
        ...     keeping.add(("first row", pa.table({"a": [1]})), 8)
        >>> [(where, table.num_rows) for where, table in kept.take("file")], kept.take("file")
        ([('first row', 1)], None)
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self.limit = limit
        self._held: dict[Hashable, tuple[Sequence[Any], int]] = {}
        self._lock = ForkedLock()

    def keeping(self, key: Hashable) -> Keeping:
        """Begins to keep the pieces of one file."""
        return Keeping(self, key)

    def put(self, key: Hashable, pieces: Sequence[Any], size: int) -> None:
        """Keeps the pieces of a file.

        Args:
            key: Says which file, in which state, read how.
            pieces: All of them.
            size: Their bytes in memory.
        """
        with self._lock:
            self._held.pop(key, None)
            while self._held and size + sum(held for _, held in self._held.values()) > self.limit:
                self._held.pop(next(iter(self._held)))
            self._held[key] = (pieces, size)

    def take(self, key: Hashable) -> Sequence[Any] | None:
        """Hands out the pieces of a file and forgets them; None if they are not there."""
        with self._lock:
            return self._held.pop(key, (None, 0))[0]


class Keeping:
    """Collects pieces while a file is parsed; what fails, or finds no room on the disk, is not kept."""

    def __init__(self, kept: Kept, key: Hashable) -> None:
        self._kept = kept
        self._key = key
        self._pieces: list[Any] = []
        self._size = 0
        self._spilled: _Spilled | None = None
        self._given_up = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._give_up()
        if not self._given_up:
            pieces = self._pieces if self._spilled is None else self._spilled.finish()
            if pieces is not None:
                self._kept.put(self._key, pieces, self._size if self._spilled is None else 0)

    def add(self, piece: Any, size: int) -> None:
        """Adds one piece of so many bytes."""
        if self._given_up:
            return
        self._size += size
        self._pieces.append(piece)
        if self._size <= self._kept.limit:
            return
        try:
            if self._spilled is None:
                self._spilled = _Spilled()
            for held in self._pieces:
                self._spilled.add(*held)
            self._pieces.clear()
        except OSError:
            # No room, or nowhere to write: it is parsed once more, that is all.
            self._give_up()

    def _give_up(self) -> None:
        self._given_up = True
        self._pieces.clear()
        if self._spilled is not None:
            self._spilled.close()


class _Spilled(Sequence[Any]):
    """Pieces in a nameless file, each as an Arrow stream of its own, as their types may differ."""

    def __init__(self) -> None:
        folder = config.HF_DATASETS_CACHE if config.HF_DATASETS_CACHE.is_dir() else None
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # lives as long as this
        except OSError:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # a cache that can only be read
        self._folder = folder or tempfile.gettempdir()
        self._places: list[tuple[Any, int, int, bool]] = []
        self._buffer: Any = None

    def add(self, where: Any, rows: Any) -> None:
        """Writes a piece.

        Raises:
            OSError: There is no room for more.
        """
        if shutil.disk_usage(self._folder).free < _MOST_OF_THE_DISK * (self._file.tell() + rows.nbytes):
            raise OSError("too little room")
        start = self._file.tell()
        with pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), rows.schema) as writer:
            writer.write(rows)
        self._places.append((where, start, self._file.tell(), isinstance(rows, pa.Table)))

    def finish(self) -> _Spilled | None:
        """Makes the pieces readable; None if the system refuses."""
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            self._buffer = pa.py_buffer(mapped)
        self.close()
        return None if self._buffer is None else self

    def close(self) -> None:
        """Closes the file; what is mapped stays readable."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        where, start, end, is_table = self._places[index]
        reader = pa.ipc.open_stream(self._buffer.slice(start, end - start))
        return where, reader.read_all() if is_table else reader.read_next_batch()

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))
