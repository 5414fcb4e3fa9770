"""Tables from plain Python values, with types settled over all rows.

What the values are is found by `gristmill.features.from_python`; here it is brought to the features, and errors get
the row and the column.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError, shorten
from gristmill.features.cast import cast_array, cast_table
from gristmill.features.columnless import without_columns
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.encode import encode_value, needs_encoding
from gristmill.features.exact import is_text
from gristmill.features.from_python import Conflict, build_array, build_list, takes
from gristmill.features.kinds import FeatureType
from gristmill.features.schema import Features
from gristmill.features.series import is_series, values_of_series
from gristmill.features.texts import arrow_text, as_texts, has_text, needs_text
from gristmill.features.visit import has_extension, storage_type, with_type

__all__ = ["array_from_values", "columns_of_rows", "table_from_columns", "table_from_rows"]


def table_from_columns(
    mapping: Mapping[str, Any],
    features: Mapping[str, FeatureType] | None = None,
    *,
    file: object = None,
    first_row: int = 0,
    python_text: bool = False,
) -> pa.Table:
    """Makes a table from columns of Python values.

    Args:
        mapping: Column name to a list of values, a numpy array (of any number of dimensions), or an Arrow array.
        features: Features to bring the columns to; inferred from all values if left out.
        file: Where the values come from, for errors.
        first_row: Index in `file` of the first row, for errors.
        python_text: Where a feature is text, whether other values become what Python's `str` gives ("True", "1.0"), as
            `datasets` has it for rows that users give, or what a cast gives ("true", "1").

    Returns:
        The table; with `features` its schema carries them in its metadata.

    Raises:
        SchemaConflictError: Values of a column have types that no type holds; names row and column.
        CastError: A value does not fit its feature.
        InvalidArgumentError: The columns differ in length, or a column is no sequence.

    Example:
        >>> table_from_columns({"a": [1, 2.5, None]}).schema
        a: double
    """
    for name in mapping:
        if not is_text(name):
            raise InvalidArgumentError(f"A column's name must be text, not {shorten(name)}.")
    lengths = {name: _length(column, name) for name, column in mapping.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in list(lengths.items())[:10])
        raise InvalidArgumentError(f"The columns must have the same length; they have {shown}.")
    wanted = None if features is None else Features(features)
    given = wanted or Features()
    built = {
        name: array_from_values(
            column, given.get(name), column=name, file=file, first_row=first_row, python_text=python_text
        )
        for name, column in mapping.items()
    }
    table = pa.table(built)
    return table if wanted is None else cast_table(table, wanted, file=file, first_row=first_row)


def table_from_rows(
    rows: Iterable[Mapping[str, Any]],
    features: Mapping[str, FeatureType] | None = None,
    *,
    file: object = None,
    first_row: int = 0,
    python_text: bool = False,
) -> pa.Table:
    """Makes a table from rows; a key that a row lacks is None there.

    Args:
        rows: Dicts of Python values.
        features: Features to bring the columns to; inferred from all rows if left out.
        file: Where the rows come from, for errors.
        first_row: Index in `file` of the first row, for errors.
        python_text: As for `table_from_columns`.

    Raises:
        SchemaConflictError: Values of a column have types that no type holds; names row and column.
        CastError: A row is no dict, or a value does not fit its feature.

    Example:
        >>> table_from_rows([{"a": 1}, {"a": None, "b": "x"}]).to_pylist()
        [{'a': 1, 'b': None}, {'a': None, 'b': 'x'}]
    """
    rows = list(rows)
    columns = columns_of_rows(rows, features or (), file=file, first_row=first_row)
    if not columns:
        return without_columns(len(rows))
    return table_from_columns(columns, features, file=file, first_row=first_row, python_text=python_text)


def columns_of_rows(
    rows: Sequence[Mapping[str, Any]],
    first: Iterable[str] = (),
    *,
    file: object = None,
    first_row: int = 0,
) -> dict[str, list[Any]]:
    """Takes rows apart into columns; a key that a row lacks is None there.

    Args:
        rows: The rows.
        first: Columns that come first, also if no row has them.
        file: Where the rows come from, for errors.
        first_row: Index in `file` of the first row, for errors.

    Raises:
        CastError: A row is no dict.

    Example:
        >>> columns_of_rows([{"a": 1}, {"b": 2}])
        {'a': [1, None], 'b': [None, 2]}
    """
    names: dict[str, None] = dict.fromkeys(first)
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise CastError.at(f"a row must be a dict, not {shorten(row)}", file=file, row=first_row + i)
        names.update(dict.fromkeys(row))
    if not all(map(is_text, names)):
        odd = next(name for name in names if not is_text(name))
        at = next((i for i, row in enumerate(rows) if odd in row), 0)
        raise CastError.at(f"a column's name must be text, not {shorten(odd)}", file=file, row=first_row + at)
    return {name: [row.get(name) for row in rows] for name in names}


def array_from_values(
    values: Any,
    feature: FeatureType | None = None,
    *,
    column: str | None = None,
    file: object = None,
    first_row: int = 0,
    python_text: bool = False,
) -> pa.Array | pa.ChunkedArray:
    """Makes one column, see `table_from_columns`.

    Args:
        values: A list of values, a numpy array, an Arrow array, or anything that can be iterated.
        feature: Feature to bring it to; inferred if None.
        column: Its name, for errors.
        file: Where the values come from, for errors.
        first_row: Index in `file` of the first value, for errors.
        python_text: As for `table_from_columns`.

    Example:
        >>> array_from_values([{"x": 1}, {"y": "a"}, None]).type
        StructType(struct<x: int64, y: string>)
    """
    texts = feature is not None and has_text(feature)
    if is_series(values):
        apart = feature is not None and needs_encoding(feature)
        values = values_of_series(values, typed=not (apart or (texts and python_text)))
    stored = isinstance(values, pa.Array | pa.ChunkedArray)
    texts = texts and not stored
    text = str if python_text else arrow_text
    if feature is not None and not stored and needs_encoding(feature):
        if texts and not python_text:
            values = [as_texts(feature, value, text) for value in values]
        return _encoded(values, feature, column, file, first_row)
    try:
        built = values if stored else build_array(values)
        if texts and python_text and needs_text(feature, built.type):
            built = build_array([as_texts(feature, value, text) for value in values])
    except Conflict as conflict:
        if feature is None or (isinstance(conflict.problem, str) and not conflict.untyped):
            raise _worded(conflict, column, file, first_row) from conflict.__cause__
        # Such values can still mean one thing to the feature: 3 and "3", or 2**70, under Value("string").
        if texts:
            values = [as_texts(feature, value, text) for value in values]
        return _encoded(values, feature, column, file, first_row)
    except RecursionError as error:
        raise CastError.at("values are nested too deep", file=file, column=column) from error
    if feature is None:
        return _own(built)
    return cast_array(built, feature, column=column, file=file, first_row=first_row)


def _own(array: Any) -> Any:
    """Puts what a type of Arrow's own, such as that of UUIDs, is stored as in its place."""
    if not has_extension(array.type) or to_arrow_type(feature := from_arrow_type(array.type)) == array.type:
        return array
    return cast_array(array, feature)


