"""`Array2D` to `Array5D`: columns of arrays of one shape, the first dimension of which may vary.

In memory and on disk they are nested lists. Their fields carry the name of the extension type that `datasets` knows,
so that files are read as arrays there, and files from there as arrays here; the type itself need not be registered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import CastError, GristmillError, InvalidArgumentError
from gristmill.features.cast import Misfit, cast_to, is_list_type, list_parts, plain_array
from gristmill.features.convert import extension_metadata, register_extension, to_arrow_type
from gristmill.features.dtypes import canonical_dtype, parse_dtype
from gristmill.features.encode import needs_encoding
from gristmill.features.kinds import Value
from gristmill.features.serialize import register_kind, to_plain, with_id

__all__ = ["Array2D", "Array3D", "Array4D", "Array5D", "ArrayND"]

_EXTENSION = re.compile(r"datasets\.features\.features\.Array([2-5])DExtensionType")


class AnyArray:
    """The base of all array features, for ``isinstance``."""


@dataclass
class ArrayND(AnyArray):
    """What `Array2D` to `Array5D` share.

    Args:
        shape: Length of each dimension; the first may be None if it varies from row to row.
        dtype: Type of the numbers, as of `Value`.
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: `shape` has another number of dimensions, or a length that can't be.
    """

    shape: tuple[int | None, ...]
    dtype: str
    id: str | None = field(default=None, repr=False)
    ndim: ClassVar[int] = 0
    _type: ClassVar[str] = "ArrayND"

    def __post_init__(self) -> None:
        parse_dtype(self.dtype)
        self.dtype = canonical_dtype(self.dtype)
        shape = _lengths(self.shape)
        if len(shape) != self.ndim or not all(
            (size is None and i == 0) or (isinstance(size, int) and not isinstance(size, bool) and size >= 0)
            for i, size in enumerate(shape)
        ):
            raise InvalidArgumentError.from_value(
                "shape", self.shape, f"{self.ndim} lengths, the first of which may be None (it varies)"
            )
        self.shape = shape

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column: nested lists."""
        type_ = parse_dtype(self.dtype)
        for _ in self.shape:
            type_ = pa.list_(type_)
        return type_

    def encode_example(self, value: Any) -> Any:
        """Checks the shape of an array and turns it into nested lists.

        Args:
            value: A numpy array (or what can become one), or nested lists; None stays None.

        Raises:
            CastError: It has another shape; the message names both.

        Example:
            >>> Array2D((None, 2), "int8").encode_example(np.zeros((1, 2)))
            [[0, 0]]
        """
        if value is None:
            return None
        nested = np.asarray(value).tolist() if hasattr(value, "__array__") else value
        shape = _shape(nested)
        if not self._allows(shape):
            raise CastError.at(self._problem(shape))
        encode = Value(self.dtype).encode_example

        def fill(item: Any, depth: int) -> Any:
            return [fill(inner, depth - 1) for inner in item] if depth else encode(item)

        return fill(nested, self.ndim)

    def to_numpy(self, column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
        """Turns a column into one array, if all rows have one shape, else into an object array of arrays.

        Args:
            column: A column as this feature stores it.

        Example:
            >>> Array2D((None, 2), "int8").to_numpy(
            ...     pa.array([[[1, 2]], [[3, 4]]], pa.list_(pa.list_(pa.int8())))
            ... ).shape
            (2, 1, 2)
        """
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        blocks = [self._block(chunk) for chunk in chunks]
        if all(block is not None for block in blocks) and len({block.shape[1:] for block in blocks}) == 1:
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        rows: list[Any] = [row for chunk in chunks for row in self._rows(chunk)]
        made = np.empty(len(rows), dtype=object)
        for position, row in enumerate(rows):
            made[position] = row
        return made

    def _block(self, array: Any) -> Any:
        """Makes one array of rows of one shape; None if a row is missing or has another length."""
        starts, flat = self._flat(array)
        lengths = np.diff(starts)
        if array.null_count or (lengths != lengths[:1]).any():
            return None
        first = self.shape[0] if len(lengths) == 0 else lengths[0]
        return flat.reshape((len(array), first or 0, *self.shape[1:]))

    def _rows(self, array: Any) -> list[Any]:
        starts, flat = self._flat(array)
        flat = flat.reshape((starts[-1], *self.shape[1:]))
        ends = zip(starts[:-1], starts[1:], array.is_valid().to_pylist(), strict=True)
        return [flat[start:stop] if there else None for start, stop, there in ends]

    def _flat(self, array: Any) -> tuple[Any, Any]:
        offsets, items = list_parts(array)
        for _ in self.shape[1:]:
            items = list_parts(items)[1]
        return offsets.to_numpy(zero_copy_only=False), items.to_numpy(zero_copy_only=False)

    def _allows(self, shape: tuple[int, ...] | None) -> bool:
        return (
            shape is not None
            and len(shape) == self.ndim
            and all(wanted in (None, size) for wanted, size in zip(self.shape, shape, strict=True))
        )

    def _problem(self, shape: tuple[int, ...] | None) -> str:
        found = "lists of different lengths" if shape is None else f"the shape {shape}"
        return f"an array of {found} where {self.shape} is asked for"


class Array2D(ArrayND):
    """A column of arrays with two dimensions.

    Args:
        shape: Length of each dimension; the first may be None if it varies from row to row.
        dtype: Type of the numbers, as of `Value`.
        id: A name of your own; kept, not interpreted.

    Example:
        >>> Array2D(shape=(None, 3), dtype="int32")
        Array2D(shape=(None, 3), dtype='int32')
    """

    ndim = 2
    _type = "Array2D"


class Array3D(ArrayND):
    """A column of arrays with three dimensions; see `Array2D`.

    Example:
        >>> Array3D(shape=(1, 2, 3), dtype="int32")
        Array3D(shape=(1, 2, 3), dtype='int32')
    """

    ndim = 3
    _type = "Array3D"


class Array4D(ArrayND):
    """A column of arrays with four dimensions; see `Array2D`.

    Example:
        >>> Array4D(shape=(None, 2, 2, 3), dtype="uint8")
        Array4D(shape=(None, 2, 2, 3), dtype='uint8')
    """

    ndim = 4
    _type = "Array4D"


class Array5D(ArrayND):
    """A column of arrays with five dimensions; see `Array2D`.

    Example:
        >>> Array5D(shape=(1, 2, 2, 2, 3), dtype="uint8")
        Array5D(shape=(1, 2, 2, 2, 3), dtype='uint8')
    """

    ndim = 5
    _type = "Array5D"


def _lengths(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, list | tuple) else ()


def _shape(nested: Any) -> tuple[int, ...] | None:
    """Gives the shape of nested lists; None if lists at one level differ in length, or are missing."""
    if not isinstance(nested, list | tuple):
        return getattr(nested, "shape", ())
    inner = {_shape(item) for item in nested}
    if not inner:
        return (0,)
    shape = inner.pop()
    return None if inner or shape is None else (len(nested), *shape)


@to_arrow_type.register
def _(feature: ArrayND) -> pa.DataType:
    return feature()


@needs_encoding.register
def _(feature: ArrayND) -> bool:
    return False  # the cast checks shapes, a whole column at once


@cast_to.register
def _(feature: ArrayND, array: Any) -> Any:
    array, target = plain_array(array), to_arrow_type(feature)
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    levels: list[Any] = []
    items = array
    for depth, size in enumerate(feature.shape):
        if not is_list_type(items.type):
            if len(items) and not pt.is_null(items.type):
                raise _misfit(feature, array, levels, 0)
            return _empty_inside(array, target)
        offsets, values = list_parts(items)
        _check_lengths(feature, array, items, levels, size, depth)
        levels.append((offsets, items))
        items = plain_array(values)
    if is_list_type(items.type):
        raise _misfit(feature, array, levels, 0)
    try:
        leaves = cast_to(Value(feature.dtype), items)
    except Misfit as misfit:
        index = None if misfit.index is None else _row_of(levels, misfit.index)
        raise Misfit(index, misfit.problem) from misfit.__cause__
    if leaves is items and array.type == target:
        return array
    for offsets, level in reversed(levels):
        mask = level.is_null() if level.null_count else None
        leaves = pa.ListArray.from_arrays(offsets.cast(pa.int32()), leaves, mask=mask)
    return leaves


def _check_lengths(
    feature: ArrayND, array: Any, items: Any, levels: list[Any], size: int | None, depth: int
) -> None:
    lengths = items.value_lengths() if hasattr(items, "value_lengths") else _fixed_lengths(items)
    found = lengths.fill_null(-1 if depth else size or 0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((found != size) if size is not None else found < 0)
    if len(wrong):
        raise _misfit(feature, array, levels, int(wrong[0]))


def _fixed_lengths(items: Any) -> Any:
    return pa.array([items.type.list_size] * len(items), mask=np.array(items.is_null()))


def _misfit(feature: ArrayND, array: Any, levels: list[Any], index: int) -> Misfit:
    row = _row_of(levels, index)
    shape = _shape(array[row].as_py()) if len(array) else ()
    return Misfit(row, feature._problem(shape))


def _row_of(levels: list[Any], index: int) -> int:
    for offsets, _ in reversed(levels):
        index = int(np.searchsorted(offsets.to_numpy(zero_copy_only=False), index, side="right")) - 1
    return index


def _empty_inside(array: Any, target: Any) -> Any:
    # No row has an item, so that nothing says how deep the lists go.
    return pa.array(array.to_pylist(), target)


@extension_metadata.register
def _(feature: ArrayND) -> dict[bytes, bytes]:
    return {
        b"ARROW:extension:name": f"datasets.features.features.{feature._type}ExtensionType".encode(),
        b"ARROW:extension:metadata": json.dumps([list(feature.shape), feature.dtype]).encode(),
    }


_KINDS: dict[str, type[ArrayND]] = {"2": Array2D, "3": Array3D, "4": Array4D, "5": Array5D}


def _of_extension(name: str, metadata: bytes) -> ArrayND | None:
    match = _EXTENSION.fullmatch(name)
    if match is None:
        return None
    try:
        shape, dtype = json.loads(metadata)
        return _KINDS[match[1]](tuple(shape), dtype)
    except (ValueError, TypeError, GristmillError, RecursionError):
        return None  # written by an older version, or damaged: the lists say enough


register_extension(_of_extension)


@to_plain.register
def _(feature: ArrayND) -> dict[str, Any]:
    return with_id({"shape": list(feature.shape), "dtype": feature.dtype}, feature)


def _maker(kind: type[ArrayND]) -> Any:
    def make(entries: Mapping[str, Any]) -> ArrayND:
        return kind(shape=tuple(entries["shape"]), dtype=entries["dtype"], id=entries.get("id"))

    return make


for _kind in _KINDS.values():
    register_kind(_kind._type, _maker(_kind))
