"""Arrow files that are used where they lie: looked through once, then mapped like the cache's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from gristmill.features import Features
from gristmill.features.cast import cast_table
from gristmill.features.columnless import with_metadata
from gristmill.formats.arrow import is_mappable
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile
from gristmill.prepared.source import SplitSource
from gristmill.prepared.write_group import Job, Run, same_columns
from gristmill.prepared.write_split import WrittenSplit, origins_of, settle_features
from gristmill.progress import progress
from gristmill.table.arrow_file import open_arrow

__all__ = ["use_in_place"]


def use_in_place(source: SplitSource, paths: Sequence[Path], folder: Path) -> WrittenSplit | None:
    """Looks through the Arrow files of a split, if they can serve as the prepared form as they are.

    That takes files that can be mapped, that all have the columns of the split with their types, in order, and of which
    all rows and columns are wanted.

    Args:
        source: The split.
        paths: Where its files are on this machine.
        folder: The folder of the split.

    Returns:
        What `write_split` would say, or None if the rows have to be copied.

    Raises:
        FileFormatError: A file is damaged.
        SchemaConflictError: Two files disagree on a column's type.
        CastError: A value is not one of those its column may have.
    """
    wanted_whole = source.columns is None and source.filters is None
    if source.format != "arrow" or not wanted_whole or not all(map(is_mappable, paths)):
        return None
    format = get_format(source.format)
    files = [SourceFile(path, file.name) for file, path in zip(source.files, paths, strict=True)]
    with progress(f"Checking {source.split}") as bar:
        job = Job(source, format, format.parse_options(source.options), folder, bar)
        features = settle_features(job, files) if source.features is None else source.features
        rows, size = [], 0
        for file in files:
            table = with_columns(open_arrow(file.path, check="values"), features.arrow_schema)
            if table is None:
                return None
            _check_values(table, features, file)
            rows.append(table.num_rows)
            size += table.nbytes
            bar.update(table.num_rows)
    runs = [[Run(0, count)] if count else [] for count in rows]
    return WrittenSplit(features, list(paths), rows, size, rows, origins_of(source, runs), in_place=True)


def with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """Gives a table the exact schema of features without touching a value, or None if that can't be.

    Args:
        table: The rows of an Arrow file; only whether columns may be null, and metadata, may differ.
        schema: `arrow_schema` of the features of the split.
    """
    if table.schema.equals(schema, check_metadata=True):
        return table
    if table.schema.names != schema.names or table.schema.types != schema.types:
        return None
    if not schema.names:
        return with_metadata(table, schema.metadata)
    return pa.Table.from_arrays(table.columns, schema=schema)


def _check_values(table: pa.Table, features: Features, file: SourceFile) -> None:
    """Checks what types do not say, such as the range of class labels; nothing is kept of what that makes."""
    if same_columns(features, Features.from_arrow_schema(features.arrow_schema.remove_metadata())):
        return
    row = 0
    for batch in table.to_batches():
        cast_table(pa.Table.from_batches([batch]), features, file=file.name, first_row=row)
        row += batch.num_rows
