"""Arrays from plain Python values, their type settled over all of them.

Values are taken apart column by column: the Python types of a whole column are looked at once, dicts become the
columns of a struct and lists one long column of their items, so that Arrow converts everything of one kind in a
single call. A conflict names the first value that disagrees with those before it.
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

from gristmill.errors import shorten
from gristmill.features.exact import is_text
from gristmill.features.infer import TypeConflict, unify_types
from gristmill.features.int_lists import int_lists
from gristmill.features.value_types import stands_for_none, types_of

__all__ = ["Conflict", "build_array", "build_list", "takes"]


class Conflict(Exception):
    """Like TypeConflict, with the index of the value that disagrees; each level outwards maps it to its own."""

    def __init__(
        self, index: int | None, problem: Any, second: Any = None, path: str = "", untyped: bool = False
    ) -> None:
        super().__init__(problem)
        self.index, self.problem, self.second, self.path = index, problem, second, path
        self.untyped = untyped
        """No type was found for a number, which a feature may still have a place for."""


def build_array(values: Any) -> Any:
    """Makes an array of whatever holds values: a list, an array of numpy or of another library, an iterable.

    Raises:
        Conflict: Values have types that no type holds, or a value can't be stored.

    Example:
        >>> build_array(np.array([1.5, 2.0])).type
        DataType(double)
    """
    if isinstance(values, np.ndarray):
        return _build_numpy(values)
    if hasattr(values, "__arrow_array__") or hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__array__"):
        return _build_numpy(_as_array(values))
    return build_list(values if isinstance(values, list) else list(values))


def _build_numpy(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "OUS" or array.ndim == 0:
        # Fixed-width numpy text is padded text: as Python values it is what the user sees.
        return build_list(list(array) if array.ndim > 1 else array.tolist())
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


def build_list(values: list[Any]) -> Any:
    """Makes an array of a list of values.

    Raises:
        Conflict: As for `build_array`.

    Example:
        >>> build_list([1, None, 2.5]).to_pylist()
        [1.0, None, 2.5]
    """
    kinds = types_of(values) - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    missing = {kind for kind in kinds if stands_for_none(kind)}
    if missing:
        return build_list([None if type(value) in missing else value for value in values])
    if all(issubclass(kind, Mapping) for kind in kinds):
        return _build_structs(values)
    if all(issubclass(kind, _LISTS) or _array_like(kind) for kind in kinds):
        if not kinds & {list, tuple} and all(
            getattr(v, "ndim", 1 if v is not None else 0) == 0 for v in values
        ):
            return build_list([None if value is None else _as_array(value)[()] for value in values])
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
            raise Conflict(index, f"{value!r} has a time zone, which no type of times holds")
        if isinstance(value, datetime):
            if zoned not in (None, has):
                with_zone, without = pa.timestamp("us", "UTC"), pa.timestamp("us")
                raise Conflict(index, *((without, with_zone) if has else (with_zone, without)))
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
        raise Conflict(row, f"the key {odd!r:.80} of a dict must be text")
    mask = pa.array([value is None for value in values]) if None in map(_none, values) else None
    columns = []
    for name in names:
        items = [None if value is None else value.get(name) for value in values]
        try:
            columns.append(build_list(items))
        except Conflict as conflict:
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
            items = build_list(list(itertools.chain.from_iterable(arrays)))
    except Conflict as conflict:
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
        raise Conflict(None, "an array without dimensions stands where lists stand in other rows")
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
            found = build_list([values[i] for i in indices]).type
        except Conflict as conflict:
            conflict.index = None if conflict.index is None else indices[conflict.index]
            raise
        try:
            type_ = unify_types(type_, found)
        except TypeConflict as clash:
            raise Conflict(indices[0], clash.first, clash.second) from clash
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
    fits = takes if kinds != {int, float} else _takes_as_float
    index = next((i for i, value in enumerate(values) if not fits(value, type_)), None)
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    shown = shorten(values[index]) if index is not None else "a value"
    untyped = index is not None and kinds <= {int, float, Decimal}
    if untyped:
        reason = (
            "it fits neither int64 nor, exactly, float64" if float in kinds else "no integer type holds it"
        )
    raise Conflict(index, f"{shown} can't be stored ({reason})", untyped=untyped) from error


def _takes_as_float(value: Any, _: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= 2**53


def takes(value: Any, type_: Any) -> bool:
    """Says whether Arrow stores a value as a type.

    Example:
        >>> takes(3, pa.int8()), takes(300, pa.int8())
        (True, False)
    """
    try:
        pa.array([value], type_)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False
    return True