def _worded(conflict: Conflict, column: str | None, file: object, first_row: int) -> Exception:
    row = None if conflict.index is None else first_row + conflict.index
    where = ((column or "") + conflict.path).lstrip(".")
    if isinstance(conflict.problem, str):
        error: CastError = CastError.at(conflict.problem, file=file, row=row, column=where or None)
        return error
    return SchemaConflictError.from_types(where, conflict.problem, conflict.second, file=file, row=row)


def _encoded(values: Any, feature: FeatureType, column: str | None, file: object, first_row: int) -> pa.Array:
    encoded: list[Any] = []
    try:
        encoded.extend(encode_value(feature, value) for value in values)
    except CastError as error:
        row = first_row + len(encoded)
        raise CastError.at(str(error), file=file, row=row, column=column) from error
    type_ = to_arrow_type(feature)
    stored = storage_type(type_)
    try:
        return with_type(pa.array(encoded, stored), type_)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        # Only a cast reads times and decimals that stand beside such values as text.
        with contextlib.suppress(Conflict, CastError, pa.ArrowException):
            cast = cast_array(build_list(encoded), from_arrow_type(stored))
            if cast.type == stored:
                return with_type(cast, type_)
        odd = next((i for i, value in enumerate(encoded) if not takes(value, stored)), None)
        where = None if odd is None else first_row + odd
        raise CastError.at(
            f"values don't fit into {feature}: {error}", file=file, row=where, column=column
        ) from error


def _length(column: Any, name: str) -> int:
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        raise InvalidArgumentError.from_value(name, column, "a list or an array, one value for each row")
    return len(column)
