"""Files on other file systems (``s3://...``, ``memory://...``), through fsspec: found by pattern, fetched once."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import DataFilesNotFoundError, FileError, FileMissingError, GristmillError
from gristmill.files.atomic import temporary_name
from gristmill.files.borders import writing
from gristmill.files.lock import lock
from gristmill.files.patterns import has_magic, is_hidden, natural_key
from gristmill.files.remote import open_system

__all__ = ["RemoteFile", "fetch_remote", "find_remote", "remote_folder"]

_MOST_FILES = 5_000_000


@dataclass(frozen=True)
class RemoteFile:
    """A file on another file system.

    Attributes:
        url: Its name.
        size: Its bytes, 0 if the file system does not tell.
        identity: Text that changes when the file does.
    """

    url: str
    size: int
    identity: str


def find_remote(pattern: str, options: Mapping[str, Any] | None = None) -> list[RemoteFile]:
    """Lists the files that a URL means: the file of that name, those in the folder, or those that match.

    Args:
        pattern: A URL of a file system that fsspec knows.
        options: Options of that file system.

    Returns:
        The files in natural order, at least one; a search passes over names that begin with ``.`` or ``__``.

    Raises:
        DataFilesNotFoundError: There is none.
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.

    Example:
        >>> import fsspec
        >>> _ = fsspec.filesystem("memory").pipe("/find-remote/b.csv", b"a")
        >>> [file.url for file in find_remote("memory://find-remote/*.csv")]
        ['memory:///find-remote/b.csv']
    """
    with _talking(pattern):
        system, path = open_system(pattern, options)
        facts = _matching(system, path)
        if len(facts) > _MOST_FILES:
            raise FileError(f"{pattern} means more than {_MOST_FILES:,} files.")
        files = [
            RemoteFile(str(system.unstrip_protocol(name)), _size(fact), str(system.ukey(name)))
            for name, fact in sorted(facts.items(), key=lambda pair: natural_key(pair[0]))
        ]
    if not files:
        raise DataFilesNotFoundError(f'There is no data file for "{pattern}".')
    return files


def remote_folder(url: str, options: Mapping[str, Any] | None = None) -> str:
    """Gives a folder's URL as the URLs of the files in it begin, with a ``/`` at the end.

    Args:
        url: The folder.
        options: Options of the file system.
    """
    with _talking(url):
        system, path = open_system(url, options)
    return str(system.unstrip_protocol(path)).rstrip("/") + "/"


def fetch_remote(
    file: RemoteFile, folder: Path, options: Mapping[str, Any] | None = None, again: bool = False
) -> Path:
    """Gives the local copy of a file on another file system, fetched unless the same version of it is here.

    Args:
        file: From `find_remote`.
        folder: Where copies are kept.
        options: Options of the file system.
        again: Fetch it also if it is here.

    Returns:
        The copy, named by a hash (so it has no suffix).

    Raises:
        FileMissingError: The file is gone.
        FileError: The file system refuses, or the copy can't be written.
    """
    final = folder / hashlib.sha256(f"{file.url} {file.identity}".encode()).hexdigest()
    if final.is_file() and not again:
        return final
    with writing(final):
        folder.mkdir(parents=True, exist_ok=True)
    with lock(final.with_name(f"{final.name}.lock")):
        if again or not final.is_file():
            part = temporary_name(final)
            try:
                with _talking(file.url):
                    system, path = open_system(file.url, options)
                    system.get_file(path, str(part))
                with writing(final):
                    part.replace(final)
            finally:
                part.unlink(missing_ok=True)
    return final


def _matching(system: Any, path: str) -> dict[str, Any]:
    try:
        fact = system.info(path)
    except FileNotFoundError:
        fact = None
    if fact is not None and fact.get("type") != "directory":
        return {path: fact}
    if fact is not None:
        found = system.find(path, detail=True)
    elif has_magic(path):
        found = {
            name: fact for name, fact in system.glob(path, detail=True).items() if fact["type"] == "file"
        }
    else:
        return {}
    root = path.partition("*")[0].rpartition("/")[0] if fact is None else path.rstrip("/")
    return {
        name: fact
        for name, fact in found.items()
        if not any(map(is_hidden, str(name)[len(root) :].strip("/").split("/")))
    }


def _size(fact: Any) -> int:
    size = fact.get("size")
    return size if isinstance(size, int) and size > 0 else 0


@contextlib.contextmanager
def _talking(url: str) -> Iterator[None]:
    try:
        yield
    except GristmillError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError.from_path(url) from error
    except OSError as error:
        raise FileError.from_os_error("read", url, error) from error
    except (
        Exception
    ) as error:  # clients of file systems have errors of their own (no credentials, no bucket ...)
        raise FileError(f"Could not read {url}: {type(error).__name__}: {error}.") from error
