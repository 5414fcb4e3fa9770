"""What a split is made of, before anything is fetched: its files, how to read them, what they should become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gristmill.errors import FileMissingError
from gristmill.features import Features
from gristmill.info import DatasetInfo
from gristmill.version import Version

if TYPE_CHECKING:
    from gristmill.partial.source import RangeSource


@dataclass(frozen=True)
class DataFile:
    """One data file of a split.

    Attributes:
        name: What it is called in errors and origins: its path in the repository or folder, or its URL.
        identity: Text that changes whenever its content does: a blob id, or path, size and times of change.
        size: Its size in bytes, 0 if unknown.
        path: Where it is on this machine, if it is here already.
        get: Fetches it, if it is not.
        ranges: Opens it for reading in part, if that can be done; gives its path if it is here after all.
        packed: For a remote file that is compressed by what it is in: finds it, and gives what opens it as a binary file
            object with `peek`, and text that changes when its content does; None if it has to be fetched.
    """

    name: str
    identity: str
    size: int
    path: Path | None = None
    get: Callable[[], Path] | None = field(default=None, compare=False, repr=False)
    ranges: Callable[[], RangeSource | Path] | None = field(default=None, compare=False, repr=False)
    packed: Callable[[], tuple[Callable[[], IO[bytes]], str] | None] | None = field(
        default=None, compare=False, repr=False
    )


def fetch_each(files: Sequence[DataFile]) -> list[Path]:
    """Gives the local path of each file, one after another; what a source does that knows no better."""
    paths = []
    for file in files:
        path = file.path if file.path is not None or file.get is None else file.get()
        if path is None:
            raise FileMissingError.from_path(file.name)
        paths.append(path)
    return paths


@dataclass(frozen=True)
class SplitSource:
    """One split to prepare.

    Attributes:
        dataset: The dataset's short name, for file names and `DatasetInfo.dataset_name`.
        place: What the cache keeps it under: ``namespace___name``, a folder's name, or a format.
        source: Repository id, folder or format that rows are traced back to.
        revision: Commit, if the source has commits.
        config: Name of the config.
        split: Name of the split.
        format: Name of the format in the registry.
        files: Its data files, in the order of their rows.
        fetch: Brings files to this machine, whole and verified.
        options: Reader options, as keyword arguments of the format's options class.
        columns: Only these columns are read.
        filters: Only rows that pass are read, in the form the format documents.
        features: What the user wants the columns to be.
        card_features: What the dataset card says the columns are.
        info: What else is known: licence, sizes.
    """

    dataset: str
    place: str
    source: str
    revision: str | None
    config: str
    split: str
    format: str
    files: tuple[DataFile, ...]
    fetch: Callable[[Sequence[DataFile]], list[Path]] = fetch_each
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    filters: Any = None
    features: Features | None = None
    card_features: Features | None = None
    info: DatasetInfo = field(default_factory=DatasetInfo)

    @property
    def named_info(self) -> DatasetInfo:
        """What is known, with what reads it, and the names of dataset and config; a copy."""
        info = self.info.copy()
        info.builder_name, info.dataset_name, info.config_name = self.format, self.dataset, self.config
        info.version = Version("0.0.0")
        return info
