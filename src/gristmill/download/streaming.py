"""`StreamingDownloadManager`: like `DownloadManager`, but nothing is fetched before it is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, ClassVar

from gristmill.download.config import DownloadConfig
from gristmill.download.extracting import ArchiveIterable, FilesIterable, extract_file
from gristmill.download.fetching import absolute, extracted_folder
from gristmill.download.lazy import LazyPath
from gristmill.download.nested import map_leaves
from gristmill.files.locations import has_scheme
from gristmill.files.remote import local_path

__all__ = ["StreamingDownloadManager"]


class StreamingDownloadManager:
    """Gives out paths at once; a URL is fetched when its path is first opened, in whichever process that happens.

    Paths on this machine are given out as text. For a URL, it is a `LazyPath`, which ``open``, `os.path.join` and
    other code take for a path. (`datasets` gives out URLs and replaces ``open`` and other functions in the builder's
    module by ones that understand them. Here, nothing is replaced, so code that is called from another module works
    too; in exchange, a remote file is read after it has come in, not while.)

    Args:
        dataset_name: The dataset, for messages.
        data_dir: Folder of files that were fetched by hand.
        download_config: How to download.
        base_path: Where relative paths start: a folder or a URL; the working folder if left out.

    Example:
        >>> StreamingDownloadManager().download_and_extract({"train": "https://example.org/a.zip"})
        {'train': LazyPath('https://example.org/a.zip', extracted=True)}
    """

    is_streaming: ClassVar[bool] = True

    def __init__(
        self,
        dataset_name: str | None = None,
        data_dir: str | None = None,
        download_config: DownloadConfig | None = None,
        base_path: str | None = None,
    ) -> None:
        self._dataset_name = dataset_name
        self._data_dir = data_dir
        self._base_path = str(Path.cwd()) if base_path is None else os.fspath(base_path)
        self.download_config = download_config or DownloadConfig()
        self.downloaded_size: int | None = None

    @property
    def manual_dir(self) -> str | None:
        """Folder of files that were fetched by hand."""
        return self._data_dir

    def download(self, url_or_urls: Any) -> Any:
        """Gives a path for each URL or path.

        Args:
            url_or_urls: A URL or path, or a list or dict of them, however deep.

        Returns:
            Paths in the same shape; nothing is fetched yet.
        """

        def path_of(url: Any) -> Any:
            if isinstance(url, LazyPath):
                return url
            found = absolute(url, self._base_path)
            if not has_scheme(found) or local_path(found) is not None:
                return str(local_path(found) or found)
            return LazyPath(found, self.download_config)

        return map_leaves(path_of, url_or_urls)

    def extract(self, url_or_urls: Any) -> Any:
        """Gives a path for what each archive or compressed file holds.

        Args:
            url_or_urls: What `download` gave, or URLs or paths.

        Returns:
            Paths in the same shape. A remote archive is fetched and extracted when its path is first used; one on this
            machine is extracted now.
        """
        config = self.download_config

        def extract(path: Any) -> Any:
            if isinstance(path, LazyPath):
                return path.extracted()
            return str(extract_file(Path(path), extracted_folder(config), config.force_extract))

        return map_leaves(extract, self.download(url_or_urls))

    def download_and_extract(self, url_or_urls: Any) -> Any:
        """Does `download`, then `extract`.

        Args:
            url_or_urls: As for `download`.
        """
        return self.extract(url_or_urls)

    def iter_archive(
        self, urlpath_or_buf: str | os.PathLike[str] | IO[bytes]
    ) -> Iterable[tuple[str, IO[bytes]]]:
        """Goes through the files of an archive without extracting it.

        Args:
            urlpath_or_buf: A path or URL, or an open binary file.

        Returns:
            An iterable of (path in the archive, binary file); the file is to be read before the next is asked for.
        """
        if isinstance(urlpath_or_buf, str):
            urlpath_or_buf = self.download(urlpath_or_buf)
        return ArchiveIterable(urlpath_or_buf)

    def iter_files(self, urlpaths: str | list[str]) -> Iterable[str]:
        """Goes through files and the files in folders, sorted; hidden ones are left out.

        Args:
            urlpaths: Paths or URLs: one, or a list.

        Returns:
            An iterable of paths.
        """
        paths = self.download([urlpaths] if isinstance(urlpaths, str | os.PathLike) else urlpaths)
        return FilesIterable(paths)

    def manage_extracted_files(self) -> None:
        """Does nothing: what is extracted is still to be read."""

    def get_recorded_sizes_checksums(self) -> None:
        """Gives None: nothing is recorded, since nothing was fetched yet."""
