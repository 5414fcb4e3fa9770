"""Fingerprints: the hash of any Python object, the name of a transform's result, and whether results are reused."""

from __future__ import annotations

from gristmill.fingerprint.caching import (
    combine,
    disable_caching,
    enable_caching,
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    is_caching_enabled,
    update_fingerprint,
    validate_fingerprint,
)
from gristmill.fingerprint.hashing import Hasher

__all__ = [
    "Hasher",
    "combine",
    "disable_caching",
    "enable_caching",
    "generate_random_fingerprint",
    "get_temporary_cache_files_directory",
    "is_caching_enabled",
    "update_fingerprint",
    "validate_fingerprint",
]
