"""The kinds of features: `Value`, `ClassLabel`, `List`, `LargeList`; a dict is a struct.

They only say what a column means. What is done with them (to Arrow, to a dict, encode, cast) is a `singledispatch`
function in a module of its own, so that a new kind is one class and its registrations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from gristmill.arguments import whole_number
from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features.class_label import ClassLabel
from gristmill.features.dtypes import canonical_dtype, parse_dtype
from gristmill.features.exact import exact_bool, exact_float, exact_int

__all__ = ["ClassLabel", "FeatureType", "LargeList", "List", "Sequence", "Value"]

FeatureType = Any
"""A feature: one of the classes here, a dict of features (a struct), or any class that fills the same role."""


# What a cast of a column of text reads.
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(repr=False)
class Value:
    """A scalar column.

    Args:
        dtype: Name of the type: ``string``, ``large_string``, ``binary``, ``bool``, ``int8`` ... ``uint64``,
            ``float16`` ... ``float64``, ``null``, ``date32``, ``date64``, ``time32[s|ms]``, ``time64[us|ns]``,
            ``timestamp[unit]``, ``timestamp[unit, tz=zone]``, ``duration[unit]``, ``decimal128(precision, scale)``,
            ``fixed_size_binary[bytes]``, ...
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: `dtype` names no type.

    Example:
        >>> Value("int32")
        Value('int32')
    """

    dtype: str
    id: str | None = field(default=None, repr=False)
    pa_type: Any = field(default=None, init=False, repr=False, compare=False)
    _type: ClassVar[str] = "Value"

    def __post_init__(self) -> None:
        self.pa_type = parse_dtype(self.dtype)
        self.dtype = canonical_dtype(self.dtype)

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column."""
        return self.pa_type

    def __repr__(self) -> str:
        return f"Value({self.dtype!r})"

    def encode_example(self, value: Any) -> Any:
        """Turns one Python value into one that Arrow stores as this type.

        Args:
            value: The value; None stays None.

        Raises:
            CastError: The value is no such number, or would lose its fraction.

        Example:
            >>> Value("int32").encode_example("3")
            3
        """
        if value is None:
            return None
        kind = self.pa_type
        try:
            if pa.types.is_boolean(kind):
                return _TRUTH[value.strip().lower()] if isinstance(value, str) else exact_bool(value)
            if pa.types.is_integer(kind):
                return exact_int(value)
            if pa.types.is_floating(kind):
                return exact_float(value, kind.bit_width)
        except (TypeError, ValueError, OverflowError, KeyError) as error:
            reason = "it is neither true nor false" if isinstance(error, KeyError) else error
            raise CastError.at(f"{value!r:.120} is no {self.dtype} ({reason})") from error
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        return str(value) if text and not isinstance(value, bytes) else value


_LONGEST = 2**31 - 1


class Sequence:
    """The older way to write a list; makes a `List`, or for a dict of features a dict of lists.

    A `List` is an instance of this class.

    Args:
        feature: Feature of the items.
        length: Number of items in every list; -1 where it varies.
        **kwargs: As for `List`.

    Example:
        >>> Sequence({"a": Value("int32")})
        {'a': List(Value('int32'))}
    """

    def __new__(cls, feature: FeatureType = None, length: int = -1, **kwargs: Any) -> Any:
        """Makes the `List`, or the dict of them."""
        if cls is not Sequence:
            return super().__new__(cls)
        # A list of what `Sequence` made a dict of is a list of such dicts.
        if isinstance(feature, Mapping) and not isinstance(feature, _DictOfLists):
            made = {name: List(inner, length=length, **kwargs) for name, inner in feature.items()}
            return _DictOfLists(made)
        return List(feature, length=length, **kwargs)


class _DictOfLists(dict[str, Any]):
    """What `Sequence` makes of a dict of features: a dict like any other that knows where it comes from."""

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)  # so that it is hashed and pickled as the dict it stands for


@dataclass(repr=False)
class List(Sequence):
    """A column of lists, each item of the same feature.

    Args:
        feature: Feature of the items; a dict makes a list of structs.
        length: Number of items in every list; -1 where it varies.
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: `length` is no such number.

    Example:
        >>> List(Value("int32"), length=2)
        List(Value('int32'), length=2)
    """

    feature: FeatureType
    length: int = -1
    id: str | None = field(default=None, repr=False)
    pa_type: ClassVar[Any] = None
    _type: ClassVar[str] = "List"

    def __post_init__(self) -> None:
        self.length = whole_number("length", self.length, -1)
        if self.length > _LONGEST:
            raise InvalidArgumentError.from_value("length", self.length, f"at most {_LONGEST} items")

    def __repr__(self) -> str:
        return f"List({self.feature!r}" + (f", length={self.length})" if self.length != -1 else ")")


@dataclass(repr=False)
class LargeList:
    """A column of lists whose items may number more than 2**31 in one batch (64-bit offsets).

    Args:
        feature: Feature of the items.
        id: A name of your own; kept, not interpreted.

    Example:
        >>> LargeList(Value("int32"))
        LargeList(Value('int32'))
    """

    feature: FeatureType
    id: str | None = field(default=None, repr=False)
    pa_type: ClassVar[Any] = None
    _type: ClassVar[str] = "LargeList"

    def __repr__(self) -> str:
        return f"LargeList({self.feature!r})"
