"""`flatten`: each field of a struct becomes a column of its own; the values stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from gristmill.arguments import whole_number
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.formatting import FormatSpec
from gristmill.table.view import Part, View


@dataclass(frozen=True)
class Flattened:
    """Rows whose structs were taken apart.

    Attributes:
        view: The rows.
        features: The feature of each column.
        names: For each column before, what became of it.
    """

    view: View
    features: Features
    names: Mapping[str, tuple[str, ...]]

    def format(self, spec: FormatSpec) -> FormatSpec:
        """Follows the columns of a format."""
        if spec.columns is None:
            return spec
        return replace(spec, columns=tuple(inner for name in spec.columns for inner in self.names[name]))


def flatten_view(view: View, features: Features, max_depth: int) -> Flattened:
    """Takes the structs of a view apart.

    Args:
        view: The rows.
        features: The feature of each column.
        max_depth: How many levels of structs are taken apart.

    Returns:
        The same rows, with the fields in the places of their structs.

    Raises:
        InvalidArgumentError: A field would get the name of another column, or `max_depth` is negative.
    """
    max_depth = whole_number("max_depth", max_depth, 0)
    parts: list[Part] = []
    fields: dict[str, list[tuple[str, Any]]] = {}
    for part in view.parts:
        stays, apart = [], {}
        for name in part.table.column_names:
            pieces = list(_pieces(name, part.table.column(name), features[name], max_depth))
            fields[name] = [(inner, feature) for inner, _, feature in pieces]
            if [inner for inner, _, _ in pieces] == [name]:
                stays.append(name)
            else:
                apart.update({inner: column for inner, column, _ in pieces})
        if stays or not part.table.num_columns:
            parts.append(part.choose(stays))
        if apart:
            parts.append(Part(pa.table(apart), part.selection))
    order = [pair for name in view.names for pair in fields[name]]
    names = [name for name, _ in order]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentError(f'Two columns would be named "{twice}"; rename one of them first.')
    described = Features()
    dict.update(described, dict(order))
    return Flattened(
        View(tuple(parts), tuple(names), view.num_rows, view.origins),
        described,
        {name: tuple(inner for inner, _ in pairs) for name, pairs in fields.items()},
    )


def _pieces(
    name: str, column: pa.ChunkedArray, feature: Any, depth: int
) -> Iterator[tuple[str, pa.ChunkedArray, Any]]:
    inner = Features({name: feature}).flatten(1) if depth > 0 else {name: feature}
    if list(inner) == [name] or not pa.types.is_struct(_storage(column).type):
        yield name, column, feature
        return
    column = _storage(column)
    arrays = {
        # Values under a null struct mean nothing: `flatten` of the chunk hides them.
        f"{name}.{field.name}": pa.chunked_array(
            [chunk.flatten()[position] for chunk in column.chunks], field.type
        )
        for position, field in enumerate(column.type)
    }
    for field_name, field_feature in _checked(inner, arrays).items():
        yield from _pieces(field_name, arrays[field_name], field_feature, depth - 1)


def _checked(inner: Mapping[str, Any], arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    assert set(inner) == set(arrays), "the features describe the columns"
    return inner


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column
