"""Arrow values as values that JSON can hold."""

from __future__ import annotations

import base64
import math
from typing import Any

import pyarrow as pa


def plain_values(values: pa.Array) -> list[Any]:
    """Gives values as numbers, bools and text: times, decimals and NaN as text, bytes as base64.

    Args:
        values: Values of a leaf, as `read_leaf` gives them.

    Returns:
        One value an entry; None for null.

    Example:
        >>> plain_values(pa.array([b"ab", None])), plain_values(pa.array([1.5, float("inf")]))
        (['YWI=', None], [1.5, 'inf'])
    """
    kind = values.type
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        try:
            return list(values.cast(pa.string()).to_pylist())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return [None if value is None else str(value) for value in values.to_pylist()]
    found = values.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None else _finite(float(value)) for value in found]
    return [base64.b64encode(value).decode() if isinstance(value, bytes) else value for value in found]


def _finite(value: float) -> float | str:
    # JSON has no NaN and no infinity.
    return value if math.isfinite(value) else str(value)
