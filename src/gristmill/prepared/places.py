"""Where a dataset is: a folder, a repository at a commit, or a bucket; what it is called, what it lists, its card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import config as settings
from gristmill.errors import CardError, DatasetScriptError, InvalidArgumentError
from gristmill.files.borders import reading
from gristmill.files.data_files import config_names, default_config
from gristmill.files.patterns import PathIndex
from gristmill.hub.card import DatasetCard, parse_card
from gristmill.logging import get_logger
from gristmill.prepared.local import list_folder, local_file, printable
from gristmill.prepared.source import DataFile

if TYPE_CHECKING:
    from gristmill.hub.buckets import Bucket
    from gristmill.hub.client import PinnedRepo

__all__ = ["Place", "bucket_place", "folder_place", "repo_place"]

_log = get_logger(__name__)
LARGEST_TEXT = 20_000_000
"""Longest README, or other file that describes data, that is read; in bytes."""


def _nothing(_: object) -> tuple[DataFile, ...]:
    return ()


def _no_text(_: str) -> str:
    return ""


@dataclass(frozen=True)
class Place:
    """Where a dataset is, and how its files are got at.

    Attributes:
        dataset: The dataset's short name.
        key: What the cache keeps it under.
        source: What its rows are traced back to.
        where: What to call it in messages.
        base: Where paths that a user names start: a folder, or the URL of one; the working folder if None.
        paths: All its files, relative.
        describe: Gives the data files of some of the paths.
        read: Gives the text of one of the paths, ``""`` if it is not there.
        revision: Commit, if it has commits.
        card: What its README says.
        fetch: Brings files to this machine together, where there is a better way than one by one.
    """

    dataset: str
    key: str
    source: str
    where: str
    base: Path | str | None = None
    paths: tuple[str, ...] = ()
    describe: Callable[[Sequence[str]], Sequence[DataFile]] = _nothing
    read: Callable[[str], str] = _no_text
    revision: str | None = None
    card: DatasetCard = field(default_factory=DatasetCard)
    fetch: Callable[[Sequence[DataFile]], list[Path]] | None = None

    # Worked out once: a dataset may have thousands of configs and files.

    @cached_property
    def index(self) -> PathIndex:
        """The paths, ready for patterns."""
        return PathIndex(self.paths)

    @cached_property
    def entries(self) -> dict[str, Mapping[str, Any]]:
        """Config -> what the card says of its files; ``default`` alone, of which nothing is said, if it has none."""
        configs = self.card.configs
        return (
            dict(zip(config_names(configs, self.where), configs, strict=True)) if configs else {"default": {}}
        )

    @property
    def names(self) -> list[str]:
        """The configs: those the card declares, or ``default`` alone."""
        return list(self.entries)

    @cached_property
    def default(self) -> str | None:
        """The config that is loaded when none is asked for; None if one has to be named."""
        return default_config(self.card.configs, self.where) if self.card.configs else "default"


def folder_place(folder: Path, lenient: bool = False) -> Place:
    """Looks at a folder on this machine.

    Args:
        folder: The folder.
        lenient: Go on without the card if it can't be used.

    Raises:
        DatasetScriptError: It holds a dataset script.
        InvalidArgumentError: It was made by `save_to_disk`.
        CardError: Its card can't be used.
        FileError: It can't be listed.
    """
    paths = list_folder(folder)
    name = folder.resolve().name
    _refuse_saved(folder, paths)
    _refuse_script(name, paths, str(folder))
    folders: dict[str, str] = {}

    def read(path: str) -> str:
        return _read_text(folder / path) if (folder / path).is_file() else ""

    return Place(
        dataset=printable(name),
        key=printable(name),
        source=printable(str(folder.resolve())),
        where=str(folder),
        base=folder,
        paths=tuple(paths),
        describe=lambda members: [local_file(folder / path, path, folders) for path in members],
        read=read,
        card=_read_card(read, str(folder), lenient),
    )


def repo_place(repo: PinnedRepo, lenient: bool = False, refetch: bool = False) -> Place:
    """Looks at a repository at a commit.

    Args:
        repo: The repository.
        lenient: Go on without the card if it can't be used.
        refetch: Data files are fetched again, also those that are here.

    Raises:
        DatasetScriptError: It holds a dataset script.
        CardError: Its card can't be used.
        HubError: The Hub refuses or can't be reached.
    """
    paths = [file.path for file in repo.files()]
    there = set(paths)
    again = refetch and not repo.client.offline
    namespace, _, name = repo.repo_id.rpartition("/")
    _refuse_script(name, paths, repo.repo_id)

    def read(path: str) -> str:
        return repo.read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace") if path in there else ""

    from gristmill.prepared.remote_files import files_of_repo

    return Place(
        dataset=name,
        key=f"{namespace}___{name}" if namespace else name,
        source=repo.repo_id,
        where=f"{repo.repo_id} at {repo.commit[:12]}",
        base=f"hf://datasets/{repo.repo_id}@{repo.commit}",
        paths=tuple(paths),
        describe=lambda members: files_of_repo(repo, members),
        read=read,
        revision=repo.commit,
        card=_read_card(read, repo.repo_id, lenient),
        fetch=partial(_fetch_together, repo, again),
    )


def _fetch_together(repo: PinnedRepo, again: bool, files: Sequence[DataFile]) -> list[Path]:
    return repo.download_many([file.name for file in files], again)


def bucket_place(bucket: Bucket, lenient: bool = False) -> Place:
    """Looks at a bucket, or a folder of one.

    Args:
        bucket: The bucket.
        lenient: Go on without the card if it can't be used.

    Raises:
        DatasetScriptError: It holds a dataset script.
        CardError: Its card can't be used.
        HubError: The Hub refuses or can't be reached.
    """
    from gristmill.hub.buckets import version_of
    from gristmill.prepared.remote_files import files_of_bucket

    offset = len(bucket.folder) + 1 if bucket.folder else 0
    files = bucket.files()
    listed = {file.path[offset:]: file for file in files}
    name = bucket.name.rpartition("/")[2]
    _refuse_script(name, list(listed), bucket.name)

    def read(path: str) -> str:
        return _read_text(bucket.download(listed[path])) if path in listed else ""

    return Place(
        dataset=name,
        key=bucket.name.replace("/", "___"),
        source=bucket.name,
        where=bucket.name,
        base=f"hf://{bucket.name}",
        paths=tuple(listed),
        describe=lambda members: files_of_bucket(bucket, {path: listed[path] for path in members}),
        read=read,
        revision=version_of(files),
        card=_read_card(read, bucket.name, lenient),
    )


def _refuse_script(name: str, paths: Sequence[str], where: str) -> None:
    if f"{name}.py" in paths:
        raise DatasetScriptError.from_script(f"{name}.py", where)


def _refuse_saved(folder: Path, paths: Sequence[str]) -> None:
    for mark in (settings.DATASET_STATE_JSON_FILENAME, settings.DATASETDICT_JSON_FILENAME):
        if mark in paths and (mark != "state.json" or settings.DATASET_INFO_FILENAME in paths):
            expected = (
                "a folder of data files; this one was made by save_to_disk: open it with load_from_disk"
            )
            raise InvalidArgumentError.from_value("path", str(folder), expected)


def _read_text(path: Path) -> str:
    with reading(path, "text"), path.open("rb") as file:
        return file.read(LARGEST_TEXT).decode("utf-8", "replace")


def _read_card(read: Callable[[str], str], where: str, lenient: bool) -> DatasetCard:
    try:
        text, more = read(settings.REPOCARD_FILENAME), read(settings.REPOYAML_FILENAME)
        return parse_card(text, f"{where}/{settings.REPOCARD_FILENAME}", more)
    except CardError as error:
        if not lenient:
            raise
        _log.warning("the card is not used: %s", error)
        return DatasetCard()
