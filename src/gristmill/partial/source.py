"""Remote files that can be read in part: over HTTP, on a Hub, on any file system that fsspec knows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gristmill.errors import FileError, FileMissingError, GristmillError, HubResponseError
from gristmill.files.http import HttpSession, Refusal, refuse_plainly
from gristmill.files.ranges import ContentRange
from gristmill.files.remote import open_system, talking
from gristmill.files.retry import RetryPolicy, Transient
from gristmill.partial.reading import read_range

__all__ = ["TAIL_BYTES", "FileRanges", "HttpRanges", "RangeSource"]

TAIL_BYTES = 1 << 16
"""Bytes read from a file's end when it is opened: enough for the footer of most files."""


class RangeSource(Protocol):
    """A remote file of known size and content; what is read is never of another version."""

    @property
    def name(self) -> str:
        """What to call it."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def identity(self) -> str:
        """What tells its content from another."""
        ...

    @property
    def tail(self) -> bytes:
        """Its last bytes, or none."""
        ...

    def read(self, start: int, length: int) -> bytes:
        """Reads bytes; never other ones than those of the content that `identity` stands for."""
        ...


@dataclass(frozen=True)
class HttpRanges:
    """A file behind a URL, read by range requests. An answer other than 206, or of another version, is refused.

    Attributes:
        session: Where requests go through.
        url: The file.
        size: Its size in bytes.
        identity: What tells this content from another.
        etag: Its strong ETag, sent along so that the server refuses to mix; empty where the URL is pinned otherwise.
        tail: Its last bytes, if read already.
        refuse: Words the error for a final status such as 404.
    """

    session: HttpSession = field(repr=False, compare=False)
    url: str
    size: int
    identity: str
    etag: str = ""
    tail: bytes = field(default=b"", repr=False)
    refuse: Callable[[Refusal], Exception] = field(default=refuse_plainly, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The URL."""
        return self.url

    @classmethod
    def from_url(cls, session: HttpSession, url: str) -> HttpRanges:
        """Looks at a file's end; the answer says how long the file is and which version.

        Args:
            session: Where requests go through.
            url: The file.

        Raises:
            RangeIgnoredError: The server can't send parts of files.
            HubResponseError: It does not say which version it sent.
            HubError: It refuses or can't be reached.
        """
        tail, part, headers = session.get_suffix(url, TAIL_BYTES)
        size, etag = part.last + 1, _version(headers, url)
        return cls(session, url, size, f"{url}\n{etag}\n{size}", etag, tail)

    def read(self, start: int, length: int) -> bytes:
        """Reads a range; a connection that breaks off is gone on with at the byte where it did.

        Raises:
            HubResponseError: The file changed since it was opened.
            RangeIgnoredError: The answer is not 206 with the range asked for.
            HubError: The server refuses or can't be reached.
        """
        begins = self.size - len(self.tail)
        if start >= begins and self.tail:
            return self.tail[start - begins : start - begins + length]

        def check(part: ContentRange, headers: Mapping[str, str]) -> None:
            if part.total not in (self.size, None) or (
                self.etag and _version(headers, self.url) != self.etag
            ):
                raise HubResponseError.at_url(
                    "The file changed while it was read",
                    self.url,
                    206,
                    "Open it again to read the new version",
                )

        headers = {"If-Range": self.etag} if self.etag.startswith('"') else {}
        return read_range(
            self.session, self.url, start, length, headers=headers, check=check, refuse=self.refuse
        )


def _version(headers: Mapping[str, str], url: str) -> str:
    etag = headers.get("etag", "").strip()
    version = etag if etag and not etag.startswith("W/") else headers.get("last-modified", "") or etag
    if not version:
        raise HubResponseError.at_url(
            "The server says neither ETag nor Last-Modified, so parts of two versions could not be told apart",
            url,
            206,
            "Download the file whole",
        )
    return version


@dataclass(frozen=True)
class FileRanges:
    """A file on another file system, read through fsspec.

    Attributes:
        url: Its name there.
        options: Options of the file system.
        size: Its size in bytes.
        identity: What tells this content from another.
        tail: Always empty.
        policy: How often and how fast to try again.
    """

    url: str
    options: Mapping[str, Any] = field(repr=False)
    size: int
    identity: str
    tail: bytes = b""
    policy: RetryPolicy = field(default=RetryPolicy(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """The URL."""
        return self.url

    @classmethod
    def from_url(cls, url: str, options: Mapping[str, Any] | None = None) -> FileRanges:
        """Asks the file system for a file's size and version.

        Args:
            url: Its name there.
            options: Options of the file system.

        Raises:
            FileMissingError: There is none.
            FileError: The file system refuses.
            InvalidArgumentError: It is not known, or needs a package that is not installed.
        """
        size, identity = _size_and_identity(url, options)
        return cls(url, dict(options or {}), size, identity)

    def read(self, start: int, length: int) -> bytes:
        """Reads a range.

        Raises:
            FileError: The file system refuses, gives another number of bytes, or has another file by now.
        """

        def attempt() -> bytes:
            system, path = open_system(self.url, self.options)
            with _may_pass("read", self.url):
                data: bytes = system.cat_file(path, start=start, end=start + length)
            # Asked afterwards: what was read before a change is of the version that was opened.
            if _size_and_identity(self.url, self.options)[1] != self.identity:
                raise FileError(
                    f"{self.url} changed while it was read. Open it again to read the new version."
                )
            if len(data) != min(length, self.size - start):
                problem = f"{len(data):,} bytes came where {length:,} were asked for"
                raise Transient(FileError(f"{self.url}: {problem}."))
            return data

        try:
            return self.policy.run(attempt, f"read {self.url}")
        except FileMissingError:
            raise
        except FileError as error:
            if error.__cause__ is None:
                raise
            said = (
                f"{error} {self.policy.attempts} attempts were made at bytes {start:,} to {start + length:,}."
            )
            raise FileError(said) from error.__cause__


@contextlib.contextmanager
def _may_pass(what: str, url: str) -> Iterator[None]:
    """Turns what a file system says into an error that another attempt may mend, unless it is final."""
    try:
        yield
    except GristmillError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError.from_path(url) from error
    except PermissionError as error:
        raise FileError.from_os_error(what, url, error) from error
    except OSError as error:
        raise _transient(FileError.from_os_error(what, url, error), error) from error
    except Exception as error:  # clients of file systems have errors of their own
        problem = FileError(f"Could not {what} {url}: {type(error).__name__}: {error}.")
        raise _transient(problem, error) from error


def _transient(error: FileError, cause: Exception) -> Transient:
    error.__cause__ = cause
    return Transient(error)


def _size_and_identity(url: str, options: Mapping[str, Any] | None) -> tuple[int, str]:
    system, path = open_system(url, options)
    with talking("read", url):
        system.invalidate_cache()
        size, version = int(system.size(path)), str(system.ukey(path))
    return size, f"{url}\n{version}\n{size}"
