"""Files that a user names: on this machine, behind URLs, on the Hub, on other file systems, inside archives.

Chains name a file inside an archive, wherever that is: ``zip://data/*.csv::https://example.org/a.zip``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import config
from gristmill.errors import InvalidArgumentError
from gristmill.files.data_files import DataFiles, parse_data_files
from gristmill.files.locations import SCHEME, has_scheme
from gristmill.prepared.chains import find_members
from gristmill.prepared.local import find_local
from gristmill.prepared.source import DataFile

if TYPE_CHECKING:
    from gristmill.hub.client import HubClient

_HUB_BUCKET = "hf://buckets/"
_ARCHIVES = ("zip", "tar", "7z", "libarchive")
# What is compressed is decompressed when it is read, whatever it is called; what is fetched is kept in any case.
_TRANSPARENT = ("gzip", "bz2", "xz", "lzma", "zstd", "lz4", "simplecache", "filecache", "blockcache")
_MOST_HOPS = 10


def find_user_files(
    data_files: DataFiles,
    base: Path | str | None,
    client: Callable[[], HubClient],
    storage_options: Mapping[str, Any] | None = None,
    *,
    again: bool = False,
    parts: bool = False,
    downloads: Path | None = None,
) -> dict[str, tuple[DataFile, ...]]:
    """Finds the files of each split that a user named.

    Args:
        data_files: Any documented form.
        base: Where relative paths start: a folder, or the URL of one; the working folder if None.
        client: Makes the Hub client, called only if a URL needs one.
        storage_options: Options of the file systems that URLs name; one with the name of a scheme holds those for that
            scheme alone.
        again: Fetch also what is here.
        parts: Parts of files may do: what is behind a URL is not fetched to know its version, if the server tells.
        downloads: Where copies from other file systems are kept; `config.DOWNLOADED_DATASETS_PATH` if None.

    Returns:
        Split -> files.

    Raises:
        DataFilesNotFoundError: A path or pattern means nothing.
        InvalidArgumentError: `data_files` is not of a documented form, or a URL's scheme is not known.
        HubError: A repository or bucket named in a URL can't be read.
        FileError: Another file system refuses.
    """
    finder = _Finder(base, client, storage_options or {}, again, parts, downloads)
    return {
        split: tuple(file for pattern in patterns for file in finder.find(pattern))
        for split, patterns in parse_data_files(data_files).items()
    }


class _Finder:
    def __init__(
        self,
        base: Path | str | None,
        client: Callable[[], HubClient],
        options: Mapping[str, Any],
        again: bool,
        parts: bool,
        downloads: Path | None,
    ) -> None:
        self._downloads = downloads or config.DOWNLOADED_DATASETS_PATH
        self._base = base
        self._client = client
        self._options = options
        self._again = again
        self._parts = parts and not again
        self._folders: dict[str, str] = {}

    def find(self, pattern: str) -> list[DataFile]:
        if not (isinstance(self._base, str) or has_scheme(pattern)):
            return find_local(pattern, self._base, self._folders)
        hops = pattern.split("::") if has_scheme(pattern) else [pattern]
        if len(hops) > _MOST_HOPS:
            raise InvalidArgumentError.from_value(
                "data_files", pattern, f"a chain of at most {_MOST_HOPS} parts"
            )
        files = self._outermost(hops[-1])
        for hop in reversed(hops[:-1]):
            files = [inner for file in files for inner in _enter(hop, file, pattern, self._parts)]
        return files

    def _outermost(self, pattern: str) -> list[DataFile]:
        match = SCHEME.match(pattern)
        if match is None and isinstance(self._base, str):
            pattern = f"{self._base.rstrip('/')}/{pattern}"
            match = SCHEME.match(pattern)
        scheme = match["scheme"] if match else "file"
        if scheme in ("file", "local"):
            base = self._base if isinstance(self._base, Path) else None
            path = pattern.removeprefix(f"{scheme}://")
            return find_local(path, base, self._folders)
        # What knows the Hub and other places is loaded for what is there.
        from gristmill.files.remote_files import find_remote
        from gristmill.prepared import remote_files

        if scheme in ("http", "https"):
            return [remote_files.url_file(pattern, self._client(), self._again, self._parts)]
        if pattern.startswith(_HUB_BUCKET):
            return remote_files.bucket_files(pattern, self._client())
        if scheme == "hf":
            return remote_files.hub_files(pattern, self._client(), self._again)
        if scheme in (*_ARCHIVES, *_TRANSPARENT):
            expected = f'the archive or file as well: "{scheme}://inside::outside"'
            raise InvalidArgumentError.from_value("data_files", pattern, expected)
        own = self._options.get(scheme)
        options = own if isinstance(own, Mapping) else self._options
        return [
            remote_files.remote_file(found, options, self._again, self._downloads)
            for found in find_remote(pattern, options)
        ]


def _enter(hop: str, file: DataFile, chain: str, parts: bool) -> list[DataFile]:
    scheme, _, inner = hop.partition("://")
    if scheme in _ARCHIVES:
        return find_members(file, inner.lstrip("/"), scheme, parts)
    if scheme in _TRANSPARENT:
        return [replace(file, name=f"{hop}::{file.name}")]
    known = ", ".join((*_ARCHIVES, *_TRANSPARENT))
    raise InvalidArgumentError.from_value("data_files", chain, f"one of these before a ::, {known}")
