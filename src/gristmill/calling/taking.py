"""Which Python values a column of a certain type takes as they are, and which types hold the same kinds of values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.features.value_types import types_of
from gristmill.features.visit import leaf_arrays


def takes_as_they_are(kind: pa.DataType, values: Iterable[Any]) -> bool:
    """Says whether values can be handed to Arrow with a type.

    Given a type, Arrow cuts off fractions, hours, microseconds and time zones, reads bytes as text and drops keys that a
    struct type does not have, all without a word; so the Python types are looked at first, which costs less than
    inferring them.
    """
    kinds = types_of(values) - {type(None)}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if not kinds <= {list}:
            return False
        items = itertools.chain.from_iterable(value for value in values if value is not None)
        deeper = pa.types.is_list(kind.value_type) or pa.types.is_large_list(kind.value_type)
        return takes_as_they_are(kind.value_type, list(items) if deeper else items)
    for belongs, allowed in _EXACT:
        if belongs(kind):
            return kinds <= allowed
    return not kinds


_EXACT: list[tuple[Callable[[pa.DataType], bool], set[type]]] = [
    (pa.types.is_integer, {int}),
    (pa.types.is_floating, {int, float}),
    (pa.types.is_boolean, {bool}),
    (pa.types.is_string, {str}),
    (pa.types.is_large_string, {str}),
    (pa.types.is_binary, {bytes}),
    (pa.types.is_large_binary, {bytes}),
    (pa.types.is_string_view, {str}),
    (pa.types.is_binary_view, {bytes}),
    (pa.types.is_fixed_size_binary, {bytes}),
    (pa.types.is_date, {date}),
    (pa.types.is_decimal, {Decimal, int}),
]


_PLAIN: dict[int, type] = {
    **{pa.type_for_alias(f"{sign}int{bits}").id: int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    pa.float64().id: float,
    pa.bool_().id: bool,
    pa.string().id: str,
    pa.large_string().id: str,
    pa.binary().id: bytes,
    pa.large_binary().id: bytes,
}


def plain_type(kind: pa.DataType) -> type | None:
    """Gives the Python type of which each value either fits a type as it is or is refused; None if there is no such.

    Example:
        >>> plain_type(pa.int8()), plain_type(pa.list_(pa.int8()))
        (<class 'int'>, None)
    """
    return _PLAIN.get(kind.id)


def has_infinity(array: pa.Array) -> bool:
    """Says whether there is an infinity among floats of less than 64 bits, which may be a number too large for them."""
    return any(
        pc.any(pc.is_inf(leaf)).as_py()
        for leaf in leaf_arrays(array)
        if pa.types.is_floating(leaf.type) and leaf.type.bit_width < 64
    )


def alike_types(kind: pa.DataType, hint: pa.DataType) -> bool:
    """Says whether two types hold the same kinds of values in the same structure, or nulls in place of them."""
    if kind == hint or pa.types.is_null(kind):
        return True
    if _is_list(kind) and _is_list(hint):
        return alike_types(kind.value_type, hint.value_type)
    if pa.types.is_struct(kind) and pa.types.is_struct(hint):
        names = {field.name for field in kind}
        return names == {field.name for field in hint} and all(
            alike_types(kind.field(name).type, hint.field(name).type) for name in names
        )
    return any(belongs(kind) and belongs(hint) for belongs in _FAMILIES)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


_FAMILIES: list[Callable[[pa.DataType], bool]] = [
    lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind),
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind),
    pa.types.is_decimal,
    pa.types.is_duration,
    pa.types.is_time,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
]
