"""Tables under and beside each other as one: blocks, each with its own way to travel to another process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
from typing_extensions import Self

from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError
from gristmill.features.columnless import without_columns
from gristmill.table.blocks import Row, check_lengths, consolidated, fitted, joined, pick, schema_of
from gristmill.table.classes import InMemoryTable, MemoryMappedTable, Table
from gristmill.table.steps import apply_step, pieces


class ConcatenationTable(Table):
    """Several tables as one; nothing is copied.

    The blocks lie in rows: tables beside each other make a row, rows lie under each other and all have the same columns
    in the same order. A step is done to the blocks it touches, so that blocks mapped from files still travel as paths.

    Args:
        table: All rows and columns.
        blocks: The same as blocks.

    Attributes:
        blocks: The blocks.

    Example:
        >>> both = concat_tables([InMemoryTable.from_pydict({"a": [n]}) for n in range(3)])
        >>> both.slice(1).to_pydict()
        {'a': [1, 2]}
    """

    def __init__(self, table: pa.Table, blocks: list[list[Table]]) -> None:
        super().__init__(table)
        self.blocks = blocks

    @classmethod
    def from_blocks(cls, blocks: Any) -> Self:
        """Joins blocks.

        Args:
            blocks: A table; a list of tables under each other; or a list of lists, of tables beside each other.

        Raises:
            SchemaConflictError: Two rows disagree on the type of a column.
            InvalidArgumentError: There is no block, or tables beside each other differ in length.
        """
        if isinstance(blocks, Table | pa.Table):
            blocks = [blocks]
        rows = [row if isinstance(row, list | tuple) else [row] for row in blocks]
        return cls._stacked([[_as_table(block) for block in row] for row in rows])

    @classmethod
    def from_tables(cls, tables: Sequence[pa.Table | Table], axis: int = 0) -> Self:
        """Joins tables.

        Args:
            tables: At least one.
            axis: 0 puts them under each other, 1 beside each other.

        Raises:
            SchemaConflictError: Tables under each other disagree on the type of a column.
            InvalidArgumentError: There is no table, `axis` is something else, or tables beside each other differ in
                length.
        """
        if axis not in (0, 1):
            raise InvalidArgumentError.from_value("axis", axis, "0 or 1")
        made = [_as_table(table) for table in tables]
        return cls._stacked(_beside(made) if axis else [row for table in made for row in _rows_of(table)])

    @classmethod
    def _stacked(cls, rows: list[Row]) -> Self:
        """Makes the table of rows of blocks that may differ in columns."""
        if not rows or not all(rows):
            raise InvalidArgumentError("There are no tables to join.")
        for row in rows:
            check_lengths(row)
        first = schema_of(rows[0])
        schemas = [schema_of(row) for row in rows]
        if not all(schema.equals(first) for schema in schemas[1:]):
            try:
                first = pa.unify_schemas(schemas)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise SchemaConflictError(f"The tables can't be put under each other: {error}.") from error
            rows = [fitted(row, first) for row in rows]
        return cls._of_rows(consolidated(rows), first)

    @classmethod
    def _of_rows(cls, rows: list[Row], schema: pa.Schema) -> Self:
        """Makes the table of rows of blocks that all have the columns of `schema`."""
        tables = [joined(row) for row in rows]
        if not schema.names:
            return cls(without_columns(sum(map(len, tables)), schema.metadata), rows)
        # One schema for all, or pyarrow compares and copies the metadata of each.
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return cls(table.replace_schema_metadata(schema.metadata), rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.blocks, self.schema)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(row[0]) for row in self.blocks))

    def _each(self, name: str, *args: Any, **kwargs: Any) -> Any:
        rows = [[getattr(block, name)(*args, **kwargs) for block in row] for row in self.blocks]
        return self._of_rows(rows, schema_of(rows[0]).with_metadata(self.schema.metadata))

    def _picked(self, positions: Sequence[int]) -> Any:
        rows = [pick(row, positions) for row in self.blocks]
        return type(self)(self.table.select(list(positions)), rows)

    def _sliced(self, start: int, length: int) -> Any:
        table = self._slicer.slice(start, length)
        if not length:
            return type(self)(table, [[block.slice(0, 0) for block in self.blocks[0]]])
        first, last = pieces(self._ends, start, length)
        rows = []
        for number in range(first, last + 1):
            begin = self._ends[number - 1] if number else 0
            skip, stop = max(0, start - begin), min(self._ends[number], start + length) - begin
            row = self.blocks[number]
            whole = skip == 0 and stop == len(row[0])
            if stop > skip:
                rows.append(row if whole else [block.slice(skip, stop - skip) for block in row])
        return type(self)(table, rows)

    def slice(self, offset: int = 0, length: int | None = None) -> Any:
        """Gives consecutive rows; nothing is copied, and only the blocks that hold them are touched.

        Args:
            offset: First row.
            length: How many rows; up to the end by default.
        """
        return self._slice(offset, length)

    def filter(self, mask: Any, *args: Any, **kwargs: Any) -> Any:
        """Keeps the rows for which a mask is true.

        Args:
            mask: Booleans, one a row, or an Arrow expression.
            *args: As for `pyarrow.Table.filter`.
            **kwargs: Likewise.
        """
        if isinstance(mask, pa.compute.Expression):
            kept = self.table.filter(mask, *args, **kwargs)
            return type(self)(kept, [[InMemoryTable(kept)]])
        if not isinstance(mask, pa.Array | pa.ChunkedArray):
            mask = pa.array(mask, pa.bool_())
        if len(mask) != len(self):
            raise InvalidArgumentError(
                f"The mask has {len(mask)} values, and the table has {len(self)} rows."
            )
        rows = []
        for row, end in zip(self.blocks, self._ends, strict=True):
            part = mask.slice(end - len(row[0]), len(row[0]))
            rows.append([block.filter(part, *args, **kwargs) for block in row])
        return self._of_rows(rows, self.schema)

    def flatten(self, *args: Any, **kwargs: Any) -> Any:
        """Gives each field of a column of structs a column of its own, one level deep."""
        flat = InMemoryTable(self.table.slice(0, 0)).flatten(*args, **kwargs)
        made = self._each("flatten", *args, **kwargs)
        return made.replace_schema_metadata(flat.schema.metadata)

    def combine_chunks(self, *args: Any, **kwargs: Any) -> Any:
        """Joins the chunks of each column within each block, by a copy."""
        return self._each("combine_chunks", *args, **kwargs)

    def cast(self, target_schema: pa.Schema, *args: Any, **kwargs: Any) -> Any:
        """Brings the columns to another schema, each value checked unless ``safe=False``; columns it lacks become null.

        Args:
            target_schema: Names, types and metadata of the result.
            *args: ``safe``.
            **kwargs: As for `pyarrow.Table.cast`.

        Raises:
            CastError: A value does not fit; or a column is not in the schema.
        """
        unknown = sorted(set(self.column_names) - set(target_schema.names))
        if unknown:
            raise CastError(
                f"Columns {unknown} are not in the schema asked for, which has {target_schema.names}."
            )
        rows = [fitted(row, target_schema, *args, **kwargs) for row in self.blocks]
        return self._of_rows(rows, target_schema)

    def replace_schema_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """Gives the schema other metadata, or none."""
        return type(self)(apply_step(self.table, ("replace_schema_metadata", args, kwargs)), self.blocks)

    def add_column(self, *args: Any, **kwargs: Any) -> Any:
        """Puts a column before another. Takes position, name or field, and values."""
        position = kwargs["i"] if "i" in kwargs else args[0]
        return self._with_new(self.table.add_column(*args, **kwargs), position, 0)

    def append_column(self, *args: Any, **kwargs: Any) -> Any:
        """Puts a column behind the others. Takes name or field, and values."""
        return self._with_new(self.table.append_column(*args, **kwargs), self.num_columns, 0)

    def set_column(self, *args: Any, **kwargs: Any) -> Any:
        """Replaces a column. Takes position, name or field, and values."""
        position = kwargs["i"] if "i" in kwargs else args[0]
        return self._with_new(self.table.set_column(*args, **kwargs), position, 1)

    def _with_new(self, table: pa.Table, position: int, replaced: int) -> Any:
        """Adds to every row of blocks its share of the column that `table` has at `position`."""
        new = table.select([position]).replace_schema_metadata(None)
        rows = []
        for row, end in zip(self.blocks, self._ends, strict=True):
            before = pick(row, range(position)) if position else []
            rest = range(position + replaced, self.num_columns)
            after = pick(row, rest) if rest else []
            share = InMemoryTable(new.slice(end - len(row[0]), len(row[0])))
            rows.append([*before, share, *after])
        return type(self)(table, rows)

    def remove_column(self, i: int, *args: Any, **kwargs: Any) -> Any:
        """Leaves out a column.

        Args:
            i: Its position.
            *args: Accepted for compatibility.
            **kwargs: Likewise.
        """
        self.table.remove_column(i)
        return self._picked([n for n in range(self.num_columns) if n != i % self.num_columns])

    def rename_columns(self, names: Any, *args: Any, **kwargs: Any) -> Any:
        """Gives the columns other names.

        Args:
            names: All new names in order, or new names by old ones.
            *args: As for `pyarrow.Table.rename_columns`.
            **kwargs: Likewise.
        """
        table = self.table.rename_columns(names, *args, **kwargs)
        rows = []
        for row in self.blocks:
            starts = accumulate((block.num_columns for block in row), initial=0)
            rows.append(
                [
                    block.rename_columns(table.column_names[start : start + block.num_columns])
                    for start, block in zip(starts, row, strict=False)
                ]
            )
        return type(self)(table, rows)

    def drop(self, columns: Any, *args: Any, **kwargs: Any) -> Any:
        """Leaves out columns.

        Args:
            columns: Their names.
            *args: Accepted for compatibility.
            **kwargs: Likewise.

        Raises:
            KeyError: There is no such column.
        """
        gone = {columns} if isinstance(columns, str) else set(columns)
        self.table.drop_columns(list(gone))
        return self._picked([n for n, name in enumerate(self.column_names) if name not in gone])

    def select(self, columns: Any, *args: Any, **kwargs: Any) -> Any:
        """Keeps columns, in the order given.

        Args:
            columns: Their names or positions.
            *args: Accepted for compatibility.
            **kwargs: Likewise.

        Raises:
            KeyError: There is no such column.
        """
        wanted = [column if isinstance(column, str) else int(column) for column in columns]
        self.table.select(wanted)
        where = {name: n for n, name in enumerate(self.column_names)}
        return self._picked([where[c] if isinstance(c, str) else c % self.num_columns for c in wanted])


def concat_tables(tables: Sequence[Table], axis: int = 0) -> Table:
    """Joins tables without a copy.

    Args:
        tables: At least one table, of these classes or of pyarrow.
        axis: 0 puts them under each other (columns that one lacks are null there), 1 beside each other.

    Returns:
        The table itself if there is only one.

    Raises:
        SchemaConflictError: Tables under each other disagree on the type of a column.
        InvalidArgumentError: There is no table, or tables beside each other differ in length.

    Example:
        >>> a, b = InMemoryTable.from_pydict({"a": [1]}), InMemoryTable.from_pydict({"b": [2]})
        >>> concat_tables([a, b]).to_pylist(), concat_tables([a, b], axis=1).to_pylist()
        ([{'a': 1, 'b': None}, {'a': None, 'b': 2}], [{'a': 1, 'b': 2}])
    """
    return tables[0] if len(tables) == 1 else ConcatenationTable.from_tables(tables, axis)


def list_table_cache_files(table: Table) -> list[str]:
    """Lists the files that a table is mapped from, each once.

    Args:
        table: Any of these tables.

    Example:
        >>> list_table_cache_files(InMemoryTable.from_pydict({"a": [1]}))
        []
    """
    if isinstance(table, ConcatenationTable):
        blocks = (block for row in table.blocks for block in row)
        return list(dict.fromkeys(path for block in blocks for path in list_table_cache_files(block)))
    return [table.path] if isinstance(table, MemoryMappedTable) else []


def _rebuilt(cls: type[ConcatenationTable], rows: list[Row], schema: pa.Schema) -> ConcatenationTable:
    return cls._of_rows(rows, schema)


def _as_table(table: Table | pa.Table) -> Table:
    return table if isinstance(table, Table) else InMemoryTable(table)


def _rows_of(table: Table) -> list[Row]:
    return table.blocks if isinstance(table, ConcatenationTable) else [[table]]


def _beside(tables: list[Table]) -> list[Row]:
    """Cuts tables into rows of blocks, so that the blocks of one row have the same length."""
    check_lengths(tables)
    cuts = {0}
    for table in tables:
        cuts.update(accumulate(len(row[0]) for row in _rows_of(table)))
    edges = sorted(cuts)
    spans = list(pairwise(edges)) or [(0, 0)]
    rows: list[Row] = []
    for start, stop in spans:
        row: Row = []
        for table in tables:
            part = table if len(spans) == 1 else table.slice(start, stop - start)
            row.extend(block for inner in _rows_of(part) for block in inner)
        rows.append(row)
    return rows
