"""Writing rows as files of other formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from gristmill.dataset.columns import schema_metadata
from gristmill.errors import NotThereYetError
from gristmill.features import Features
from gristmill.formats.registry import get_format
from gristmill.table.view import View

_ROWS = 10_000
_BYTES = 16 << 20


def write_rows(
    view: View,
    features: Features,
    format: str,
    target: Any,
    storage_options: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> int:
    """Writes rows with one of the formats' writers, a bounded number at a time.

    Args:
        view: The rows.
        features: The feature of each column; kept in the file where the format can.
        format: ``"parquet"``, ``"json"`` or ``"csv"``.
        target: Path, or an open binary file.
        storage_options: Options of a remote file system, still to come.
        options: Options of the format's writer.

    Returns:
        Bytes written.

    Raises:
        NotThereYetError: The target is on a remote file system.
        InvalidArgumentError: An option is not known.
        FileError: The file can't be written.
    """
    if storage_options or (isinstance(target, str) and "://" in target):
        raise NotThereYetError.from_name(f"Dataset.to_{format} to a remote file system")
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    schema = view.schema.with_metadata(schema_metadata(features))
    return get_format(format).write(_batches(view, schema), target, schema=schema, **options)


def _batches(view: View, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in view.blocks(view.block_rows(_ROWS, _BYTES)):
        yield from table.replace_schema_metadata(schema.metadata).to_batches()
