"""What is asked about file systems of fsspec."""

from __future__ import annotations

from typing import Any

__all__ = ["is_remote_filesystem"]

_LOCAL = {"file", "local"}


def is_remote_filesystem(fs: Any) -> bool:
    """Says whether a file system of fsspec is another than this machine's.

    Args:
        fs: The file system.

    Example:
        >>> import fsspec
        >>> is_remote_filesystem(fsspec.filesystem("file")), is_remote_filesystem(fsspec.filesystem("memory"))
        (False, True)
    """
    protocol = getattr(fs, "protocol", "")
    names = (protocol,) if isinstance(protocol, str) else tuple(protocol)
    return not _LOCAL.intersection(names)
