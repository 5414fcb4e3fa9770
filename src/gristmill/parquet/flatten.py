"""From nested Arrow arrays down to the values of their one leaf."""

from __future__ import annotations

import pyarrow as pa


def leaf_values(array: pa.Array) -> pa.Array:
    """Gives the values of the only leaf of an array, as a column chunk holds them: without nulls and empty lists.

    Args:
        array: An array whose type has one leaf: structs of one field, lists, maps of which one side was read.

    Returns:
        The values that are there, in order.

    Example:
        >>> leaf_values(pa.array([[{"a": 1}, None], None, [{"a": 2}]])).to_pylist()
        [1, 2]
    """
    while True:
        kind = array.type
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_dictionary(kind):
            array = array.dictionary_decode()
        elif pa.types.is_struct(kind):
            # Not `field(0)`, whose values do not know of structs that are null.
            array = array.flatten()[0]
        elif pa.types.is_nested(kind):
            # Lists of every kind, and maps, which are lists of key-value structs.
            array = array.flatten()
        else:
            return array.drop_null()
