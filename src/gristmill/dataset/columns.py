"""Columns taken, dropped, renamed, added: always a new list of columns over the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.dataset.arguments import column_list
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features import Features
from gristmill.features.build import array_from_values
from gristmill.table.view import Part, View


def check_columns(names: str | Sequence[str], existing: Sequence[str]) -> list[str]:
    """Checks column names from a user.

    Args:
        names: One name or several.
        existing: The columns that exist.

    Raises:
        ColumnNotFoundError: One does not exist.

    Example:
        >>> check_columns("a", ["a", "b"])
        ['a']
    """
    wanted = column_list(names)
    known = set(existing)
    for name in wanted:
        if name not in known:
            raise ColumnNotFoundError.from_name(name, existing)
    return wanted


def check_renaming(mapping: Mapping[str, Any], existing: Sequence[str]) -> dict[str, str]:
    """Checks old and new column names.

    Args:
        mapping: New name by old name.
        existing: The columns that exist.

    Raises:
        ColumnNotFoundError: An old name does not exist.
        InvalidArgumentError: A new name is empty, or two columns would have it.
    """
    if not isinstance(mapping, Mapping):
        raise InvalidArgumentError.from_value("column_mapping", mapping, "a dict of new names by old names")
    check_columns(list(mapping), existing)
    after = [mapping.get(name, name) for name in existing]
    for name in mapping.values():
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError.from_value("new name", name, "a non-empty string")
        if after.count(name) > 1:
            raise InvalidArgumentError(f'Two columns would be named "{name}".')
    return dict(mapping)


def pick_features(features: Features, names: Iterable[str]) -> Features:
    """Gives the features of some columns, in the order given, as an object of its own."""
    picked = Features()
    # Not by Features' own update, which would check again what was checked before.
    dict.update(picked, {name: features[name] for name in names})
    return picked


def rename_features(features: Features, mapping: Mapping[str, str]) -> Features:
    """Gives the same features under other names."""
    renamed = Features()
    dict.update(renamed, {mapping.get(name, name): feature for name, feature in features.items()})
    return renamed


def add_values(view: View, name: str, values: Any, feature: Any) -> tuple[View, pa.DataType]:
    """Puts a column of values beside the others.

    Args:
        view: The columns so far.
        name: Its name.
        values: One value a row: a list, numpy or Arrow array.
        feature: Its feature; inferred if None.

    Returns:
        (all columns, the Arrow type of the new one).

    Raises:
        InvalidArgumentError: The name exists, or the number of values is not the number of rows.
    """
    if name in view.names:
        raise InvalidArgumentError(f'There is a column "{name}" already; remove or rename it first.')
    column = array_from_values(values, feature, column=name)
    if view.names and len(column) != view.num_rows:
        raise InvalidArgumentError(
            f'Column "{name}" has {len(column)} values, and the dataset has {view.num_rows} rows.'
        )
    added = Part(pa.table({name: column}))
    if not view.names:
        return View((added,), (name,), len(column)), column.type
    return view.join(added), column.type


def schema_metadata(features: Features) -> dict[bytes, bytes]:
    """Gives the schema metadata that lets a file keep its features."""
    info = {"info": {"features": features.to_dict()}}
    return {b"huggingface": json.dumps(info).encode()}
