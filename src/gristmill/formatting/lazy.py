"""Rows and batches as a function given to `map` sees them: a column is converted when the function asks for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError
from gristmill.formatting.python_rows import PythonFormatter
from gristmill.table.view import View


class ColumnFormatter(Protocol):
    """What converts one column."""

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to something that is indexed by row."""


class Block:
    """Some rows of a view, whose columns are read and converted once, on demand.

    Args:
        view: Where the rows are.
        start: The first row.
        stop: The row to stop before.
        formatter: How to convert a column.

    Attributes:
        columns: The columns converted so far.
        fixed: Those of them whose values can't be changed in place, so that they may be handed out as they are.
    """

    __slots__ = ("_formatter", "_rows", "_view", "columns", "fixed", "names", "num_rows")

    def __init__(self, view: View, start: int, stop: int, formatter: ColumnFormatter) -> None:
        self._view = view
        self._rows = range(start, stop)
        self.names = view.name_set
        self.num_rows = stop - start
        self._formatter = formatter
        self.columns: dict[str, Any] = {}
        self.fixed: dict[str, list[Any]] = {}

    def column(self, name: str) -> Any:
        """Gives the values of one column."""
        try:
            return self.columns[name]
        except KeyError:
            stored = self._view.take(self._rows, (name,)).column(0)
            self.columns[name] = values = self._formatter.column(name, stored)
            if isinstance(self._formatter, PythonFormatter) and self._formatter.is_fixed(name, stored.type):
                self.fixed[name] = values
            return values

    def row(self, position: int) -> LazyRow:
        """Gives one row."""
        return LazyRow(self, position)


# What nothing was set in, and nothing was deleted from; never changed.
_NOTHING: dict[str, Any] = {}
_NONE: set[str] = set()
_NO_COLUMNS: dict[str, list[Any]] = {}

# Other Pythons than CPython count no references.
_references: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: 0)


class _Lazy(MutableMapping[str, Any]):
    """A mapping over a block that keeps apart what was set in it."""

    __slots__ = ("_block", "_gone", "_own")

    def __init__(self, block: Block) -> None:
        self._block = block
        self._own: dict[str, Any] = _NOTHING
        self._gone: set[str] = _NONE

    def _stored(self, key: str) -> Any:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        if key in self._own:
            return self._own[key]
        if key not in self._block.names or key in self._gone:
            raise KeyError(key)
        value = self._stored(key)
        if type(value) not in _UNCHANGEABLE:
            # It may be changed in place; whoever returns this mapping means the changed value.
            self._keep(key, value)
        return value

    def _keep(self, key: str, value: Any) -> None:
        if self._own is _NOTHING:
            self._own = {}
        self._own[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        self._keep(key, value)
        self._gone.discard(key)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._own.pop(key, None)
        if key in self._block.names:
            self._gone = {*self._gone, key}

    def __contains__(self, key: object) -> bool:
        return key in self._own or (key in self._block.names and key not in self._gone)

    def __iter__(self) -> Iterator[str]:
        for name in self._block.names:
            if name not in self._gone:
                yield name
        for name in self._own:
            if name not in self._block.names:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def copy(self) -> dict[str, Any]:
        """Makes a plain dict of it."""
        return dict(self)

    @property
    def changes(self) -> dict[str, Any]:
        """What was set, and what may have been changed in place."""
        return self._own

    @property
    def removed(self) -> set[str]:
        """The columns that were deleted."""
        return self._gone


_UNCHANGEABLE = frozenset({str, int, float, bool, bytes, type(None)})


class LazyRow(_Lazy):
    """One row, as a mapping; a column is converted when it is first asked for.

    Example:
        >>> view = View.from_table(pa.table({"a": [1, 2], "b": ["x", "y"]}))
        >>> row = Block(view, 0, 2, PythonFormatter({})).row(1)
        >>> row["a"], dict(row)
        (2, {'a': 2, 'b': 'y'})
    """

    __slots__ = ("_fixed", "_position")

    def __init__(self, block: Block, position: int) -> None:
        self._block = block
        self._position = position
        self._own = _NOTHING
        self._gone = _NONE
        # Where values are looked for first: nowhere once something was set or deleted.
        self._fixed: dict[str, list[Any]] = block.fixed

    @classmethod
    def each_of(cls, block: Block) -> Iterator[LazyRow]:
        """Gives the rows of a block one after another.

        A row that nobody kept becomes the next one: that takes a third of the time of making one.
        """
        row = cls(block, 0)
        fixed, alone = block.fixed, 0
        for position in range(block.num_rows):
            # The count of an object that only this frame knows is one or two, which depends on the Python: the first turn
            # shows it. Were it more, a debugger would hold on to the frame.
            count = _references(row)
            if count != alone:
                if position or not 0 < count <= 2:
                    row = cls(block, 0)
                else:
                    alone = count
            row._position = position
            row._own = _NOTHING
            row._gone = _NONE
            row._fixed = fixed
            yield row

    def __getitem__(self, key: str) -> Any:
        try:
            return self._fixed[key][self._position]
        except KeyError:
            pass  # looked for outside of this clause, so that an error is told alone
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._fixed = _NO_COLUMNS
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._fixed = _NO_COLUMNS
        super().__delitem__(key)

    def _stored(self, key: str) -> Any:
        return self._block.column(key)[self._position]


class LazyBatch(_Lazy):
    """Some rows, as a mapping from column to values; a column is converted when it is first asked for.

    Example:
        >>> view = View.from_table(pa.table({"a": [1, 2]}))
        >>> LazyBatch(Block(view, 0, 2, PythonFormatter({})))["a"]
        [1, 2]
    """

    __slots__ = ()

    def _stored(self, key: str) -> Any:
        return self._block.column(key)


def missing_column(error: Exception) -> ColumnNotFoundError | None:
    """Words the error of a row or batch that was asked for a column it has not.

    They raise a plain KeyError: functions may try columns row after row, and the wording takes ten times as long as all
    else about a row.

    Args:
        error: What the user's function raised.

    Returns:
        The error with the columns that there are; None if it is about something else.
    """
    trace = error.__traceback__
    if type(error) is not KeyError or trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    asked = trace.tb_frame.f_locals.get("self")
    return ColumnNotFoundError.from_name(error.args[0], asked) if isinstance(asked, _Lazy) else None
