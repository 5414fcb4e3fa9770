"""Contents that were uploaded and that no commit refers to yet: noted, and removed when none came for a day.

A note of one content is an empty file named after it; a note of what came with one commit is a file of ids. Notes say which
contents are worth a look and which are being waited for: before one is removed, every commit is asked. Who wants a content
notes it first and looks then whether it is here; so one that goes meanwhile is found missing, or comes back.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import FileIO

from typing_extensions import Self

from gristmill.hub.server.history import History

KEEP_SECONDS = 24 * 3600.0
"""How long an uploaded content waits for its commit."""
_FOLDER = "pending"
_ASIDE = "removing"
_COMMIT = "commit-"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def note(history: History, id: str) -> None:
    """Notes a content: before it is stored, or before a client is told that it need not be sent; from now on it waits anew."""
    history.inside(_FOLDER).joinpath(id).touch()


class CommitNote:
    """Notes the contents that come with one commit, one by one before each is stored, for the length of a ``with`` block.

    Args:
        history: Of the repository.
    """

    def __init__(self, history: History) -> None:
        self._path = history.inside(_FOLDER) / f"{_COMMIT}{secrets.token_hex(8)}"
        self._ids: set[str] = set()
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, id: str) -> None:
        """Notes a content."""
        if id not in self._ids:
            if self._file is None:
                self._file = FileIO(self._path, "x")
            self._file.write(f"{id}\n".encode())
            self._ids.add(id)

    def settle(self, ids: set[str]) -> None:
        """Forgets it if a commit refers to all of its contents now."""
        if self._ids <= ids:
            self._path.unlink(missing_ok=True)


def settle(history: History, ids: Iterable[str], commit: CommitNote | None = None) -> None:
    """Forgets the notes of contents that a commit refers to now.

    Args:
        history: Of the repository.
        ids: The contents.
        commit: What was noted of those that came with the commit.
    """
    ids = set(ids)
    if commit is not None:
        commit.settle(ids)
    with contextlib.suppress(FileNotFoundError):
        for path in (history.folder / _FOLDER).iterdir():
            if path.name in ids:
                path.unlink(missing_ok=True)


def sweep(history: History) -> None:
    """Removes the contents for which no commit came; commits wait no longer than that takes.

    Raises:
        FileNotFoundError: There is no repository (any more).
    """
    if not _read(history).overdue:
        return
    ask = Asked(history)
    ask(_read(history).overdue_ids)
    with history.writing():
        notes = _read(history)
        remove(history, notes.overdue_ids, ask)
        for name in notes.overdue:
            (history.folder / _FOLDER / name).unlink(missing_ok=True)


def waited_for(history: History) -> set[str]:
    """Gives the contents that were noted within a day: their commit may be on its way."""
    return _read(history).fresh_ids


class Asked:
    """Says to which contents commits refer; each commit is asked once for those that were asked for at first.

    Args:
        history: Of the repository.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._asked: set[str] = set()
        self._known: set[str] = set()
        self._referred: set[str] = set()

    def __call__(self, ids: set[str]) -> set[str]:
        """Gives those of some contents that a commit refers to."""
        if not ids <= self._known:
            self._asked, self._known = set(), set(ids)
        for tree in self._history.folder.glob("trees/*.json"):
            if tree.name not in self._asked and not self._known <= self._referred:
                text = tree.read_text(encoding="utf-8")
                self._referred |= {id for id in self._known - self._referred if f'"{id}"' in text}
                self._asked.add(tree.name)
        return ids & self._referred


def remove(history: History, ids: Iterable[str], referred: Callable[[set[str]], set[str]]) -> tuple[int, int]:
    """Removes contents that no commit refers to and nobody waits for; only while the history is `writing`.

    Each is moved aside first, and moved back if it was noted by then: whoever noted it before may have seen it here, and
    whoever notes it later finds it missing.

    Args:
        history: Of the repository.
        ids: The contents.
        referred: Gives those of some contents that a commit refers to.

    Returns:
        How many went, and the bytes that this frees.
    """
    restore(history)
    aside = history.inside(_ASIDE)
    wanted = set(ids)
    wanted -= referred(wanted) | _read(history).fresh_ids
    moved = {}
    for id in wanted:
        with contextlib.suppress(FileNotFoundError):
            history.object(id).replace(aside / id)
            status = (aside / id).stat()
            moved[id] = status.st_size if status.st_nlink == 1 else 0  # a second name frees nothing
    for id in _read(history).fresh_ids & moved.keys():
        _put_back(history, id)
        del moved[id]
    for id in moved:
        (aside / id).unlink(missing_ok=True)
    return len(moved), sum(moved.values())


def restore(history: History) -> None:
    """Puts back what a process that was killed had moved aside; only while the history is `writing`."""
    for left in history.inside(_ASIDE).iterdir():
        _put_back(history, left.name)


def _put_back(history: History, id: str) -> None:
    path = history.folder / _ASIDE / id
    if history.object(id).exists():
        path.unlink(missing_ok=True)
    else:
        path.replace(history.inside("objects", id[:2]) / id)


@dataclass
class _Notes:
    """The names of the notes that are overdue, and the contents that are noted by these and by the others."""

    overdue: set[str] = field(default_factory=set)
    overdue_ids: set[str] = field(default_factory=set)
    fresh_ids: set[str] = field(default_factory=set)


def _read(history: History) -> _Notes:
    found, oldest = _Notes(), time.time() - KEEP_SECONDS
    with contextlib.suppress(FileNotFoundError):
        for path in (history.folder / _FOLDER).iterdir():
            with contextlib.suppress(FileNotFoundError):
                late = path.stat().st_mtime < oldest
                many = path.name.startswith(_COMMIT)
                ids = {id for id in path.read_text().split() if _ID.fullmatch(id)} if many else {path.name}
                if late:
                    found.overdue.add(path.name)
                (found.overdue_ids if late else found.fresh_ids).update(ids)
    found.overdue_ids -= found.fresh_ids
    return found
