"""The folder that is served, and what its repositories share: hashes, cards, pinned commits, the Hub behind it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.hub.server.cards import CardCache
from gristmill.hub.server.hashing import Hasher
from gristmill.hub.server.settings import read_settings


class ServedFolder:
    """What each repository is given of the folder it is in.

    Args:
        folder: Holds ``datasets/ORG/NAME/…`` and the like, and perhaps ``revisions.json``.
        follow_links: Whether symbolic links in repositories may lead out of it.

    Attributes:
        root: The folder, without links in its path.
        follow_links: Whether symbolic links in repositories may lead out of it.
        upstream: Endpoint of the Hub that what is missing is fetched from; None for none.
        hasher: Hashes files, and remembers hashes.
        cards: Reads dataset cards, and remembers them.

    Raises:
        FileMissingError: There is no such folder.
        FileFormatError: ``revisions.json`` can't be used.
    """

    def __init__(self, folder: str | os.PathLike[str], follow_links: bool = False) -> None:
        self.root = Path(folder).resolve()
        self.follow_links = follow_links
        if not self.root.is_dir():
            raise FileMissingError.from_path(folder, "Name a folder that holds datasets/ORG/NAME/….")
        self.upstream: str | None = None
        self.hasher = Hasher()
        self.cards = CardCache()
        self._pins = _read_pins(self.root / "revisions.json")

    def pin(self, type: str, id: str) -> str | None:
        """Gives the commit id that ``revisions.json`` wants for a repository as it is at the start."""
        plain = self._pins.get(id) if type == "datasets" else None
        return self._pins.get(f"{type}/{id}", plain)


def _read_pins(path: Path) -> dict[str, str]:
    pins = read_settings(path)
    if pins is None:
        return {}
    good = all(isinstance(commit, str) and re.fullmatch(r"[0-9a-f]{40}", commit) for commit in pins.values())
    if not good:
        raise FileFormatError.at(
            "must be an object of repository ids and commits",
            file=path,
            remedy='For example {"org/name": "0123…"} with 40 characters 0-9a-f.',
        )
    return pins
