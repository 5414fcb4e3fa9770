"""Tables from plain Python values, with types settled over all rows.

Values are taken apart column by column: the Python types of a whole column are looked at once, dicts become the
columns of a struct and lists one long column of their items, so that Arrow converts everything of one kind in a
single call. A conflict names the first row that disagrees with the rows before it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError, shorten
from gristmill.features.cast import cast_array, cast_table
from gristmill.features.columnless import without_columns
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.encode import encode_value, needs_encoding
from gristmill.features.infer import TypeConflict, unify_types
from gristmill.features.int_lists import int_lists
from gristmill.features.kinds import FeatureType, is_text
from gristmill.features.schema import Features
from gristmill.features.series import is_series, values_of_series
from gristmill.features.value_types import stands_for_none, types_of
from gristmill.features.visit import has_extension, storage_type, with_type

__all__ = ["array_from_values", "columns_of_rows", "table_from_columns", "table_from_rows"]


class _Conflict(Exception):
    """Like TypeConflict, with the index of the value that disagrees; each level outwards maps it to its own."""

    def __init__(
        self, index: int | None, problem: Any, second: Any = None, path: str = "", untyped: bool = False
    ) -> None:
        super().__init__(problem)
        self.index, self.problem, self.second, self.path = index, problem, second, path
        self.untyped = untyped
        """No type was found for a number, which a feature may still have a place for."""


def table_from_columns(
    mapping: Mapping[str, Any],
    features: Mapping[str, FeatureType] | None = None,
    *,
    file: object = None,
    first_row: int = 0,
) -> pa.Table:
    """Makes a table from columns of Python values.

    Args:
        mapping: Column name to a list of values, a numpy array (of any number of dimensions), or an Arrow array.
        features: Features to bring the columns to; inferred from all values if left out.
        file: Where the values come from, for errors.
        first_row: Index in `file` of the first row, for errors.

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
        name: array_from_values(column, given.get(name), column=name, file=file, first_row=first_row)
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
) -> pa.Table:
    """Makes a table from rows; a key that a row lacks is None there.

    Args:
        rows: Dicts of Python values.
        features: Features to bring the columns to; inferred from all rows if left out.
        file: Where the rows come from, for errors.
        first_row: Index in `file` of the first row, for errors.

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
    return table_from_columns(columns, features, file=file, first_row=first_row)


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
) -> pa.Array | pa.ChunkedArray:
    """Makes one column, see `table_from_columns`.

    Args:
        values: A list of values, a numpy array, an Arrow array, or anything that can be iterated.
        feature: Feature to bring it to; inferred if None.
        column: Its name, for errors.
        file: Where the values come from, for errors.
        first_row: Index in `file` of the first value, for errors.

    Example:
        >>> array_from_values([{"x": 1}, {"y": "a"}, None]).type
        StructType(struct<x: int64, y: string>)
    """
    if is_series(values):
        values = values_of_series(values, typed=feature is None or not needs_encoding(feature))
    stored = isinstance(values, pa.Array | pa.ChunkedArray)
    if feature is not None and not stored and needs_encoding(feature):
        return _encoded(values, feature, column, file, first_row)
    try:
        built = values if stored else _build(values)
    except _Conflict as conflict:
        if feature is None or (isinstance(conflict.problem, str) and not conflict.untyped):
            raise _worded(conflict, column, file, first_row) from conflict.__cause__
        # Such values can still mean one thing to the feature: 3 and "3", or 2**70, under Value("string").
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


def _worded(conflict: _Conflict, column: str | None, file: object, first_row: int) -> Exception:
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
        with contextlib.suppress(_Conflict, CastError, pa.ArrowException):
            cast = cast_array(_build_list(encoded), from_arrow_type(stored))
            if cast.type == stored:
                return with_type(cast, type_)
        odd = next((i for i, value in enumerate(encoded) if not _takes(value, stored)), None)
        where = None if odd is None else first_row + odd
        raise CastError.at(
            f"values don't fit into {feature}: {error}", file=file, row=where, column=column
        ) from error


def _length(column: Any, name: str) -> int:
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        raise InvalidArgumentError.from_value(name, column, "a list or an array, one value for each row")
    return len(column)


def _build(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return _build_numpy(values)
    if hasattr(values, "__arrow_array__") or hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__array__"):
        return _build_numpy(_as_array(values))
    return _build_list(values if isinstance(values, list) else list(values))


def _build_numpy(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "OUS" or array.ndim == 0:
        # Fixed-width numpy text is padded text: as Python values it is what the user sees.
        return _build_list(list(array) if array.ndim > 1 else array.tolist())
    if array.ndim == 1:
        made = _as_arrow_has(array)
        # Arrow would look at this memory, whose owner may fill it anew for the next batch.
        shared = made.flags.c_contiguous and np.may_share_memory(made, array)
        return _arrow(made.copy() if shared else made)
    size = array.shape[1]
    items = _build_numpy(array.reshape(-1, *array.shape[2:]))
    return pa.ListArray.from_arrays(np.arange(len(array) + 1, dtype=np.int64) * size, items)


def _as_arrow_has(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Brings numbers to this machine's order of bytes, and times to a unit that Arrow has."""
    if array.dtype.kind in "Mm":
        unit = np.datetime_data(array.dtype)[0]
        kind = f"{array.dtype.kind}8"
        if unit in ("Y", "M", "W") and array.dtype.kind == "M":
            return array.astype(f"{kind}[D]")
        if unit in ("W", "D", "h", "m") and not (unit == "D" and array.dtype.kind == "M"):
            return array.astype(f"{kind}[s]")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


