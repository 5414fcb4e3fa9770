"""Where a Parquet file's bytes come from: a file on this machine, or ranges of one on a server, counted."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.files.borders import reading
from gristmill.files.remote import local_path
from gristmill.hub.client import HubClient
from gristmill.hub.urls import parse_hub_file
from gristmill.partial.opening import open_source as open_ranges
from gristmill.partial.opening import source_of_repo
from gristmill.partial.source import TAIL_BYTES, RangeSource


class Source(Protocol):
    """Bytes that can be read at any place.

    Attributes:
        name: What to call it in messages.
        size: Bytes it has.
        fetched: Bytes read so far.
        remote: Whether reading costs requests.
    """

    name: str
    size: int
    fetched: int
    remote: bool

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads exactly `length` bytes at `offset`."""
        ...

    def close(self) -> None:
        """Lets go of what is open."""
        ...


@dataclass
class LocalSource:
    """A file on this machine; not to be changed while it is open."""

    path: Path
    name: str = ""
    size: int = 0
    fetched: int = 0
    remote: bool = False
    _fd: int = field(default=-1, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or str(self.path)
        with reading(self.name, "Parquet"):
            # Not to wait for a writer, should it be a pipe.
            self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise FileFormatError.at("it is no file", file=self.name)
        self.size = status.st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads exactly `length` bytes at `offset`."""
        _check_span(self, offset, length)
        pieces: list[bytes] = []
        with reading(self.name, "Parquet"):
            while length:
                piece = os.pread(self._fd, length, offset)
                if not piece:
                    raise FileFormatError.at("it became shorter while it was read", file=self.name)
                pieces.append(piece)
                offset, length = offset + len(piece), length - len(piece)
                self.fetched += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Closes the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@dataclass
class RemoteSource:
    """A file on a server that answers ranges; its end is fetched first and kept."""

    ranges: RangeSource
    name: str = ""
    size: int = 0
    fetched: int = 0
    remote: bool = True
    _tail: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.ranges.name
        self.size = self.ranges.size
        length = min(self.size, TAIL_BYTES)
        self._tail = self.ranges.tail
        if not self._tail and length:
            self._tail = self.ranges.read(self.size - length, length)
        self.fetched = len(self._tail)

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads exactly `length` bytes at `offset`, without a request where the file's end has them."""
        _check_span(self, offset, length)
        start = self.size - len(self._tail)
        if not length or offset >= start:
            return self._tail[offset - start : offset - start + length] if length else b""
        got = self.ranges.read(offset, length)
        self.fetched += len(got)
        if len(got) != length:
            raise FileFormatError.at("it became shorter while it was read", file=self.name)
        return got

    def close(self) -> None:
        """Nothing is held open: connections belong to their session."""


def _check_span(source: Source, offset: int, length: int) -> None:
    if offset < 0 or length < 0 or offset + length > source.size:
        raise FileFormatError.at(
            f"bytes {offset:,} to {offset + length:,} are asked for, and it has {source.size:,}",
            file=source.name,
        )


def open_source(name: str | os.PathLike[str]) -> Source:
    """Opens what a user names.

    Args:
        name: A path, an http(s) URL, ``hf://datasets/namespace/name[@revision]/path``, or a URL that fsspec knows.

    Returns:
        The source; of a Hub file at a fixed commit.

    Raises:
        FileMissingError: No such file.
        InvalidArgumentError: A URL of an unknown kind.
        RangeIgnoredError: The server does not answer ranges.
        OfflineError: Offline, and the file is not in the cache.
        HubError: The server refuses or can't be reached.
    """
    text = os.fspath(name)
    path = local_path(text)
    if path is not None:
        if path.is_dir():
            raise FileMissingError.from_path(path, "It is a folder; name one of its files.")
        return LocalSource(path)
    client = HubClient()
    if client.offline and not text.startswith("hf://"):
        client.get_range(text, 0, 1)  # words the refusal
    called = text
    if text.startswith("hf://"):
        repo_id, revision, path_in_repo = parse_hub_file("source", text)
        repo = client.pin(repo_id, revision or "main")
        called = f"hf://datasets/{repo.repo_id}@{repo.commit}/{path_in_repo}"
        found = source_of_repo(repo, path_in_repo)
    else:
        found = open_ranges(text, None, None, client=client)
    if isinstance(found, Path):
        return LocalSource(found, called)
    return RemoteSource(found, called if called != text else "")
