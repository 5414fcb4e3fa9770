"""Arrow to Python: whole columns at once, then rows out of columns by one compiled expression a schema."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.features.encode import decode_value, needs_decoding
from gristmill.features.unheld import converted

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


_FIXED = frozenset(
    kind.id
    for kind in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(),
        pa.large_binary(), pa.binary_view(),
    )
)  # fmt: skip


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
        """Converts one column.

        Raises:
            DataError: Python can't hold a value.
        """
        plain: list[Any] = converted(values, _to_list, column=name, row=None)
        if name in self.decoded:
            feature = self._features[name]
            return [decode_value(feature, value) for value in plain]
        return plain

    def is_fixed(self, name: str, kind: pa.DataType) -> bool:
        """Says whether no value of a column can be changed in place, so that one may be handed out again and again.

        Args:
            name: The column.
            kind: Its type.

        Example:
            >>> formatter = PythonFormatter({})
            >>> formatter.is_fixed("a", pa.string()), formatter.is_fixed("a", pa.list_(pa.string()))
            (True, False)
        """
        return kind.id in _FIXED and name not in self.decoded

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


def _to_list(values: Any) -> list[Any]:
    made: list[Any] = values.to_pylist()
    return made
