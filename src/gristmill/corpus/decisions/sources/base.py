"""What a source is, and what it may ask for while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, Protocol

from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import Record, broken
from gristmill.errors import RecordError

Row = Mapping[str, Any]
P = ParamSpec("P")


class SourceReader(Protocol):
    """What a source may ask for while it is read: rows and files of its repository, at one fixed commit."""

    @property
    def seed(self) -> int:
        """Seed of everything a source draws."""

    def rows(self, *columns: str, optional: Sequence[str] = ()) -> Iterator[Row]:
        """Yields the rows of the source's configs and splits, in order, with only these columns.

        Args:
            *columns: Columns that every file must have.
            optional: Columns that are None in the rows of files that lack them.
        """

    def file(self, path: str) -> Path:
        """Gives a file of the repository as a local file."""

    def file_rows(self, path: str, *columns: str) -> Iterator[Row]:
        """Yields the rows of one file of the repository that belongs to no split."""

    def github_rows(self, repo: str, revision: str, path: str, *columns: str) -> Iterator[Row]:
        """Yields the rows of one data file of a GitHub repository."""

    def tokenizer_file(self, repo: str) -> Path:
        """Gives the ``tokenizer.json`` of a model repository as a local file."""


@dataclass(frozen=True)
class Source:
    """A dataset that becomes decision records.

    Attributes:
        name: What it is called in files and on the command line.
        repo: The Hub repository, ``owner/name``.
        load: Yields one outcome a decision: a record, or the error that says why there is none. Gets the reader.
        configs: Configs to read, in order; empty means the default one.
        splits: Splits to read of each config, in order.
        revision: Branch, tag or commit; pinned to a commit before anything is read.
        test_only: A benchmark: every record goes to the test split and is never trained on.
    """

    name: str
    repo: str
    load: Callable[[SourceReader], Iterator[Outcome]]
    configs: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train",)
    revision: str = "main"
    test_only: bool = False


def text_of(row: Row, column: str) -> str:
    """Gives a column's text, or breaks the rule that a row must have it.

    Raises:
        RecordError: The value is not text.
    """
    value = row.get(column)
    if not isinstance(value, str):
        raise broken("malformed_row", f"{column} is {value.__class__.__name__}, not text")
    return value


def attempt(make: Callable[P, Record], *args: P.args, **kwargs: P.kwargs) -> Outcome:
    """Gives the record that `make` makes, or the error it raises: one bad row stops nothing."""
    try:
        return make(*args, **kwargs)
    except RecordError as error:
        return error
