"""Columns brought to a feature's type, each value checked: nothing is cut, rounded or wrapped around in silence.

`cast_array` walks the feature once, whole columns at a time. When something does not fit, the first bad value is
looked for and the error names its row, its column path and the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError, shorten, suggest
from gristmill.features.cast_scalars import Misfit, cast_scalars
from gristmill.features.columnless import with_metadata
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List
from gristmill.features.schema import Features
from gristmill.features.visit import flat_items, map_leaves

__all__ = [
    "Misfit",
    "cast_array",
    "cast_table",
    "cast_to",
    "is_list_type",
    "list_parts",
    "plain_array",
    "take",
]


def cast_array(
    array: pa.Array | pa.ChunkedArray,
    feature: FeatureType,
    *,
    column: str | None = None,
    file: object = None,
    first_row: int = 0,
) -> pa.Array | pa.ChunkedArray:
    """Brings a column to the type of a feature.

    Args:
        array: The column; not copied where it has the type already.
        feature: The feature asked for.
        column: Its name, for errors.
        file: Where it comes from, for errors.
        first_row: Index in `file` of the first value, for errors.

    Returns:
        An array (or chunked array, as given) of type ``to_arrow_type(feature)``.

    Raises:
        CastError: A value does not fit: out of range, a fraction lost, no name of the class label, a list of another
            length; or the types have nothing to do with each other. The message names row, column and value.

    Example:
        >>> import pyarrow as pa
        >>> cast_array(pa.array(["pos", None]), ClassLabel(names=["neg", "pos"])).to_pylist()
        [1, None]
    """
    if isinstance(array, pa.ChunkedArray):
        chunks, start = [], first_row
        for chunk in array.chunks:
            chunks.append(_cast_chunk(chunk, feature, column, file, start))
            start += len(chunk)
        return pa.chunked_array(chunks, type=to_arrow_type(feature))
    return _cast_chunk(array, feature, column, file, first_row)


def cast_table(
    table: pa.Table, features: Mapping[str, FeatureType], *, file: object = None, first_row: int = 0
) -> pa.Table:
    """Brings a table to features: their columns, in their order, with their types.

    Args:
        table: The table.
        features: Feature by column. A column that `table` lacks becomes all None.
        file: Where the table comes from, for errors.
        first_row: Index in `file` of the table's first row, for errors.

    Returns:
        A table whose schema is ``Features(features).arrow_schema``; columns of the right type are not copied.

    Raises:
        CastError: `table` has a column that `features` lacks, or a value does not fit.

    Example:
        >>> import pyarrow as pa
        >>> from gristmill.features import Value
        >>> cast_table(pa.table({"a": [1]}), {"a": Value("int8"), "b": Value("string")}).to_pylist()
        [{'a': 1, 'b': None}]
    """
    features = features if isinstance(features, Features) else Features(features)
    extra = [name for name in table.column_names if name not in features]
    if extra:
        raise CastError.from_columns(extra, features, file)
    schema, there = features.arrow_schema, set(table.column_names)
    columns = []
    for name, feature in features.items():
        if name in there:
            columns.append(
                cast_array(table.column(name), feature, column=name, file=file, first_row=first_row)
            )
        else:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, to_arrow_type(feature))]))
    if not columns:
        return with_metadata(table, schema.metadata)
    return pa.table(columns, schema=schema)


def _cast_chunk(array: Any, feature: FeatureType, column: str | None, file: object, start: int) -> Any:
    try:
        return cast_to(feature, array)
    except Misfit as misfit:
        row = None if misfit.index is None else start + misfit.index
        where = ((column or "") + misfit.path).lstrip(".") or None
        raise CastError.at(misfit.problem, file=file, row=row, column=where) from misfit.__cause__
    except RecursionError as error:
        raise CastError.at("types are nested too deep", file=file, column=column) from error


def plain_array(array: Any) -> Any:
    """Undoes encodings that features do not know: extension types, dictionaries, run lengths, maps."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if isinstance(array.type, pa.DictionaryType):
        return plain_array(array.dictionary_decode())
    if isinstance(array.type, pa.RunEndEncodedType):
        return plain_array(pc.run_end_decode(array))
    if isinstance(array.type, pa.MapType):
        pairs = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        offsets = array.offsets
        first = offsets[0].as_py() if len(offsets) else 0
        # `keys` and `items` are those of the whole buffer, whatever slice this is.
        return _list_of(pa.list_(pairs.type), pc.subtract(offsets, first), pairs.slice(first), array)
    return array


