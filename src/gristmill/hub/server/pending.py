"""Contents that were uploaded and that no commit refers to yet: noted, and removed when none came for a day.

A note is an empty file named after the content. It says which contents are worth a look and nothing more: before one is
removed, every commit is asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

from gristmill.hub.server.history import History

KEEP_SECONDS = 24 * 3600.0
"""How long an uploaded content waits for its commit."""
_FOLDER = "pending"


def note(history: History, id: str) -> None:
    """Notes a content before it is stored, so that one whose upload is killed is found as well."""
    history.inside(_FOLDER).joinpath(id).touch()


def touch(history: History, id: str) -> None:
    """Lets a content wait anew, because a client was told that it need not be sent again."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(history.folder / _FOLDER / id)


def settle(history: History, ids: Iterable[str]) -> None:
    """Forgets the notes of contents that a commit refers to now."""
    for id in ids:
        (history.folder / _FOLDER / id).unlink(missing_ok=True)


def sweep(history: History) -> None:
    """Removes the contents for which no commit came; commits wait as long as it takes.

    Raises:
        FileNotFoundError: There is no repository (any more).
    """
    if not _overdue(history):
        return
    with history.writing():
        ids = _overdue(history)
        referred: set[str] = set()
        for tree in history.folder.glob("trees/*.json"):
            text = tree.read_text(encoding="utf-8")
            referred |= {id for id in ids - referred if f'"{id}"' in text}
        for id in ids - referred:
            history.object(id).unlink(missing_ok=True)
        settle(history, ids)


def _overdue(history: History) -> set[str]:
    oldest = time.time() - KEEP_SECONDS
    found = set()
    with contextlib.suppress(FileNotFoundError), os.scandir(history.folder / _FOLDER) as notes:
        for entry in notes:
            with contextlib.suppress(FileNotFoundError):
                if entry.stat().st_mtime < oldest:
                    found.add(entry.name)
    return found
