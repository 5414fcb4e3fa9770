"""A view: named columns and a number of rows over one or more tables, each with its own selection of rows.

This is what a dataset holds. Columns that a transform adds are a part of their own beside the parts that were there,
so that nothing is copied: after ``shuffle().map(f)`` the old columns are read through the shuffled row numbers and the
new ones straight from the file that `map` wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import FileFormatError
from gristmill.features.columnless import concat_tables, with_metadata, without_columns
from gristmill.files.paths import absolute_path
from gristmill.table.arrow_file import open_arrow, write_arrow
from gristmill.table.gather import gather
from gristmill.table.origins import Origins
from gristmill.table.selection import IndexVector, Selection, compose, resolve, selected_rows

BLOCK_ROWS = 512
"""Rows read at once when all rows are read: fewer costs calls, more makes Python objects slower to make.

Python's collector of cycles starts once 700 objects more have been made than freed. Blocks of fewer rows never get
there; with blocks of 1,000 every one of them did, and each hundredth had it look at all objects of the program.
"""
BLOCK_BYTES = 4 << 20
_FEWEST_ROWS = 64


Stamp = tuple[int, int, int]
"""(inode, bytes, time of change) of a file; it keeps its name when something else is saved in its place."""


def _stamp(file: Path) -> Stamp:
    try:
        state = file.stat()
    except OSError:
        return (0, 0, 0)
    return state.st_ino, state.st_size, state.st_mtime_ns


def _containers(kind: pa.DataType) -> int:
    if pa.types.is_struct(kind):
        return 1 + sum(_containers(field.type) for field in kind)
    return 1 + _containers(kind.value_type) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else 0


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of one table and which of its rows are meant.

    Attributes:
        table: The columns.
        selection: Rows of the table, or None for all.
        files: The Arrow files the table was opened from, in order; empty for a table made in memory.
        file_columns: For each column of the table, its name in those files.
        stamps: What told each file from others of its name when it was opened.
    """

    table: pa.Table
    selection: Selection = None
    files: tuple[Path, ...] = ()
    file_columns: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @classmethod
    def from_files(cls, files: Sequence[Path], table: pa.Table) -> Part:
        """Makes the part for a table that was opened from `files` as it is."""
        names = tuple(table.column_names) if files else ()
        # A program, or the process that a pickle goes to, may change its working folder.
        files = tuple(map(absolute_path, files))
        return cls(table, None, files, names, tuple(map(_stamp, files)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the table, in order."""
        return tuple(self.table.schema.names)  # `column_names` takes seven times as long

    def _of(self, table: pa.Table, names: tuple[str, ...], file_columns: tuple[str, ...]) -> Part:
        made = replace(self, table=table, file_columns=file_columns)
        vars(made)["names"] = names
        return made

    @property
    def num_rows(self) -> int:
        """Rows meant."""
        return selected_rows(self.selection, self.table.num_rows)

    def choose(self, names: Sequence[str]) -> Part:
        """Keeps some columns, in the order given."""
        position = {name: index for index, name in enumerate(self.names)}
        chosen = [position[name] for name in names]
        kept = tuple(self.file_columns[index] for index in chosen) if self.files else ()
        return self._of(self.table.select(chosen), tuple(names), kept)

    def rename(self, mapping: Mapping[str, str]) -> Part:
        """Gives columns other names."""
        names = [mapping.get(name, name) for name in self.names]
        return self._of(self.table.rename_columns(names), tuple(names), self.file_columns)

    def take(self, rows: range | IndexVector, columns: Sequence[str] | None = None) -> pa.Table:
        """Reads rows counted in the rows meant."""
        table = self.table if columns is None else self.table.select(list(columns))
        chosen = compose(self.selection, rows)
        return gather(table, range(table.num_rows) if chosen is None else chosen)

    def stored(self, path: Path) -> Part:
        """Gives the same rows in a file: the ones it has, or a new one at `path`."""
        if self.files and self._same_as_files():
            return self
        write_arrow(path, self.table)
        return replace(Part.from_files([path], open_arrow(path)), selection=self.selection)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapped table travels as the names of its files; one in memory as the rows that are meant.
        if self.files and self._same_as_files():
            return _reopen, (
                self.files,
                self.file_columns,
                self.table.schema,
                self.selection,
                self.table.num_rows,
            )
        table = self.table if self.selection is None else self.take(range(self.num_rows))
        # As a stream, which holds exactly these rows; pickled slices take their whole buffers along.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return _from_stream, (sink.getvalue(), table.num_rows)

    def _files_stand(self) -> bool:
        return all(file.is_file() for file in self.files) and self.stamps == tuple(map(_stamp, self.files))

    def _same_as_files(self) -> bool:
        if not self._files_stand():
            return False
        stored = _stored(self.files, self.file_columns)
        if stored is None or stored.num_rows != self.table.num_rows:
            return False
        types = dict(zip(stored.column_names, stored.schema.types, strict=True))
        return all(
            types.get(stored_name) == self.table.schema.field(name).type
            for stored_name, name in zip(self.file_columns, self.table.column_names, strict=True)
        )


def _stored(files: Sequence[Path], columns: Sequence[str]) -> pa.Table | None:
    """Opens columns of several files, which may differ in their other ones; None if they are not there."""
    tables = [open_arrow(file) for file in files]
    if any(not set(columns) <= set(table.column_names) for table in tables):
        return None
    chosen = [with_metadata(table.select(list(columns)), None) for table in tables]
    same = all(table.schema.equals(chosen[0].schema) for table in chosen)
    return concat_tables(chosen) if same else None


def _from_stream(stream: pa.Buffer, rows: int) -> Part:
    table = pa.ipc.open_stream(stream).read_all()
    return Part(table if table.num_columns else without_columns(rows))


def _reopen(
    files: tuple[Path, ...],
    file_columns: tuple[str, ...],
    schema: pa.Schema,
    selection: Selection,
    rows: int | None = None,  # pickles of earlier releases do not tell
) -> Part:
    table = _stored(files, file_columns)
    if table is None:
        raise FileFormatError.at(
            f"does not hold the columns {', '.join(file_columns)} any more", file=files[0]
        )
    # Another file of that name would give other rows for those that were chosen, or none.
    if rows is not None and table.num_rows != rows:
        raise FileFormatError.at(f"holds {table.num_rows} rows now, and held {rows}", file=files[0])
    for name, type_ in zip(file_columns, schema.types, strict=True):
        if table.schema.field(name).type != type_:
            raise FileFormatError.at(f"the column {name} does not hold {type_} any more", file=files[0])
    table = with_metadata(table.rename_columns(schema.names), schema.metadata) if schema.names else table
    return Part(table, selection, files, file_columns, tuple(map(_stamp, files)))


@dataclass(frozen=True, eq=False)
class View:
    """Columns in an order, over parts of equal length.

    Attributes:
        parts: Where the columns are; a name occurs in one part only.
        names: The columns, in order.
        num_rows: How many rows.
        origins: Where the rows came from, with the selection to apply to it, if known.

    Example:
        >>> view = View.from_table(pa.table({"a": [1, 2, 3]}))
        >>> view.select(range(1, 3)).table().to_pydict()
        {'a': [2, 3]}
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    num_rows: int
    origins: tuple[Origins, Selection] | None = field(default=None)

    @classmethod
    def from_table(cls, table: pa.Table, files: Sequence[Path] = (), origins: Origins | None = None) -> View:
        """Makes a view of all rows of one table.

        Args:
            table: The rows.
            files: The Arrow files it was opened from, in order, if any.
            origins: Where its rows came from, if known.
        """
        return cls(
            (Part.from_files(files, table),),
            tuple(table.column_names),
            table.num_rows,
            None if origins is None else (origins, None),
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, in order, without metadata."""
        fields = {item.name: item for part in self.parts for item in part.table.schema}
        return pa.schema([fields[name] for name in self.names])

    @cached_property
    def name_set(self) -> dict[str, None]:
        """The column names, in order, for looking one up."""
        return dict.fromkeys(self.names)

    @cached_property
    def row_bytes(self) -> float:
        """Mean bytes of a row as Arrow data, at least 1."""
        total = sum(part.table.nbytes / max(1, part.table.num_rows) for part in self.parts)
        return max(1.0, float(total))

    @property
    def files(self) -> tuple[Path, ...]:
        """The Arrow files behind the columns."""
        return tuple(dict.fromkeys(file for part in self.parts for file in part.files))

    @property
    def is_whole(self) -> bool:
        """Whether the view is one table as it is: all of its rows in their order."""
        return len(self.parts) == 1 and self.parts[0].selection is None

    @cached_property
    def row_objects(self) -> int:
        """How many containers of Python a row is at least: its dict, and each list and dict in it."""
        return 1 + sum(_containers(field.type) for part in self.parts for field in part.table.schema)

    def block_rows(self, wanted: int | None = None, budget: int = BLOCK_BYTES) -> int:
        """Says how many rows to read at once so that they take about `budget` bytes.

        Args:
            wanted: At most so many; by default what suits making Python objects of them, see `BLOCK_ROWS`.
            budget: Bytes of Arrow data.
        """
        if wanted is None:
            wanted = max(_FEWEST_ROWS, BLOCK_ROWS // self.row_objects)
        return max(1, min(wanted, int(budget / self.row_bytes)))

    def select(self, chosen: range | IndexVector) -> View:
        """Chooses rows, counted in the rows of this view and already checked."""
        parts = tuple(replace(part, selection=compose(part.selection, chosen)) for part in self.parts)
        origins = self.origins and (self.origins[0], compose(self.origins[1], chosen))
        return View(parts, self.names, len(chosen), origins)

    def choose(self, names: Sequence[str]) -> View:
        """Keeps some columns, in the order given."""
        wanted = set(names)
        parts = []
        for part in self.parts:
            mine = [name for name in part.names if name in wanted]
            if len(mine) == len(part.names):
                parts.append(part)
            elif mine:
                parts.append(part.choose(mine))
        return View(tuple(parts), tuple(names), self.num_rows, self.origins)

    def rename(self, mapping: Mapping[str, str]) -> View:
        """Gives columns other names."""
        parts = tuple(part.rename(mapping) for part in self.parts)
        names = tuple(mapping.get(name, name) for name in self.names)
        return View(parts, names, self.num_rows, self.origins)

    def join(self, part: Part) -> View:
        """Puts further columns beside these; a column of the same name is replaced where it stands.

        Args:
            part: As many rows as this view has.
        """
        new = set(part.table.column_names)
        kept = self.choose([name for name in self.names if name not in new])
        names = (*self.names, *(name for name in part.table.column_names if name not in self.names))
        return View((*kept.parts, part), names, self.num_rows, self.origins)

    def take(self, rows: range | IndexVector, columns: Sequence[str] | None = None) -> pa.Table:
        """Reads rows in the order asked for.

        Args:
            rows: Row numbers counted in this view, already checked.
            columns: The columns to read, in the order wanted; all by default.

        Returns:
            A table of ``len(rows)`` rows.
        """
        names = self.names if columns is None else tuple(columns)
        if len(self.parts) == 1:
            part = self.parts[0]
            mine = None if part.names == names else names
            return part.take(rows, mine)
        found: dict[str, pa.ChunkedArray] = {}
        wanted = set(names)
        for part in self.parts:
            own = [name for name in part.table.column_names if name in wanted]
            if own:
                taken = part.take(rows, own)
                found.update(zip(own, taken.columns, strict=True))
        if not names:
            return without_columns(len(rows))
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in names])
        return pa.Table.from_arrays([found[name] for name in names], schema=schema)

    def blocks(
        self, rows: int, start: int = 0, stop: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Reads all rows in order, `rows` at a time.

        Args:
            rows: Rows a block.
            start: First row.
            stop: Row to stop before; the end by default.
            columns: As for `take`.
        """
        end = self.num_rows if stop is None else stop
        for begin in range(start, end, rows):
            yield self.take(range(begin, min(end, begin + rows)), columns)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Gives all rows as one table: the table itself if the view is one, else gathered into memory.

        Args:
            columns: As for `take`.
        """
        if all(part.selection is None or isinstance(part.selection, range) for part in self.parts):
            return self.take(range(self.num_rows), columns)
        # In blocks, so that no single gathered chunk outgrows its 32-bit offsets.
        size = self.block_rows(100_000, 64 << 20)
        blocks = list(self.blocks(size, columns=columns))
        return concat_tables(blocks) if blocks else self.take(range(0), columns)

    def stored(self, folder: Path) -> View:
        """Gives the same rows with every part in files, so that another process can map them.

        Args:
            folder: Where parts that are in memory are written to; it has to outlive the result.
        """
        parts = [part.stored(folder / f"part-{number}.arrow") for number, part in enumerate(self.parts)]
        return replace(self, parts=tuple(parts))

    def origins_table(self) -> pa.Table:
        """Says where each row came from; a view without a record gives nulls."""
        if self.origins is None:
            empty = Origins.single("", None, "", 0).to_table().schema
            return pa.table({item.name: pa.nulls(self.num_rows, item.type) for item in empty})
        origins, selection = self.origins
        return origins.take(resolve(selection, 0, self.num_rows)).to_table()