@singledispatch
def cast_to(feature: FeatureType, array: Any) -> Any:
    """Casts to a scalar feature; the registrations below, and those beside other kinds, know the rest.

    Args:
        feature: The feature asked for.
        array: One piece of a column.

    Raises:
        Misfit: A value does not fit.
    """
    target = to_arrow_type(feature)
    if array.type == target:
        return array
    if hasattr(feature, "cast_storage"):
        return feature.cast_storage(array)
    return cast_scalars(plain_array(array), target)


@cast_to.register
def _(feature: ClassLabel, array: Any) -> Any:
    array = plain_array(array)
    if pt.is_string(array.type) or pt.is_large_string(array.type) or pt.is_string_view(array.type):
        return _ids_of_names(feature, array)
    ids = cast_scalars(array, pa.int64())
    limits = pc.min_max(ids)
    low, high = limits["min"].as_py(), limits["max"].as_py()
    if low is not None and (low < -1 or high >= feature.num_classes):
        bad = pc.or_(pc.less(ids, -1), pc.greater_equal(ids, feature.num_classes))
        index = pc.index(bad, True).as_py()
        raise Misfit(
            index,
            f"the label {ids[index].as_py()} is out of range: ids go from 0 to {feature.num_classes - 1}, "
            "or -1 for no label",
        )
    return ids


def _ids_of_names(feature: ClassLabel, array: Any) -> Any:
    text = pc.cast(array, pa.large_string())
    ids = pc.index_in(text, value_set=pa.array(feature.names, pa.large_string()))
    missing = pc.and_(pc.is_null(ids), pc.is_valid(text))
    if pc.any(missing).as_py():
        # Few values take this path: names with blanks around them, ids written as text, and mistakes.
        known = {value: _id_or_none(feature, value) for value in pc.unique(text.filter(missing)).to_pylist()}
        wrong = [value for value, number in known.items() if number is None]
        if wrong:
            index = pc.index(text, wrong[0]).as_py()
            hint = suggest(wrong[0][:120], feature.names)
            raise Misfit(index, f"{shorten(wrong[0])} is no name of the class label. {hint}")
        values = pa.array([known[v] for v in text.filter(missing).to_pylist()], pa.int32())
        ids = pc.replace_with_mask(ids, missing, values)
    return pc.cast(ids, pa.int64())


def _id_or_none(feature: ClassLabel, text: str) -> int | None:
    try:
        return feature.encode_example(text)
    except CastError:
        return None


@cast_to.register(List)
@cast_to.register(LargeList)
def _cast_list(feature: List | LargeList, array: Any) -> Any:
    array, target = plain_array(array), to_arrow_type(feature)
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    if not is_list_type(array.type):
        raise Misfit(None, f"{array.type} can't become {target}")
    offsets, values = list_parts(array)
    try:
        items = cast_to(feature.feature, values)
    except Misfit as misfit:
        index = misfit.index
        if index is not None:
            index = int(np.searchsorted(offsets.to_numpy(zero_copy_only=False), index, side="right")) - 1
        raise Misfit(index, misfit.problem, "[]" + misfit.path) from misfit.__cause__
    if items is values and array.type == target:
        return array
    if isinstance(feature, List) and feature.length >= 0:
        return _fixed(array, offsets, items, target)
    return _list_of(target, offsets, items, array)


def is_list_type(type_: Any) -> bool:
    """Says whether a type is one of Arrow's kinds of lists."""
    views = isinstance(type_, pa.ListViewType | pa.LargeListViewType)
    return bool(views or pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_))


def list_parts(array: Any) -> tuple[Any, Any]:
    """Gives the offsets of a list array, from 0, and exactly the items they mean (none that hide under a null)."""
    if array.null_count or not (pt.is_list(array.type) or pt.is_large_list(array.type)):
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        sums = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)])
        return pa.array(sums), flat_items(array)
    offsets = array.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return pc.subtract(offsets, first) if first else offsets, array.values.slice(first, last - first)


