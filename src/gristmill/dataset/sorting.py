"""The order of rows by the values of some columns, and the distinct values of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.arguments import check_column, check_columns
from gristmill.errors import InvalidArgumentError
from gristmill.table.selection import IndexVector, compact
from gristmill.table.view import View

_PLACEMENTS = {"at_end": "at_end", "last": "at_end", "at_start": "at_start", "first": "at_start"}


def sorted_rows(
    view: View, names: str | Sequence[str], reverse: bool | Sequence[bool], null_placement: str
) -> range | IndexVector:
    """Finds the order of rows by the values of columns; rows that are equal in all of them stay in their order.

    Args:
        view: The rows.
        names: The columns, the most significant first.
        reverse: Largest first: for all columns, or one answer a column.
        null_placement: ``"at_end"`` or ``"at_start"``, whatever the direction.

    Returns:
        Row numbers.

    Raises:
        ColumnNotFoundError: A column does not exist.
        InvalidArgumentError: An argument means nothing, or values of a column have no order.
    """
    keys = check_columns(names, view.names)
    if not keys:
        raise InvalidArgumentError.from_value("column_names", names, "at least one column")
    several = list(reverse) if isinstance(reverse, Iterable) else []
    falling = [reverse] * len(keys) if isinstance(reverse, bool) else several
    if len(falling) != len(keys) or not all(isinstance(value, bool | np.bool_) for value in falling):
        raise InvalidArgumentError.from_value("reverse", reverse, "True or False, or a list of one a column")
    if null_placement not in list(_PLACEMENTS):
        raise InvalidArgumentError.from_choice("null_placement", str(null_placement), list(_PLACEMENTS))
    table = view.table(list(dict.fromkeys(keys)))
    order = [
        (position, "descending" if down else "ascending")
        for position, down in enumerate(falling)
        if not pa.types.is_null(table.column(keys[position]).type)
    ]
    if not order or view.num_rows < 2:
        return range(view.num_rows)
    # By number: pyarrow reads a dot in a column's name as the way to a field of a struct.
    columns = {str(position): comparable(table.column(keys[position])) for position, _ in order}
    try:
        rows = pc.sort_indices(pa.table(columns), options=_options(order, _PLACEMENTS[null_placement]))
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        kinds = ", ".join(f'"{name}" ({table.column(name).type})' for name in dict.fromkeys(keys))
        raise InvalidArgumentError(f"The values of {kinds} have no order: {error}.") from error
    return compact(rows.to_numpy().astype(np.int64, copy=False))


def _options(order: Sequence[tuple[int, str]], placement: str) -> pc.SortOptions:
    if int(pa.__version__.partition(".")[0]) >= 25:
        # Where nulls go is said for each key from here on, and saying it for all is warned of.
        return pc.SortOptions([(str(position), direction, placement) for position, direction in order])
    keys = [(str(position), direction) for position, direction in order]
    return pc.SortOptions(keys, null_placement=placement)


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Gives the values of a column in a type that Arrow can sort, find and count; most are in one already.

    Args:
        column: Half floats, short decimals and views of text and bytes become the same values of a wider type.

    Example:
        >>> comparable(pa.chunked_array([["a"]], pa.string_view())).type
        DataType(large_string)
    """
    kind = column.type
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    wider = _WIDER.get(kind)
    return column if wider is None else column.cast(wider)


_WIDER = {
    pa.float16(): pa.float32(),
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}


def distinct_values(view: View, name: str) -> pa.Array:
    """Finds the values of a column, each once, in order of appearance; None counts as one.

    Args:
        view: The rows.
        name: The column.

    Raises:
        ColumnNotFoundError: It does not exist.
        InvalidArgumentError: Its values are lists or structs.
    """
    name = check_column(name, view.names)
    column = view.table([name]).column(0)
    try:
        return pc.unique(comparable(column))
    except pa.ArrowNotImplementedError as error:
        raise InvalidArgumentError(
            f'Column "{name}" holds {column.type}; distinct values are found of plain values only. Flatten it, or map '
            "it to text first."
        ) from error


def with_one_nan(values: pa.Array) -> pa.Array:
    """Keeps the first of several NaN among distinct values: Arrow tells them apart by their bits, which nobody sees."""
    if not pa.types.is_floating(values.type):
        return values
    places = np.flatnonzero(pc.is_nan(values).fill_null(False).to_numpy(zero_copy_only=False))
    return values if len(places) < 2 else values.take(np.setdiff1d(np.arange(len(values)), places[1:]))
