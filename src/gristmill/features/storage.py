"""Features that other programs write into files and cards and that are not there yet: how they are stored.

A file whose metadata names an ``Image`` still has a plain struct of bytes and path; it is read as that, with one
warning for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gristmill.features.kinds import FeatureType, List, Value
from gristmill.logging import get_logger

_log = get_logger(__name__)
_warned: set[str] = set()

_FILES = {"Image", "Audio", "Video", "Pdf", "Nifti", "Mesh"}


def storage_of(kind: str, arguments: Mapping[str, Any]) -> FeatureType | None:
    """Says how a feature of another program is stored.

    Args:
        kind: Its class name, for example ``"Image"``.
        arguments: Its own entries, for example the ``languages`` of a ``Translation``.

    Returns:
        A feature for the stored form, or None where only the file itself can tell.
    """
    feature: FeatureType | None = None
    if kind in _FILES:
        feature = {"bytes": Value("binary"), "path": Value("string")}
    elif kind == "Json":
        feature = Value("string")
    elif kind == "Translation" and isinstance(arguments.get("languages"), list):
        feature = {str(language): Value("string") for language in sorted(arguments["languages"])}
    elif kind == "TranslationVariableLanguages":
        feature = {"language": List(Value("string")), "translation": List(Value("string"))}
    elif kind in {"Array2D", "Array3D", "Array4D", "Array5D"}:
        feature = Value(str(arguments.get("dtype", "float32")))
        for _ in range(int(kind[5])):
            feature = List(feature)
    if feature is not None:
        warn_once(kind)
    return feature


def warn_once(kind: str) -> None:
    """Warns that columns of a kind of feature are read in their stored form; once per kind and process."""
    if kind not in _warned:
        _warned.add(kind)
        _log.warning("the feature type %s is not there yet: its columns are read as they are stored", kind)
