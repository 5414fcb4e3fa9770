"""Tables made of what users have: columns, rows, frames, tables of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, LargeList, List, Value
from gristmill.features.build import array_from_values, columns_of_rows, table_from_columns, table_from_rows
from gristmill.features.cast import cast_table
from gristmill.features.columnless import with_metadata, without_columns
from gristmill.features.convert import to_arrow_type
from gristmill.features.encode import needs_encoding
from gristmill.features.foreign import own_types
from gristmill.features.mixed import array_of_mixed, check_mixed_types
from gristmill.features.value_types import alike_in, types_of


def check_names(names: Sequence[str]) -> None:
    """Refuses two columns of one name.

    Raises:
        InvalidArgumentError: There are some; names one.

    Example:
        >>> check_names(["a", "b"])
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentError(f'Two columns are named "{twice}"; rename one of them first.')


def describe(table: pa.Table, features: Features | None) -> tuple[pa.Table, Features]:
    """Finds the features of a table and checks them against its columns.

    Args:
        table: An Arrow table, or an object that holds one as ``.table``.
        features: What is said about its columns; None takes it from the schema.

    Returns:
        (the table without schema metadata, its features).

    Raises:
        CastError: Features and columns differ.
        InvalidArgumentError: It is no table.
    """
    table = getattr(table, "table", table) if not isinstance(table, pa.Table) else table
    if not isinstance(table, pa.Table):
        raise InvalidArgumentError.from_value("arrow_table", table, "a pyarrow.Table")
    check_names(table.column_names)
    if features is None:
        features = Features.from_arrow_schema(table.schema)
        table = own_types(table)
    elif list(features) != table.column_names or any(
        to_arrow_type(features[field.name]) != field.type for field in table.schema
    ):
        table = cast_table(table, features)
        features = Features(features)
    return with_metadata(table, None) if table.schema.metadata else table, features


def columns_to_table(
    mapping: Mapping[str, Any],
    features: Features | None,
    on_mixed_types: str | None = None,
    python_text: bool = True,
) -> pa.Table:
    """Makes a table of columns of values; anything that can be iterated is a column.

    Args:
        mapping: The values by column.
        features: What they are; None infers it.
        on_mixed_types: ``"use_json"`` makes `Json` of what has no common type.
        python_text: See `table_from_columns`.
    """
    if not isinstance(mapping, Mapping):
        raise InvalidArgumentError.from_value("mapping", mapping, "a dict of columns")
    for name, values in mapping.items():
        if not isinstance(values, Iterable) and not hasattr(values, "__len__"):
            raise InvalidArgumentError.from_value(
                str(name), values, "a list or an array, one value for each row"
            )
    plain = {
        name: values if hasattr(values, "__len__") and not isinstance(values, range) else list(values)
        for name, values in mapping.items()
    }
    if check_mixed_types(on_mixed_types) and features is None:
        plain = {name: array_of_mixed(values, by_keys=True, column=name) for name, values in plain.items()}
    return table_from_columns(plain, features, python_text=python_text)


def rows_to_table(
    rows: Iterable[Mapping[str, Any]],
    features: Features | None,
    on_mixed_types: str | None = None,
    python_text: bool = True,
) -> pa.Table:
    """Makes a table of rows; a key that a row lacks is None there.

    Args:
        rows: The rows.
        features: What their columns are; None infers it.
        on_mixed_types: As for `columns_to_table`.
        python_text: See `table_from_columns`.
    """
    if not isinstance(rows, Iterable):
        raise InvalidArgumentError.from_value("mapping", rows, "a list of dicts, one a row")
    rows = rows if isinstance(rows, list) else list(rows)
    columns = _uniform_columns(rows)
    if columns is None and (features is not None or not check_mixed_types(on_mixed_types)):
        return table_from_rows(rows, features, python_text=python_text)
    if columns is None:
        columns = columns_of_rows(rows)
    if not columns and not features:
        return without_columns(len(rows))
    return columns_to_table(columns, features, on_mixed_types, python_text)


def _uniform_columns(rows: list[Any]) -> dict[str, list[Any]] | None:
    """Takes rows apart into columns if all have the same keys, which most have; None if they do not."""
    if types_of(rows) != {dict} or not alike_in(rows, len) or not rows[0]:
        return None
    try:
        return {name: list(map(itemgetter(name), rows)) for name in rows[0]}
    except KeyError:
        return None


