"""What to do with what is in the caches, and how much to check."""

from __future__ import annotations

import enum
from typing import Any, TypeVar

from gristmill.errors import InvalidArgumentError

__all__ = ["DownloadMode", "VerificationMode", "parse_choice"]

Choice = TypeVar("Choice", bound=enum.Enum)


class DownloadMode(enum.Enum):
    """What to do with what is in the caches already; wherever a mode is asked for, the value's text does as well.

    ========================= ========== ===========
    mode                      downloads  prepared
    ========================= ========== ===========
    REUSE_DATASET_IF_EXISTS   reused     reused
    REUSE_CACHE_IF_EXISTS     reused     made anew
    FORCE_REDOWNLOAD          made anew  made anew
    ========================= ========== ===========

    Example:
        >>> DownloadMode("force_redownload") is DownloadMode.FORCE_REDOWNLOAD
        True
    """

    REUSE_DATASET_IF_EXISTS = "reuse_dataset_if_exists"
    REUSE_CACHE_IF_EXISTS = "reuse_cache_if_exists"
    FORCE_REDOWNLOAD = "force_redownload"


class VerificationMode(enum.Enum):
    """How much to check against what is recorded of a dataset. Files of the Hub are always checked by size and hash.

    ============= =================================================================================
    mode          checks
    ============= =================================================================================
    ALL_CHECKS    splits and their rows, downloaded files and their SHA-256, keys of a builder's examples
    BASIC_CHECKS  splits and their rows
    NO_CHECKS     none
    ============= =================================================================================

    Example:
        >>> VerificationMode("no_checks") is VerificationMode.NO_CHECKS
        True
    """

    ALL_CHECKS = "all_checks"
    BASIC_CHECKS = "basic_checks"
    NO_CHECKS = "no_checks"


def parse_choice(argument: str, value: Any, kind: type[Choice], default: Choice) -> Choice:
    """Reads a mode given as a member or as its text.

    Args:
        argument: The argument's name, for the error.
        value: What was given; None for the default.
        kind: The enumeration.
        default: What None means.

    Raises:
        InvalidArgumentError: There is no such mode.

    Example:
        >>> parse_choice(
        ...     "download_mode", "force_redownload", DownloadMode, DownloadMode.REUSE_DATASET_IF_EXISTS
        ... )
        <DownloadMode.FORCE_REDOWNLOAD: 'force_redownload'>
    """
    try:
        return default if value is None else kind(value)
    except ValueError as error:
        choices = [str(member.value) for member in kind]
        raise InvalidArgumentError.from_choice(argument, str(value), choices) from error
