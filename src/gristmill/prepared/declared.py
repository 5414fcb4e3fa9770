"""What a place says about a config in advance: columns and splits, by its card or by an old ``dataset_infos.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gristmill import config as settings
from gristmill.errors import DataError, InvalidArgumentError
from gristmill.features import Features
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.prepared.places import Place
from gristmill.splits import SplitDict, SplitInfo

__all__ = ["declared_info", "features_of_yaml"]

_log = get_logger(__name__)
# What the readers of features and splits raise when a stranger's YAML or JSON is of another shape.
_ODD = (DataError, InvalidArgumentError, TypeError, KeyError, AttributeError, ValueError, RecursionError)


def declared_info(place: Place, config: str, default: bool) -> DatasetInfo:
    """Gives what is said of a config in advance; what can't be used is left out with a warning.

    Args:
        place: Where the dataset is.
        config: Name of the config.
        default: Whether it is the default one, which an entry without a name is about as well.
    """
    info = DatasetInfo(license=", ".join(place.card.licenses))
    said = place.card.dataset_info(config) or (place.card.dataset_info(None) if default else None)
    if said is None:
        return _from_old_file(place, config, info)
    info.features = features_of_yaml(said.get("features"), place.where)
    info.splits = _splits(said.get("splits"), place)
    for name in ("download_size", "dataset_size"):
        size = said.get(name)
        if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            setattr(info, name, size)
    return info


def features_of_yaml(value: Any, where: str) -> Features | None:
    """Reads columns as cards write them; None, with a warning, if they can't be used.

    Args:
        value: The list under ``features``.
        where: What to call the dataset in the warning.

    Example:
        >>> features_of_yaml([{"name": "a", "dtype": "int8"}], "org/name")
        {'a': Value('int8')}
    """
    if not value:
        return None
    try:
        return Features._from_yaml_list(value)
    except _ODD as error:
        _log.warning(
            "%s: the features in the card can't be used and are read from the files instead: %s", where, error
        )
        return None


def _splits(value: Any, place: Place) -> SplitDict | None:
    if not value:
        return None
    try:
        splits = SplitDict._from_yaml_list(value)
        if all(map(_is_sound, splits.values())):
            return splits
        problem = "a name is no text, or a size no number"
    except _ODD as error:
        problem = str(error)
    _log.warning("%s: the splits in the card can't be used and are not checked: %s", place.where, problem)
    return None


def _is_sound(split: SplitInfo) -> bool:
    sizes: tuple[object, ...] = (split.num_examples, split.num_bytes)
    name: object = split.name
    return isinstance(name, str) and all(type(size) is int and size >= 0 for size in sizes)


def _from_old_file(place: Place, config: str, info: DatasetInfo) -> DatasetInfo:
    name = settings.DATASETDICT_INFOS_FILENAME
    if name not in place.paths:
        return info
    try:
        infos: Any = json.loads(place.read(name))
        said = infos.get(config) if isinstance(infos, Mapping) else None
        if not isinstance(said, Mapping):
            return info
        old = DatasetInfo.from_dict(said)
        info.features = old.features
        if old.splits is not None and all(map(_is_sound, old.splits.values())):
            info.splits = old.splits
    except _ODD as error:
        _log.warning("%s: %s can't be used and is ignored: %s", place.where, name, error)
    return info
