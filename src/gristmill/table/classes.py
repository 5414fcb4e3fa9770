"""The documented table classes around `pyarrow.Table`: in memory, or mapped from a file and pickled as its path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from typing_extensions import Self

from gristmill.features.columnless import without_columns
from gristmill.table.arrow_file import open_arrow, open_buffer
from gristmill.table.gather import gather
from gristmill.table.selection import parse_indices
from gristmill.table.steps import Slicer, Step, after_slice, apply_step, clip


class Table:
    """An Arrow table that knows where its rows are. Never changed in place: each step gives a new table.

    What is not said otherwise takes the arguments of the method of `pyarrow.Table` with the same name.

    Args:
        table: The rows.

    Attributes:
        table: The rows, as Arrow sees them.

    Example:
        >>> table = InMemoryTable.from_pydict({"a": [1, 2, 3]})
        >>> table.slice(1).to_pydict(), table.shape
        ({'a': [2, 3]}, (3, 1))
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @cached_property
    def _slicer(self) -> Slicer:
        return Slicer(self.table)

    def _after(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Makes the table that one step gives."""
        return InMemoryTable(apply_step(self.table, (name, args, kwargs)))

    def _sliced(self, start: int, length: int) -> Any:
        return InMemoryTable(self._slicer.slice(start, length))

    # ---------------------------------------------------------------- Python

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, i: int | str) -> pa.ChunkedArray:
        return self.table[i]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Table | pa.Table):
            return self.equals(other)
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self.table).replace("pyarrow.Table", type(self).__name__, 1)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # As a stream, which holds exactly these rows; pickled slices take their whole buffers along.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema) as stream:
            stream.write_table(self.table)
        return _from_stream, (type(self), sink.getvalue(), self.num_rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    # ---------------------------------------------------------------- looking

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Checks that the table is sound; ``full=True`` checks every value.

        Raises:
            pyarrow.ArrowInvalid: It is not.
        """
        self.table.validate(*args, **kwargs)

    def equals(self, *args: Any, **kwargs: Any) -> bool:
        """Says whether another table (one of these or of pyarrow) has the same columns and rows."""
        args = tuple(value.table if isinstance(value, Table) else value for value in args)
        kwargs = {name: value.table if isinstance(value, Table) else value for name, value in kwargs.items()}
        return bool(self.table.equals(*args, **kwargs))

    def to_batches(self, *args: Any, **kwargs: Any) -> list[pa.RecordBatch]:
        """Gives the rows as record batches; ``max_chunksize`` bounds the rows of each."""
        batches: list[pa.RecordBatch] = self.table.to_batches(*args, **kwargs)
        return batches

    def to_pydict(self, *args: Any, **kwargs: Any) -> dict[str, list[Any]]:
        """Gives the rows as lists of Python values by column."""
        values: dict[str, list[Any]] = self.table.to_pydict(*args, **kwargs)
        return values

    def to_pylist(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """Gives the rows as dicts of Python values."""
        rows: list[dict[str, Any]] = self.table.to_pylist(*args, **kwargs)
        return rows

    def to_pandas(self, *args: Any, **kwargs: Any) -> Any:
        """Gives the rows as a pandas frame."""
        return self.table.to_pandas(*args, **kwargs)

    def to_string(self, *args: Any, **kwargs: Any) -> str:
        """Describes schema and first rows."""
        return str(self.table.to_string(*args, **kwargs))

    def to_reader(self, max_chunksize: int | None = None) -> pa.RecordBatchReader:
        """Gives the rows as a reader of record batches.

        Args:
            max_chunksize: Most rows of a batch.
        """
        return self.table.to_reader(max_chunksize=max_chunksize)

    def field(self, *args: Any, **kwargs: Any) -> pa.Field:
        """Gives name and type of a column, by name or position."""
        return self.table.field(*args, **kwargs)

    def column(self, *args: Any, **kwargs: Any) -> pa.ChunkedArray:
        """Gives a column, by name or position."""
        return self.table.column(*args, **kwargs)

    def itercolumns(self, *args: Any, **kwargs: Any) -> Iterator[pa.ChunkedArray]:
        """Gives the columns one after another."""
        columns: Iterator[pa.ChunkedArray] = self.table.itercolumns(*args, **kwargs)
        return columns

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, and metadata."""
        return self.table.schema

    @property
    def columns(self) -> list[pa.ChunkedArray]:
        """The columns, in order."""
        columns: list[pa.ChunkedArray] = self.table.columns
        return columns

    @property
    def num_columns(self) -> int:
        """How many columns."""
        return int(self.table.num_columns)

    @property
    def num_rows(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def nbytes(self) -> int:
        """Bytes of the values meant, without what else is in their buffers."""
        return int(self.table.nbytes)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.table.column_names)

    # ---------------------------------------------------------------- reading rows

    def fast_slice(self, offset: int = 0, length: int | None = None) -> pa.Table:
        """Gives consecutive rows without walking over the chunks before them.

        Args:
            offset: First row.
            length: How many rows; up to the end by default.
        """
        return self._slicer.slice(*clip(self.num_rows, offset, length))

    def fast_gather(self, indices: Any) -> pa.Table:
        """Gives rows by number, in the order asked for.

        Args:
            indices: Row numbers: a range, list, numpy or Arrow array.

        Raises:
            RowIndexError: A row does not exist.
        """
        return gather(self.table, parse_indices(indices, self.num_rows))

    # ---------------------------------------------------------------- steps

    def slice(self, *args: Any, **kwargs: Any) -> Any:
        """Gives consecutive rows; nothing is copied. Takes `offset` and `length`."""
        return self._slice(*args, **kwargs)

    def _slice(self, offset: int = 0, length: int | None = None) -> Any:
        return self._sliced(*clip(self.num_rows, offset, length))

    def filter(self, *args: Any, **kwargs: Any) -> Any:
        """Keeps the rows for which a mask of booleans is true."""
        return self._after("filter", *args, **kwargs)

    def flatten(self, *args: Any, **kwargs: Any) -> Any:
        """Gives each field of a column of structs a column of its own, one level deep."""
        return self._after("flatten", *args, **kwargs)

    def combine_chunks(self, *args: Any, **kwargs: Any) -> Any:
        """Joins the chunks of each column, by a copy."""
        return self._after("combine_chunks", *args, **kwargs)

    def cast(self, *args: Any, **kwargs: Any) -> Any:
        """Brings the columns to another schema, each value checked unless ``safe=False``.

        Raises:
            CastError: A value does not fit; names row, column and value.
        """
        return self._after("cast", *args, **kwargs)

    def replace_schema_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """Gives the schema other metadata, or none."""
        return self._after("replace_schema_metadata", *args, **kwargs)

    def add_column(self, *args: Any, **kwargs: Any) -> Any:
        """Puts a column before another. Takes position, name or field, and values."""
        return self._after("add_column", *args, **kwargs)

    def append_column(self, *args: Any, **kwargs: Any) -> Any:
        """Puts a column behind the others. Takes name or field, and values."""
        return self._after("append_column", *args, **kwargs)

    def remove_column(self, *args: Any, **kwargs: Any) -> Any:
        """Leaves out the column at a position."""
        return self._after("remove_column", *args, **kwargs)

    def set_column(self, *args: Any, **kwargs: Any) -> Any:
        """Replaces a column. Takes position, name or field, and values."""
        return self._after("set_column", *args, **kwargs)

    def rename_columns(self, *args: Any, **kwargs: Any) -> Any:
        """Gives all columns new names, in order."""
        return self._after("rename_columns", *args, **kwargs)

    def drop(self, *args: Any, **kwargs: Any) -> Any:
        """Leaves out columns by name."""
        return self._after("drop", *args, **kwargs)

    def select(self, *args: Any, **kwargs: Any) -> Any:
        """Keeps columns by name or position, in the order given."""
        return self._after("select", *args, **kwargs)


def _from_stream(cls: type[Table], stream: pa.Buffer, rows: int) -> Table:
    table = pa.ipc.open_stream(stream).read_all()
    # A stream has no place for the number of rows of a table without columns.
    return cls(table if table.num_columns else without_columns(rows, table.schema.metadata))


class InMemoryTable(Table):
    """A table whose rows are in memory; pickling it takes the rows along.

    Args:
        table: The rows.

    Example:
        >>> InMemoryTable.from_pydict({"a": [1, 2]}).rename_columns(["b"]).to_pylist()
        [{'b': 1}, {'b': 2}]
    """

    @classmethod
    def from_file(cls, filename: str) -> Self:
        """Reads an Arrow file into memory.

        Args:
            filename: An Arrow IPC stream or file.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is damaged, or not Arrow.
        """
        return cls(open_arrow(filename, in_memory=True, check="offsets"))

    @classmethod
    def from_buffer(cls, buffer: pa.Buffer) -> Self:
        """Opens an Arrow IPC stream in memory, without a copy.

        Args:
            buffer: The stream.

        Raises:
            FileFormatError: It is damaged, or not Arrow.
        """
        return cls(open_buffer(buffer))

    @classmethod
    def from_pandas(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes a table of a pandas frame."""
        return cls(pa.Table.from_pandas(*args, **kwargs))

    @classmethod
    def from_arrays(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes a table of Arrow arrays and their names (or a schema)."""
        return cls(pa.Table.from_arrays(*args, **kwargs))

    @classmethod
    def from_pydict(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes a table of lists of Python values by column."""
        return cls(pa.Table.from_pydict(*args, **kwargs))

    @classmethod
    def from_pylist(cls, mapping: Sequence[Mapping[str, Any]], *args: Any, **kwargs: Any) -> Self:
        """Makes a table of rows as dicts.

        Args:
            mapping: The rows.
            *args: As for `pyarrow.Table.from_pylist`.
            **kwargs: Likewise.
        """
        return cls(pa.Table.from_pylist(mapping, *args, **kwargs))

    @classmethod
    def from_batches(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes a table of record batches of one schema, without a copy."""
        return cls(pa.Table.from_batches(*args, **kwargs))

    def slice(self, offset: int = 0, length: int | None = None) -> Any:
        """Gives consecutive rows; nothing is copied.

        Args:
            offset: First row.
            length: How many rows; up to the end by default.
        """
        return self._slice(offset, length)


class MemoryMappedTable(Table):
    """A table mapped from an Arrow file: its rows take no memory, and pickling it sends the path and what was done since.

    Args:
        table: The file's rows after all of `replays`.
        path: The file.
        replays: The steps since the file was opened: (method, arguments, keyword arguments).

    Attributes:
        path: The file.
        replays: The steps.
    """

    def __init__(self, table: pa.Table, path: str, replays: list[Step] | None = None) -> None:
        super().__init__(table)
        self.path = os.path.abspath(path)  # noqa: PTH100  # links stay: their name is what the user knows
        self.replays: list[Step] = list(replays or ())

    @classmethod
    def from_file(cls, filename: str, replays: list[Step] | None = None) -> Self:
        """Maps an Arrow file; of its values, only where they begin and end is looked at.

        Args:
            filename: An Arrow IPC stream or file.
            replays: Steps to do: (method, arguments, keyword arguments).

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is damaged, or not Arrow.
        """
        table = open_arrow(filename, check="offsets")
        for step in replays or ():
            table = apply_step(table, step)
        return cls(table, filename, replays)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_file, (self.path, self.replays)

    def _after(self, name: str, *args: Any, **kwargs: Any) -> Any:
        step: Step = (name, args, kwargs)
        return type(self)(apply_step(self.table, step), self.path, [*self.replays, step])

    def _sliced(self, start: int, length: int) -> Any:
        steps = after_slice(tuple(self.replays), start, length)
        return type(self)(self._slicer.slice(start, length), self.path, list(steps))

    def slice(self, offset: int = 0, length: int | None = None) -> Any:
        """Gives consecutive rows; nothing is copied.

        Args:
            offset: First row.
            length: How many rows; up to the end by default.
        """
        return self._slice(offset, length)