def _list_of(target: Any, offsets: Any, items: Any, array: Any) -> Any:
    make = pa.LargeListArray if pt.is_large_list(target) else pa.ListArray
    width = pa.int64() if pt.is_large_list(target) else pa.int32()
    if len(items) > 2**31 - 1 and width == pa.int32():
        raise Misfit(None, f"more items than {target} holds in one piece; use LargeList")
    mask = array.is_null() if array.null_count else None
    return make.from_arrays(pc.cast(offsets, width), items, type=target, mask=mask)


def _fixed(array: Any, offsets: Any, items: Any, target: Any) -> Any:
    size = target.list_size
    starts = offsets.to_numpy(zero_copy_only=False)
    lengths, valid = np.diff(starts), array.is_valid().to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((lengths != size) & valid)
    if len(wrong):
        raise Misfit(int(wrong[0]), f"a list of {lengths[wrong[0]]} items where {size} are asked for")
    if not valid.all():
        positions = starts[:-1, None] + np.arange(size)
        items = take(items, pa.array(positions.ravel(), mask=np.repeat(~valid, size)))
        return pa.FixedSizeListArray.from_arrays(items, type=target, mask=pa.array(~valid))
    if size == 0:  # Arrow can't tell the number of empty lists from their items
        return pa.array([[]] * len(array), type=target)
    return pa.FixedSizeListArray.from_arrays(items, type=target)


_PLAIN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def take(array: pa.Array, indices: pa.Array) -> pa.Array:
    """Gives the values at some positions, also of views of text and bytes, for which Arrow has no such kernel.

    Args:
        array: An array.
        indices: The positions; a null gives a null.

    Example:
        >>> take(pa.array(["a", "b"], pa.string_view()), pa.array([1, None])).to_pylist()
        ['b', None]
    """
    try:
        return array.take(indices)
    except pa.ArrowNotImplementedError:
        plain = map_leaves(array.type, lambda leaf: _PLAIN.get(leaf, leaf))
        if plain is None or plain == array.type:
            raise
        taken = cast_array(array, from_arrow_type(plain)).take(indices)
        return cast_array(taken, from_arrow_type(array.type))


@cast_to.register(Mapping)
def _cast_struct(feature: Mapping[str, FeatureType], array: Any) -> Any:
    array, target = plain_array(array), to_arrow_type(feature)
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    if _is_turned(feature, array.type):
        return _cast_struct(feature, _turn(array))
    if not pt.is_struct(array.type):
        raise Misfit(None, f"{array.type} can't become {target}")
    there = {field.name: i for i, field in enumerate(array.type)}
    extra = [name for name in there if name not in feature]
    if extra:
        raise Misfit(None, f"the fields {', '.join(extra[:10])} are not among those asked for")
    # Values under a null struct mean nothing: flatten() hides them.
    fields = array.flatten() if array.null_count else [array.field(i) for i in range(array.type.num_fields)]
    columns = [
        _cast_field(feature[n], n, fields[there[n]] if n in there else None, len(array)) for n in feature
    ]
    if array.type == target and all(new is old for new, old in zip(columns, fields, strict=True)):
        return array
    mask = array.is_null() if array.null_count else None
    if not columns:
        return array
    return pa.StructArray.from_arrays(columns, fields=list(target), mask=mask)


def _cast_field(feature: FeatureType, name: str, values: Any, length: int) -> Any:
    if values is None:
        return pa.nulls(length, to_arrow_type(feature))
    try:
        return cast_to(feature, values)
    except Misfit as misfit:
        raise Misfit(misfit.index, misfit.problem, f".{name}{misfit.path}") from misfit.__cause__


def _is_turned(feature: Mapping[str, FeatureType], type_: Any) -> bool:
    """Says whether lists of structs meet a struct of lists, which ``Sequence({...})`` asks for."""
    lists = pt.is_list(type_) or pt.is_large_list(type_)
    return bool(lists and pt.is_struct(type_.value_type) and feature) and all(
        isinstance(inner, List) for inner in feature.values()
    )


def _turn(array: Any) -> Any:
    offsets, structs = list_parts(array)
    fields = structs.flatten()
    names = [field.name for field in structs.type]
    columns = [_list_of(pa.list_(field.type), offsets, field, array) for field in fields]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, names=names, mask=mask)
