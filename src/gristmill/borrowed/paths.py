"""Paths and URLs, as the helpers of `datasets` treat them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import IO, Any

from gristmill import config
from gristmill.download import DownloadConfig
from gristmill.download.lazy import xjoin, xopen
from gristmill.errors import OfflineError
from gristmill.files.compression import COMPRESSION_SUFFIXES
from gristmill.files.remote import open_system, talking
from gristmill.files.remote_files import find_remote
from gristmill.hub.auth import find_token

__all__ = [
    "SINGLE_FILE_COMPRESSION_EXTENSION_TO_PROTOCOL", "_prepare_path_and_storage_options",
    "_raise_if_offline_mode_is_enabled", "fsspec_get", "fsspec_head", "hash_url_to_filename", "is_local_path",
    "is_relative_path", "is_remote_url", "relative_to_absolute_path", "url_or_path_join", "url_or_path_parent", "xPath",
]  # fmt: skip

SINGLE_FILE_COMPRESSION_EXTENSION_TO_PROTOCOL = {
    **{suffix[1:]: kind for suffix, kind in COMPRESSION_SUFFIXES.items()},
    "gzip": "gzip",
    "zstd": "zstd",
}
"""Suffix of a compressed file -> what it is compressed with."""


def is_remote_url(url_or_filename: str) -> bool:
    """Says whether a name is a URL.

    Example:
        >>> is_remote_url("hf://datasets/a/b"), is_remote_url("data/a.csv")
        (True, False)
    """
    return "://" in str(url_or_filename)


def is_local_path(url_or_filename: str) -> bool:
    """Says whether a name is a path on this machine; ``file://`` is one.

    Example:
        >>> is_local_path("/data/a.csv"), is_local_path("https://example.org/a.csv")
        (True, False)
    """
    return not is_remote_url(url_or_filename) or str(url_or_filename).startswith(("file://", "local://"))


def is_relative_path(url_or_filename: str) -> bool:
    """Says whether a name is a path that begins in the working folder.

    Example:
        >>> is_relative_path("a.csv"), is_relative_path("/a.csv"), is_relative_path("s3://a.csv")
        (True, False, False)
    """
    return not is_remote_url(url_or_filename) and not Path(url_or_filename).is_absolute()


def relative_to_absolute_path(path: Any) -> Any:
    """Gives a path from the root of the file system, of the same type.

    Example:
        >>> relative_to_absolute_path("a") == os.path.join(os.getcwd(), "a")
        True
    """
    return type(path)(os.fspath(Path(path).expanduser().absolute()))


def url_or_path_join(base_name: str, *pathnames: str) -> str:
    """Joins names to a path or URL, see `xjoin`."""
    return xjoin(base_name, *pathnames)


def url_or_path_parent(url_or_path: str) -> str:
    """Gives the folder of a path or URL.

    Example:
        >>> url_or_path_parent("https://example.org/data/a.csv")
        'https://example.org/data'
    """
    if is_remote_url(url_or_path):
        return url_or_path.rstrip("/").rpartition("/")[0]
    return os.fspath(Path(url_or_path).parent) if "/" in url_or_path else ""


def hash_url_to_filename(url: str, etag: str | None = None) -> str:
    """Gives a file name that stands for a URL, and for one state of what is there.

    Args:
        url: The URL.
        etag: What the server calls the state.

    Example:
        >>> hash_url_to_filename("https://example.org/a.py")[-3:]
        '.py'
    """
    parts = [url] if not etag else [url, etag]
    name = ".".join(hashlib.sha256(part.encode()).hexdigest() for part in parts)
    return f"{name}.py" if url.endswith(".py") else name


def _raise_if_offline_mode_is_enabled(msg: str | None = None) -> None:
    """Raises `OfflineError` in offline mode."""
    if config.HF_HUB_OFFLINE:
        message = "Offline mode is on: HF_HUB_OFFLINE is set."
        raise OfflineError(message if msg is None else f"{message} {msg}")


def _prepare_path_and_storage_options(
    urlpath: str, download_config: DownloadConfig | None = None
) -> tuple[str, dict[str, dict[str, Any]]]:
    """Gives a URL and the options of its file system, by the name of its scheme, for `fsspec.open`."""
    scheme, mark, _ = urlpath.rpartition("::")[2].partition("://")
    if not mark or scheme == "file":
        return urlpath, {}
    given = {} if download_config is None else download_config.storage_options
    options = dict(given.get(scheme, given) if isinstance(given.get(scheme), dict) else given)
    if scheme == "hf":
        token = None if download_config is None else download_config.token
        options = {
            "endpoint": config.HF_ENDPOINT,
            "token": find_token(None if token is True else token),
            **options,
        }
    elif scheme in ("http", "https"):
        options.setdefault("client_kwargs", {}).setdefault("trust_env", True)
    return urlpath, {scheme: options}


def fsspec_head(url: str, storage_options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Gives what another file system says of a file: its size and more.

    Args:
        url: The file.
        storage_options: Options of the file system.

    Raises:
        FileMissingError: There is none.
        OfflineError: Offline mode is on.
    """
    _raise_if_offline_mode_is_enabled(f"Tried to reach {url}")
    system, path = open_system(url, storage_options)
    with talking("read", url):
        found: dict[str, Any] = system.info(path)
    return found