_LISTS = (list, tuple, np.ndarray)
_PLAIN_LISTS = {list, tuple, type(None)}
_FINE = {"Timestamp", "Timedelta"}
_PLAIN_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_(), bytes: pa.binary()}


def _build_list(values: list[Any]) -> Any:
    kinds = types_of(values) - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    missing = {kind for kind in kinds if stands_for_none(kind)}
    if missing:
        return _build_list([None if type(value) in missing else value for value in values])
    if all(issubclass(kind, Mapping) for kind in kinds):
        return _build_structs(values)
    if all(issubclass(kind, _LISTS) or _array_like(kind) for kind in kinds):
        if not kinds & {list, tuple} and all(
            getattr(v, "ndim", 1 if v is not None else 0) == 0 for v in values
        ):
            return _build_list([None if value is None else _as_array(value)[()] for value in values])
        plain = _plain_lists(values) if kinds <= {list, tuple} else None
        return _build_lists(values) if plain is None else plain
    if any(issubclass(kind, datetime | time) for kind in kinds):
        _check_zones(values)
    if any(map(_is_fine, kinds)) and any(map(_nanoseconds, values)):
        # Arrow takes times of pandas for those of Python, which end at the microsecond.
        found = _arrow(values).type
        return _arrow(
            values, pa.timestamp("ns", found.tz) if pa.types.is_timestamp(found) else pa.duration("ns")
        )
    if len(kinds) == 1 and (type_ := _PLAIN_TYPES.get(next(iter(kinds)))) is not None:
        # A type that is known need not be looked for; what does not fit it has an answer below.
        with contextlib.suppress(pa.ArrowException, OverflowError, ValueError):
            return pa.array(values, type_)
    if len(kinds) == 1 or kinds <= {int, float}:
        return _arrow(values)
    return _build_mixed(values)


def _is_fine(kind: type) -> bool:
    return kind.__name__ in _FINE and kind.__module__.partition(".")[0] == "pandas"


def _nanoseconds(value: Any) -> int:
    """Says what a time of pandas holds beyond microseconds."""
    found: int = getattr(value, "nanosecond", getattr(value, "nanoseconds", 0))
    return found


def _check_zones(values: list[Any]) -> None:
    # Arrow drops the zone of a time, and of a date where the first one has none.
    zoned: bool | None = None
    for index, value in enumerate(values):
        has = getattr(value, "tzinfo", None) is not None
        if has and isinstance(value, time):
            raise _Conflict(index, f"{value!r} has a time zone, which no type of times holds")
        if isinstance(value, datetime):
            if zoned not in (None, has):
                with_zone, without = pa.timestamp("us", "UTC"), pa.timestamp("us")
                raise _Conflict(index, *((without, with_zone) if has else (with_zone, without)))
            zoned = has


def _plain_lists(values: list[Any]) -> Any:
    """Converts lists whose items are of one plain type, which Arrow needn't look for then; None if they are not."""
    kinds = types_of(itertools.chain.from_iterable(filter(None, values)))
    if kinds == {int}:
        return int_lists(values)
    kinds.discard(type(None))
    type_ = _PLAIN_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
    if type_ is None:
        return None
    try:
        array = pa.array(values, pa.list_(type_))
    except (pa.ArrowException, OverflowError, ValueError):
        return None  # an integer above int64, half of a character: item by item there is an answer
    return array if isinstance(array, pa.ListArray) else None


def _array_like(kind: type) -> bool:
    return hasattr(kind, "__array__") and not issubclass(kind, np.generic)


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return value  # also a masked one, whose mask `asarray` would drop
    # A tensor that is on another device, or part of a computation, does not become an array by itself.
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _build_structs(values: list[Any]) -> Any:
    names = dict.fromkeys(itertools.chain.from_iterable(value for value in values if value is not None))
    odd = next((name for name in names if not is_text(name)), None)
    if odd is not None:
        row = next(i for i, value in enumerate(values) if value is not None and odd in value)
        raise _Conflict(row, f"the key {odd!r:.80} of a dict must be text")
    mask = pa.array([value is None for value in values]) if None in map(_none, values) else None
    columns = []
    for name in names:
        items = [None if value is None else value.get(name) for value in values]
        try:
            columns.append(_build_list(items))
        except _Conflict as conflict:
            conflict.path = f".{name}{conflict.path}"
            raise
    if not names:
        return pa.array(values, pa.struct([]))
    return pa.StructArray.from_arrays(columns, names=list(names), mask=mask)


