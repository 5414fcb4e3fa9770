"""Scalars cast from one type to another, each value checked: nothing is cut, rounded or wrapped around in silence."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import shorten

__all__ = ["Misfit", "cast_scalars"]


class Misfit(Exception):
    """The value at `index` of the array at hand does not fit; each level outwards maps index and path to its own."""

    def __init__(self, index: int | None, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.index, self.problem, self.path = index, problem, path


def cast_scalars(array: Any, target: Any) -> Any:
    """Casts one piece of a column to a type that is not nested.

    Args:
        array: The piece, without extension types, dictionaries and run lengths.
        target: The Arrow type asked for.

    Returns:
        The array itself where it has the type.

    Raises:
        Misfit: A value does not fit, or values of the one type never become values of the other.

    Example:
        >>> cast_scalars(pa.array(["2024-11-15T17:24:12.884000"]), pa.timestamp("ms")).to_pylist()
        [datetime.datetime(2024, 11, 15, 17, 24, 12, 884000)]
    """
    if array.type == target:
        return array
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    if pt.is_float16(target) and (pt.is_boolean(array.type) or pt.is_decimal(array.type)):
        array = pc.cast(array, pa.float64())  # from which Arrow casts
    try:
        result = _converted(array, target)
    except pa.ArrowNotImplementedError as error:
        raise Misfit(None, f"{array.type} can't become {target}") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as error:
        index, reason = _first_misfit(array, target, error)
        value = shorten(array[index].as_py()) if index is not None else "a value"
        raise Misfit(index, f"{value} does not fit into {target} ({reason})") from error
    _check_kept(array, result, target)
    return result


def _converted(array: Any, target: Any) -> Any:
    if pt.is_string_view(array.type):
        array = pc.cast(array, pa.large_string())
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        if pt.is_time(target):
            return _times(array, target)
        if pt.is_timestamp(target):
            return _moments(array, target)
    if pt.is_duration(target) and pt.is_floating(array.type):
        return _durations(array, target)
    if pt.is_duration(target) and pt.is_decimal(array.type):
        return _durations_of_decimals(array, target)
    return pc.cast(array, target)


def _times(texts: Any, target: Any) -> Any:
    # Arrow reads times only where there is a day as well.
    day, nothing = pa.scalar("1970-01-01T", texts.type), pa.scalar("", texts.type)
    moments = _moments(pc.binary_join_element_wise(day, texts, nothing), pa.timestamp(target.unit))
    return pc.cast(moments, target)


_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Decimal places of a second that a unit has."""
_ODD_ZONE = r"^(?P<moment>.*\d)(?P<sign>[+-])(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)$"
"""A moment in a zone whose distance from UTC is no whole number of minutes, as before zones were agreed on."""


def _moments(texts: Any, target: Any) -> Any:
    """Reads moments as Arrow does, and also where zeros follow behind what the unit keeps, and in zones of old times."""
    try:
        return pc.cast(texts, target)
    except pa.ArrowInvalid:
        places = _DIGITS[target.unit]
        # What is behind the places has to be nothing but zeros: no value is rounded.
        kept = rf"\.\d{{{places}}}" if places else ""
        zeros = rf"({kept}){'' if places else '[.]'}0+([^0-9].*)?$"
        plain = pc.replace_substring_regex(texts, zeros, r"\1\2")
        if target.tz is None:
            return pc.cast(plain, target)
        zones = pc.extract_regex(plain, _ODD_ZONE)
        odd = zones.is_valid()
        if not pc.any(odd).as_py():
            return pc.cast(plain, target)
        moment, sign, *parts = zones.flatten()
        utc = pa.timestamp(target.unit, "UTC")
        as_utc = pc.binary_join_element_wise(moment, pa.scalar("Z", plain.type), pa.scalar("", plain.type))
        hours, minutes, seconds = (pc.cast(part, pa.int64()) for part in parts)
        ahead = pc.add(pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60), seconds)
        ahead = pc.if_else(pc.equal(sign, "-"), pc.negate(ahead), ahead)
        ahead = pc.cast(pc.cast(ahead, pa.duration("s")), pa.duration(target.unit))
        shifted = pc.subtract_checked(pc.cast(as_utc, utc), ahead)
        usual = pc.cast(pc.if_else(odd, pa.scalar(None, plain.type), plain), utc)
        return pc.cast(pc.if_else(odd, shifted, usual), target)


def _durations(seconds: Any, target: Any) -> Any:
    """Reads floats as seconds; each has to be the float nearest to the duration it becomes.

    Whole numbers are counts of the unit, as for Arrow; floats, which Arrow refuses, are what our writers make.
    """
    places = _DIGITS[target.unit]
    seconds = pc.cast(seconds, pa.float64())
    near = pc.round(pc.multiply(seconds, 10.0**places))
    counts = near
    # Close to 2**52 counts, the product may round to a neighbour of the one count whose seconds these are.
    for other in (pc.subtract(near, 1.0), pc.add(near, 1.0)):
        counts = pc.if_else(pc.equal(pc.divide(other, 10.0**places), seconds), other, counts)
    back = pc.divide(counts, 10.0**places)
    # Beyond, a float of seconds may be that of two neighbours.
    wrong = pc.or_(pc.not_equal(back, seconds), pc.invert(pc.less(pc.abs(counts), 2.0**52)))
    if pc.any(wrong).as_py():
        raise ValueError("a float does not hold this number of seconds exactly in this unit")
    return pc.cast(pc.cast(counts, pa.int64()), target)


def _durations_of_decimals(seconds: Any, target: Any) -> Any:
    factor = pa.scalar(Decimal(10 ** _DIGITS[target.unit]), pa.decimal256(10, 0))
    counts = pc.multiply(pc.cast(seconds, pa.decimal256(60, max(9, seconds.type.scale))), factor)
    return pc.cast(pc.cast(counts, pa.int64()), target)


def _check_kept(array: Any, result: Any, target: Any) -> None:
    """Refuses what Arrow's checked cast lets pass: infinities made, numbers to bool, times to dates, rounded decimals."""
    before, back = array, None
    if pt.is_floating(target) and pt.is_floating(array.type) and target.bit_width < array.type.bit_width:
        lost = pc.and_(pc.is_inf(result), pc.invert(pc.is_inf(array)))
    elif (pt.is_boolean(target) and not pt.is_string(array.type) and not pt.is_large_string(array.type)) or (
        pt.is_date(target) and pt.is_timestamp(array.type)
    ):
        back = pc.cast(result, array.type)
        lost = pc.not_equal(back, before)
    elif pt.is_decimal(target) and pt.is_floating(array.type):
        # Half a unit of the last place is what writing the number as a decimal may cost; more is a loss.
        back = pc.cast(result, array.type)
        lost = pc.greater(pc.abs(pc.subtract(back, before)), pc.multiply(pc.abs(before), 1e-15))
    else:
        return
    lost = pc.fill_null(lost, False)
    if pc.any(lost).as_py():
        index = pc.index(lost, True).as_py()
        raise Misfit(index, f"{shorten(array[index].as_py())} does not fit into {target}")


def _first_misfit(array: Any, target: Any, error: Exception) -> tuple[int | None, str]:
    """Finds the first value that can't be cast, halving the range: about two casts of the array in all."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _converted(array.slice(low, middle - low), target)
        except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as found:
            high, error = middle, found
        else:
            low = middle
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return (low if len(array) else None), reason
