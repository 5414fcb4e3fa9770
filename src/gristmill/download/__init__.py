"""Files for builders: a URL or path in, a path on this machine out; archives extracted; sizes and hashes recorded."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gristmill.download.modes import DownloadMode, VerificationMode

if TYPE_CHECKING:
    from gristmill.download.config import DownloadConfig
    from gristmill.download.lazy import LazyPath
    from gristmill.download.manager import DownloadManager
    from gristmill.download.streaming import StreamingDownloadManager

__all__ = [
    "DownloadConfig",
    "DownloadManager",
    "DownloadMode",
    "LazyPath",
    "StreamingDownloadManager",
    "VerificationMode",
]

_HOMES = {
    "DownloadConfig": "download.config",
    "DownloadManager": "download.manager",
    "LazyPath": "download.lazy",
    "StreamingDownloadManager": "download.streaming",
}


def __getattr__(name: str) -> Any:
    # Each is loaded when it is asked for: most data needs no manager.
    if name in _HOMES:
        return getattr(importlib.import_module(f"gristmill.{_HOMES[name]}"), name)
    if name in ("download_config", "download_manager", "streaming_download_manager"):
        # Modules of `datasets`, which code reaches through `datasets.download` without an import of theirs.
        return importlib.import_module(f"gristmill.download.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
