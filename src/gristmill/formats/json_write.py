"""Rows as JSON text: floats in the shortest form that reads back equal, integers as integers, text as it is."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

__all__ = ["encoder", "json_lines"]

_ROWS = 10_000


def encoder(force_ascii: bool = True) -> Any:
    """Makes the function that turns a row into JSON text.

    NaN and the infinities, which JSON does not have, become null; times their ISO text; bytes base64 text; decimals
    text with all their digits; durations seconds.

    Args:
        force_ascii: Write characters outside ASCII as escapes.

    Example:
        >>> encoder(force_ascii=False)({"a": 0.1 + 0.2, "b": float("nan"), "c": "é"})
        '{"a":0.30000000000000004,"b":null,"c":"é"}'
    """
    strict = json.JSONEncoder(
        ensure_ascii=force_ascii, separators=(",", ":"), allow_nan=False, default=_plain
    ).encode

    def encode(row: Any) -> str:
        try:
            return strict(row)
        except ValueError:  # NaN or an infinity somewhere: rare, so rows pay for it only then
            return strict(_without_nan(row))

    return encode


def _plain(value: Any) -> Any:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    return str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value


def json_lines(batches: Iterable[pa.RecordBatch], force_ascii: bool = True) -> Iterator[list[str]]:
    """Turns batches into lists of JSON texts, one text a row, a bounded number of rows at a time.

    Args:
        batches: Record batches or tables.
        force_ascii: See `encoder`.
    """
    encode = encoder(force_ascii)
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield [encode(row) for row in batch.slice(start, _ROWS).to_pylist()]
