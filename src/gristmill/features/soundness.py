"""Whether the memory of a column can be trusted: what comes from a file is looked at before anything is computed with it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pt

__all__ = ["check_soundness"]


def check_soundness(array: Any) -> None:
    r"""Looks at every value of a column: offsets and indices have to be in range, text has to be UTF-8.

    A value beyond what its type says is no damage: files hold decimals of more digits than their precision and times
    after midnight, and Arrow gives them as they are. Only a cast has to refuse them.

    Args:
        array: One piece of a column, or a record batch.

    Raises:
        pyarrow.ArrowInvalid: It is damaged.

    Example:
        >>> import pyarrow as pa
        >>> check_soundness(pa.array([90_000], pa.int32()).view(pa.time32("s")))
        >>> check_soundness(pa.array([b"\xff"]).view(pa.string()))
        Traceback (most recent call last):
        pyarrow.lib.ArrowInvalid: Invalid UTF8 sequence at string index 0
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        # Arrow does not say which of the two it is: looked at once more, those types as bare numbers.
        _check_parts(array)


def _check_parts(array: Any) -> None:
    if isinstance(array, pa.RecordBatch):
        array.validate()
        for column in array.columns:
            _check_parts(column)
        return
    type_ = array.type
    array.validate()
    if isinstance(type_, pa.BaseExtensionType):
        _check_parts(array.storage)
    elif pt.is_struct(type_):
        for i in range(type_.num_fields):
            _check_parts(array.field(i))
    elif pt.is_dictionary(type_):
        nothing = pa.nulls(len(array.dictionary))
        pa.DictionaryArray.from_arrays(array.indices, nothing, safe=False).validate(full=True)
        _check_parts(array.dictionary)
    elif pt.is_fixed_size_list(type_):
        _check_parts(array.values)
    elif pt.is_list(type_) or pt.is_large_list(type_) or pt.is_map(type_):
        pairs = pt.is_map(type_)
        parts = [array.keys, array.items] if pairs else [array.values]
        make = pa.LargeListArray if pt.is_large_list(type_) else pa.ListArray
        make.from_arrays(array.offsets, pa.nulls(len(parts[0]))).validate(full=True)
        for part in parts:
            _check_parts(part)
    else:
        bits = _bits(type_)
        (array if bits is None else array.view(bits)).validate(full=True)


def _bits(type_: Any) -> pa.DataType | None:
    """Gives the type of the same bytes for types whose bytes can say more than the type means."""
    if pt.is_decimal(type_):
        return pa.binary(type_.bit_width // 8)
    if pt.is_time32(type_):
        return pa.int32()
    return pa.int64() if pt.is_time64(type_) or pt.is_date64(type_) else None
