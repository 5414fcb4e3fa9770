"""Statistics of a column, as values people can read; what may have been cut short is never shown as exact."""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass
from typing import Any

from gristmill.parquet.records import Statistics
from gristmill.parquet.schema import SchemaNode

_FIXED = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_UNITS = {"MILLIS": 10**3, "MICROS": 10**6, "NANOS": 10**9}
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # the words after it say whether it is UTC


@dataclass(frozen=True)
class Bound:
    """The smallest or largest value of a column chunk.

    Attributes:
        value: The value: a number, a bool, or text (``"0x..."`` for bytes that are none).
        exact: Whether it occurs in the column. False: it was cut short, and only bounds the values. None: the file
            does not say, and writers cut long values short without saying so.
        deprecated: Whether it is from the old fields, for which writers did not agree on an order.
    """

    value: Any
    exact: bool | None
    deprecated: bool = False


@dataclass(frozen=True)
class ColumnStatistics:
    """What a file says of the values of a column chunk.

    Attributes:
        min: Smallest value, if it is said.
        max: Largest value, if it is said.
        null_count: Nulls, if it is said.
        distinct_count: Different values, if it is said.
    """

    min: Bound | None
    max: Bound | None
    null_count: int | None
    distinct_count: int | None


def read_statistics(statistics: Statistics, leaf: SchemaNode) -> ColumnStatistics:
    """Reads statistics.

    Args:
        statistics: As the footer has them.
        leaf: The column.

    Returns:
        The values, and how far they can be relied on.
    """
    s = statistics
    return ColumnStatistics(
        _bound(s.min_value, s.is_min_value_exact, s.min, leaf),
        _bound(s.max_value, s.is_max_value_exact, s.max, leaf),
        s.null_count,
        s.distinct_count,
    )


def _bound(value: bytes | None, exact: bool | None, old: bytes | None, leaf: SchemaNode) -> Bound | None:
    deprecated = value is None
    raw = old if value is None else value
    if raw is None:
        return None
    # Values of a fixed width can't be cut short.
    if exact is None and leaf.physical in _FIXED:
        exact = True
    return Bound(read_value(raw, leaf), exact, deprecated)


def check_statistics(statistics: Statistics, leaf: SchemaNode) -> None:
    """Checks that the values of statistics have the width of their column's.

    Args:
        statistics: As the footer has them.
        leaf: The column.

    Raises:
        ValueError: One has another width, or a count is negative.
    """
    width = _FIXED.get(leaf.physical or "")
    if leaf.physical != "INT96":  # nothing is said of their statistics, and readers leave them alone
        for name in ("min_value", "max_value", "min", "max"):
            raw = getattr(statistics, name)
            if raw is not None and width is not None and len(raw) != width:
                raise ValueError(
                    f"the statistics' {name} has {len(raw)} bytes, and a {leaf.physical} {width}"
                )
    for name in ("null_count", "distinct_count"):
        count = getattr(statistics, name)
        if count is not None and count < 0:
            raise ValueError(f"the statistics' {name} is {count:,}")


def read_value(raw: bytes, leaf: SchemaNode) -> Any:
    """Reads one value of a column from its plain bytes.

    Args:
        raw: The bytes.
        leaf: The column.

    Returns:
        A number, a bool or text; ``"0x..."`` where the bytes are not what the column's type says.

    Example:
        >>> from gristmill.parquet.records import SchemaElement
        >>> from gristmill.parquet.schema import build_schema
        >>> date = SchemaElement(name="day", type=1, converted_type=6)
        >>> leaf = next(build_schema([SchemaElement(name="", num_children=1), date]).leaves())
        >>> read_value(bytes([1, 0, 0, 0]), leaf)
        '1970-01-02'
    """
    kind, _, parameters = leaf.logical.partition("(")
    width = _FIXED.get(leaf.physical or "", len(raw))
    try:
        if len(raw) != width or leaf.physical == "INT96":
            return _hex(raw)
        if leaf.physical == "BOOLEAN":
            return raw != b"\x00"
        if leaf.physical in ("FLOAT", "DOUBLE"):
            number = struct.unpack("<f" if width == 4 else "<d", raw)[0]
            return number if math.isfinite(number) else str(number)
        if leaf.physical in ("INT32", "INT64"):
            return _integer(
                int.from_bytes(raw, "little", signed=not kind.startswith("UINT")), kind, parameters
            )
        if kind == "DECIMAL":
            return _decimal(int.from_bytes(raw, "big", signed=True), parameters)
        if kind == "FLOAT16":
            return struct.unpack("<e", raw)[0]
        if kind in ("UTF8", "STRING", "ENUM", "JSON"):
            # A value that was cut short may end inside a character.
            return raw.decode("utf-8", "replace")
    except (OverflowError, ValueError, struct.error):
        pass
    return _hex(raw)


def _integer(number: int, kind: str, parameters: str) -> Any:
    if kind == "DECIMAL":
        return _decimal(number, parameters)
    if kind == "DATE":
        return (_EPOCH.date() + dt.timedelta(days=number)).isoformat()
    unit = parameters.split(",", maxsplit=1)[0] if parameters else kind.rpartition("_")[2]
    if kind.startswith("TIMESTAMP"):
        local = parameters.endswith("local)")
        moment, fraction = divmod(number, _UNITS[unit])
        return _with_fraction(_EPOCH + dt.timedelta(seconds=moment), fraction, unit) + ("" if local else "Z")
    if kind.startswith("TIME"):
        moment, fraction = divmod(number, _UNITS[unit])
        if 0 <= moment < 86400:
            return _with_fraction(_EPOCH + dt.timedelta(seconds=moment), fraction, unit).partition("T")[2]
    return number


def _with_fraction(moment: dt.datetime, fraction: int, unit: str) -> str:
    digits = len(str(_UNITS[unit])) - 1
    return moment.isoformat() + (f".{fraction:0{digits}d}" if fraction else "")


def _decimal(number: int, parameters: str) -> str:
    scale = int(parameters.rstrip(")").split(",")[1])
    digits = f"{abs(number):0{scale + 1}d}"
    text = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}" if scale else digits
    return ("-" if number < 0 else "") + text


def _hex(raw: bytes) -> str:
    return "0x" + raw.hex()
