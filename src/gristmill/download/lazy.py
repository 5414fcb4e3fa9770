"""A file that is fetched when it is first opened: what `StreamingDownloadManager` gives out for URLs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from gristmill.download.config import DownloadConfig
from gristmill.download.manager import DownloadManager

__all__ = ["LazyPath", "xbasename", "xjoin", "xopen"]


class LazyPath(os.PathLike[str]):
    """The path of a file that is fetched (and extracted) when it is first needed on this machine.

    Whatever takes a path takes it: ``open``, `os.path.join`, pandas, pyarrow. As text it is its URL, and it has the
    methods of text. It can be sent to other processes.

    Args:
        url: Where the file is.
        download_config: How to fetch it.
        extracted: Whether the path is that of what the file holds, extracted.

    Example:
        >>> path = LazyPath("https://example.org/data/a.csv")
        >>> str(path), path.endswith(".csv"), xbasename(path)
        ('https://example.org/data/a.csv', True, 'a.csv')
    """

    def __init__(
        self, url: str, download_config: DownloadConfig | None = None, extracted: bool = False
    ) -> None:
        self._url = url
        self._config = download_config or DownloadConfig()
        self._extracted = extracted
        self._local: str | None = None

    def __fspath__(self) -> str:
        if self._local is None:
            manager = DownloadManager(download_config=self._config)
            get: Callable[[str], str] = manager.download_and_extract if self._extracted else manager.download
            self._local = get(self._url)
        return self._local

    def extracted(self) -> LazyPath:
        """Gives the path of what the file holds."""
        return LazyPath(self._url, self._config, True)

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"LazyPath({self._url!r}{', extracted=True' * self._extracted})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyPath):
            return (self._url, self._extracted) == (other._url, other._extracted)
        return isinstance(other, str) and other == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, other: str) -> Path:
        return Path(os.fspath(self), other)

    def __getattr__(self, name: str) -> Any:
        # Builders were written for text: url.split("/"), path.endswith(".gz").
        if name.startswith("_") or not hasattr(str, name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._url, name)


def xopen(
    file: str | os.PathLike[str],
    mode: str = "r",
    *args: Any,
    download_config: DownloadConfig | None = None,
    **kwargs: Any,
) -> IO[Any]:
    """Opens a path or URL; a URL is fetched first (or found in the cache).

    Args:
        file: A path, a URL, or what a download manager gave.
        mode: As for ``open``.
        *args: As for ``open``.
        download_config: How to fetch a URL.
        **kwargs: As for ``open``.

    Raises:
        FileMissingError: There is no such file.
        HubError: It can't be fetched.
    """
    if isinstance(file, str) and "://" in file:
        file = LazyPath(file, download_config)
    opened: IO[Any] = Path(file).open(mode, *args, **kwargs)  # noqa: SIM115  # the caller closes it
    return opened


def xjoin(a: str | os.PathLike[str], *p: str) -> str:
    """Joins names to a path or URL.

    Args:
        a: The path or URL.
        *p: The names.

    Example:
        >>> xjoin("https://example.org/data", "a", "b.csv")
        'https://example.org/data/a/b.csv'
    """
    if isinstance(a, str) and "://" in a:
        return "/".join([a.rstrip("/"), *(part.strip("/") for part in p)])
    return str(Path(a, *p))


def xbasename(a: str | os.PathLike[str]) -> str:
    """Gives the last name of a path or URL.

    Args:
        a: The path or URL.
    """
    return str(a).rstrip("/").rpartition("/")[2]
