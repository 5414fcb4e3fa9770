"""The contents of one commit, stored together: written as they come, waited for once, and only then given their names.

A content that has its name is on the disk. So whoever finds one can trust it, also while another commit with the same
content is on its way: that one writes its own, and the later of the two takes the place of the earlier.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from typing_extensions import Self

from gristmill.files.atomic import sweep, temporary_name
from gristmill.files.durable import Durable
from gristmill.hub.server.history import History

__all__ = ["Intake"]


class Intake:
    """Takes in contents, for the length of a ``with`` block; what `finish` was not called for is removed.

    Args:
        history: Of the repository.

    Raises:
        FileNotFoundError: There is no repository (any more).
        OSError: The disk can't be written.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        sweep(history.inside("tmp"))
        self._folder = temporary_name(history.inside("tmp") / "contents")
        self._folder.mkdir()
        self._disk = Durable(self._folder)
        self._ids: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._disk.__exit__()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    def add(self, content: bytes, id: str) -> None:
        """Takes in a content under an id that is known to be its."""
        if id not in self._ids:
            with open(f"{self._folder}/{id}", "xb") as file:  # noqa: PTH123  # one of very many
                file.write(content)
            self._ids.add(id)

    def link(self, file: Path, id: str) -> bool:
        """Takes in a file under a second name where the file system can, else as a copy.

        Returns:
            Whether it is a second name, so that who writes to the file writes to the content.
        """
        target = self._folder / id
        try:
            os.link(os.path.realpath(file), target)
            linked = True
        except OSError:
            shutil.copyfile(file, target)
            linked = False
        self._ids.add(id)
        return linked

    def finish(self) -> None:
        """Waits until the disk has the contents, and gives them their names.

        The names themselves are waited for by the commit that refers to them; see `History.sync`.

        Raises:
            FileNotFoundError: There is no repository (any more).
            OSError: The disk could not take them.
        """
        self._disk.wait([self._folder / id for id in self._ids])
        self._history.adopt_all(self._folder, self._ids)
        self._ids.clear()
