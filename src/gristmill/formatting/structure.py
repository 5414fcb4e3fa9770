"""Arrow columns as numpy arrays as far as they are regular, and as lists, dicts and single values beyond that.

What tensors of any framework are made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

Array = npt.NDArray[Any]


def keeps_types(dtype: object) -> bool:
    """Says whether the option `dtype` of a format is ``"keep"``: numbers stay in the type of their column."""
    return isinstance(dtype, str) and dtype == "keep"  # a type of numpy would try to read the text as one


class Ragged(NamedTuple):
    """Rows of different lengths.

    Attributes:
        flat: The rows, one behind the other along the first axis.
        lengths: The length of each.
    """

    flat: Array
    lengths: Array

    def pieces(self) -> list[Array]:
        """Gives each row."""
        return np.split(self.flat, np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []


def structure_of(values: pa.ChunkedArray, by_row: bool = False) -> Any:
    """Takes a column apart.

    Args:
        values: The column.
        by_row: Whether each row stands alone: then a row without nulls keeps its integers, whatever the others have;
            otherwise all rows get one type.

    Returns:
        One array if the rows are numbers, or lists of numbers of one shape (nulls are NaN); `Ragged` if they are lists of
        numbers of different lengths; else a list with an array, list, dict, text or other value for each row. Arrays may
        share the memory of the column, and can't be written to then.

    Example:
        >>> structure_of(pa.chunked_array([[[1, 2], [3, 4]]]))
        array([[1, 2],
               [3, 4]])
        >>> structure_of(pa.chunked_array([["x", None]]))
        ['x', None]
    """
    if values.num_chunks == 1:
        return _structure(values.chunk(0), by_row)
    try:
        whole = values.combine_chunks()
    except pa.ArrowInvalid:
        whole = values  # so much text, or so many items, that one array can't hold them
    if isinstance(whole, pa.Array):
        return _structure(whole, by_row)
    return _joined([_structure(chunk, by_row) for chunk in whole.chunks if len(chunk)])


def _structure(array: pa.Array, by_row: bool) -> Any:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _structure(array.storage, by_row)
    if pt.is_dictionary(kind):
        return _structure(array.dictionary_decode(), by_row)
    if is_list(kind):
        return _lists(array, by_row)
    if pt.is_struct(kind):
        return _structs(array)
    number = pt.is_integer(kind) or pt.is_floating(kind)
    if number and by_row and array.null_count and pt.is_integer(kind):
        return [np.float64(np.nan) if value is None else np.int64(value) for value in array.to_pylist()]
    if number or pt.is_temporal(kind) or (pt.is_boolean(kind) and not array.null_count):
        return array.to_numpy(zero_copy_only=False)
    return array.to_pylist()


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        return np.concatenate(parts)
    return [item for part in parts for item in _items(part)]


def is_list(kind: pa.DataType) -> bool:
    """Says whether values of a type are lists, of any sort."""
    return bool(
        pt.is_list(kind)
        or pt.is_large_list(kind)
        or pt.is_fixed_size_list(kind)
        or pt.is_list_view(kind)
        or pt.is_large_list_view(kind)
    )


def _lists(array: pa.Array, by_row: bool) -> Any:
    if array.null_count:
        return _row_by_row(array)
    inner = array.flatten()
    if isinstance(inner.type, pa.BaseExtensionType):
        inner = inner.storage
    holes = _has_holes(inner)
    if holes and by_row:
        return _row_by_row(array)
    flat = _structure(inner, False)
    if not isinstance(flat, np.ndarray) or flat.dtype.kind not in "iufb":
        return _row_by_row(array)
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    if len(lengths) and bool((lengths == lengths[0]).all()):
        return flat.reshape(len(lengths), int(lengths[0]), *flat.shape[1:])
    # Rows without nulls keep their integers when the rows can't become one array anyway.
    return _row_by_row(array) if holes else Ragged(flat, lengths)


def _has_holes(array: pa.Array) -> bool:
    if array.null_count:
        return True
    return bool(is_list(array.type)) and _has_holes(array.flatten())


def _row_by_row(array: pa.Array) -> list[Any]:
    # Lists of lists without an item have no shape: an empty list says so.
    deep = is_list(array.type.value_type)
    rows: list[Any] = []
    for scalar in array:
        values = scalar.values
        if values is None:
            rows.append(None)
        else:
            rows.append([] if deep and not len(values) else _structure(values, False))
    return rows


def _structs(array: pa.Array) -> list[Any]:
    fields = {}
    for position in range(array.type.num_fields):
        field = array.type.field(position)
        values = pa.compute.struct_field(array, [position])
        scalar = not is_list(field.type) and not pt.is_struct(field.type)
        plain = values.null_count and scalar
        fields[field.name] = values.to_pylist() if plain else _items(_structure(values, True))
    valid = array.is_valid().to_pylist()
    return [
        {name: items[row] for name, items in fields.items()} if there else None
        for row, there in enumerate(valid)
    ]


def _items(structure: Any) -> Any:
    return structure.pieces() if isinstance(structure, Ragged) else structure
