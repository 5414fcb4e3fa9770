"""Rows and batches as a function given to `map` sees them: a column is converted when the function asks for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from itertools import repeat
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
        touched: Places of the rows in which something was set or deleted.
    """

    __slots__ = (
        "_alone", "_formatter", "_made", "_range", "_view", "columns", "fixed", "names", "num_rows", "touched",
    )  # fmt: skip

    def __init__(self, view: View, start: int, stop: int, formatter: ColumnFormatter) -> None:
        self._view = view
        self._range = range(start, stop)
        self.names = view.name_set
        self.num_rows = stop - start
        self._formatter = formatter
        self.columns: dict[str, Any] = {}
        self.fixed: dict[str, list[Any]] = {}
        self.touched: list[int] = []
        self._made: list[LazyRow] = []
        self._alone = 0

    def column(self, name: str) -> Any:
        """Gives the values of one column."""
        try:
            return self.columns[name]
        except KeyError:
            stored = self._view.take(self._range, (name,)).column(0)
            self.columns[name] = values = self._formatter.column(name, stored)
            if isinstance(self._formatter, PythonFormatter) and self._formatter.is_fixed(name, stored.type):
                self.fixed[name] = values
            return values

    def row(self, position: int) -> LazyRow:
        """Gives one row."""
        return LazyRow(self, position)

    def rows(self) -> list[LazyRow]:
        """Gives all rows, each time the same objects."""
        if not self._made:
            self._made = list(map(LazyRow, repeat(self), range(self.num_rows)))
            self._alone = sum(map(_references, self._made))
        return self._made

    def has_given(self, mappings: Iterable[Any]) -> list[bool]:
        """Says of mappings whether each is the row of this block at its own place, and not that of another one."""
        return [
            type(mapping) is LazyRow and mapping._block is self and mapping._position == position
            for position, mapping in enumerate(mappings)
        ]

    def after(self, start: int, stop: int) -> Block:
        """Gives a block of other rows of the same view.

        It is this one, and the objects of its rows become those of the next ones, unless somebody kept one of them: to see
        that takes a fifth of the time of making them.

        Args:
            start: The first row.
            stop: The row to stop before.

        Example:
            >>> block = Block(View.from_table(pa.table({"a": [1, 2, 3]})), 0, 1, PythonFormatter({}))
            >>> kept = block.rows()[0]
            >>> kept["a"], block.after(1, 2).rows()[0]["a"], kept["a"]
            (1, 2, 1)
        """
        same = len(self._made) == stop - start and self._are_alone()
        if not same:
            return Block(self._view, start, stop, self._formatter)
        self._range = range(start, stop)
        self.columns.clear()
        self.fixed.clear()
        for position in self.touched:
            self._made[position].reset()
        self.touched.clear()
        return self

    def _are_alone(self) -> bool:
        # Counted as they were when nobody had seen them: how much that is depends on the Python.
        return self._alone > 0 and sum(map(_references, self._made)) == self._alone


# What nothing was set in, and nothing was deleted from; never changed.
_NOTHING: dict[str, Any] = {}
_NONE: set[str] = set()
_NO_COLUMNS: dict[str, list[Any]] = {}

# Other Pythons than CPython count no references: there, rows count as kept.
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
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def _names(self) -> Collection[str]:
        names = self._block.names
        if not self._gone and self._own.keys() <= names.keys():
            return names
        return [
            *(name for name in names if name not in self._gone),
            *(n for n in self._own if n not in names),
        ]

    def __repr__(self) -> str:
        return repr(dict(self))

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def copy(self) -> dict[str, Any]:
        """Makes a plain dict of it."""
        return dict(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied and pickled as a plain dict: the block is that of other rows soon, and has all the rows around this one.
        return dict, (dict(self),)

    def own(self, copied: Callable[[Any], Any]) -> None:
        """Puts copies in the place of values that were set, so that nobody else changes them.

        Args:
            copied: Gives the copy of a value.
        """
        for key, value in self._own.items():
            if type(value) not in _UNCHANGEABLE:
                self._own[key] = copied(value)

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
        # Where values are looked for first: nowhere once a column was set or deleted.
        self._fixed: dict[str, list[Any]] = block.fixed

    def __getitem__(self, key: str) -> Any:
        try:
            return self._fixed[key][self._position]
        except KeyError:
            pass  # looked for outside of this clause, so that an error is told alone
        return super().__getitem__(key)

    def _keep(self, key: str, value: Any) -> None:
        if self._own is _NOTHING:
            self._block.touched.append(self._position)
            self._own = {key: value}
        else:
            self._own[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        self._keep(key, value)
        if key in self._block.names:
            self._fixed = _NO_COLUMNS
            self._gone.discard(key)

    def __delitem__(self, key: str) -> None:
        self._fixed = _NO_COLUMNS
        self._block.touched.append(self._position)
        super().__delitem__(key)

    def reset(self) -> None:
        """Forgets what was set and deleted."""
        self._own = _NOTHING
        self._gone = _NONE
        self._fixed = self._block.fixed

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

    def is_of(self, block: Block) -> bool:
        """Says whether its rows are those of a block."""
        return self._block is block


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
