"""Columns added to a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features.build import array_from_values
from gristmill.table.view import Part, View


def add_values(view: View, name: str, values: Any, feature: Any) -> tuple[View, pa.DataType]:
    """Puts a column of values beside the others.

    Args:
        view: The columns so far.
        name: Its name.
        values: One value a row: a list, numpy or Arrow array.
        feature: Its feature; inferred if None.

    Returns:
        (all columns, the Arrow type of the new one).

    Raises:
        InvalidArgumentError: The name exists, or the number of values is not the number of rows.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError.from_value("name", name, "a column's name")
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | set | frozenset)
    if not several or getattr(values, "ndim", 1) == 0:
        raise InvalidArgumentError.from_value("column", values, "one value a row: a list or an array")
    if name in view.names:
        raise InvalidArgumentError(f'There is a column "{name}" already; remove or rename it first.')
    column = array_from_values(values, feature, column=name, python_text=True)
    if (view.names or view.num_rows) and len(column) != view.num_rows:
        raise InvalidArgumentError(
            f'Column "{name}" has {len(column)} values, and the dataset has {view.num_rows} rows.'
        )
    added = Part(pa.table({name: column}))
    if not view.names:
        return View((added,), (name,), len(column), view.origins if view.num_rows else None), column.type
    return view.join(added), column.type
