"""Deletes results of transforms that nobody reads."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from gristmill.files.borders import writing


def delete_unused(folder: Path | None, used: Collection[Path]) -> int:
    """Deletes the results of transforms in a cache folder.

    Args:
        folder: The folder; None for a dataset without one.
        used: Files that stay.

    Returns:
        How many files are gone.

    Raises:
        FileError: A file can't be deleted.
    """
    if folder is None or not folder.is_dir():
        return 0
    kept = {file.resolve() for file in used}
    gone = [file for file in folder.glob("cache-*.arrow") if file.resolve() not in kept]
    # The list of a result's files goes with the first of them.
    gone += [file for file in folder.glob("cache-*.json") if not _is_used(file, kept)]
    for file in gone:
        with writing(file):
            file.unlink(missing_ok=True)
    return len(gone)


def _is_used(manifest: Path, kept: Collection[Path]) -> bool:
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        return any((manifest.parent / name).resolve() in kept for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        return False
