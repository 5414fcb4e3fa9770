"""Files that users name, or that a dataset consists of, as sources of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.features import Features
from gristmill.formats.registry import get_format
from gristmill.iterable.file_columns import SCHEMA_IN_FILE
from gristmill.iterable.file_plan import StreamFile
from gristmill.iterable.files import Files
from gristmill.iterable.node import Node
from gristmill.prepared.archives import enter_archives
from gristmill.prepared.columns import SplitColumns
from gristmill.prepared.named_files import files_by_split
from gristmill.prepared.parts import streamed_file
from gristmill.prepared.resolve import Request, from_format
from gristmill.prepared.source import DataFile, SplitSource

_NAMED_BY_FEATURES = {"text": "text", "xml": "xml"}
"""The column of formats that have one, which their readers call what features call it."""


def files_of_source(source: SplitSource, skips: bool = False) -> Node:
    """Makes the source of a split's files.

    Columns are known at once if the user or the card says so, or the files are here and begin or end with a schema. The
    types of any others are settled by the head of each file.

    Args:
        source: The split.
        skips: Leave out rows that can't be read, and tell of them.

    Raises:
        SchemaConflictError: Columns of a name have no common type.
        ColumnNotFoundError: A column asked for is not among those that are known.
        CastError: Files have columns that the card does not name.
        FileFormatError: A schema can't be read, or an archive is damaged.
    """
    source = enter_archives(source)
    files = [
        StreamFile(
            file.name,
            file.path,
            partial(_fetched, source, file),
            partial(streamed_file, file, source.format, source.options),
            file.size,
        )
        for file in source.files
    ]
    return Files.of_files(
        source.format,
        files,
        source.features if source.features is not None else _found(source, files),
        options=source.options,
        columns=source.columns,
        filters=source.filters,
        skips=skips,
    )


def _fetched(source: SplitSource, file: DataFile) -> Path:
    [path] = source.fetch([file])
    return path


def _found(source: SplitSource, files: Sequence[StreamFile]) -> Features | None:
    if source.format not in SCHEMA_IN_FILE or not files or any(file.path is None for file in files):
        card = source.card_features
        if card and source.format in _NAMED_BY_FEATURES and not source.options.get("record") and files:
            # The name that a user gives the column with `features=`; the card's is no such name.
            columns = SplitColumns(card, order=source.columns)
            columns.learn(pa.schema({_NAMED_BY_FEATURES[source.format]: pa.string()}), files[0].name)
        # A column that the card knows nothing of is looked for in the files.
        return card if card is not None and set(source.columns or ()) <= set(card) else None
    format = get_format(source.format)
    columns = SplitColumns(source.card_features, format.clash(source.options), source.columns)
    for file in files:
        columns.learn(format.infer_schema(file.local(), source.options), file.name)
    return columns.features()


@dataclass(frozen=True)
class Opened:
    """The source of a split, and what is known about it."""

    node: Node
    source: SplitSource


def open_files(
    format: str,
    paths: Any,
    *,
    split: str | None = None,
    features: Features | None = None,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    options: Mapping[str, Any] | None = None,
    skips: bool = False,
) -> dict[str, Opened]:
    """Finds files of a format that a user names.

    Args:
        format: Name of the format.
        paths: A path, pattern or URL, several, or a mapping of split to either.
        split: What to call the rows of paths that are no mapping; of a mapping, the split to read.
        features: What the columns are.
        columns: Only these columns.
        filters: Only the rows that pass.
        options: Options of the format's reader.
        skips: Leave out rows that can't be read, and tell of them.

    Returns:
        Split -> its source.

    Raises:
        DataFilesNotFoundError: A path means nothing.
        InvalidArgumentError: An option is not known, or a mapping has no such split.
    """
    get_format(format).parse_options(options)
    request = Request(
        data_files=files_by_split(paths, split),
        options=dict(options or {}),
        columns=None if columns is None else tuple(columns),
        filters=filters,
        features=None if features is None else Features(features),
        streaming=True,
    )
    resolved = from_format(format, request)
    return {name: Opened(files_of_source(source, skips), source) for name, source in resolved.splits.items()}
