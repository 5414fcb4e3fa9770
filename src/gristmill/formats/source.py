"""What readers read and where they are: `SourceFile` and `Position`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class SourceFile:
    """A data file on this machine.

    Attributes:
        path: Where its bytes are; a cache blob without a suffix is fine.
        name: What to call it in errors and origins: its path in the repository, or its URL.
        ensure: For a file that is here only in part: called with a row group, the columns wanted of it (None for
            all) and the row groups that will be wanted after it, before it is read.
    """

    path: Path
    name: str = ""
    ensure: Callable[[int, Sequence[str] | None, Sequence[int]], object] | None = field(
        default=None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not self.name:
            object.__setattr__(self, "name", str(self.path))


@dataclass(frozen=True)
class Position:
    """Where a batch begins in its file, enough to go on from there; plain numbers, so that JSON can hold it.

    Reading again with ``start=position`` gives that batch and all that follow.

    Attributes:
        row: Index of the batch's first row in the file, counted from 0 (before filters).
        offset: Bytes of the decoded text before it (text formats), else 0.
        group: Row group it lies in (Parquet), else 0.
        line: Lines of the file before it (text formats), else 0.
    """

    row: int = 0
    offset: int = 0
    group: int = 0
    line: int = 0
