"""`DownloadManager`: what a builder's ``_split_generators`` gets its files from."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, ClassVar

from gristmill.download.config import DownloadConfig
from gristmill.download.extracting import ArchiveIterable, FilesIterable, extract_file
from gristmill.download.fetching import absolute, extracted_folder, fetch_file, make_client
from gristmill.download.nested import leaves, map_leaves
from gristmill.files.locations import has_scheme
from gristmill.prepared.downloaded import sha256_of
from gristmill.progress import progress

__all__ = ["DownloadManager", "cached_path"]

_THREADS = 8


class DownloadManager:
    """Brings files to this machine, extracts archives, and records what was downloaded.

    Args:
        dataset_name: The dataset, for messages.
        data_dir: Folder of files that were fetched by hand.
        download_config: How to download.
        base_path: Where relative paths start: a folder or a URL; the working folder if left out.
        record_checksums: Compute the SHA-256 of each file downloaded.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "a.txt").write_text("hello")
        ...     manager = DownloadManager(base_path=folder)
        ...     Path(manager.download("a.txt")).read_text(), manager.downloaded_size
        ('hello', 5)
    """

    is_streaming: ClassVar[bool] = False

    def __init__(
        self,
        dataset_name: str | None = None,
        data_dir: str | None = None,
        download_config: DownloadConfig | None = None,
        base_path: str | None = None,
        record_checksums: bool = False,
    ) -> None:
        self._dataset_name = dataset_name
        self._data_dir = data_dir
        self._base_path = str(Path.cwd()) if base_path is None else os.fspath(base_path)
        self._recorded: dict[str, dict[str, Any]] = {}
        self.record_checksums = record_checksums
        self.download_config = download_config or DownloadConfig()
        self.downloaded_paths: dict[str, str] = {}
        self.extracted_paths: dict[str, str] = {}

    @property
    def manual_dir(self) -> str | None:
        """Folder of files that were fetched by hand."""
        return self._data_dir

    @property
    def downloaded_size(self) -> int:
        """Bytes of all files given out so far."""
        return sum(entry["num_bytes"] for entry in self._recorded.values())

    def download(self, url_or_urls: Any) -> Any:
        """Brings files to this machine, several at a time.

        Args:
            url_or_urls: A URL or path, or a list or dict of them, however deep. Relative paths start at `base_path`.

        Returns:
            Local paths as text, in the same shape. What is on this machine already stays where it is.

        Raises:
            FileMissingError: There is no such file.
            HubError: A file can't be fetched.

        Example:
            >>> DownloadManager(base_path="/").download({"here": ["/dev/null"]})
            {'here': ['/dev/null']}
        """
        config = self.download_config
        wanted = [absolute(url, self._base_path) for url in leaves(url_or_urls)]
        count = len(wanted)
        bar: Any = (
            contextlib.nullcontext()
            if config.disable_tqdm or count < 2
            else progress(config.download_desc or "Downloading files", count, "files")
        )
        with contextlib.ExitStack() as stack, bar as shown:
            client = None
            if any(map(has_scheme, wanted)):  # looking for a token takes longer than opening a file
                client = make_client(config)
                stack.callback(client.session.close)

            def fetch(url: Any) -> str:
                path = fetch_file(absolute(url, self._base_path), config, client)
                if config.extract_compressed_file:
                    path = extract_file(path, extracted_folder(config), config.force_extract, url)
                if shown is not None:
                    shown.update(1)
                return str(path)

            found = map_leaves(fetch, url_or_urls, config.num_proc or _THREADS)
        for url, path in zip(leaves(url_or_urls), leaves(found), strict=True):
            self._record(os.fspath(url), path)
        return found

    def _record(self, url: str, path: str) -> None:
        self.downloaded_paths[url] = path
        size = Path(path).stat().st_size if Path(path).is_file() else 0
        checksum = sha256_of(Path(path)) if self.record_checksums and Path(path).is_file() else None
        self._recorded[url] = {"num_bytes": size, "checksum": checksum}

    def extract(self, path_or_paths: Any) -> Any:
        """Extracts archives and decompresses files, once; what is neither stays as it is.

        Args:
            path_or_paths: A local path, or a list or dict of them.

        Returns:
            Paths in the same shape: a folder for each archive, a file for each compressed file.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: A file is called like an archive, and is neither an archive nor compressed.
            DataError: An archive is damaged, or hostile.
        """
        config = self.download_config

        urls = {path: url for url, path in self.downloaded_paths.items()}

        def extract(path: Any) -> str:
            name = urls.get(os.fspath(path))
            return str(extract_file(Path(path), extracted_folder(config), config.force_extract, name))

        found = map_leaves(extract, path_or_paths, config.num_proc or 1)
        self.extracted_paths.update(zip(map(os.fspath, leaves(path_or_paths)), leaves(found), strict=True))
        return found

    def download_and_extract(self, url_or_urls: Any) -> Any:
        """Does `download`, then `extract`.

        Args:
            url_or_urls: As for `download`.

        Returns:
            As `extract`.
        """
        return self.extract(self.download(url_or_urls))

    def iter_archive(
        self, path_or_buf: str | os.PathLike[str] | IO[bytes]
    ) -> Iterable[tuple[str, IO[bytes]]]:
        """Goes through the files of an archive without extracting it.

        Args:
            path_or_buf: A local path, or an open binary file.

        Returns:
            An iterable of (path in the archive, binary file); the file is to be read before the next is asked for.
        """
        return ArchiveIterable(path_or_buf)

    def iter_files(self, paths: str | list[str]) -> Iterable[str]:
        """Goes through files and the files in folders, sorted; hidden ones are left out.

        Args:
            paths: A path or a list of them.

        Returns:
            An iterable of paths.
        """
        return FilesIterable(paths)  # type: ignore[arg-type]  # a list of str is a list of paths

    def get_recorded_sizes_checksums(self) -> dict[str, dict[str, Any]]:
        """Gives ``{"num_bytes": ..., "checksum": ...}`` for each URL downloaded so far."""
        return dict(self._recorded)

    def delete_extracted_files(self) -> None:
        """Deletes what `extract` made; what it left as it was stays."""
        for path, extracted in self.extracted_paths.items():
            if extracted != path and Path(extracted).is_relative_to(extracted_folder(self.download_config)):
                if Path(extracted).is_dir():
                    shutil.rmtree(extracted, ignore_errors=True)
                else:
                    Path(extracted).unlink(missing_ok=True)
        self.extracted_paths = {}

    def manage_extracted_files(self) -> None:
        """Deletes what was extracted, if the configuration says so."""
        if self.download_config.delete_extracted:
            self.delete_extracted_files()


def cached_path(
    url_or_filename: str | os.PathLike[str],
    download_config: DownloadConfig | None = None,
    **download_kwargs: Any,
) -> str:
    """Gives the path of a file on this machine, fetched (and extracted) if need be.

    Args:
        url_or_filename: A URL or path.
        download_config: How.
        **download_kwargs: Fields of the configuration, if none is given.

    Raises:
        FileMissingError: There is no such file.
        HubError: It can't be fetched.
    """
    config = download_config or DownloadConfig(**download_kwargs)
    found: str = DownloadManager(download_config=config).download(url_or_filename)
    return found
