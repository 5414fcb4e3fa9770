"""The switch for reusing results, the folder for results without a home, and the names of results."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.fingerprint.hashing import Hasher

_enabled = True
_temporary: str | None = None
_LONGEST = 64


def enable_caching() -> None:
    """Lets transforms reuse results they computed before (the default).

    Example:
        >>> enable_caching()
        >>> is_caching_enabled()
        True
    """
    global _enabled  # noqa: PLW0603  # one process-wide switch is what is documented
    _enabled = True


def disable_caching() -> None:
    """Makes every transform and constructor compute afresh; results go to a folder that is deleted at exit.

    Example:
        >>> disable_caching()
        >>> is_caching_enabled()
        False
        >>> enable_caching()
    """
    global _enabled  # noqa: PLW0603  # one process-wide switch is what is documented
    _enabled = False


def is_caching_enabled() -> bool:
    """Says whether earlier results are reused.

    Example:
        >>> is_caching_enabled()
        True
    """
    return _enabled


def get_temporary_cache_files_directory() -> str:
    """Gives the folder for results that have no cache folder; it is made once and deleted when Python ends."""
    global _temporary  # noqa: PLW0603  # made on first use, one a process
    if _temporary is None:
        _temporary = tempfile.mkdtemp(prefix="gristmill-")
        atexit.register(_delete, _temporary, os.getpid())
    return _temporary


def _delete(folder: str, owner: int) -> None:
    # A forked child ends before the process whose folder it is.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def generate_random_fingerprint(nbits: int = 64) -> str:
    """Makes a fingerprint that equals no other.

    Args:
        nbits: Its length in bits; one hexadecimal digit holds four.

    Example:
        >>> len(generate_random_fingerprint())
        16
    """
    return f"{secrets.randbits(nbits):0{nbits // 4}x}"


def validate_fingerprint(fingerprint: object, max_length: int = _LONGEST) -> None:
    """Refuses a fingerprint that could not be part of a file name.

    Args:
        fingerprint: What the user gave.
        max_length: Longest one accepted, in characters.

    Raises:
        InvalidArgumentError: It is empty, too long, or has a character that file names can't hold.
    """
    if not isinstance(fingerprint, str) or not fingerprint:
        raise InvalidArgumentError.from_value("fingerprint", fingerprint, "a non-empty string")
    if any(character in '<>:/\\|?*"\0' for character in fingerprint) or fingerprint.startswith("."):
        raise InvalidArgumentError.from_value(
            "fingerprint", fingerprint, 'a name without any of <>:/\\|?*" (it becomes part of a file name)'
        )
    if len(fingerprint) > max_length:
        raise InvalidArgumentError.from_value(
            "fingerprint", fingerprint, f"at most {max_length} characters (it becomes part of a file name)"
        )


def combine(previous: str, transform_name: str, args: object) -> str:
    """Names the result of one transform: the same data, transform and arguments give the same name.

    Args:
        previous: Fingerprint of what the transform starts from.
        transform_name: For example ``"map"``.
        args: Whatever else decides the result.

    Returns:
        16 hexadecimal digits.

    Example:
        >>> combine("a", "select", [1]) == combine("a", "select", [1]) != combine("a", "select", [2])
        True
    """
    return Hasher.hash((previous, transform_name, args))


def update_fingerprint(fingerprint: str, transform: object, transform_args: Mapping[str, Any]) -> str:
    """Names the result of a transform given as a function with its arguments by name.

    Args:
        fingerprint: Fingerprint of what the transform starts from.
        transform: The function, or its name.
        transform_args: Its arguments.
    """
    return Hasher.hash((fingerprint, transform, sorted(transform_args.items())))
