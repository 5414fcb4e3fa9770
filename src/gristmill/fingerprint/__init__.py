"""Fingerprints: the hash of any Python object, the name of a transform's result, and whether results are reused."""

from __future__ import annotations

from pathlib import Path

from gristmill.files.temporary import TemporaryFolder
from gristmill.fingerprint.hashing import Hasher, fingerprint_warnings
from gristmill.fingerprint.naming import (
    combine,
    format_kwargs_for_fingerprint,
    format_transform_for_fingerprint,
    generate_random_fingerprint,
    update_fingerprint,
    validate_fingerprint,
)

__all__ = [
    "Hasher",
    "combine",
    "disable_caching",
    "enable_caching",
    "fingerprint_warnings",
    "format_kwargs_for_fingerprint",
    "format_transform_for_fingerprint",
    "generate_random_fingerprint",
    "get_temporary_cache_files_directory",
    "is_caching_enabled",
    "update_fingerprint",
    "validate_fingerprint",
]

# One switch and one folder a process. They are attributes of this very module, and not of one inside it, because other
# libraries read and set them here.
_CACHING_ENABLED = True
_TEMP_DIR_FOR_TEMP_CACHE_FILES: TemporaryFolder | None = None


def enable_caching() -> None:
    """Lets transforms reuse results they computed before (the default).

    Example:
        >>> enable_caching()
        >>> is_caching_enabled()
        True
    """
    global _CACHING_ENABLED  # noqa: PLW0603  # one process-wide switch is what is documented
    _CACHING_ENABLED = True


def disable_caching() -> None:
    """Makes every transform and constructor compute afresh; results go to a folder that is deleted at exit.

    Example:
        >>> disable_caching()
        >>> is_caching_enabled()
        False
        >>> enable_caching()
    """
    global _CACHING_ENABLED  # noqa: PLW0603  # one process-wide switch is what is documented
    _CACHING_ENABLED = False


def is_caching_enabled() -> bool:
    """Says whether earlier results are reused.

    Example:
        >>> is_caching_enabled()
        True
    """
    return bool(_CACHING_ENABLED)


def get_temporary_cache_files_directory() -> str:
    """Gives the folder for results that have no cache folder; it is made once and deleted when Python ends.

    What a process that was killed left behind is deleted by the next one.
    """
    global _TEMP_DIR_FOR_TEMP_CACHE_FILES  # noqa: PLW0603  # made on first use, one a process
    if _TEMP_DIR_FOR_TEMP_CACHE_FILES is None:
        _TEMP_DIR_FOR_TEMP_CACHE_FILES = TemporaryFolder("cache")
    # Something that tidies temporary files may have taken it away.
    Path(_TEMP_DIR_FOR_TEMP_CACHE_FILES.name).mkdir(parents=True, exist_ok=True)
    return _TEMP_DIR_FOR_TEMP_CACHE_FILES.name
