"""Tables that come in piece by piece and whose columns may turn out wider than the first pieces said.

A column of nulls that later holds text, integers that later are joined by floats, structs with new keys: pieces are
kept in the schema they came in, and brought to the widest one at the end, once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from typing_extensions import Self

from gristmill.errors import CastError
from gristmill.features.cast import cast_array
from gristmill.features.columnless import concat_tables, with_metadata, without_columns, without_rows
from gristmill.features.convert import from_arrow_type
from gristmill.features.infer import Clash, refuse, unify_schemas
from gristmill.features.mixed import widen_array
from gristmill.features.visit import has_extension
from gristmill.files.atomic import temporary_name
from gristmill.files.borders import writing
from gristmill.table.arrow_file import ArrowFileWriter, open_arrow

_IN_MEMORY = 128 << 20
"""Bytes kept in memory before a table without a name of its own goes to a file."""
_FILLED_AT_ONCE = 10_000


Fill = Callable[[str, int, int], "pa.ChunkedArray | None"]
"""Gives the values of a column that was not written for some rows (name, first row, row to stop before)."""

Final = Callable[[pa.Schema], pa.Schema]
"""Gives the schema to end with, from that which holds all rows."""


def widen(table: pa.Table, schema: pa.Schema, fill: Fill | None = None, start: int = 0) -> pa.Table:
    """Brings a table to a schema that is at least as wide: missing columns are filled, narrower ones are cast.

    Args:
        table: The table.
        schema: A schema that `unify_schemas` made of its schema and others.
        fill: Gives the values of missing columns; nulls where it gives None, or is left out.
        start: The row of the table's first row, for `fill`.

    Raises:
        CastError: A value does not fit after all.

    Example:
        >>> widen(pa.table({"a": pa.nulls(1)}), pa.schema({"a": pa.int64(), "b": pa.string()})).schema.types
        [DataType(int64), DataType(string)]
    """
    if table.schema.equals(schema, check_metadata=True):
        return table
    columns = []
    for field in schema:
        if field.name in table.column_names:
            column = table.column(field.name)
        else:
            found = fill(field.name, start, start + table.num_rows) if fill is not None else None
            column = pa.chunked_array([pa.nulls(table.num_rows, field.type)]) if found is None else found
        if column.type != field.type and has_extension(field.type):
            column = widen_array(column, field.type)
        elif column.type != field.type:
            column = cast_array(column, from_arrow_type(field.type), column=field.name)
            if column.type != field.type:
                raise CastError.at(f"can't be brought to the type {field.type}", column=field.name)
        columns.append(column)
    if not columns:
        return table
    return pa.Table.from_arrays(columns, schema=schema)


class GrowingTable:
    """Collects tables whose schema may widen, and ends as one Arrow file (or one table in memory).

    Args:
        path: The file to end as; None keeps the rows in memory, and moves them to `overflow` when they are many.
        overflow: File for a table without a path that has grown too large for memory, or what names it then; None means
            never.
        fill: Gives the values of columns that were not written for some rows; see `widen`.
        clash: What two types become that have no common type; see `unify_types`.
        final: Gives the schema to end with, from that which holds all rows; the same if left out.

    Attributes:
        schema: The schema so far; None before the first table.
        num_rows: Rows so far.

    Example:
        >>> with GrowingTable() as growing:
        ...     growing.write(pa.table({"a": pa.nulls(1)}))
        ...     growing.write(pa.table({"a": ["x"]}))
        >>> growing.table().to_pydict()
        {'a': [None, 'x']}
    """

    def __init__(
        self,
        path: Path | None = None,
        overflow: Path | Callable[[], Path] | None = None,
        fill: Fill | None = None,
        clash: Clash = refuse,
        final: Final | None = None,
    ) -> None:
        self.path = path
        self.schema: pa.Schema | None = None
        self.num_rows = 0
        self.metadata: dict[bytes, bytes] = {}
        self._overflow = overflow
        self._fill = fill
        self._clash = clash
        self._final = final
        self._tables: list[pa.Table] = []
        self._bytes = 0
        self._segments: list[tuple[Path, pa.Schema]] = []
        self._writer: ArrowFileWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._writer is not None:
                self._writer.__exit__(kind, error, trace)
                self._writer = None
            if error is None and self.path is not None:
                self._finish()
        finally:
            for segment, _ in self._segments:
                with contextlib.suppress(OSError):
                    segment.unlink(missing_ok=True)

    def write(self, table: pa.Table) -> None:
        """Adds rows.

        Args:
            table: Columns whose types have a common type with those of the tables before.

        Raises:
            SchemaConflictError: A column has a type that no type joins with the ones before.
            FileError: Writing failed.
        """
        if self.schema is None and table.num_columns == 0:
            # Nothing to write yet; if columns come later, these rows are filled then.
            self.num_rows += table.num_rows
            return
        if table.schema.metadata:
            table = with_metadata(table, None)
        if self.schema is None:
            self.schema = table.schema
            blank, self.num_rows = self.num_rows, 0
            for start in range(0, blank, _FILLED_AT_ONCE):
                rows = without_columns(min(_FILLED_AT_ONCE, blank - start))
                self._keep(widen(rows, self.schema, self._fill, start))
        elif not table.schema.equals(self.schema):
            wider = unify_schemas(self.schema, table.schema, row=self.num_rows, clash=self._clash)
            if not wider.equals(self.schema):
                self._close_segment()
                self.schema = wider
            table = widen(table, self.schema, self._fill, self.num_rows)
        self._keep(table)

    def _keep(self, table: pa.Table) -> None:
        self.num_rows += table.num_rows
        if self.path is not None:
            self._write_segment(table)
            return
        self._tables.append(table)
        self._bytes += table.nbytes
        if self._overflow is not None and self._bytes > _IN_MEMORY:
            path = self._overflow() if callable(self._overflow) else self._overflow
            self.path, waiting, self._tables = path, self._tables, []
            for earlier in self._widened(waiting):
                self._write_segment(earlier)

    def _write_segment(self, table: pa.Table) -> None:
        assert self.path is not None
        if self._writer is None:
            segment = temporary_name(self.path)
            schema = table.schema.with_metadata(self.metadata or None)
            self._segments.append((segment, schema))
            self._writer = writer = ArrowFileWriter(segment, schema, durable=False)
            try:
                writer.__enter__()
            except BaseException as error:
                # A signal that ends the process may also come when the file is there already.
                self._writer = None
                writer.__exit__(type(error), error, error.__traceback__)
                raise
        self._writer.write_table(table)

    def _close_segment(self) -> None:
        if self._writer is not None:
            self._writer.__exit__(None, None, None)
            self._writer = None

    def _final_schema(self) -> pa.Schema:
        schema = self.schema or pa.schema([])
        schema = schema if self._final is None else self._final(schema)
        return schema.with_metadata(self.metadata or None)

    def _widened(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        schema, start = self._final_schema(), 0
        for table in tables:
            yield widen(table, schema, self._fill, start)
            start += table.num_rows

    def _finish(self) -> None:
        assert self.path is not None
        schema = self._final_schema()
        if len(self._segments) == 1 and self._segments[0][1].equals(schema, check_metadata=True):
            with writing(self.path):
                self._segments[0][0].replace(self.path)
            return
        with ArrowFileWriter(self.path, schema, durable=False) as writer:
            if not schema.names and self.num_rows:
                writer.write_table(without_columns(self.num_rows, schema.metadata))
            for table in self._widened(open_arrow(segment) for segment, _ in self._segments):
                writer.write_table(table)

    def table(self) -> pa.Table:
        """Gives the rows: opened from the file if there is one, else as they are in memory."""
        if self.path is not None:
            return open_arrow(self.path)
        tables = list(self._widened(self._tables))
        if not tables and self.num_rows:
            return without_columns(self.num_rows, self.metadata or None)
        return concat_tables(tables) if tables else without_rows(self._final_schema())


def join_files(
    paths: Sequence[Path],
    lengths: Sequence[int] | None,
    fill: Fill | None = None,
    clash: Clash = refuse,
    opened: Sequence[pa.Table] | None = None,
    final: Final | None = None,
) -> pa.Table:
    """Brings Arrow files that were made apart to one schema, rewriting those that are narrower.

    Args:
        paths: At least one file, in order.
        lengths: How many rows a file stands for when it has no columns; as many as it has if left out.
        fill: Gives the values of columns that a file lacks; see `widen`.
        clash: What two types become that have no common type; see `unify_types`.
        opened: The files as tables, if they are open already.
        final: Gives the schema to end with, from that which holds all rows; the same if left out.

    Returns:
        All rows as one table over the mapped files.

    Raises:
        SchemaConflictError: Two files have types for a column that no type joins; names the row.
    """
    tables = [open_arrow(path) for path in paths] if opened is None else list(opened)
    metadata = [table.schema.metadata for table in tables]
    if lengths is not None:
        tables = [
            table if table.num_columns else without_columns(length)
            for table, length in zip(tables, lengths, strict=True)
        ]
    schema, row = pa.schema([]), 0
    for table in tables:
        if not table.schema.equals(schema):
            schema = unify_schemas(schema, table.schema, row=row, clash=clash)
        row += table.num_rows
    schema, row = schema.remove_metadata(), 0
    schema = schema if final is None else final(schema)
    for position, table in enumerate(tables):
        if not table.schema.equals(schema):
            with ArrowFileWriter(paths[position], schema.with_metadata(metadata[position])) as writer:
                writer.write_table(widen(table, schema, fill, row))
            tables[position] = open_arrow(paths[position])
        row += table.num_rows
    if not schema.names:
        return without_columns(row)
    return pa.concat_tables([table.replace_schema_metadata(None) for table in tables])
