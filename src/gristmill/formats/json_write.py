"""Rows as JSON text: floats in the shortest form that reads back equal, integers as integers, text as it is.

`encoder` is the definition, one row at a time; `json_rows` writes the same bytes column by column.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.features.encode import decoded_values
from gristmill.features.unheld import NO_PYTHON_VALUE, converted
from gristmill.features.visit import flat_items
from gristmill.formats.text_columns import TEXT, bytes_of, constant, join, replaced, texts_with_bytes

__all__ = ["encoder", "json_rows", "json_texts", "time_texts"]

_ROWS = 10_000


def encoder(force_ascii: bool = True) -> Any:
    """Makes the function that turns a row into JSON text.

    NaN and the infinities, which JSON does not have, become null; times their ISO text; bytes base64 text, which reads
    back as that text and not as the bytes; decimals text with all their digits; durations seconds.

    Args:
        force_ascii: Write characters outside ASCII as escapes.

    Example:
        >>> encoder(force_ascii=False)({"a": 0.1 + 0.2, "b": float("nan"), "c": "é"})
        '{"a":0.30000000000000004,"b":null,"c":"é"}'
    """
    strict = _strict(force_ascii)

    def encode(row: Any) -> str:
        try:
            return strict(row)
        except ValueError:  # NaN or an infinity somewhere: rare, so rows pay for it only then
            return strict(_without_nan(row))

    def encode_text(row: Any) -> str:
        text = encode(row)
        # Half a surrogate pair, which only `Json` can hold, is no UTF-8; JSON has an escape for it.
        return text if _SURROGATE.search(text) is None else escaped(row)

    escaped = encode if force_ascii else encoder()
    return encode if force_ascii else encode_text


_SURROGATE = re.compile("[\ud800-\udfff]")


def _strict(force_ascii: bool) -> Callable[[Any], str]:
    return json.JSONEncoder(
        ensure_ascii=force_ascii, separators=(",", ":"), allow_nan=False, default=_plain
    ).encode


def _plain(value: Any) -> Any:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        # pandas has nanoseconds as well, and divides them less exactly than Python does.
        whole = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
        return (whole * 1000 + getattr(value, "nanoseconds", 0)) / 10**9
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


def json_rows(batches: Iterable[Any], force_ascii: bool = True, end: str = "\n") -> Iterator[bytes]:
    r"""Turns batches into JSON text, column by column: each row as `encoder` writes it, and `end` behind it.

    Every column becomes one Arrow array of JSON texts; the rows are joined from them by a single kernel, so that only
    values that have no quick form (text to be escaped, times, bytes, numbers with exponents) are looked at in Python.

    Args:
        batches: Record batches or tables.
        force_ascii: See `encoder`.
        end: What follows each row.

    Yields:
        The text of a bounded number of rows.

    Raises:
        DataError: A value has no text, such as a date after the year 9999; names row and column.

    Example:
        >>> list(json_rows([pa.table({"a": [1, None], "b": ["x", '"']})]))
        [b'{"a":1,"b":"x"}\n{"a":null,"b":"\\""}\n']
    """
    texts, row = _Texts(force_ascii), 0
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            if not batch.num_columns:
                yield f"{{}}{end}".encode() * min(_ROWS, batch.num_rows - start)
                continue
            piece = batch.slice(start, _ROWS)
            columns = [
                column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
                for column in piece.columns
            ]
            try:
                made = texts.objects(piece.schema.names, columns, end)
            except NO_PYTHON_VALUE:
                for name, column in zip(piece.schema.names, columns, strict=True):
                    converted(column, texts.values, column=name, row=row + start)
                raise
            yield bytes_of(made)
        row += batch.num_rows


def json_texts(array: Any, force_ascii: bool = True) -> Any:
    """Gives the JSON text of each value of a column; "null" is a text too.

    Args:
        array: An array.
        force_ascii: See `encoder`.

    Example:
        >>> json_texts(pa.array([[1], None])).to_pylist()
        ['[1]', 'null']
    """
    return _Texts(force_ascii).values(array)


def time_texts(array: Any) -> Any:
    """Gives times of day of nanoseconds as ISO text: six places, and nine where a value has more than microseconds.

    Args:
        array: Values of type ``time64[ns]``.

    Example:
        >>> time_texts(pa.array([1000, 1001], pa.time64("ns"))).to_pylist()
        ['00:00:00.000001', '00:00:00.000001001']
    """
    # Python's times end at microseconds, and Arrow cuts off what is finer on the way there.
    plain = pa.array([None if time is None else time.isoformat() for time in array.to_pylist()], TEXT)
    finer = pc.not_equal(array, pc.cast(pc.cast(array, pa.time64("us"), safe=False), array.type))
    return pc.if_else(finer, pc.cast(array, TEXT), plain)


class _Texts:
    """Turns arrays into arrays of the JSON texts of their values; null is a text too, so these have no nulls."""

    def __init__(self, force_ascii: bool) -> None:
        self._force_ascii = force_ascii
        self._encode = encoder(force_ascii)

    def objects(self, names: Sequence[str], columns: Sequence[Any], end: str = "") -> Any:
        """Joins columns to objects, at least one."""
        pieces: list[Any] = []
        before = "{"
        for name, column in zip(names, columns, strict=True):
            before += self._encode(name) + ":"
            if _is_text(column.type) and not column.null_count:
                # The quotes can stand in the constant parts.
                pieces += [constant(before + '"'), self._escaped(column)]
                before = '",'
            else:
                pieces += [constant(before), self.values(column)]
                before = ","
        pieces.append(constant(before.removesuffix(",") + "}" + end))
        return join(pieces)

    def values(self, array: Any) -> Any:
        """Gives the JSON text of each value of an array."""
        kind = array.type
        if pt.is_null(kind):
            return pa.array(["null"] * len(array), TEXT)
        if pt.is_boolean(kind):
            return self._or_null(pc.if_else(array, constant("true"), constant("false")))
        if pt.is_integer(kind):
            return self._or_null(array.cast(TEXT))
        if pt.is_floating(kind):
            return self._or_null(_float_texts(array))
        if _is_text(kind):
            quoted = join([constant('"'), self._escaped(array), constant('"')])
            return self._or_null(quoted)
        if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
            return self._lists(array)
        if pt.is_struct(kind) and kind.num_fields:
            made = self.objects([field.name for field in kind], array.flatten())
            return made if not array.null_count else pc.if_else(array.is_valid(), made, constant("null"))
        if kind == pa.time64("ns"):
            return self._or_null(join([constant('"'), time_texts(array), constant('"')]))
        if pt.is_dictionary(kind):
            return self.values(array.dictionary_decode())
        return pa.array(map(self._encode, decoded_values(array)), TEXT, size=len(array))

    @staticmethod
    def _or_null(texts: Any) -> Any:
        return pc.fill_null(texts, constant("null")) if texts.null_count else texts

    def _lists(self, array: Any) -> Any:
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = np.zeros(len(array) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # `flatten` leaves out what lies under nulls, as the lengths do.
        items = self.values(flat_items(array))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), items)
        joined = pc.binary_join(lists, constant(","))
        made = join([constant("["), joined, constant("]")])
        return made if not array.null_count else pc.if_else(array.is_valid(), made, constant("null"))

    def _escaped(self, array: Any) -> Any:
        """Escapes what JSON text may not hold; only the texts that hold such a byte are looked at one by one."""
        texts = array.cast(TEXT)
        odd = texts_with_bytes(texts, self._is_odd)
        if not len(odd):
            return texts
        if len(odd) > len(texts) // 4:
            escaped = [None if text is None else self._encode(text)[1:-1] for text in texts.to_pylist()]
            return pa.array(escaped, TEXT)
        escaped = [self._encode(text)[1:-1] for text in texts.take(pa.array(odd)).to_pylist()]
        return replaced(texts, odd, escaped)

    def _is_odd(self, data: Any) -> Any:
        """Says which bytes have to be escaped."""
        # Below the space and above the tilde in one comparison: bytes wrap around.
        highest = 0x7E if self._force_ascii else 0xFF
        mask = (data - np.uint8(0x20)) > np.uint8(highest - 0x20)
        mask |= data == np.uint8(ord('"'))
        mask |= data == np.uint8(ord("\\"))
        return mask


def _float_texts(array: Any) -> Any:
    """Writes floats as `repr` does: the kernel finds the same digits, and differs in where exponents begin."""
    if pt.is_float16(array.type):
        array = array.cast(pa.float32())
    array = array.cast(pa.float64())
    numbers = array.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        plain = (size >= 1e-3) & (size < 1e9)
        whole = plain & (numbers == np.trunc(numbers))
    plain |= size == 0
    whole |= size == 0
    texts = array.cast(TEXT)
    if whole.any():
        texts = pc.if_else(pa.array(whole), join([texts, constant(".0")]), texts)
    odd = np.flatnonzero(~plain)
    if len(odd):
        texts = replaced(
            texts,
            odd,
            [repr(number) if math.isfinite(number) else None for number in numbers[odd].tolist()],
        )
    return texts


def _is_text(kind: Any) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))
