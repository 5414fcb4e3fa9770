"""One URL or path to a path on this machine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from gristmill import config as settings
from gristmill.download.config import DownloadConfig
from gristmill.errors import FileMissingError, InvalidArgumentError, OfflineError
from gristmill.files.atomic import atomic_file
from gristmill.files.locations import has_scheme
from gristmill.files.paths import expand_home
from gristmill.files.remote import downloaded_file, local_path, remote_identity
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.downloads import UrlCache
from gristmill.prepared.user_files import find_user_files

_COPY_BYTES = 1 << 20
_DOWNLOADS = 8
_WEB = re.compile(r"https?://")


def downloads_folder(config: DownloadConfig) -> Path:
    """Says where downloads go."""
    return (
        expand_home(config.cache_dir) if config.cache_dir is not None else settings.DOWNLOADED_DATASETS_PATH
    )


def extracted_folder(config: DownloadConfig) -> Path:
    """Says where what is extracted goes."""
    if config.cache_dir is None:
        return settings.EXTRACTED_DATASETS_PATH
    return downloads_folder(config) / settings.EXTRACTED_DATASETS_DIR


def make_client(config: DownloadConfig, patient: bool = False) -> HubClient:
    """Makes the client that files are fetched with.

    Args:
        config: How.
        patient: Try as often as a client by itself, unless more is asked for, or nothing but one attempt.

    Raises:
        InvalidArgumentError: The configuration holds a value that can't be used.
    """
    offline = config.local_files_only or settings.HF_HUB_OFFLINE or settings.HF_DATASETS_OFFLINE
    for name, least in (("max_retries", 0), ("num_proc", 1)):
        value = getattr(config, name)
        if not (type(value) is int and value >= least) and not (name == "num_proc" and value is None):
            raise InvalidArgumentError.from_value(
                f"download_config.{name}", value, f"a number, at least {least}"
            )
    attempts = config.max_retries + 1
    if patient and config.max_retries:
        attempts = max(attempts, RetryPolicy.attempts)
    client = HubClient(
        token=None if config.token is True else config.token,
        offline=offline,
        policy=RetryPolicy(attempts=attempts),
        max_workers=config.num_proc or _DOWNLOADS,
        proxies=config.proxies,
        agent=_agent(config.user_agent),
        show_progress=not config.disable_tqdm,
    )
    client.downloads = UrlCache(downloads_folder(config), offline, config.use_etag)
    return client


def _agent(said: str | Mapping[str, Any] | None) -> str:
    if isinstance(said, Mapping):
        return "; ".join(f"{name}/{value}" for name, value in said.items())
    return said or ""


def absolute(path: str | os.PathLike[str], base: str) -> str:
    """Gives a URL or absolute path as it is, and a relative path below the base.

    Args:
        path: What a builder asks for.
        base: A folder, or the URL of one.

    Example:
        >>> absolute("a.csv", "https://example.org/data"), absolute("/b.csv", "/data")
        ('https://example.org/data/a.csv', '/b.csv')
    """
    text = os.fspath(path)
    if has_scheme(text) or Path(text).is_absolute() or text.startswith("~"):
        return text
    if _WEB.match(base):
        return urljoin(base.rstrip("/") + "/", text)
    return f"{base.rstrip('/')}/{text}" if has_scheme(base) else str(Path(base, text))


def fetch_file(path: str, config: DownloadConfig, client: HubClient | None) -> Path:
    """Brings one file to this machine.

    Args:
        path: A URL (http, https, hf, or any that fsspec knows), or a path on this machine.
        config: How.
        client: From `make_client`; None will do for a path on this machine.

    Returns:
        The local file; for a path on this machine, that path.

    Raises:
        FileMissingError: There is no such file.
        OfflineError: Offline, and the file is not here.
        HubError: The server refuses or can't be reached.
        FileError: Another file system refuses.
        InvalidArgumentError: The URL names more or less than one file, or a file system that is not known.
    """
    if not has_scheme(path) or local_path(path) is not None:
        found = expand_home(local_path(path) or path)
        if not found.exists():
            raise FileMissingError.from_path(found)
        return found
    if client is None:
        client = make_client(config)
    if _WEB.match(path):
        if config.force_download:
            # Without its record, what is here counts as never downloaded.
            record = client.downloads.path(path)
            record.with_name(f"{record.name}.json").unlink(missing_ok=True)
        return client.downloads.fetch(client.session, path)
    if path.startswith("hf://"):
        found_files = [
            file for files in find_user_files(path, None, lambda: client).values() for file in files
        ]
        if len(found_files) != 1 or found_files[0].get is None:
            raise InvalidArgumentError.from_value("url", path, "the URL of one file")
        return found_files[0].get()
    return _fetch_other(path, config)


def _fetch_other(url: str, config: DownloadConfig) -> Path:
    folder = downloads_folder(config)
    if config.local_files_only:
        raise OfflineError.at_url("Only local files may be used", url)
    identity = remote_identity(url, config.storage_options)
    path = folder / hashlib.sha256(f"{url} {identity}".encode()).hexdigest()
    if config.force_download or not path.is_file():
        with (
            downloaded_file(url, config.storage_options) as local,
            local.open("rb") as file,
            atomic_file(path) as out,
        ):
            shutil.copyfileobj(file, out, _COPY_BYTES)
    return path