def _none(value: Any) -> bool | None:
    return None if value is None else True


def _build_lists(values: list[Any]) -> Any:
    kinds = types_of(values)
    plain = values
    if not kinds <= _PLAIN_LISTS:
        plain = [_as_array(value) if _array_like(type(value)) else value for value in values]
    arrays = plain if type(None) not in kinds else [value for value in plain if value is not None]
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(_lengths(plain, kinds), np.int64, len(values)), out=offsets[1:])
    try:
        if (
            not kinds <= _PLAIN_LISTS
            and all(isinstance(value, np.ndarray) for value in arrays)
            and len({(v.dtype, v.shape[1:]) for v in arrays}) == 1
        ):
            masked = any(isinstance(value, np.ma.MaskedArray) for value in arrays)
            items = _build_numpy((np.ma.concatenate if masked else np.concatenate)(arrays))
        else:
            items = _build_list(list(itertools.chain.from_iterable(arrays)))
    except _Conflict as conflict:
        if conflict.index is not None:
            conflict.index = int(np.searchsorted(offsets, conflict.index, side="right")) - 1
        conflict.path = f"[]{conflict.path}"
        raise
    mask = pa.array([value is None for value in plain]) if len(arrays) < len(plain) else None
    if len(items) > 2**31 - 1:
        return pa.LargeListArray.from_arrays(offsets, items, mask=mask)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)


def _lengths(values: list[Any], kinds: set[type]) -> Iterable[int]:
    if kinds <= {list, tuple}:
        return map(len, values)
    return (0 if value is None else _items(value) for value in values)


def _items(value: Any) -> int:
    if getattr(value, "ndim", 1) == 0:
        raise _Conflict(None, "an array without dimensions stands where lists stand in other rows")
    return len(value)


def _build_mixed(values: list[Any]) -> Any:
    """Settles the type over values of several Python types, each of which Arrow types by itself."""
    groups: dict[type, list[int]] = {}
    for i, value in enumerate(values):
        if value is not None:
            groups.setdefault(type(value), []).append(i)
    type_: Any = pa.null()
    # In order of first appearance, so the error names the first that differs.
    for kind, indices in groups.items():
        try:
            found = _build_list([values[i] for i in indices]).type
        except _Conflict as conflict:
            conflict.index = None if conflict.index is None else indices[conflict.index]
            raise
        try:
            type_ = unify_types(type_, found)
        except TypeConflict as clash:
            raise _Conflict(indices[0], clash.first, clash.second) from clash
        if issubclass(kind, np.generic):
            for i in indices:
                values[i] = values[i].item()
    return _arrow(values, type_)


def _arrow(values: Any, type_: Any = None) -> Any:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        return _rescue(values, type_, error)


def _rescue(values: Sequence[Any], type_: Any, error: Exception) -> Any:
    """Handles what Arrow's own inference refuses: integers above int64, dates of numpy; else names the value."""
    kinds = {type(value) for value in values if value is not None}
    if type_ is None and kinds == {int}:
        numbers = [value for value in values if value is not None]
        if min(numbers) >= 0 and max(numbers) < 2**64:
            return pa.array(values, pa.uint64())
    if type_ is None and kinds in ({np.datetime64}, {np.timedelta64}):
        there = np.array([value is not None for value in values])
        times = np.array([value for value in values if value is not None])
        if np.datetime_data(times.dtype)[0] == "generic":
            if np.isnat(times).all():
                # Without a unit, and so of no type: nothing is known but that nothing is there.
                return pa.nulls(len(values))
        else:
            dates = np.full(len(values), "NaT", times.dtype)
            dates[there] = times
            with contextlib.suppress(pa.ArrowNotImplementedError):  # differences of months and years
                return pa.array(_as_arrow_has(dates))
    fits = _takes if kinds != {int, float} else _takes_as_float
    index = next((i for i, value in enumerate(values) if not fits(value, type_)), None)
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    shown = shorten(values[index]) if index is not None else "a value"
    untyped = index is not None and kinds <= {int, float, Decimal}
    if untyped:
        reason = (
            "it fits neither int64 nor, exactly, float64" if float in kinds else "no integer type holds it"
        )
    raise _Conflict(index, f"{shown} can't be stored ({reason})", untyped=untyped) from error


def _takes_as_float(value: Any, _: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= 2**53


def _takes(value: Any, type_: Any) -> bool:
    try:
        pa.array([value], type_)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False
    return True
