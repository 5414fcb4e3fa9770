"""Paths on other file systems (``s3://...``, ``memory://...``), through fsspec: whole folders and files, up and down."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gristmill.errors import FileError, FileMissingError, InvalidArgumentError
from gristmill.files.temporary import temporary_prefix

_LOCAL = ("file", "local")


def local_path(path: str | os.PathLike[str]) -> Path | None:
    """Gives a path on this machine; None if it names another file system.

    Args:
        path: A path, or a URL of any scheme.

    Example:
        >>> local_path("a/b"), local_path("file:///a/b"), local_path("s3://bucket/a")
        (PosixPath('a/b'), PosixPath('/a/b'), None)
    """
    text = os.fspath(path)
    scheme, mark, rest = text.partition("://")
    if not mark:
        return Path(text)
    return Path(rest) if scheme in _LOCAL else None


def open_system(url: str, options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """Gives the file system of a URL, and what the URL is called there.

    Args:
        url: A URL of a file system that fsspec knows.
        options: Options of that file system.

    Raises:
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url, **(options or {}))
    except (ValueError, ImportError, TypeError) as error:
        raise InvalidArgumentError(f"The path {url} can't be used: {error}") from error
    return system, str(path)


@contextlib.contextmanager
def talking(what: str, url: str) -> Iterator[None]:
    """Turns what another file system says into an error that names the file; `what` is what was tried."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileMissingError.from_path(url) from error
    except OSError as error:
        raise FileError.from_os_error(what, url, error) from error


def upload_folder(folder: Path, url: str, options: Mapping[str, Any] | None = None) -> None:
    """Puts a folder on another file system; what was there under its name is replaced once the new one is up.

    Args:
        folder: What to put there.
        url: Its name there.
        options: Options of the file system.

    Raises:
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    path = path.rstrip("/")
    aside = f"{path}.{secrets.token_hex(4)}.incomplete"
    with talking("write", url):
        try:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    there = f"{aside}/{file.relative_to(folder).as_posix()}"
                    system.makedirs(there.rpartition("/")[0], exist_ok=True)
                    system.put_file(str(file), there)
            if system.exists(path):
                system.rm(path, recursive=True)
            system.mv(aside, path, recursive=True)
        except BaseException:
            with contextlib.suppress(Exception):
                system.rm(aside, recursive=True)
            raise


def download_folder(url: str, folder: Path, options: Mapping[str, Any] | None = None) -> None:
    """Gets a folder from another file system.

    Args:
        url: Its name there.
        folder: Where its content goes; made if needed.
        options: Options of the file system.

    Raises:
        FileMissingError: There is none.
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    path = path.rstrip("/")
    with talking("read", url):
        files = system.find(path)
        if not files:
            raise FileMissingError.from_path(url)
        for name in files:
            target = folder / str(name)[len(path) :].lstrip("/")
            if not target.resolve().is_relative_to(folder.resolve()):
                raise FileError(f"The file {name} leaves its folder {url}.")
            target.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(name, str(target))


@contextlib.contextmanager
def downloaded_file(url: str, options: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """Gives a file of another file system as one on this machine, for the length of the block.

    Args:
        url: Its name there.
        options: Options of the file system.

    Raises:
        FileMissingError: There is none.
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("download")) as folder:
        local = Path(folder) / (path.rstrip("/").rpartition("/")[2] or "file")
        with talking("read", url):
            system.get_file(path, str(local))
        yield local


@contextlib.contextmanager
def uploaded_file(url: str, options: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """Gives a file on this machine to write, and puts it on another file system when the block ends without an error.

    Args:
        url: Its name there.
        options: Options of the file system.

    Raises:
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("upload")) as folder:
        # Under its own name: writers choose a compression by the suffix.
        local = Path(folder) / (path.rstrip("/").rpartition("/")[2] or "file")
        yield local
        with talking("write", url):
            _put_files(system, {path: local})


def upload_files(
    folder: Path, url: str, options: Mapping[str, Any] | None, replaces: Callable[[str], bool]
) -> None:
    """Puts files into a folder of another file system, under their own names once all of them are there.

    Args:
        folder: A folder on this machine with the files, and nothing else.
        url: The folder there; made if needed.
        options: Options of the file system.
        replaces: Says of the name of another file there whether it goes when the new ones have come.

    Raises:
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    files = {f"{path.rstrip('/')}/{file.name}": file for file in sorted(folder.iterdir())}
    with talking("write", url):
        _put_files(system, files)
        for there in system.ls(path, detail=False):
            name = str(there).rstrip("/").rpartition("/")[2]
            if replaces(name) and not (folder / name).exists():
                system.rm_file(there)


def _put_files(system: Any, files: Mapping[str, Path]) -> None:
    # Not every file system makes a file appear whole.
    aside = {path: f"{path}.{secrets.token_hex(4)}.incomplete" for path in files}
    try:
        for path, local in files.items():
            system.makedirs(path.rpartition("/")[0], exist_ok=True)
            system.put_file(str(local), aside[path])
        for path in files:
            system.mv(aside[path], path)
    except BaseException:
        for there in aside.values():
            with contextlib.suppress(Exception):
                system.rm_file(there)
        raise


def remote_identity(url: str, options: Mapping[str, Any] | None = None) -> str:
    """Gives text that changes when a file on another file system does.

    Args:
        url: Its name there.
        options: Options of the file system.

    Raises:
        FileMissingError: There is none.
        FileError: The file system refuses.
        InvalidArgumentError: It is not known, or needs a package that is not installed.
    """
    system, path = open_system(url, options)
    with talking("read", url):
        return str(system.ukey(path))
