"""What readers read and where they are: `SourceFile` and `Position`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gristmill.files.stamps import change_stamp


@dataclass(frozen=True)
class SourceFile:
    """A data file, on this machine or read from afar.

    Attributes:
        path: Where its bytes are; a cache blob without a suffix is fine. Nothing is there if it is read from afar.
        name: What to call it in errors and origins: its path in the repository, or its URL.
        ensure: For a file that is here only in part: called with a row group, the columns wanted of it (None for
            all) and the row groups that will be wanted after it, before it is read.
        prune: For a file that is here only in part: called with row groups and a filter, leaves out those that hold no
            row that matches, as far as that can be told for little.
        fetch: For a file that is here only in part: called with half-open ranges of bytes before they are read.
        close: For a file that is here only in part: ends what is being fetched ahead; afterwards nothing more is.
        lacks: For one of several files: gives the Arrow type that a column has in another one, for a filter that looks at
            it; raises a ColumnNotFoundError if none has it.
        open: For a file read from afar: opens it as a binary file object with `peek`, that can be seeked.
        version: For a file read from afar: text that changes whenever its content does.
        stop: For a file of row groups: the one before which reading ends; None for the file's end.
        peeks: Perhaps only its beginning is wanted: nothing is fetched ahead before more than its first part is read.
        footer: For a Parquet file: what its end says (`pyarrow.parquet.FileMetaData`), if somebody has read it.
        threads: Whether its reader may use threads of its own; several files that are read at a time keep to one each.
        workers: How many parts of it its reader may read at a time, for whoever is going to read all of it; 0 for a
            stream, of which little is to be in memory.
    """

    path: Path
    name: str = ""
    ensure: Callable[[int, Sequence[str] | None, Sequence[int]], object] | None = field(
        default=None, compare=False, repr=False
    )

    prune: Callable[[Sequence[int], Any], list[int]] | None = field(default=None, compare=False, repr=False)
    fetch: Callable[[Sequence[tuple[int, int]]], object] | None = field(
        default=None, compare=False, repr=False
    )
    close: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    lacks: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)
    open: Callable[[], IO[bytes]] | None = field(default=None, compare=False, repr=False)
    version: str = ""
    stop: int | None = None
    peeks: bool = field(default=False, compare=False, repr=False)
    footer: Any = field(default=None, compare=False, repr=False)
    threads: bool = field(default=True, compare=False, repr=False)
    workers: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not self.name:
            object.__setattr__(self, "name", str(self.path))

    @property
    def is_remote(self) -> bool:
        """Whether each reading of it costs requests, so that it should be read once, from the front."""
        return self.open is not None

    def state(self) -> tuple[int, int, int] | str:
        """Gives what changes whenever the content does."""
        if self.open is not None:
            return self.version
        return change_stamp(self.path.stat())


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
