"""Tables to the files of one split: in this process or in workers, cut at a size, brought to one schema at the end.

Each share of a split's work (all of it, or what one worker gets of the lists in ``gen_kwargs``) writes Arrow files and,
when it is done, a small file that lists them. Then the files get their final names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from gristmill.engine import CONVERTING, Context, GrowingTable, Task, run_tasks
from gristmill.engine.growing import join_files
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.columnless import with_metadata
from gristmill.features.convert import to_arrow_type
from gristmill.features.mixed import json_for_empty
from gristmill.files.borders import writing
from gristmill.formats.registry import get_format
from gristmill.naming import filenames_for_dataset_split
from gristmill.table.arrow_file import ArrowFileWriter, open_arrow
from gristmill.table.making import describe

__all__ = ["Part", "Parts", "Tables", "name_files", "settle", "share", "write_parts"]


class Tables(Protocol):
    """Makes the tables of one share of a split; sent to worker processes."""

    def __call__(self, gen_kwargs: Mapping[str, Any], advance: Callable[[int], object]) -> Iterator[pa.Table]:
        """Yields tables, telling of rows as they are made."""


@dataclass(frozen=True)
class Part:
    """An Arrow file that was written: where it is, its rows, its bytes in memory."""

    path: Path
    rows: int
    size: int


@dataclass(frozen=True)
class Parts:
    """What the shares of one split gave.

    Attributes:
        files: The Arrow files, in order.
        share_rows: Rows of each share.
        hints: What the first tables said of their columns, where features were not given.
    """

    files: list[Part]
    share_rows: list[int]
    hints: Features


def share(gen_kwargs: Mapping[str, Any], num_proc: int | None) -> list[dict[str, Any]]:
    """Divides the lists among a split's arguments, so that each worker gets its part of each.

    Args:
        gen_kwargs: The arguments.
        num_proc: Worker processes; None, 0 or 1 gives all to one.

    Raises:
        InvalidArgumentError: Lists differ in length, so that nobody knows what belongs together.

    Example:
        >>> share({"files": ["a", "b", "c"], "lang": "en"}, 2)
        [{'files': ['a', 'b'], 'lang': 'en'}, {'files': ['c'], 'lang': 'en'}]
    """
    workers = check_num_proc(num_proc)
    lengths = {len(value) for value in gen_kwargs.values() if isinstance(value, list)}
    if workers is None or not lengths:
        return [dict(gen_kwargs)]
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"With num_proc, the lists in gen_kwargs must have the same length; they have {sorted(lengths)}. Pass what "
            "is not to be divided as a tuple."
        )
    [length] = lengths
    count = max(1, min(workers, length))
    small, more = divmod(length, count)
    cuts = [number * small + min(number, more) for number in range(count + 1)]
    return [
        {key: value[start:stop] if isinstance(value, list) else value for key, value in gen_kwargs.items()}
        for start, stop in pairwise(cuts)
    ]


def write_parts(
    tables: Tables,
    shares: Sequence[dict[str, Any]],
    stem: Path,
    features: Features | None,
    max_bytes: int,
    num_proc: int | None,
) -> Parts:
    """Writes the tables of one split as Arrow files.

    Args:
        tables: Makes the tables of one share.
        shares: From `share`.
        stem: What the names of the files begin with.
        features: The columns; None keeps what comes, for `settle`.
        max_bytes: A new file begins at this size in memory.
        num_proc: Worker processes, if there are several shares.

    Raises:
        SchemaConflictError: Tables disagree on the type of a column.
        CastError: A value does not fit.
        FileError: Writing failed.
    """
    outputs = run_tasks(
        _Share(tables, features, max_bytes),
        [
            Task(f"share {number} of {stem.name}", stem.with_name(f"{stem.name}-{number:05d}.json"), one)
            for number, one in enumerate(shares)
        ],
        num_proc=num_proc if len(shares) > 1 else None,
        description=f"Generating {stem.name}",
        reuse=False,
        imports=CONVERTING,
    )
    parts: list[Part] = []
    share_rows, hints = [], Features()
    for output in outputs:
        listed = json.loads(output.read_text(encoding="utf-8"))
        output.unlink()
        parts += [Part(stem.with_name(name), rows, size) for name, rows, size in listed["files"]]
        share_rows.append(sum(rows for _, rows, _ in listed["files"]))
        hints = Features({**Features.from_dict(listed["hints"]), **hints})
    return Parts(parts, share_rows, hints)


def settle(parts: Sequence[Parts]) -> Features:
    """Brings the files of all splits to one schema, rewriting those that are narrower.

    Args:
        parts: Those of each split.

    Returns:
        The features of all of them.

    Raises:
        SchemaConflictError: Files disagree on the type of a column.
    """
    filled = [file for part in parts for file in part.files if file.rows]
    hints = Features({name: feature for part in reversed(parts) for name, feature in part.hints.items()})
    if not filled:
        return hints
    table = join_files([file.path for file in filled], [file.rows for file in filled], final=json_for_empty)
    found = Features.from_arrow_schema(table.schema)
    for name, feature in hints.items():
        if name in found and to_arrow_type(feature) == table.schema.field(name).type:
            found[name] = feature
    return found


def name_files(
    parts: Parts, features: Features, folder: Path, name: str, split: str, suffix: str, num_proc: int | None
) -> list[int]:
    """Gives a split's files their final names, and the form asked for.

    Args:
        parts: The files.
        features: Their columns.
        folder: Where they go.
        name: The dataset's name.
        split: The split's name.
        suffix: ``"arrow"`` or ``"parquet"``.
        num_proc: Worker processes, to make Parquet of several files.

    Returns:
        The rows of each file; there is at least one.

    Raises:
        FileError: Writing failed.
    """
    files = parts.files
    if not files:
        files = [Part(folder / f"{split}-empty.arrow", 0, 0)]
        with ArrowFileWriter(files[0].path, features.arrow_schema, durable=False):
            pass
    lengths = [part.rows for part in files]
    names = filenames_for_dataset_split(
        str(folder), name, split, suffix, lengths if len(lengths) > 1 else None
    )
    if suffix == "parquet":
        tasks = [Task(final, Path(final), part.path) for part, final in zip(files, names, strict=True)]
        run_tasks(_Convert(features), tasks, num_proc=num_proc, description=f"Writing {split}", unit="files")
        return lengths
    for part, final in zip(files, names, strict=True):
        with writing(final):
            part.path.replace(final)
    return lengths


@dataclass(frozen=True)
class _Share:
    """Writes one share as Arrow files; the engine's function of its arguments."""

    tables: Tables
    features: Features | None
    max_bytes: int

    def __call__(self, argument: dict[str, Any], output: Path, context: Context) -> None:
        shards = _Shards(output.with_suffix(""), self.features, self.max_bytes)
        try:
            for table in self.tables(argument, context.advance):
                shards.write(table)
            shards.close()
        except BaseException as error:
            shards.abandon(error)
            raise
        text = json.dumps({"files": shards.done, "hints": shards.hints.to_dict()})
        with writing(output):
            output.write_text(text, encoding="utf-8")


