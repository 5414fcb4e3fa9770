"""`DownloadConfig`: how files are downloaded and extracted."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["DownloadConfig"]


@dataclass
class DownloadConfig:
    """How files are downloaded and extracted.

    `load_dataset` reads archives and compressed files as they are: there, what is said of extracting has no effect, and
    a warning says so; and no number of `max_retries` but 0 makes it try less often than four times.

    Attributes:
        cache_dir: Where downloads go; `config.DOWNLOADED_DATASETS_PATH` if None. What is extracted goes below it.
        force_download: Fetch again what is here.
        resume_download: Accepted; downloads that broke off are always gone on with.
        local_files_only: Only take what is here; nothing is asked for over the network.
        proxies: ``"http"``, ``"https"`` -> URL of a proxy, for the Hub and other web servers; those that ``HTTP_PROXY``
            and ``HTTPS_PROXY`` name if None.
        user_agent: What to add to what Gristmill calls itself in requests.
        extract_compressed_file: Also extract what is downloaded, if it is an archive or compressed.
        force_extract: Extract again what is extracted.
        delete_extracted: Delete what was extracted once the dataset is prepared.
        extract_on_the_fly: Accepted; `StreamingDownloadManager` extracts when a file is first read.
        use_etag: Ask the server whether a file has changed; otherwise what is here stays.
        num_proc: Most downloads at a time.
        max_retries: How often to try again after a failure.
        token: A Hub token; False for none; that of the environment or of the login if None or True.
        storage_options: Options of other file systems (``s3://...``), as fsspec takes them.
        download_desc: What the progress bar says.
        disable_tqdm: Show no progress bar.

    Example:
        >>> DownloadConfig(num_proc=4).copy().num_proc
        4
    """

    cache_dir: str | Path | None = None
    force_download: bool = False
    resume_download: bool = False
    local_files_only: bool = False
    proxies: dict[str, Any] | None = None
    user_agent: str | dict[str, Any] | None = None
    extract_compressed_file: bool = False
    force_extract: bool = False
    delete_extracted: bool = False
    extract_on_the_fly: bool = False
    use_etag: bool = True
    num_proc: int | None = None
    max_retries: int = 1
    token: str | bool | None = None
    storage_options: dict[str, Any] = field(default_factory=dict)
    download_desc: str | None = None
    disable_tqdm: bool = False

    def copy(self) -> DownloadConfig:
        """Makes a copy that shares nothing with this one."""
        return copy.deepcopy(self)
