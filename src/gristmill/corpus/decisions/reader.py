"""Reads a source from a Hub: one commit, its card, the files of its configs and splits, and rows out of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from gristmill.corpus.decisions.sources.base import Row, Source
from gristmill.errors import (
    ColumnNotFoundError,
    ConfigNotFoundError,
    EntryNotFoundError,
    FileFormatError,
    HubError,
    SplitNotFoundError,
    suggest,
)
from gristmill.files.data_files import DataConfig, resolve_configs
from gristmill.formats.registry import format_of_path
from gristmill.formats.source import SourceFile
from gristmill.hub.card import DatasetCard, parse_card
from gristmill.hub.client import HubClient, PinnedRepo
from gristmill.logging import get_logger

LARGEST_CARD = 5_000_000
"""Bytes of a README beyond which it is refused."""

_SHIPPED_TOKENIZERS = {"openai-community/gpt2": "demo/hub/models/openai-community/gpt2/tokenizer.json"}
_log = get_logger(__name__)


def read_card(pinned: PinnedRepo) -> DatasetCard:
    """Reads the card of a pinned repository; one without a README says nothing.

    Args:
        pinned: The repository at its commit.

    Raises:
        CardError: The card can't be used.
        HubError: It could not be fetched.
    """
    try:
        raw = pinned.read_bytes("README.md", LARGEST_CARD)
    except EntryNotFoundError:
        return DatasetCard()
    return parse_card(raw.decode("utf-8", "replace"), f"{pinned.repo_id}/README.md")


class HubReader:
    """Gives a source what it asks for, all of it at the commit that was pinned before.

    Attributes:
        outside: Files that belong to no pinned repository, with their SHA-256: name -> hex digest.
    """

    def __init__(self, client: HubClient, source: Source, pinned: PinnedRepo, card: DatasetCard, seed: int):
        self._client = client
        self._source = source
        self._pinned = pinned
        self._card = card
        self._seed = seed
        self.outside: dict[str, str] = {}

    @property
    def seed(self) -> int:
        """Seed of everything a source draws."""
        return self._seed

    def rows(self, *columns: str, optional: Sequence[str] = ()) -> Iterator[Row]:
        """Yields the rows of the source's configs and splits, in order, with only these columns.

        Args:
            *columns: Columns that every file must have.
            optional: Columns that are None in the rows of files that lack them.
        """
        chosen = [(config, path) for config, paths in self._files() for path in paths]
        # All at once first: downloads overlap, and a source that can't be had fails before any work is done on it.
        self._pinned.download_many([path for _, path in chosen])
        for config, path in chosen:
            local = self._pinned.download(path)
            yield from _read_rows(local, self._name(path), columns, optional, config.options)

    def file(self, path: str) -> Path:
        """Gives a file of the repository as a local file."""
        return self._pinned.download(path)

    def file_rows(self, path: str, *columns: str) -> Iterator[Row]:
        """Yields the rows of one file of the repository that belongs to no split."""
        return _read_rows(self._pinned.download(path), self._name(path), columns)

    def github_rows(self, repo: str, revision: str, path: str, *columns: str) -> Iterator[Row]:
        """Yields the rows of one data file of a GitHub repository."""
        local = self._client.github_file(repo, revision, path)
        name = f"github.com/{repo}/{revision}/{path}"
        # A branch of a GitHub repository is not a commit; the digest says which bytes were read.
        with local.open("rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        self.outside[name] = digest.hexdigest()
        return _read_rows(local, name, columns)

    def tokenizer_file(self, repo: str) -> Path:
        """Gives a model's ``tokenizer.json``: the Hub's, or the copy shipped with Gristmill where there is one."""
        try:
            return self._client.pin(repo, repo_type="model").download("tokenizer.json")
        except HubError as error:
            if repo not in _SHIPPED_TOKENIZERS:
                raise
            _log.info("%s: %s; the copy that ships with Gristmill is used", repo, error)
            return Path(str(package_files("gristmill").joinpath(_SHIPPED_TOKENIZERS[repo])))

    def _name(self, path: str) -> str:
        return f"{self._pinned.repo_id}/{path}"

    def _files(self) -> list[tuple[DataConfig, tuple[str, ...]]]:
        where = f"{self._pinned.repo_id} at {self._pinned.commit[:7]}"
        paths = [file.path for file in self._pinned.files()]
        configs = resolve_configs(paths, self._card.configs or None, where=where)
        chosen = []
        for name in self._source.configs or (None,):
            config = _pick(configs, name, where)
            for split in self._source.splits:
                if split not in config.splits:
                    raise SplitNotFoundError.from_name(split, config.splits, f"{where}, {config.name}")
                chosen.append((config, config.splits[split]))
        return chosen


def _read_rows(
    local: Path,
    name: str,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    format = format_of_path(name)
    if format is None:
        raise FileFormatError.at("no reader is known for this kind of file", file=name)
    file = SourceFile(local, name)
    empty = True
    for _, batch in format.read(file, options=options or None, columns=[*columns, *optional]):
        if empty:
            _check_columns(name, columns, batch.schema.names)
        empty = False
        lacking = dict.fromkeys(set(optional) - set(batch.schema.names))
        for row in batch.to_pylist():
            yield {**row, **lacking}
    if empty:
        # A file without rows, or one that has none of the columns: only its schema tells (an empty text has none).
        _check_columns(name, columns, format.infer_schema(file, options or None).names or columns)


def _check_columns(name: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    for column in wanted:
        if column not in found:
            raise ColumnNotFoundError(f"{name}: {ColumnNotFoundError.from_name(column, found)}")


def _pick(configs: Sequence[DataConfig], name: str | None, where: str) -> DataConfig:
    named = [config for config in configs if config.name == name]
    default = [config for config in configs if config.default] or (list(configs) if len(configs) == 1 else [])
    found = default if name is None else named
    if not found:
        wanted = "no default config" if name is None else f'no config "{name}"'
        raise ConfigNotFoundError(
            f"{where}: there is {wanted}. {suggest(name or '', (c.name for c in configs))}"
        )
    return found[0]
