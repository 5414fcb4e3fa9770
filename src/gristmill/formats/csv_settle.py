"""What kind of values a CSV column holds, from the text of all its cells.

A column is the narrowest of these that takes every cell that is not missing, and text if none does:

- ``bool``: true, True, TRUE, false, False, FALSE;
- an integer: digits, perhaps with a minus, within int64, or all of them within uint64. A leading zero or plus means a
  code or a phone number: text. Its kind also says whether there are negative ones and ones that a float would change,
  so that the kinds of parts of a file tell the kind of all of it;
- ``float``: decimal numbers without such zeros, ``inf`` included, next to integers below 2**53 in size.

So the text of a cell can always be had back from its value, but for spaces around numbers and digits that a float
does not hold. Text columns keep each cell exactly as it stands in the file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.features.cast import cast_array
from gristmill.features.kinds import FeatureType, Value
from gristmill.formats.csv_options import CsvOptions

__all__ = [
    "EXACT",
    "INTEGERS",
    "KINDS",
    "begins_as_text",
    "convert",
    "kind_of",
    "largest",
    "numbers_of_one_kind",
    "of_integers",
    "settled",
    "spellings",
    "text_array",
    "to_feature",
    "wider",
]

KINDS: dict[str, Any] = {
    "null": pa.null(),
    "blank": pa.string(),  # nothing but missing cells and empty quotes, which among numbers are missing too
    "bool": pa.bool_(),
    "int": pa.int64(),  # integers that floats hold too
    "negative": pa.int64(),  # likewise, some with a minus
    "big": pa.int64(),  # some of 2**53 or more
    "low": pa.int64(),  # some of 2**53 or more in size, and some with a minus
    "unsigned": pa.uint64(),  # some above int64
    "float": pa.float64(),
    "text": pa.string(),
}
INTEGERS = {"int": (0, 0), "negative": (0, 1), "big": (1, 0), "low": (1, 1), "unsigned": (2, 0)}
"""Kinds of integers: how large they are, and whether some have a minus."""
_INTEGER_KINDS = {facts: kind for kind, facts in INTEGERS.items()}
EXACT = 2**53
_SAMPLE = 64


def wider(one: str, other: str) -> str:
    """Gives the narrowest kind that takes the cells of two.

    Example:
        >>> wider("int", "float"), wider("big", "float"), wider("null", "bool")
        ('float', 'text', 'bool')
        >>> wider("int", "unsigned"), wider("negative", "big"), wider("negative", "unsigned")
        ('unsigned', 'low', 'text')
    """
    for nothing in ("null", "blank"):
        if one == other or other == nothing:
            return one
        if one == nothing:
            return other
    sizes = [INTEGERS[kind] for kind in (one, other) if kind in INTEGERS]
    if len(sizes) == 2:
        # Above int64 and below 0: no type holds both.
        return _INTEGER_KINDS.get((max(sizes)[0], max(sign for _, sign in sizes)), "text")
    return "float" if sizes and sizes[0][0] == 0 and "float" in (one, other) else "text"


def of_integers(numbers: Any) -> str:
    """Gives the kind of integers within int64.

    Example:
        >>> import pyarrow as pa
        >>> of_integers(pa.array([1, None])), of_integers(pa.array([-1, 2**53]))
        ('int', 'low')
    """
    limits = pc.min_max(numbers)
    low, high = limits["min"].as_py() or 0, limits["max"].as_py() or 0
    return _INTEGER_KINDS[int(max(-low, high) >= EXACT), int(low < 0)]


def kind_of(cells: pa.Array, options: CsvOptions) -> str:
    """Finds the kind of some cells.

    Args:
        cells: Text; missing cells are null.
        options: The file's options.

    Example:
        >>> import pyarrow as pa
        >>> [
        ...     kind_of(pa.array(cells), CsvOptions())
        ...     for cells in (["1", None], ["1", "2.5"], ["007"], ["1", "x"])
        ... ]
        ['int', 'float', 'text', 'text']
    """
    return settled(cells, options)[0]


def settled(cells: pa.Array, options: CsvOptions, least: str = "null") -> tuple[str, Any]:
    """Finds the kind of some cells, and makes values of it: finding out whether they are numbers is making them.

    Args:
        cells: Text; missing cells are null.
        options: The file's options.
        least: Kind of other cells of the column. The kind of all is not narrower, which rules out some of the work; what
            is given is one that, together with this one, makes the kind of all.

    Returns:
        The kind, and the values; None if the cells as they are serve as such.
    """
    if cells.null_count == len(cells):
        return "null", None
    if least == "text" or begins_as_text(cells, options):
        return "text", None
    plain = _numeric_text(cells, options)
    if plain.null_count == len(plain):
        return "blank", None
    kind, values = ("text", None) if least == "bool" else _numbers(plain, least)
    if kind != "text":
        return kind, values
    if len(cells) > 2 * _SAMPLE and least in ("null", "blank"):
        # What follows looks at all bytes of all cells; a few mostly say that it need not.
        least = settled(cells.slice(0, _SAMPLE), options)[0]
        if least == "text":
            return "text", None
    if least != "bool" and (trimmed := _trimmed(plain)) is not None:
        kind, values = _numbers(trimmed, least)
    if (
        kind == "text"
        and least in ("bool", "null", "blank")
        and _all(pc.is_in(plain, text_array([*spellings(options)])), plain)
    ):
        return "bool", _bools(plain, options)
    return kind, values


_MAY_BEGIN_NUMBERS = frozenset("+-.0123456789iInN")
_LOOKED_AT = 4


def begins_as_text(cells: Any, options: CsvOptions) -> bool:
    """Says whether one of the first cells is neither a number nor true or false: mostly so in columns of text.

    Args:
        cells: Text; missing cells are null.
        options: The file's options.
    """
    if options.thousands or options.decimal != ".":
        return False
    for cell in cells.slice(0, _LOOKED_AT).to_pylist():
        begin = (cell or "").strip()[:1]
        if begin and begin not in _MAY_BEGIN_NUMBERS and cell not in spellings(options):
            return True
    return False


def _numbers(plain: Any, least: str) -> tuple[str, Any]:
    numbers = _try(plain, pa.int64()) if least != "float" else None
    if numbers is not None:
        if _is_code(plain):
            return "text", None
        kind = of_integers(numbers)
        if _has_minus_zero(plain, numbers):
            # Among floats it has a sign: the cells are parsed anew once it is known what the column is.
            return wider(kind, "negative"), None
        return kind, numbers
    numbers = _try(plain, pa.float64())
    if numbers is None or _is_code(plain):
        return "text", None
    if largest(numbers) >= EXACT and _has_rounded_integers(plain, numbers):
        unsigned = _try(plain, pa.uint64())
        return ("text" if unsigned is None else "unsigned"), unsigned
    return "float", numbers


def numbers_of_one_kind(cells: Any, type_: Any, options: CsvOptions) -> Any:
    """Makes numbers of the cells of several columns, if each of these is of the kind of this type for sure.

    Args:
        cells: Text, of one column after another.
        type_: `int64` or `float64`; if the latter, no column is one of integers alone.
        options: The file's options.

    Returns:
        The numbers; None where a column has to be looked at by itself.
    """
    plain = _numeric_text(cells, options)
    if plain.null_count != cells.null_count:  # a column may be nothing but empty quotes
        return None
    numbers = _try(plain, type_)
    if numbers is None or _is_code(plain) or largest(numbers) >= EXACT or _has_minus_zero(plain, numbers):
        return None
    return numbers


def _has_minus_zero(plain: Any, numbers: Any) -> bool:
    """Says whether a cell of integers is ``-0``."""
    if not pt.is_integer(numbers.type):
        return False
    signed = pc.starts_with(plain, "-")
    return bool(pc.any(signed).as_py()) and bool(pc.any(pc.and_(signed, pc.equal(numbers, 0))).as_py())


def _is_code(plain: Any) -> bool:
    """Says whether a cell has a leading plus or zero, or is hexadecimal: spellings that a number would lose."""
    if not _may_be_code(plain):
        return False
    if pc.any(pc.starts_with(plain, "+")).as_py():
        return True
    zero = pc.or_(pc.starts_with(plain, "0"), pc.starts_with(plain, "-0"))
    point = pc.or_(pc.starts_with(plain, "0."), pc.starts_with(plain, "-0."))
    few = plain.filter(pc.and_not(zero, point))
    return bool(pc.any(pc.match_substring_regex(few, r"^-?0[0-9xX]")).as_py())


def _may_be_code(plain: Any) -> bool:
    """Looks at the first bytes of cells, which takes a fifth of what the kernels take; sometimes true when none is."""
    ends = np.frombuffer(plain.buffers()[1], np.int32)[plain.offset : plain.offset + len(plain) + 1]
    if ends[-1] == ends[0]:
        return False
    text = np.frombuffer(plain.buffers()[2], np.uint8)
    begin, size = ends[:-1], np.diff(ends)
    if not size.all():
        begin, size = begin[size > 0], size[size > 0]
    first = text[begin]
    if (first == ord("+")).any():
        return True
    signed = first == ord("-")
    if signed.any():
        begin, size = begin + signed, size - signed
        begin, size = begin[size > 0], size[size > 0]
        first = text[begin]
    zero = np.flatnonzero((first == ord("0")) & (size > 1))
    return bool((text[begin[zero] + 1] != ord(".")).any())


def _has_rounded_integers(plain: Any, numbers: Any) -> bool:
    """Says whether there is an integer above int64, or one that the floats beside it would round."""
    large = pc.greater_equal(pc.abs(numbers), float(EXACT))
    return bool(pc.any(pc.match_substring_regex(plain.filter(large), r"^-?[0-9]+$")).as_py())


def _try(plain: Any, type_: Any) -> Any:
    try:
        # Arrow words an error for each cell that fails, which takes many times as long as parsing: a few cells first.
        pc.cast(plain.slice(0, _SAMPLE), type_)
        return pc.cast(plain, type_)
    except pa.ArrowInvalid:
        return None


def largest(numbers: Any) -> float:
    """Gives the size of the number farthest from 0; 0 if there is none.

    Args:
        numbers: Of 64 bits, whole or floating.
    """
    limits = pc.min_max(numbers)
    low, high = limits["min"].as_py(), limits["max"].as_py()
    return max(abs(low), abs(high)) if low is not None else 0


def _all(matches: Any, cells: Any) -> bool:
    return bool(pc.all(pc.or_kleene(matches, pc.is_null(cells))).as_py())


def _numeric_text(cells: Any, options: CsvOptions) -> Any:
    """Makes text as Arrow parses numbers; an empty quoted cell among numbers is a missing one."""
    if options.missing:
        cells = _without_empty(cells)
    if options.thousands:
        cells = pc.replace_substring(cells, options.thousands, "")
    if options.decimal != ".":
        cells = pc.replace_substring(cells, options.decimal, ".")
    return cells


def text_array(texts: Sequence[str]) -> pa.Array:
    """Makes an array of texts as `pyarrow.array` does, which loads pandas for it where that is installed.

    Example:
        >>> text_array(["a", "bc"]).to_pylist()
        ['a', 'bc']
    """
    encoded = [text.encode() for text in texts]
    offsets = struct.pack(f"={len(texts) + 1}i", 0, *accumulate(map(len, encoded)))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _without_empty(cells: Any) -> Any:
    """Makes empty text null."""
    empty = pc.equal(cells, text_array([""])[0])
    return pc.if_else(empty, pa.nulls(1, pa.string())[0], cells) if pc.any(empty).as_py() else cells


def _trimmed(plain: Any) -> Any:
    """Cuts white space around cells; None if there is none."""
    trimmed = pc.ascii_trim_whitespace(plain)
    shorter = pc.sum(pc.binary_length(trimmed)).as_py() < pc.sum(pc.binary_length(plain)).as_py()
    return trimmed if shorter else None


def spellings(options: CsvOptions) -> dict[str, bool]:
    """Gives what true and false may be spelled."""
    truths = dict.fromkeys(("true", "True", "TRUE", *map(str, options.true_values or ())), True)
    return truths | dict.fromkeys(("false", "False", "FALSE", *map(str, options.false_values or ())), False)


def convert(cells: pa.Array, kind: str, options: CsvOptions) -> pa.Array:
    """Turns cells into values of a kind that takes them, see `kind_of`."""
    if kind in ("text", "blank"):
        return cells
    if kind == "null":
        return pa.nulls(len(cells))
    plain = _numeric_text(cells, options)
    if kind == "bool":
        return _bools(plain, options)
    numbers = _try(plain, KINDS[kind])
    return numbers if numbers is not None else pc.cast(pc.ascii_trim_whitespace(plain), KINDS[kind])


def _bools(plain: Any, options: CsvOptions) -> Any:
    true = text_array([text for text, value in spellings(options).items() if value])
    return pc.if_else(pc.is_null(plain), pa.nulls(1, pa.bool_())[0], pc.is_in(plain, true))


def to_feature(cells: pa.Array, feature: FeatureType, options: CsvOptions, where: dict[str, Any]) -> pa.Array:
    """Turns cells into values of a feature that the user asks for.

    Args:
        cells: Text; missing cells are null.
        feature: The feature; text stays exactly as it is in the file.
        options: The file's options.
        where: Arguments of `cast_array` that say where the cells are.

    Raises:
        CastError: A cell does not fit.
    """
    target = getattr(feature, "pa_type", None)
    by_text: list[Callable[[Any], bool]] = [
        pt.is_string,
        pt.is_large_string,
        pt.is_string_view,
        pt.is_decimal,
        # Bytes are those of the text, digits too.
        pt.is_binary,
        pt.is_large_binary,
        pt.is_fixed_size_binary,
        pt.is_binary_view,
    ]
    if target is not None and any(test(target) for test in by_text):
        return cast_array(cells, feature, **where)
    if target in (pa.int64(), pa.float64()) and isinstance(feature, Value):
        # The common case, when the schema was settled from the file itself: one cast instead of a look and a cast.
        numbers = _try(_numeric_text(cells, options), target)
        if numbers is not None and (target == pa.int64() or largest(numbers) < EXACT):
            return numbers
    kind, values = settled(cells, options)
    if kind == "float" and pt.is_duration(target):
        # Seconds; as floats, long durations would lose their last digits.
        seconds = _try(pc.ascii_trim_whitespace(_numeric_text(cells, options)), pa.decimal128(38, 9))
        if seconds is not None:
            return cast_array(seconds, feature, **where)
    natural = convert(cells, kind, options) if values is None else values
    if kind == "text" and options.missing:
        natural = _without_empty(natural)
    return cast_array(natural, feature, **where)
