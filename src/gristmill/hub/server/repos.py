"""Repositories of a served folder: which there are, and how each is kept."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gristmill.errors import FileMissingError, GristmillError
from gristmill.files.atomic import sweep
from gristmill.hub.server import pending
from gristmill.hub.server.access import Access
from gristmill.hub.server.bucket_files import Buckets
from gristmill.hub.server.errors import Refusal, unreadable
from gristmill.hub.server.history import FOLDER, History
from gristmill.hub.server.mirrored import MirroredRepo, mirror_file
from gristmill.hub.server.moves import Moves
from gristmill.hub.server.plain import PlainRepo
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.served_folder import ServedFolder
from gristmill.hub.server.versioned import VersionedRepo
from gristmill.hub.server.walk import inside
from gristmill.logging import get_logger

_logger = get_logger(__name__)
TYPES = ("datasets", "models", "spaces")
_ID_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_LONGEST_ID = 96


def valid_id(repo_id: str) -> bool:
    """Says whether a text can name a repository.

    Example:
        >>> valid_id("org/name"), valid_id("org/na..me"), valid_id("../name")
        (True, False, False)
    """
    parts = repo_id.split("/")
    return (
        len(parts) == 2
        and len(repo_id) <= _LONGEST_ID
        and all(_ID_PART.fullmatch(part) for part in parts)
        and "--" not in repo_id
        and ".." not in repo_id
        and not repo_id.endswith(".git")
    )


class Hub(ServedFolder):
    """A served folder and its repositories.

    Args:
        folder: Holds ``datasets/ORG/NAME/…`` and the like, and perhaps ``revisions.json`` and ``access.json``.
        tokens: The token file; ``tokens.json`` in the folder if left out.
        anyone_writes: Whether everybody may write if no tokens are known.
        follow_links: Whether symbolic links in repositories may lead out of the folder; those in buckets never do, since
            others write there.

    Raises:
        FileMissingError: There is no such folder.
        FileFormatError: A settings file can't be used.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        tokens: str | os.PathLike[str] | None = None,
        anyone_writes: bool = False,
        follow_links: bool = False,
    ) -> None:
        super().__init__(folder, follow_links)
        if tokens is not None and not Path(tokens).is_file():
            raise FileMissingError.from_path(
                tokens, "Name a file of tokens; see the guide on the Hub server."
            )
        token_file = self.root / "tokens.json" if tokens is None else Path(tokens)
        self.access = Access.read(self.root / "access.json", token_file, anyone_writes)
        self.moves = Moves(self.root)
        self.buckets = Buckets(self.root)
        self._repos: dict[tuple[str, str], Repo] = {}

    def find(self, type: str, id: str) -> Repo | None:
        """Finds a repository by its type and id; None if there is none."""
        folder = self.root / type / id
        named = type in TYPES and valid_id(id)
        if not named or not folder.is_dir() or not inside(folder, self.root, self.follow_links):
            self._repos.pop((type, id), None)
            return None
        kind: Callable[[Hub, str, str], Repo]
        if mirror_file(folder).is_file():
            kind = MirroredRepo
        else:
            kind = VersionedRepo if History(folder).exists() else PlainRepo
        known = self._repos.get((type, id))
        if known is None or known.__class__ is not kind:
            known = self._repos[type, id] = kind(self, type, id)
        # A copy that was begun and has no commit yet is not there.
        return None if isinstance(known, MirroredRepo) and not known.begun() else known

    def temporary(self) -> Path:
        """Gives a folder for what is being received and belongs to no repository yet."""
        folder = self.root / FOLDER / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def forget(self, type: str, id: str) -> None:
        """Forgets what is remembered of a repository that is gone."""
        self._repos.pop((type, id), None)

    def repos(self, type: str) -> Iterator[Repo]:
        """Lists the repositories of a type, by id."""
        for organisation in _folders(self.root / type):
            for name in _folders(self.root / type / organisation):
                repo = None
                try:
                    repo = self.find(type, f"{organisation}/{name}")
                except GristmillError as error:
                    # One that is damaged must not hide the others; asked for by its name, it says what is wrong.
                    _logger.warning("%s/%s/%s is left out: %s", type, organisation, name, error)
                if repo is not None:
                    yield repo

    def look_after(self) -> None:
        """Hashes the files of all repositories, and removes uploads that no commit came for and what is left of deleted ones.

        What can't be read or removed now is told to those who ask for it.
        """
        for type in TYPES:
            with contextlib.suppress(Refusal):
                for organisation in _folders(self.root / type):
                    with contextlib.suppress(OSError):
                        sweep(self.root / type / organisation)
                for repo in self.repos(type):
                    with contextlib.suppress(OSError, GristmillError, Refusal):
                        repo.head()
                        pending.sweep(History(repo.folder))
        self.buckets.look_after()


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(item.name for item in folder.iterdir() if item.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(f"the folder {folder.name}", error) from error