def frame_to_table(frame: Any, features: Features | None, preserve_index: bool | None) -> pa.Table:
    """Makes a table of a pandas frame.

    Raises:
        CastError: A column has values that Arrow can't hold, or that do not fit the features.
        InvalidArgumentError: It is no frame, or has two columns of one name.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "dtypes"):
        raise InvalidArgumentError.from_value("df", frame, "a pandas.DataFrame")
    check_names([str(name) for name in frame.columns])
    wanted = {} if features is None else {name: f for name, f in features.items() if needs_encoding(f)}
    # Text would be taken for JSON if it became Arrow's before it was known that the column holds values of any type.
    apart = [i for i, name in enumerate(frame.columns) if str(name) in wanted]
    try:
        table = _value_by_value(frame, apart, wanted, preserve_index)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        # Arrow refuses a column of Python objects, such as integers above int64; it keeps the others, where NaN is None.
        apart = [
            i
            for i, kind in enumerate(frame.dtypes)
            if i in apart or (kind.kind == "O" and _refused(frame, i))
        ]
        try:
            table = _value_by_value(frame, apart, features or {}, preserve_index)
        except (pa.ArrowException, OverflowError, UnicodeError):
            raise CastError.at(f"the frame can't be stored: {error}") from error
    table = table.replace_schema_metadata(None)
    return table if features is None else cast_table(table, features)


def _refused(frame: Any, position: int) -> bool:
    try:
        pa.Array.from_pandas(frame.iloc[:, position])
    except (pa.ArrowException, OverflowError, UnicodeError):
        return True
    return False


def _value_by_value(
    frame: Any, apart: list[int], features: Mapping[str, Any], preserve_index: bool | None
) -> pa.Table:
    """Makes a table of a frame, with the columns at some positions made of Python values."""
    built = {}
    for position in apart:
        name, column = str(frame.columns[position]), frame.iloc[:, position]
        values = [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
        feature = features.get(name)
        values = [_without_nan(feature, value) for value in values]
        built[position] = array_from_values(values, feature, column=name)
    if built:
        frame = frame.copy(deep=False)
    for position in built:
        frame.isetitem(position, None)
    table = pa.Table.from_pandas(frame, preserve_index=preserve_index)
    for position, array in built.items():
        table = table.set_column(position, table.column_names[position], array)
    return table


def _without_nan(feature: Any, value: Any) -> Any:
    """Puts None in the place of NaN where a feature has integers: pandas makes floats of integers and None."""
    if isinstance(feature, List | LargeList) and isinstance(value, list | tuple | np.ndarray):
        if _has_nan_place(feature):
            return [_without_nan(feature.feature, item) for item in value]
    elif isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {name: _without_nan(feature.get(name), inner) for name, inner in value.items()}
    elif isinstance(value, float) and value != value and _is_whole(feature):
        return None
    return value


def _has_nan_place(feature: Any) -> bool:
    if isinstance(feature, List | LargeList):
        return _has_nan_place(feature.feature)
    return isinstance(feature, Mapping) or _is_whole(feature)


def _is_whole(feature: Any) -> bool:
    return isinstance(feature, ClassLabel) or (
        isinstance(feature, Value) and pa.types.is_integer(feature.pa_type)
    )


def polars_to_table(frame: Any, features: Features | None) -> pa.Table:
    """Makes a table of a polars frame; the memory is shared where the types are Arrow's own.

    Args:
        frame: The frame; a lazy one is computed.
        features: What the columns shall be.

    Raises:
        InvalidArgumentError: It is none.
        CastError: A value does not fit its feature.
    """
    frame = frame.collect() if hasattr(frame, "collect") else frame
    if not hasattr(frame, "to_arrow"):
        raise InvalidArgumentError.from_value("df", frame, "a polars.DataFrame")
    for name in frame.columns:
        if "\0" in name:  # which polars can't hand over, and panics
            raise InvalidArgumentError.from_value("the name of a column", name, "a name without a zero byte")
    table = frame.to_arrow()
    # Categories and views are ways to store text; the column is the text.
    wanted = Features.from_arrow_schema(table.schema) if features is None else features
    return cast_table(table, wanted)
