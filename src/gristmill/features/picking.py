"""The features of some columns, of columns under other names, or of the columns that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.features.schema import Features


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


def check_features(features: Mapping[str, Any], existing: Mapping[str, Any]) -> Features:
    """Checks that features to cast to are those of the columns that exist.

    Raises:
        InvalidArgumentError: A column is missing on one side.
    """
    if not isinstance(features, Mapping):
        raise InvalidArgumentError.from_value("features", features, "Features, or a dict of them")
    if set(features) != set(existing):
        odd = ", ".join(sorted(map(str, set(features) ^ set(existing)))[:20])
        raise InvalidArgumentError(
            f"features= must have the columns of the dataset, no more and no less; these are on one side only: {odd}. "
            "Use cast_column for one column."
        )
    return Features(features)
