"""The text of CSV cells, a column at a time, before any of them is quoted."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError
from gristmill.features.encode import decoded_values
from gristmill.features.unheld import first_failing
from gristmill.formats.csv_dialect import Dialect
from gristmill.formats.text_columns import TEXT, constant, join

__all__ = ["cell_texts", "is_numeric", "is_plain"]


def is_plain(column: Any) -> bool:
    """Says whether Arrow's cast to text gives the cells of a column of numbers as CSV has them.

    Args:
        column: An array of any type.

    Example:
        >>> is_plain(pa.array([1, None])), is_plain(pa.array([0.5])), is_plain(pa.array([1.0]))
        (True, True, False)
    """
    type_ = column.type
    if pt.is_integer(type_) or pt.is_decimal(type_):
        return True
    if not pt.is_floating(type_) or pt.is_float16(type_):
        return False
    numbers = column.to_numpy(zero_copy_only=False)
    if _whole(numbers).any():
        return False
    return not np.isnan(numbers).any() or pc.any(pc.is_nan(column)).as_py() is not True


def is_numeric(type_: Any) -> bool:
    """Says whether values of a type are numbers or truth values, of which CSV readers expect no quotes."""
    if isinstance(type_, pa.BaseExtensionType):
        return is_numeric(type_.storage_type)
    if pt.is_dictionary(type_):
        return is_numeric(type_.value_type)
    return bool(pt.is_boolean(type_) or pt.is_floating(type_) or pt.is_integer(type_) or pt.is_decimal(type_))


def cell_texts(column: Any, dialect: Dialect, name: str, row: int) -> Any:
    """Turns a column into the text of its cells; null stays null, and NaN becomes null.

    Args:
        column: An array of any type.
        dialect: How CSV is written.
        name: Name of the column, for errors.
        row: Row of the first value, for errors.

    Raises:
        CastError: Bytes are no text.

    Example:
        >>> cell_texts(pa.array([1.0, None, 0.1]), Dialect(), "x", 0).to_pylist()
        ['1.0', None, '0.1']
    """
    type_ = column.type
    if isinstance(column, pa.DictionaryArray):
        return cell_texts(column.dictionary_decode(), dialect, name, row)
    if isinstance(type_, pa.BaseExtensionType):
        return cell_texts(column.storage, dialect, name, row)
    if pt.is_null(type_):
        return pa.nulls(len(column), TEXT)
    if pt.is_boolean(type_):
        return pc.if_else(column, constant("True"), constant("False"))
    if pt.is_floating(type_):
        return _float_text(column, dialect)
    if pt.is_integer(type_):
        return pc.cast(column, TEXT)
    if pt.is_decimal(type_):
        return _with_decimal_point(pc.cast(column, TEXT), dialect)
    if pt.is_nested(type_):
        # Loaded where it is needed, as what it loads is much for a file of numbers.
        from gristmill.formats.json_write import json_texts

        text = json_texts(column, force_ascii=False)
        return pc.if_else(column.is_valid(), text, constant(None)) if column.null_count else text
    if pt.is_temporal(type_):
        return _time_text(column, dialect)
    try:
        return pc.cast(column, TEXT)
    except pa.ArrowInvalid as error:
        raise CastError.at(
            f"{type_} can't be written as text ({error})",
            row=row + first_failing(column, lambda part: pc.cast(part, TEXT)),
            column=name,
            remedy="Write Parquet, or drop the column.",
        ) from error


def _time_text(column: Any, dialect: Dialect) -> Any:
    from gristmill.formats.json_write import encoder, time_texts

    type_ = column.type
    if type_ == pa.time64("ns"):
        return time_texts(column)
    encode = encoder(force_ascii=False)
    form = dialect.date_format if pt.is_timestamp(type_) else None
    plain = [None if value is None
             else value.strftime(form) if form is not None
             else encode(value).strip('"')
             for value in decoded_values(column)]  # fmt: skip
    if pt.is_duration(type_):
        plain = _exact_seconds(column, plain)
    return pa.array(plain, TEXT)


def _exact_seconds(column: Any, plain: list[str | None]) -> list[str | None]:
    """Gives the digits of seconds that a float can't hold; the others stay as they are."""
    counts, places = (
        column.cast(pa.int64()).to_pylist(),
        {"s": 0, "ms": 3, "us": 6, "ns": 9}[column.type.unit],
    )
    return [
        text if count is None or abs(count) < 2**52 else f"{Decimal(count).scaleb(-places):f}"
        for count, text in zip(counts, plain, strict=True)
    ]


def _with_decimal_point(text: Any, dialect: Dialect) -> Any:
    return text if dialect.decimal == "." else pc.replace_substring(text, ".", dialect.decimal)


def _float_text(column: Any, dialect: Dialect) -> Any:
    if dialect.float_format is not None:
        values = column.to_pylist()
        written = [None if value is None or value != value else dialect.float_text(value) for value in values]
        return pa.array(written, TEXT)
    return _with_decimal_point(_shortest(column), dialect)


def _whole(numbers: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return numbers == np.trunc(numbers)


def _shortest(column: Any) -> Any:
    if pt.is_float16(column.type):
        column = pc.cast(column, pa.float32())
    text = pc.cast(column, TEXT)
    numbers = column.to_numpy(zero_copy_only=False)
    whole = _whole(numbers)
    with np.errstate(invalid="ignore"):
        large = bool((np.abs(numbers) >= 1e9).any())
    if large:  # a whole number may be written with an exponent, and then needs nothing
        whole &= pc.fill_null(pc.match_substring_regex(text, r"^-?[0-9]+$"), False).to_numpy(
            zero_copy_only=False
        )
    if whole.any():
        text = pc.if_else(pa.array(whole), join([text, constant(".0")]), text)
    return pc.if_else(pc.is_nan(column), constant(None), text) if np.isnan(numbers).any() else text
