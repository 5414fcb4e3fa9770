"""Where a Parquet file's bytes come from: a file on this machine, or ranges of one on a server, counted."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gristmill.errors import FileFormatError, FileMissingError, InvalidArgumentError, RangeIgnoredError
from gristmill.files.borders import reading
from gristmill.files.http import HttpSession
from gristmill.files.ranges import parse_content_range
from gristmill.hub.client import HubClient

_HUB_FILE = re.compile(r"hf://datasets/(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<path>.+)")
TAIL = 1 << 16
"""Bytes of a remote file's end that the first request asks for; most footers are smaller."""


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

    url: str
    session: HttpSession
    name: str = ""
    size: int = 0
    fetched: int = 0
    remote: bool = True
    requests: int = 0
    _tail: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.url
        self._tail, self.size = self.session.policy.run(self._read_tail, f"GET {self.url}")
        self._count(len(self._tail))

    def _count(self, size: int) -> None:
        self.fetched += size
        self.requests += 1

    def _read_tail(self) -> tuple[bytes, int]:
        headers = {"Range": f"bytes=-{TAIL}", "Accept-Encoding": "identity"}
        with self.session.open(self.url, headers=headers, accept=(200, 206, 416)) as response:
            got = parse_content_range(response.headers.get("content-range"))
            if response.status_code != 206 or got is None or got.total is None or got.last + 1 != got.total:
                problem = f"The last {TAIL:,} bytes were asked for and something else was answered"
                raise RangeIgnoredError.at_url(problem, self.url, response.status_code)
            body, wanted = bytearray(), got.total - got.first
            for piece in response.iter_bytes():
                body += piece
                if len(body) > min(wanted, TAIL):
                    break
        if len(body) != wanted or wanted > TAIL:
            problem = f"{wanted:,} bytes of a range were announced and {len(body):,} came"
            raise RangeIgnoredError.at_url(problem, self.url, 206)
        return bytes(body), got.total

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads exactly `length` bytes at `offset`, without a request where the file's end has them."""
        _check_span(self, offset, length)
        start = self.size - len(self._tail)
        if not length:
            return b""
        if offset >= start:
            return self._tail[offset - start : offset - start + length]
        got = self.session.get_range(self.url, offset, length)
        self._count(len(got))
        if len(got) != length:
            raise FileFormatError.at("it became shorter while it was read", file=self.name)
        return got

    def close(self) -> None:
        """Closes the connections."""
        self.session.close()


def _check_span(source: Source, offset: int, length: int) -> None:
    if offset < 0 or length < 0 or offset + length > source.size:
        raise FileFormatError.at(
            f"bytes {offset:,} to {offset + length:,} are asked for, and it has {source.size:,}",
            file=source.name,
        )


def open_source(name: str | os.PathLike[str]) -> Source:
    """Opens what a user names.

    Args:
        name: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``.

    Returns:
        The source; of a Hub file at a fixed commit, which its name tells.

    Raises:
        FileMissingError: No such file.
        InvalidArgumentError: A URL of another kind.
        RangeIgnoredError: The server does not answer ranges.
        OfflineError: Offline, and the file is not in the cache.
        HubError: The server refuses or can't be reached.
    """
    text = os.fspath(name)
    scheme, mark, _ = text.partition("://")
    if not mark or scheme == "file":
        path = Path(text.removeprefix("file://"))
        if path.is_dir():
            raise FileMissingError.from_path(path, "It is a folder; name one of its files.")
        return LocalSource(path)
    if scheme in ("http", "https"):
        client = HubClient()
        if client.offline:
            client.get_range(text, 0, 1)  # words the refusal
        return RemoteSource(text, client.session)
    match = _HUB_FILE.fullmatch(text)
    if match is None:
        expected = "a path, an http(s) URL, or hf://datasets/namespace/name[@revision]/path"
        raise InvalidArgumentError.from_value("file", text, expected)
    return _hub_source(match["repo"], (match["revision"] or "main").replace("%2F", "/"), match["path"])


def _hub_source(repo_id: str, revision: str, path: str) -> Source:
    client = HubClient()
    repo = client.pin(repo_id, revision)
    name = f"hf://datasets/{repo_id}@{repo.commit}/{path}"
    if client.offline:
        return LocalSource(repo.download(path), name)
    return RemoteSource(client.resolve_url(repo_id, repo.commit, path), client.session, name)
