"""Arrow to Python: whole columns at once, then rows out of columns by one compiled expression a schema."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import DataError
from gristmill.features.encode import decode_value, needs_decoding

Row = dict[str, Any]


@functools.lru_cache(maxsize=512)
def row_maker(names: tuple[str, ...]) -> Callable[..., list[Row]]:
    """Gives the function that makes row dicts out of columns.

    A dict display with the names written in is about twice as fast as ``dict(zip(names, values))``.

    Args:
        names: Column names, at least one.

    Returns:
        A function of the columns (one argument each, all of one length).

    Example:
        >>> row_maker(("a", "b"))([1, 2], ["x", "y"])
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]
    """
    values = [f"v{position}" for position in range(len(names))]
    arguments = [f"c{position}" for position in range(len(names))]
    pairs = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    source = f"lambda {', '.join(arguments)}: [{{{pairs}}} for {', '.join(values)}, in zip({', '.join(arguments)})]"
    # Names go in as string literals (their repr), so nothing in them is ever run.
    maker: Callable[..., list[Row]] = eval(source, {"zip": zip})  # noqa: S307
    return maker


def make_rows(names: Sequence[str], columns: Sequence[Sequence[Any]], rows: int) -> list[Row]:
    """Makes row dicts out of columns.

    Args:
        names: Column names.
        columns: The values of each.
        rows: How many rows; decides when there are no columns.
    """
    if not names:
        return [{} for _ in range(rows)]
    return row_maker(tuple(names))(*columns)


NO_PYTHON_VALUE = (pa.ArrowException, OverflowError, ValueError, LookupError)
"""What pyarrow raises for a value that Python can't hold."""


def no_python_value(name: str, kind: pa.DataType, error: Exception) -> DataError:
    """Words that a column has a value that Python can't hold.

    Such are dates after the year 9999, times of a zone that this machine does not know, and bytes that are no text
    where a file says they are.
    """
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if "zoneinfo" in reason:
        reason = "this machine does not know the time zone"
    problem: DataError = DataError.at(
        f"a value of type {kind} can't be one of Python ({reason})",
        column=name,
        remedy='with_format("arrow") shows it as it is stored.',
    )
    return problem


class PythonFormatter:
    """Columns, rows and batches as Python values, decoded where their feature says so.

    Args:
        features: The feature of each column.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = features
        # Decided once: most datasets have no column that needs decoding.
        self.decoded = {name for name, feature in features.items() if needs_decoding(feature)}

    def column(self, name: str, values: pa.ChunkedArray) -> list[Any]:
        """Converts one column."""
        try:
            plain: list[Any] = values.to_pylist()
        except NO_PYTHON_VALUE as error:
            raise no_python_value(name, values.type, error) from error
        if name in self.decoded:
            feature = self._features[name]
            return [decode_value(feature, value) for value in plain]
        return plain

    def decode(self, name: str, value: Any) -> Any:
        """Decodes one stored value."""
        return decode_value(self._features[name], value) if name in self.decoded else value

    def batch(self, table: pa.Table) -> dict[str, list[Any]]:
        """Converts a table to columns of values."""
        names = table.column_names
        return {name: self.column(name, values) for name, values in zip(names, table.columns, strict=True)}

    def rows(self, table: pa.Table) -> list[Row]:
        """Converts a table to row dicts."""
        batch = self.batch(table)
        return make_rows(list(batch), list(batch.values()), table.num_rows)
