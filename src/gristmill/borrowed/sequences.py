"""Values that pyarrow makes an array of: ``pyarrow.array(TypedSequence(values, type=feature))``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from gristmill.errors import CastError, SchemaConflictError
from gristmill.features import Value
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_type
from gristmill.features.features import _visit
from gristmill.features.kinds import FeatureType

__all__ = ["OptimizedTypedSequence", "TypedSequence"]

_SMALL = {
    "attention_mask": "int8",
    "special_tokens_mask": "int8",
    "token_type_ids": "int8",
    "input_ids": "int32",
}
"""Columns of tokenizers whose numbers fit into less than 64 bits."""


_UNFIT = (CastError, SchemaConflictError)


class TypedSequence:
    """Values with the feature they have, or shall have if they fit.

    Args:
        data: The values.
        type: Their feature; a value that does not fit is an error.
        try_type: Their feature if all values fit; otherwise it is inferred.
        optimized_int_type: What inferred integers become, if all of them fit.
        on_mixed_types: Not used: values without a common type are `Json`.

    Raises:
        CastError: A value does not fit `type`; raised when the array is made.

    Example:
        >>> import pyarrow as pa
        >>> pa.array(TypedSequence([1, None, 3], type=Value("int32"))).type
        DataType(int32)
    """

    def __init__(
        self,
        data: Iterable[Any],
        type: FeatureType | None = None,
        try_type: FeatureType | None = None,
        optimized_int_type: FeatureType | None = None,
        on_mixed_types: str | None = None,
    ) -> None:
        self.data = data
        self.type = type
        self.try_type = try_type
        self.optimized_int_type = optimized_int_type
        self.on_mixed_types = on_mixed_types
        self._inferred: FeatureType | None = None

    def get_inferred_type(self) -> FeatureType:
        """Gives the feature that the array has."""
        if self._inferred is None:
            self.__arrow_array__()
        assert self._inferred is not None
        return self._inferred

    def __arrow_array__(self, type: Any = None) -> Any:
        """Makes the array; called by `pyarrow.array`."""
        if not hasattr(self.data, "__len__"):
            self.data = list(self.data)
        array, self._inferred = self._built()
        return array

    def _built(self) -> tuple[Any, FeatureType]:
        for wanted in (self.type, self.try_type):
            if wanted is not None:
                with contextlib.nullcontext() if self.type is not None else contextlib.suppress(*_UNFIT):
                    return array_from_values(self.data, wanted), wanted
        array = array_from_values(self.data)
        found = from_arrow_type(array.type)
        if self.optimized_int_type is not None:
            small = _visit(found, lambda inner: self.optimized_int_type if inner == Value("int64") else None)
            with contextlib.suppress(CastError):
                return cast_array(array, small), small
        return array, found


class OptimizedTypedSequence(TypedSequence):
    """A `TypedSequence` of a column whose name may say that its integers are small, as a tokenizer's are.

    Args:
        data: See `TypedSequence`.
        type: See `TypedSequence`.
        try_type: See `TypedSequence`.
        col: Name of the column.
        optimized_int_type: What its integers become if they fit; by its name if left out.
        on_mixed_types: See `TypedSequence`.

    Example:
        >>> import pyarrow as pa
        >>> pa.array(OptimizedTypedSequence([[1, 2]], col="input_ids")).type
        ListType(list<item: int32>)
    """

    def __init__(
        self,
        data: Iterable[Any],
        type: FeatureType | None = None,
        try_type: FeatureType | None = None,
        col: str | None = None,
        optimized_int_type: FeatureType | None = None,
        on_mixed_types: str | None = None,
    ) -> None:
        if optimized_int_type is None and type is None and try_type is None and col in _SMALL:
            optimized_int_type = Value(_SMALL[col])
        super().__init__(data, type, try_type, optimized_int_type, on_mixed_types)