class _Shards:
    """Arrow files of bounded size, one after another."""

    def __init__(self, stem: Path, features: Features | None, max_bytes: int) -> None:
        self._stem = stem
        self._wanted = features
        self._max_bytes = max_bytes
        self._open: ArrowFileWriter | GrowingTable | None = None
        self._path = stem
        self._rows = self._size = 0
        self.done: list[tuple[str, int, int]] = []
        self.hints = Features()

    def write(self, table: pa.Table) -> None:
        table, features = describe(table, self._wanted)
        if self._wanted is None:
            self.hints = Features({**features, **self.hints})
        if self._open is not None and self._size + table.nbytes > self._max_bytes and self._rows:
            self.close()
        # One table may be larger than a file should be.
        for piece in _pieces(table, self._max_bytes):
            if self._open is not None and self._size >= self._max_bytes:
                self.close()
            self._append(piece)

    def _append(self, table: pa.Table) -> None:
        if self._open is None:
            self._path = self._stem.with_name(f"{self._stem.name}-{len(self.done):05d}.arrow")
            if self._wanted is None:
                self._open = GrowingTable(self._path).__enter__()
            else:
                self._open = ArrowFileWriter(self._path, self._wanted.arrow_schema, durable=False).__enter__()
        if isinstance(self._open, GrowingTable):
            self._open.write(table)
        else:
            self._open.write_table(with_metadata(table, self._open.schema.metadata))
        self._rows += table.num_rows
        self._size += table.nbytes

    def close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.__exit__(None, None, None)
            self.done.append((self._path.name, self._rows, self._size))
            self._rows = self._size = 0

    def abandon(self, error: BaseException) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.__exit__(type(error), error, error.__traceback__)


def _pieces(table: pa.Table, most: int) -> Iterator[pa.Table]:
    count = -(-table.nbytes // most) if table.num_columns else 1
    if count <= 1 or table.num_rows <= 1:
        yield table
        return
    rows = max(1, table.num_rows // count)
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


@dataclass(frozen=True)
class _Convert:
    """Writes an Arrow file as Parquet, and deletes it."""

    features: Features

    def __call__(self, argument: Path, output: Path, context: Context) -> None:
        schema = self.features.arrow_schema
        table = with_metadata(open_arrow(argument), schema.metadata)
        get_format("parquet").write(iter(table.to_batches()), output, schema=schema)
        argument.unlink()
        context.advance(1)
