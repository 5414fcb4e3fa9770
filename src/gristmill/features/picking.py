"""The features of some columns, or of columns under other names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
