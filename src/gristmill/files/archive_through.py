"""One file in an archive that has to be read from its beginning, such as a compressed tar."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, Any

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.files.archives import iter_archive

__all__ = ["open_through"]

_BUFFER = 1 << 16


def open_through(opened: Callable[[], IO[bytes]], member: str, name: object) -> IO[bytes]:
    """Opens a file in an archive without holding the archive, or an index of it.

    What stands behind the file is read as well when it ends: the archive's checksum, and whether the file is there again.

    Args:
        opened: Opens the archive.
        member: The file's name in it.
        name: What to call the archive in errors.

    Returns:
        A binary file object with `peek`, to be read forward.

    Raises:
        FileMissingError: When it is read: there is no such file.
        FileFormatError: When it is read: the archive is damaged, or has the file twice.
        DataError: When it is read: it grows out of all proportion.
        UnsafePathError: When it is read: a name in the archive leaves its folder.
    """
    return io.BufferedReader(_Through(opened, member, name), _BUFFER)


class _Through(io.RawIOBase):
    def __init__(self, opened: Callable[[], IO[bytes]], member: str, name: object) -> None:
        super().__init__()
        self._opened = opened
        self._member = member
        self._label = name
        self._file: IO[bytes] | None = None
        self._members: Iterator[tuple[str, IO[bytes]]] = iter(())
        self._content: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if self.closed:
            raise ValueError("the file is closed")
        if self._file is None:
            self._begin()
        if self._content is None:
            return 0
        data = self._content.read(len(buffer))
        buffer[: len(data)] = data
        if not data:
            self._content = None
            self._finish()
        return len(data)

    def _begin(self) -> None:
        self._file = self._opened()
        self._members = iter_archive(self._file, self._label)
        for name, content in self._members:
            if name == self._member:
                self._content = content
                return
        raise FileMissingError(f'There is no file "{self._member}" in the archive {self._label}.')

    def _finish(self) -> None:
        for name, _ in self._members:
            if name == self._member:
                raise FileFormatError.at(
                    f'has the file "{name}" twice, and the last of them, which counts, came after rows were read',
                    file=self._label,
                    remedy="Load it without streaming.",
                )

    def _drop(self) -> None:
        file, self._file, self._content = self._file, None, None
        if file is not None:
            file.close()

    def close(self) -> None:
        if not self.closed:
            self._drop()
        super().close()
