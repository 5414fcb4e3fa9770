"""Features that other programs write into files and cards and that are not there yet: how they are stored.

A file whose metadata names an ``Image`` still has a plain struct of bytes and path; it is read as that, with one
warning for each kind.
"""

from __future__ import annotations

from gristmill.features.kinds import FeatureType, Value
from gristmill.logging import get_logger

_log = get_logger(__name__)
_warned: set[str] = set()

_FILES = {"Image", "Audio", "Video", "Pdf", "Nifti", "Mesh"}


def storage_of(kind: str) -> FeatureType | None:
    """Says how a feature of another program is stored.

    Args:
        kind: Its class name, for example ``"Image"``.

    Returns:
        A feature for the stored form, or None where only the file itself can tell.
    """
    if kind not in _FILES:
        return None
    warn_once(kind)
    return {"bytes": Value("binary"), "path": Value("string")}


def warn_once(kind: str) -> None:
    """Warns that columns of a kind of feature are read in their stored form; once per kind and process."""
    if kind not in _warned:
        _warned.add(kind)
        _log.warning("the feature type %s is not there yet: its columns are read as they are stored", kind)
