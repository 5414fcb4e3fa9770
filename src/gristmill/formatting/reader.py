"""Reads a view in a format: single rows, rows in order, batches, columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from gristmill.errors import DataError, TransformOutputError, shorten
from gristmill.features.unheld import NO_PYTHON_VALUE, no_python_value
from gristmill.formatting.python_rows import PythonFormatter
from gristmill.formatting.spec import FormatSpec
from gristmill.table.selection import IndexVector
from gristmill.table.view import View

_FIRST_BLOCK = 16


class Reader:
    """Gives the rows of a view to the user.

    Args:
        view: The rows.
        features: The feature of each column.
        spec: The format they are wanted in.

    Example:
        >>> reader = Reader(View.from_table(pa.table({"a": [1, 2, 3]})), {}, FormatSpec())
        >>> reader.row(1), list(reader.rows())[2], reader.batch(range(2))
        ({'a': 2}, {'a': 3}, {'a': [1, 2]})
    """

    def __init__(self, view: View, features: Mapping[str, Any], spec: FormatSpec) -> None:
        self._view = view
        self._spec = spec
        self._is_plain = spec.is_plain
        self._names = view.names if spec.columns is None else spec.columns
        # Python values of the other columns, when they are wanted beside the formatted ones.
        chosen = set(self._names)
        self._others = tuple(name for name in view.names if spec.output_all_columns and name not in chosen)
        self._formatter = spec.formatter(features)
        self._python = PythonFormatter(features)
        self._columns = None if self._names == view.names else self._names
        self._single: _SingleRows | None = None
        self._next_row = -1
        self._ahead: list[Any] = []
        self._ahead_start = 0

    def batch(self, rows: range | IndexVector) -> Any:
        """Reads rows as one batch, in the order asked for."""
        try:
            formatted = self._format_batch(self._view.take(rows, self._columns))
            if self._others and isinstance(formatted, dict):
                formatted.update(self._python.batch(self._view.take(rows, self._others)))
        except DataError as error:
            raise error.in_rows(rows) from error.__cause__
        return formatted

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """Reads rows one after another.

        Blocks of rows are read and converted at once; the first ones are small, so that the first row comes soon.
        """
        # A chain hands rows out faster than a generator does.
        return chain.from_iterable(self._row_blocks(start, self._view.num_rows if stop is None else stop))

    def _row_blocks(self, start: int, end: int) -> Iterator[list[Any]]:
        largest = self._view.block_rows()
        size = min(_FIRST_BLOCK, largest)
        while start < end:
            until = min(end, start + size)
            yield self._format_rows(range(start, until))
            start = until
            size = min(largest, size * 4)

    def rows_at(self, rows: range | IndexVector) -> list[Any]:
        """Reads some rows at once, in the order asked for."""
        return self._format_rows(rows)

    def batches(self, size: int, drop_last: bool = False) -> Iterator[Any]:
        """Reads all rows in batches.

        Args:
            size: Rows a batch, at least 1.
            drop_last: Leave out a last batch that is smaller.
        """
        rows = self._view.num_rows
        for start in range(0, rows - rows % size if drop_last else rows, size):
            yield self.batch(range(start, min(rows, start + size)))

    def row(self, index: int) -> Any:
        """Reads one row (already checked).

        A caller who walks through all rows by their numbers is served from blocks.
        """
        if 0 <= index - self._ahead_start < len(self._ahead):
            return self._fresh(index)
        walking = index == self._next_row
        self._next_row = index + 1
        if walking:
            stop = min(self._view.num_rows, index + self._view.block_rows(256))
            self._ahead, self._ahead_start = self._format_rows(range(index, stop)), index
            return self._fresh(index)
        if self._is_plain:
            if self._single is None:
                self._single = _SingleRows(self._view, self._python)
            return self._single.row(index)
        return self._format_rows(range(index, index + 1))[0]

    def _fresh(self, index: int) -> Any:
        # Each row is handed out once: the caller may change it.
        position = index - self._ahead_start
        row, self._ahead[position] = self._ahead[position], None
        self._next_row = index + 1
        if row is None:
            return self._format_rows(range(index, index + 1))[0]
        return row

    def column(self, name: str, rows: range | IndexVector) -> Any:
        """Reads one column of some rows."""
        table = self._view.take(rows, (name,))
        if self._spec.type == "custom":
            batch = self.batch(rows)
            try:
                return batch[name]
            except (KeyError, IndexError, TypeError) as error:
                raise _odd_answer(batch, f'the column "{name}" can\'t be taken from') from error
        formatter = self._python if name in self._others else self._formatter
        try:
            return formatter.column(name, table.column(name))
        except DataError as error:
            raise error.in_rows(rows) from error.__cause__

    def _format_batch(self, table: pa.Table) -> Any:
        if self._spec.type == "custom":
            return self._spec.transform(self._python.batch(table))
        return self._formatter.batch(table)

    def _format_rows(self, rows: range | IndexVector) -> list[Any]:
        try:
            return self._formatted_rows(rows)
        except DataError as error:
            raise error.in_rows(rows) from error.__cause__

    def _formatted_rows(self, rows: range | IndexVector) -> list[Any]:
        table = self._view.take(rows, self._columns)
        if self._spec.type == "custom":
            # A transform works on batches; a row is its answer to a batch of one.
            batches = (self._spec.transform(self._python.batch(table.slice(i, 1))) for i in range(len(rows)))
            formatted = [_first_row(batch) for batch in batches]
        else:
            formatted = self._formatter.rows(table)
        if self._others and (not formatted or isinstance(formatted[0], dict)):
            for row, rest in zip(
                formatted, self._python.rows(self._view.take(rows, self._others)), strict=True
            ):
                row.update(rest)
        return formatted


def _first_row(batch: Any) -> dict[str, Any]:
    try:
        return {name: values[0] for name, values in batch.items()}
    except (AttributeError, TypeError, IndexError, KeyError) as error:
        raise _odd_answer(batch, "a row can't be taken from") from error


def _odd_answer(batch: Any, problem: str) -> TransformOutputError:
    return TransformOutputError(
        f"The transform of the dataset returned {shorten(batch)}, which {problem}: it has to return a dict of lists or "
        "arrays, with one value a row."
    )


class _SingleRows:
    """Looks up single rows: where each chunk starts, found by bisection, once for the columns that are cut alike."""

    def __init__(self, view: View, python: PythonFormatter) -> None:
        self._python = python
        part_of = {name: part for part in view.parts for name in part.names}
        self._names = view.names
        self._groups: list[tuple[Any, list[int], list[list[tuple[str, Any]]]]] = []
        alike: dict[tuple[int, tuple[int, ...]], list[list[tuple[str, Any]]]] = {}
        for name in view.names:
            part = part_of[name]
            # Empty chunks have no row to be looked up.
            chunks = [chunk for chunk in part.table.column(name).chunks if len(chunk)]
            lengths = tuple(map(len, chunks))
            columns = alike.get((id(part), lengths))
            if columns is None:
                columns = alike[id(part), lengths] = [[] for _ in chunks]
                self._groups.append((part.selection, [0, *accumulate(lengths)], columns))
            for column, chunk in zip(columns, chunks, strict=True):
                column.append((name, chunk))

    def row(self, index: int) -> dict[str, Any]:
        # The order of the columns is that of the view, also where they lie apart.
        found: dict[str, Any] = {} if len(self._groups) == 1 else dict.fromkeys(self._names)
        for selection, starts, chunks in self._groups:
            row = index if selection is None else int(selection[index])
            number = bisect_right(starts, row) - 1
            place, name, chunk = row - starts[number], "", None
            try:
                for name, chunk in chunks[number]:
                    found[name] = chunk[place].as_py()
            except NO_PYTHON_VALUE as error:
                assert chunk is not None  # it was a value of one
                raise no_python_value(chunk.slice(place, 1), error, column=name, row=index) from error
        if self._python.decoded:
            return {name: self._python.decode(name, value) for name, value in found.items()}
        return found