def fsspec_get(
    url: str,
    temp_file: IO[bytes],
    storage_options: dict[str, Any] | None = None,
    desc: str | None = None,
    disable_tqdm: bool = False,
) -> None:
    """Copies a file of another file system into an open one.

    Args:
        url: The file.
        temp_file: Where it goes.
        storage_options: Options of the file system.
        desc: Accepted for compatibility: there is no bar.
        disable_tqdm: Accepted for compatibility.

    Raises:
        FileMissingError: There is none.
        OfflineError: Offline mode is on.
    """
    _raise_if_offline_mode_is_enabled(f"Tried to reach {url}")
    system, path = open_system(url, storage_options)
    with talking("read", url):
        system.get_file(path, temp_file)


_SCHEME = re.compile(r"(^|::)([A-Za-z][A-Za-z0-9+.-]+):/+")


class xPath(PurePosixPath):  # noqa: N801  # its name in `datasets`
    """A path or URL that is handled like a `pathlib.Path`; `open` fetches what is at a URL.

    Example:
        >>> path = xPath("https://example.org/data") / "a.tar.gz"
        >>> str(path), path.name, path.suffix, str(path.parent)
        ('https://example.org/data/a.tar.gz', 'a.tar.gz', '.gz', 'https://example.org/data')
    """

    def __str__(self) -> str:
        # Paths have no empty parts, so one of the two slashes of a URL is lost.
        return _SCHEME.sub(r"\1\2://", super().__str__())

    def __fspath__(self) -> str:
        return str(self)

    def exists(self) -> bool:
        """Says whether there is a file or folder."""
        return Path(self).exists() if is_local_path(str(self)) else bool(self._system_says("exists"))

    def is_file(self) -> bool:
        """Says whether it is a file."""
        return Path(self).is_file() if is_local_path(str(self)) else bool(self._system_says("isfile"))

    def is_dir(self) -> bool:
        """Says whether it is a folder."""
        return Path(self).is_dir() if is_local_path(str(self)) else bool(self._system_says("isdir"))

    def glob(self, pattern: str) -> list[xPath]:
        """Lists the files below it that a pattern means, in order of name."""
        if is_local_path(str(self)):
            return sorted(map(type(self), Path(self).glob(pattern)))
        return [type(self)(file.url) for file in find_remote(xjoin(str(self), pattern))]

    def rglob(self, pattern: str) -> list[xPath]:
        """Lists the files at any depth below it that a pattern means."""
        return self.glob(f"**/{pattern}")

    def open(self, *args: Any, **kwargs: Any) -> IO[Any]:
        """Opens the file, see `xopen`."""
        return xopen(str(self), *args, **kwargs)

    def _system_says(self, question: str) -> Any:
        system, path = open_system(str(self), None)
        with talking("read", str(self)):
            return getattr(system, question)(path)
