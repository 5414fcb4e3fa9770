"""A stream read to its end: into objects in memory, or written to files and databases as it comes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.engine import GrowingTable
from gristmill.features import Features
from gristmill.features.columnless import with_metadata, without_rows
from gristmill.features.convert import to_arrow_type
from gristmill.features.mixed import json_for_empty
from gristmill.fingerprint import generate_random_fingerprint, get_temporary_cache_files_directory
from gristmill.formats.exporting import check_target, opened_target
from gristmill.formats.registry import get_writer
from gristmill.formatting import FormatSpec
from gristmill.formatting.as_polars import to_frame
from gristmill.iterable.block import Block, Columns, join
from gristmill.iterable.seen import batch_in
from gristmill.iterable.walking import Walk

_ROWS = 10_000


def read_whole(walk: Walk) -> Block:
    """Reads all rows into memory."""
    blocks = list(walk.blocks(_ROWS))
    if blocks:
        return join(blocks)
    features = walk.node.features
    return Columns({}, 0) if features is None else Columns.of_table(_empty(features), features)


def read_as(walk: Walk, type: str | None) -> Any:
    """Reads all rows into memory as one batch in a format."""
    return batch_in(read_whole(walk), FormatSpec(type))


def iter_polars(walk: Walk, size: int, overrides: Mapping[str, Any] | None, rechunk: bool) -> Iterator[Any]:
    """Gives frames of polars; see `to_polars`."""
    for block in walk.blocks(size):
        yield to_polars(block, overrides, rechunk)


def to_polars(block: Block, overrides: Mapping[str, Any] | None, rechunk: bool) -> Any:
    """Gives a block as a polars frame.

    Args:
        block: The rows.
        overrides: Types of columns in polars.
        rechunk: Join the pieces of each column.

    Raises:
        MissingDependencyError: polars is not installed.
    """
    return to_frame(block.table()[0], overrides, rechunk)


@contextlib.contextmanager
def _settled(walk: Walk, size: int) -> Iterator[tuple[pa.Schema, Iterator[pa.Table]]]:
    """Gives the rows as tables of one schema.

    Where the columns are known, rows go through as they come. Else their types are only known at the end: the rows go
    to a file first, unless they are few.
    """
    if walk.node.features is not None:
        yield walk.node.features.arrow_schema, _tables(walk, walk.node.features, size)
        return
    folder = Path(get_temporary_cache_files_directory())
    overflow = folder / f"stream-{generate_random_fingerprint()}.arrow"
    described: dict[str, Any] = {}
    try:
        with GrowingTable(None, overflow, final=json_for_empty) as growing:
            for block in walk.blocks(size):
                table, features = block.table()
                described.update(features)
                growing.write(table)
        whole = growing.table()
        yield _schema(whole.schema, described), iter(whole.to_batches(size))
    finally:
        overflow.unlink(missing_ok=True)


def _schema(schema: pa.Schema, described: Mapping[str, Any]) -> pa.Schema:
    features = Features.from_arrow_schema(schema)
    for field in schema:
        if to_arrow_type(described[field.name]) == field.type:
            features[field.name] = described[field.name]
    return schema.with_metadata(features.arrow_schema.metadata)


def _tables(walk: Walk, features: Features, size: int) -> Iterator[pa.Table]:
    schema = features.arrow_schema
    for block in walk.blocks(size):
        yield with_metadata(block.table(features)[0], schema.metadata)


def _empty(features: Features) -> pa.Table:
    return without_rows(features.arrow_schema.remove_metadata())


def write_stream(
    walk: Walk,
    format: str,
    target: Any,
    batch_size: int | None,
    storage_options: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> int:
    """Writes all rows with one of the formats' writers.

    Args:
        walk: The rows.
        format: ``"parquet"``, ``"json"`` or ``"csv"``.
        target: Path, URL of another file system, or an open binary file.
        batch_size: Rows written at once.
        storage_options: Options of another file system.
        options: Options of the format's writer.

    Returns:
        Bytes written.

    Raises:
        InvalidArgumentError: An option is not known.
        FileError: The file can't be written.
    """
    target = check_target(target)
    with contextlib.closing(walk), _settled(walk, batch_size or _ROWS) as (schema, tables):
        batches = (
            batch
            for table in tables
            for batch in (table.to_batches() if isinstance(table, pa.Table) else [table])
        )
        with opened_target(target, storage_options) as opened:
            return get_writer(format)(batches, opened, schema=schema, **options)


def write_database(
    walk: Walk, name: str, con: Any, batch_size: int | None, options: Mapping[str, Any]
) -> int:
    """Writes all rows to a table of a database; see `Dataset.to_sql`."""
    from gristmill.formats.sql_write import write_sql

    with contextlib.closing(walk), _settled(walk, batch_size or 1000) as (schema, tables):

        def pieces(_: int) -> Iterable[pa.Table]:
            return (
                table if isinstance(table, pa.Table) else pa.Table.from_batches([table]) for table in tables
            )

        return write_sql(pieces, schema, name, con, batch_size, **options)
