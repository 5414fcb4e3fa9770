"""Row groups of a remote Parquet file, fetched while the ones before them are read."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from gristmill import config
from gristmill.partial.ahead import Ahead
from gristmill.partial.intervals import Interval, total

__all__ = ["GroupsAhead"]


class Groups(Protocol):
    """A file whose row groups can be fetched."""

    def known(self, columns: Sequence[str] | None) -> list[str] | None:
        """Gives those of some columns that it has."""
        ...

    def ranges(self, row_groups: Iterable[int], columns: Sequence[str] | None) -> list[Interval]:
        """Says which bytes hold some columns of some row groups."""
        ...

    def ensure(self, row_groups: Iterable[int], columns: Sequence[str] | None) -> Path:
        """Fetches them."""
        ...


class GroupsAhead:
    """Fetches the row group that is asked for, and has those that come next fetched.

    Args:
        file: The file.
    """

    def __init__(self, file: Groups) -> None:
        self._file = file
        self._ahead = Ahead()
        self._coming: dict[int, int] = {}
        # Ends with the reader, if nobody closes it.
        weakref.finalize(self, self._ahead.close)

    def close(self) -> None:
        """Ends what is being fetched ahead."""
        self._ahead.close()

    def ensure(self, group: int, columns: Sequence[str] | None, then: Sequence[int] = ()) -> None:
        """Makes sure that a row group is here.

        Args:
            group: Its number.
            columns: The columns wanted; all if None.
            then: The row groups that will be asked for next, in order.

        Raises:
            HubError: The server refuses or can't be reached.
            FileError: The local file can't be written.
        """
        columns = self._file.known(columns)
        following = set(then)
        self._coming = {number: size for number, size in self._coming.items() if number in following}
        room = config.GRISTMILL_READ_AHEAD - sum(self._coming.values())
        new: list[int] = []
        for number in then:
            if number in self._coming:
                continue
            size = total(self._file.ranges([number], columns))
            # One is always fetched ahead, however large, unless none is to be.
            if size > room and (self._coming or not config.GRISTMILL_READ_AHEAD):
                break
            self._coming[number] = size
            new.append(number)
            room -= size
        if new:
            file = self._file
            self._ahead.submit(lambda: file.ensure(new, columns))
        self._file.ensure([group], columns)
