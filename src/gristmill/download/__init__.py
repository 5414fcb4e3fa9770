"""Files for builders: a URL or path in, a path on this machine out; archives extracted; sizes and hashes recorded."""

from gristmill.download.config import DownloadConfig
from gristmill.download.lazy import LazyPath
from gristmill.download.manager import DownloadManager
from gristmill.download.modes import DownloadMode, VerificationMode
from gristmill.download.streaming import StreamingDownloadManager

__all__ = [
    "DownloadConfig",
    "DownloadManager",
    "DownloadMode",
    "LazyPath",
    "StreamingDownloadManager",
    "VerificationMode",
]
