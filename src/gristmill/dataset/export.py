"""Writing rows as files of other formats."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from gristmill.features import Features
from gristmill.features.schema import schema_metadata
from gristmill.files.remote import local_path, uploaded_file
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
        target: Path, URL of another file system, or an open binary file.
        storage_options: Options of that file system.
        options: Options of the format's writer.

    Returns:
        Bytes written.

    Raises:
        InvalidArgumentError: An option is not known.
        FileError: The file can't be written.
    """
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    schema = view.schema.with_metadata(schema_metadata(features))
    with contextlib.ExitStack() as stack:
        if isinstance(target, str | os.PathLike):
            local = local_path(target)
            target = (
                stack.enter_context(uploaded_file(str(target), storage_options)) if local is None else local
            )
        return get_format(format).write(_batches(view, schema), target, schema=schema, **options)


def _batches(view: View, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in view.blocks(view.block_rows(_ROWS, _BYTES)):
        yield from table.replace_schema_metadata(schema.metadata).to_batches()
