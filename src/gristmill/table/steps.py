"""What can be done to an Arrow table by name and arguments, so that it can be done again in another process."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any, TypeAlias

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.columnless import without_columns
from gristmill.table.casting import table_cast

Step: TypeAlias = "tuple[str, tuple[Any, ...], dict[str, Any]]"
"""Name, arguments, keyword arguments."""

_MANY_CHUNKS = 64
_BY_ARROW = frozenset(
    {
        "add_column", "append_column", "combine_chunks", "drop", "filter", "remove_column", "rename_columns",
        "replace_schema_metadata", "select", "set_column",
    }
)  # fmt: skip


def apply_step(table: pa.Table, step: Step) -> pa.Table:
    """Does one step.

    Args:
        table: Where to start.
        step: What to do.

    Raises:
        InvalidArgumentError: There is no such step.

    Example:
        >>> apply_step(pa.table({"a": [1, 2]}), ("slice", (1,), {})).to_pydict()
        {'a': [2]}
    """
    name, args, kwargs = step
    if name == "slice":
        return _slice(table, *args, **kwargs)
    if not table.num_columns and name in {"cast", "flatten", "replace_schema_metadata"}:
        return _without_columns(table, step)
    if name in _BY_ARROW:
        return getattr(table, name)(*args, **kwargs)
    if name == "cast":
        return _cast(table, *args, **kwargs)
    if name == "flatten":
        return _flatten(table, *args, **kwargs)
    raise InvalidArgumentError.from_choice("step", name, sorted({*_BY_ARROW, "cast", "flatten", "slice"}))


def _without_columns(table: pa.Table, step: Step) -> pa.Table:
    # pyarrow loses the number of rows in these steps.
    name, args, kwargs = step
    given: Any = args[0] if args else next(iter(kwargs.values()), None)
    if name == "cast" and given.names:
        return table_cast(table, given)
    metadata = {"cast": getattr(given, "metadata", None), "replace_schema_metadata": given}
    return without_columns(table.num_rows, metadata.get(name, table.schema.metadata))


def _slice(table: pa.Table, offset: int = 0, length: int | None = None) -> pa.Table:
    start, count = clip(table.num_rows, offset, length)
    # pyarrow keeps all rows of a table without columns.
    return table.slice(start, count) if table.num_columns else without_columns(count, table.schema.metadata)


def _cast(table: pa.Table, target_schema: pa.Schema, safe: bool = True, **kwargs: Any) -> pa.Table:
    if not safe or kwargs:
        return table.cast(target_schema, safe=safe, **kwargs)
    return table_cast(table, target_schema)


def _flatten(table: pa.Table, *args: Any, **kwargs: Any) -> pa.Table:
    flat = table.flatten(*args, **kwargs)
    if b"huggingface" not in (table.schema.metadata or {}):
        return flat
    # The features of the fields follow them to the new columns.
    features = Features.from_arrow_schema(table.schema).flatten(max_depth=2)
    return flat.replace_schema_metadata({**table.schema.metadata, **features.arrow_schema.metadata})


def after_slice(steps: tuple[Step, ...], start: int, length: int) -> tuple[Step, ...]:
    """Adds a slice to the steps done so far; slices of slices become one.

    Example:
        >>> after_slice(after_slice((), 10, 50), 5, 2)
        (('slice', (15, 2), {}),)
    """
    if steps and steps[-1][0] == "slice" and len(steps[-1][1]) == 2:
        start += steps[-1][1][0]
        steps = steps[:-1]
    return (*steps, ("slice", (start, length), {}))


class Slicer:
    """Slices a table by rows; among many chunks the right ones are found by bisection.

    `pyarrow.Table.slice` walks over the chunks of every column from the first one.

    Args:
        table: What to slice.

    Example:
        >>> many = pa.concat_tables([pa.table({"a": [n]}) for n in range(1000)])
        >>> Slicer(many).slice(998, 2).to_pydict()
        {'a': [998, 999]}
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._batches: list[pa.RecordBatch] = []
        self._ends: list[int] = []
        if table.num_columns and table.column(0).num_chunks > _MANY_CHUNKS:
            self._batches = [batch for batch in table.to_batches() if batch.num_rows]
            self._ends = list(accumulate(batch.num_rows for batch in self._batches))

    def slice(self, start: int, length: int) -> pa.Table:
        """Gives `length` rows from `start` (both within the table), sharing its memory."""
        if not self._batches or length == 0:
            return _slice(self._table, start, length)
        first, last = pieces(self._ends, start, length)
        chosen = self._batches[first : last + 1]
        skipped = start - (self._ends[first - 1] if first else 0)
        # The first piece is cut in front, and then the whole behind: at most two batches are touched.
        chosen[0] = chosen[0].slice(skipped)
        return pa.Table.from_batches(chosen, schema=self._table.schema).slice(0, length)


def pieces(ends: list[int], start: int, length: int) -> tuple[int, int]:
    """Finds the first and the last of consecutive pieces that hold some rows.

    Args:
        ends: The row after each piece, rising.
        start: First row.
        length: How many rows, at least 1.

    Example:
        >>> pieces([10, 20, 30], 5, 10)
        (0, 1)
    """
    first = bisect_right(ends, start)
    return first, bisect_right(ends, start + length - 1, lo=first)


def clip(rows: int, offset: int, length: int | None) -> tuple[int, int]:
    """Brings the arguments of `slice` into the range of the rows there are.

    Raises:
        InvalidArgumentError: One of them is negative.

    Example:
        >>> clip(10, 8, None), clip(10, 20, 5)
        ((8, 2), (10, 0))
    """
    if offset < 0 or (length is not None and length < 0):
        raise InvalidArgumentError.from_value(
            "offset" if offset < 0 else "length", min(offset, -1 if length is None else length), "at least 0"
        )
    start = min(offset, rows)
    return start, rows - start if length is None else min(length, rows - start)
