"""One type for values that came with two: types widen, and only what no type can hold is a conflict.

Widening loses nothing: null takes any type, small integers become larger ones, integers next to floats become
floats (a cast checks each value), text and lists take 64-bit offsets when one side has them, timestamps take the finer
unit, structs take the fields of both in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import SchemaConflictError
from gristmill.features.convert import from_arrow_field, to_arrow_type
from gristmill.features.schema import Features, metadata_features

__all__ = ["TypeConflict", "refuse", "to_json", "to_text", "unify_schemas", "unify_types"]

JSON = pa.json_(pa.string())
"""How `Json` is stored."""


class TypeConflict(Exception):
    """No type holds both; caught inside this room and worded as a `SchemaConflictError` by whoever knows the place.

    Attributes:
        path: Field names from the column inwards.
        first: One type.
        second: The other.
    """

    def __init__(self, first: Any, second: Any, path: tuple[str, ...] = ()) -> None:
        super().__init__(first, second, path)
        self.first, self.second, self.path = first, second, path

    def inside(self, name: str) -> TypeConflict:
        """Gives the same conflict, seen from one level further out."""
        return TypeConflict(self.first, self.second, (name, *self.path))


def refuse(a: Any, b: Any) -> Any:
    """Answers a clash of two types with the error; see `unify_types`."""
    raise TypeConflict(a, b)


def to_json(*_: Any) -> Any:
    """Answers a clash of two types with the `Json` type, which holds both."""
    return JSON


def to_text(a: Any, b: Any) -> Any:
    """Answers a clash of two scalar types with text: for formats where every value is text to begin with."""
    if pt.is_nested(a) or pt.is_nested(b):
        raise TypeConflict(a, b)
    return pa.string()


Clash = Callable[[Any, Any], Any]


def unify_types(a: pa.DataType, b: pa.DataType, clash: Clash = refuse) -> pa.DataType:
    """Finds the narrowest type that holds the values of two.

    Args:
        a: An Arrow type.
        b: Another.
        clash: Says what holds two types, at any depth, that have no common type: `refuse`, `to_json` or `to_text`.

    Returns:
        The wider type.

    Raises:
        TypeConflict: There is none, for example for text and numbers.

    Example:
        >>> import pyarrow as pa
        >>> unify_types(pa.struct({"x": pa.int32()}), pa.struct({"x": pa.float64(), "y": pa.null()}))
        StructType(struct<x: double, y: null>)
    """
    if a == b:
        return a
    if JSON in (a, b):
        return JSON
    a, b = _plain(a), _plain(b)
    if a == b or pt.is_null(b):
        return a
    if pt.is_null(a):
        return b
    for belongs, unify in _FAMILIES:
        if belongs(a) and belongs(b):
            return unify(a, b, clash)
    return clash(a, b)


def _plain(type_: Any) -> Any:
    """Strips what only says how values are encoded: dictionaries, run lengths, views, extension names."""
    if isinstance(type_, pa.DictionaryType | pa.RunEndEncodedType):
        return _plain(type_.value_type)
    if isinstance(type_, pa.BaseExtensionType):
        return _plain(type_.storage_type)
    if isinstance(type_, pa.MapType):
        pair = pa.struct([pa.field("key", type_.key_type), pa.field("value", type_.item_type)])
        return pa.list_(pair)
    if isinstance(type_, pa.ListViewType):
        return pa.list_(type_.value_type)
    if isinstance(type_, pa.LargeListViewType):
        return pa.large_list(type_.value_type)
    return _VIEWS.get(type_, type_)


_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def _numbers(a: Any, b: Any, _: Clash) -> Any:
    if pt.is_integer(a) and pt.is_integer(b):
        return _integers(a, b)
    exact = all(t.bit_width <= (16 if pt.is_integer(t) else 32) for t in (a, b))
    both_half = a == b == pa.float16()
    return a if both_half else pa.float32() if exact else pa.float64()


def _integers(a: Any, b: Any) -> Any:
    if pt.is_signed_integer(a) == pt.is_signed_integer(b):
        return a if a.bit_width >= b.bit_width else b
    signed, unsigned = (a, b) if pt.is_signed_integer(a) else (b, a)
    bits = max(signed.bit_width, 2 * unsigned.bit_width)
    if bits > 64:
        # No integer type holds both ranges; like integers next to floats, each value is checked by the cast.
        return pa.uint64()
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]


def _texts(*_: Any) -> Any:
    return pa.large_string()


def _bytes(a: Any, b: Any, _: Clash) -> Any:
    return pa.large_binary() if pa.large_binary() in (a, b) else pa.binary()


_ORDER = ["s", "ms", "us", "ns"]


def _finer(a: Any, b: Any) -> str:
    return _ORDER[max(_ORDER.index(a.unit), _ORDER.index(b.unit))]


def _timestamps(a: Any, b: Any, clash: Clash) -> Any:
    if (a.tz is None) != (b.tz is None):
        return clash(a, b)
    return pa.timestamp(_finer(a, b), a.tz if a.tz == b.tz else "UTC")


def _times(a: Any, b: Any, _: Clash) -> Any:
    unit = _finer(a, b)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _decimals(a: Any, b: Any, clash: Clash) -> Any:
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    if precision > 76:
        return clash(a, b)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _lists(a: Any, b: Any, clash: Clash) -> Any:
    items = _inside("[]", a.value_type, b.value_type, clash)
    if pt.is_large_list(a) or pt.is_large_list(b):
        return pa.large_list(items)
    if pt.is_fixed_size_list(a) and pt.is_fixed_size_list(b) and a.list_size == b.list_size:
        return pa.list_(items, a.list_size)
    return pa.list_(items)


def _structs(a: Any, b: Any, clash: Clash) -> Any:
    fields = {field.name: field for field in a}
    for field in b:
        known = fields.get(field.name)
        if known is None or pt.is_null(known.type):
            fields[field.name] = field
        elif not pt.is_null(field.type):
            type_ = _inside(field.name, known.type, field.type, clash)
            # What a field says of itself (that its lists are arrays) holds where both sides say it.
            marks = known.metadata if known.metadata == field.metadata else None
            fields[field.name] = pa.field(field.name, type_, metadata=marks)
    return pa.struct(list(fields.values()))


def _inside(name: str, a: Any, b: Any, clash: Clash) -> Any:
    try:
        return unify_types(a, b, clash)
    except TypeConflict as conflict:
        raise conflict.inside(name) from None


def _one_of(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda type_: any(test(type_) for test in tests)


_FAMILIES: list[tuple[Callable[[Any], bool], Callable[[Any, Any, Clash], Any]]] = [
    (_one_of(pt.is_integer, pt.is_floating), _numbers),
    (_one_of(pt.is_string, pt.is_large_string), _texts),
    (_one_of(pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary), _bytes),
    (pt.is_struct, _structs),
    (_one_of(pt.is_list, pt.is_large_list, pt.is_fixed_size_list), _lists),
    (pt.is_timestamp, _timestamps),
    (pt.is_duration, lambda a, b, _: pa.duration(_finer(a, b))),
    (pt.is_time, _times),
    (pt.is_date, lambda *_: pa.date64()),
    (pt.is_decimal, _decimals),
]


def unify_schemas(
    first: pa.Schema,
    second: pa.Schema,
    *,
    file: object = None,
    row: int | None = None,
    clash: Clash = refuse,
) -> pa.Schema:
    """Finds the schema that holds the rows of two, columns in order of appearance.

    What the ``huggingface`` metadata says of a column (its class names) is kept where both sides agree or only one
    has the column.

    Args:
        first: The schema so far.
        second: The schema of what comes next.
        file: Where `second` comes from, for the error.
        row: Row of `file` at which it begins, if known.
        clash: As for `unify_types`.

    Raises:
        SchemaConflictError: A column has types on the two sides that no type holds.

    Example:
        >>> import pyarrow as pa
        >>> unify_schemas(pa.schema({"a": pa.null()}), pa.schema({"a": pa.string(), "b": pa.int8()})).names
        ['a', 'b']
    """
    try:
        type_ = _structs(list(first), _unique(second, file), clash)
    except TypeConflict as conflict:
        raise conflict_error(conflict, file=file, row=row) from conflict
    merged = pa.schema(list(type_))
    return _keep_features(merged, first, second)


def conflict_error(
    conflict: TypeConflict, *, file: object = None, row: int | None = None
) -> SchemaConflictError:
    """Words a conflict for the user."""
    path = ".".join(conflict.path).replace(".[]", "[]")
    return SchemaConflictError.from_types(path, conflict.first, conflict.second, file=file, row=row)


def _unique(schema: pa.Schema, file: object) -> list[Any]:
    if len(set(schema.names)) != len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        error: SchemaConflictError = SchemaConflictError.at(
            "two columns have this name", file=file, column=twice, remedy="Rename one of them."
        )
        raise error
    return list(schema)


def _keep_features(merged: pa.Schema, first: pa.Schema, second: pa.Schema) -> pa.Schema:
    one, other = metadata_features(first), metadata_features(second)
    if not one and not other:
        return merged
    features = Features.from_arrow_schema(merged)
    sources = [(one, first, set(first.names)), (other, second, set(second.names))]
    for column in merged:
        sides = [
            named.get(column.name) or from_arrow_field(schema.field(column.name))
            for named, schema, there in sources
            if column.name in there
        ]
        if all(side == sides[0] for side in sides) and to_arrow_type(sides[0]) == column.type:
            features[column.name] = sides[0]
    return merged.with_metadata(features.arrow_schema.metadata)
