"""Where repositories went that were given another id: ``moved.json`` in the served folder."""

from __future__ import annotations

import threading
from pathlib import Path

from gristmill.errors import FileFormatError
from gristmill.files.atomic import write_json
from gristmill.files.lock import lock
from gristmill.hub.server.settings import read_settings

_MOST_STEPS = 100


class Moves:
    """The old ids of a served folder. Safe to use from many threads.

    Args:
        root: The served folder.

    Raises:
        FileFormatError: ``moved.json`` can't be used.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / "moved.json"
        self._lock = threading.Lock()
        self._known = self._read()

    def target(self, type: str, id: str) -> str | None:
        """Gives the id that a repository has now, if it ever had this one; its step by step moves are followed."""
        name = f"{type}/{id}"
        for _ in range(_MOST_STEPS):
            if name not in self._known:
                break
            name = self._known[name]
        return None if name == f"{type}/{id}" else name.partition("/")[2]

    def add(self, type: str, old: str, new: str) -> None:
        """Notes a move."""
        with self._lock, lock(self._path.with_name(".moved.lock")):
            known = self._read()
            known.pop(f"{type}/{new}", None)
            known[f"{type}/{old}"] = f"{type}/{new}"
            write_json(self._path, known)
            self._known = known

    def _read(self) -> dict[str, str]:
        known = read_settings(self._path) or {}
        if not all(isinstance(value, str) and value.count("/") == 2 for value in known.values()):
            raise FileFormatError.at("must be an object of old and new ids", file=self._path)
        return known
