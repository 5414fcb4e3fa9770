"""Files to a prepared dataset in the cache: keys, locks, atomic promotion, verification.

A prepared split is a folder ``{cache}/{dataset}/{config}/0.0.0/{key}/`` with Arrow files, ``dataset_info.json`` and
``origins.json``. It does not exist, or it is whole; its key holds everything that decides its rows, so nothing is ever
invalidated: other rows have another folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

__all__ = ["has_sufficient_disk_space", "is_room_for"]


def has_sufficient_disk_space(needed_bytes: int, directory: str | os.PathLike[str] = ".") -> bool:
    """Says whether a disk has room for so many bytes.

    Looked up whenever it is needed, here and in `gristmill.builder`, so that clusters whose disks report nonsense can
    replace it (in `datasets`, it is in ``datasets.builder``).

    Args:
        needed_bytes: Bytes wanted.
        directory: A folder on the disk; it need not exist yet.

    Returns:
        True as well where the system can't tell.

    Example:
        >>> has_sufficient_disk_space(1)
        True
    """
    folder = Path(directory).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return needed_bytes < shutil.disk_usage(folder).free
    except OSError:
        return True


_OWN = has_sufficient_disk_space


def is_room_for(needed_bytes: int, directory: Path) -> bool:
    """Asks `has_sufficient_disk_space`, or what a user has put in its place under either name.

    Args:
        needed_bytes: Bytes wanted.
        directory: A folder on the disk; it need not exist yet.
    """
    above = getattr(sys.modules.get("gristmill.builder"), "has_sufficient_disk_space", _OWN)
    check = has_sufficient_disk_space if has_sufficient_disk_space is not _OWN else above
    return bool(check(needed_bytes, directory))
