"""Names of scalar types: the ``dtype`` text of `Value` to an Arrow type and back.

The names are those of `datasets`: mostly Arrow's own (``int32``, ``large_string``), with ``timestamp[us, tz=UTC]``,
``duration[s]``, ``time32[s]`` and ``decimal128(10, 2)`` for the types that take parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError

_PLAIN: dict[str, Any] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    **{
        f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
    "month_day_nano_interval": pa.month_day_nano_interval(),
}
# Spellings that mean one of the names above.
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "halffloat": "float16",
    "bool_": "bool",
    "utf8": "string",
    "large_utf8": "large_string",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
_NAMES = {type_: name for name, type_ in _PLAIN.items()}
_UNITS = "s|ms|us|ns"


_PARAMETRIC: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Any]]] = [
    (re.compile(r"time32\[(s|ms)\]"), lambda m: pa.time32(m[1])),
    (re.compile(r"time64\[(us|ns)\]"), lambda m: pa.time64(m[1])),
    (re.compile(rf"timestamp\[({_UNITS})\]"), lambda m: pa.timestamp(m[1])),
    (re.compile(rf"timestamp\[({_UNITS}),\s*tz=([^\]\s]+)\]"), lambda m: pa.timestamp(m[1], m[2])),
    (re.compile(rf"duration\[({_UNITS})\]"), lambda m: pa.duration(m[1])),
    (re.compile(r"decimal128\((\d+),\s*(-?\d+)\)"), lambda m: pa.decimal128(int(m[1]), int(m[2]))),
    (re.compile(r"decimal256\((\d+),\s*(-?\d+)\)"), lambda m: pa.decimal256(int(m[1]), int(m[2]))),
    (re.compile(r"decimal32\((\d+),\s*(-?\d+)\)"), lambda m: pa.decimal32(int(m[1]), int(m[2]))),
    (re.compile(r"decimal64\((\d+),\s*(-?\d+)\)"), lambda m: pa.decimal64(int(m[1]), int(m[2]))),
    (re.compile(r"fixed_size_binary\[(\d+)\]"), lambda m: pa.binary(int(m[1]))),
]


def parse_dtype(dtype: str) -> pa.DataType:
    """Finds the Arrow type that a dtype name means.

    Args:
        dtype: For example ``"int32"``, ``"timestamp[us, tz=UTC]"`` or ``"decimal128(10, 2)"``.

    Returns:
        The Arrow type.

    Raises:
        InvalidArgumentError: The name means no type, or its parameters are out of range.

    Example:
        >>> parse_dtype("timestamp[us, tz=UTC]")
        TimestampType(timestamp[us, tz=UTC])
    """
    if not isinstance(dtype, str):
        raise InvalidArgumentError.from_value("dtype", dtype, 'the name of a type, for example "string"')
    plain = _PLAIN.get(_ALIASES.get(dtype, dtype))
    if plain is not None:
        return plain
    for pattern, make in _PARAMETRIC:
        match = pattern.fullmatch(dtype)
        if match is not None:
            try:
                return make(match)
            except (pa.ArrowInvalid, ValueError, OverflowError) as error:
                raise InvalidArgumentError.from_value(
                    "dtype", dtype, f"a type that exists ({error})"
                ) from error
    shapes = [
        "time32[s]",
        "time64[us]",
        "timestamp[us]",
        "timestamp[us, tz=UTC]",
        "duration[s]",
        "decimal128(10, 2)",
    ]
    raise InvalidArgumentError.from_choice("dtype", dtype, [*_PLAIN, *shapes])


def canonical_dtype(dtype: str) -> str:
    """Replaces the short names that `datasets` replaces as well: ``float`` and ``double``.

    Example:
        >>> canonical_dtype("double")
        'float64'
    """
    return {"float": "float32", "double": "float64"}.get(dtype, dtype)


def dtype_name(type_: pa.DataType) -> str:
    """Names a scalar Arrow type; the inverse of `parse_dtype`.

    Args:
        type_: An Arrow type without inner types.

    Raises:
        CastError: The type has no name, for example a union.

    Example:
        >>> import pyarrow as pa
        >>> dtype_name(pa.duration("ms"))
        'duration[ms]'
    """
    known = _NAMES.get(type_)
    if known is not None:
        return known
    name = str(type_)
    try:
        if parse_dtype(name) == type_:
            return name
    except InvalidArgumentError:
        pass
    raise CastError.at(
        f"the Arrow type {type_} has no feature", remedy="Convert the column with pyarrow first."
    )
