"""Which files a stream reads, and how they are cut into shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from gristmill.errors import FileMissingError
from gristmill.features import Features
from gristmill.formats.source import Position, SourceFile

__all__ = ["FilePlan", "Piece", "StreamFile"]


@dataclass(frozen=True)
class StreamFile:
    """A data file of a stream.

    Attributes:
        name: What to call it in errors.
        path: Where it is on this machine, if it is here.
        get: Brings it here, if it is not.
        part: Opens it for reading what is needed of it, if that can be done; gives None if it can't after all. Called
            with whether all of it is needed.
        size: Its bytes, if known.
    """

    name: str
    path: Path | None = None
    get: Callable[[], Path] | None = field(default=None, compare=False, repr=False)
    part: Callable[[bool], SourceFile | None] | None = field(default=None, compare=False, repr=False)
    size: int = 0

    def local(self, whole: bool = False) -> SourceFile:
        """Gives the file, ready to be read.

        Args:
            whole: All of it will be read.

        Raises:
            FileMissingError: It is nowhere.
            HubError: It can't be fetched.
        """
        part = self.part(whole) if self.path is None and self.part is not None else None
        if part is not None:
            return part
        path = self.path if self.path is not None or self.get is None else self.get()
        if path is None:
            raise FileMissingError.from_path(self.name)
        return SourceFile(path, self.name)


@dataclass(frozen=True)
class Piece:
    """A shard: a file, or some row groups of one.

    Attributes:
        file: Number of the file.
        start: Where it begins; the file's beginning if None.
        stop: Row group before which it ends; the file's end if None.
        rows: How many rows it has, if known.
        end: Row of the file before which it ends; as `stop` says if None.
    """

    file: int
    start: Position | None = None
    stop: int | None = None
    rows: int | None = None
    end: int | None = None


class FilePlan(Protocol):
    """What is to be read; `files.Files` says what each means."""

    @property
    def format(self) -> str: ...  # noqa: D102
    @property
    def files(self) -> tuple[StreamFile, ...]: ...  # noqa: D102
    @property
    def pieces(self) -> tuple[Piece, ...]: ...  # noqa: D102
    @property
    def options(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def columns(self) -> tuple[str, ...] | None: ...  # noqa: D102
    @property
    def filters(self) -> Any: ...  # noqa: D102
    @property
    def skips(self) -> bool: ...  # noqa: D102
    @property
    def features(self) -> Features | None: ...  # noqa: D102
    @property
    def schema(self) -> pa.Schema | None: ...  # noqa: D102
