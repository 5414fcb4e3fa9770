"""A folder of the cache made by one process at a time, on disks that fill up, can't be written or lose it meanwhile."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from gristmill.errors import DatasetGenerationError, DiskFullError, FileError
from gristmill.files.borders import writing
from gristmill.files.lock import is_held, lock
from gristmill.logging import get_logger

__all__ = ["make_alone"]

T = TypeVar("T")
_log = get_logger(__name__)
_UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
_GONE = object()


def make_alone(what: str, place: Path, cache: Path, make: Callable[[], T]) -> T:
    """Makes something in the cache while nobody else does; once more if its place is deleted meanwhile.

    Args:
        what: What is made, for errors.
        place: Its lock.
        cache: The cache, for errors.
        make: Makes it, unless it is there by now.

    Returns:
        What `make` gave.

    Raises:
        DiskFullError: There is no room.
        FileError: The cache can't be written, or was deleted twice.
        GristmillError: Whatever else `make` raised.
    """
    with _written(what, cache):
        made = _once(place, make)
        if made is _GONE:
            _log.warning("%s was deleted while %s was prepared there; it is prepared again", cache, what)
            made = _once(place, make)
        if made is _GONE:
            raise FileError(
                f"{cache} was deleted, twice, while {what} was prepared there. Load it again when nobody deletes there."
            )
    return made  # type: ignore[return-value]  # what is gone was raised


def _once(place: Path, make: Callable[[], T]) -> T | object:
    with lock(place):
        try:
            return make()
        except (DatasetGenerationError, OSError) as error:
            # The lock was there before all else, and nobody but this process takes it away.
            if isinstance(error, DiskFullError) or is_held(place):
                raise
            _log.info("what went wrong: %s", error)
            return _GONE


@contextlib.contextmanager
def _written(what: str, cache: Path) -> Iterator[None]:
    """Says of a cache that can't be written what was to be written there; turns stray errors of the system into ours."""
    try:
        with writing(cache):
            yield
    except FileError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno not in _UNWRITABLE:
            raise
        raise FileError(
            f"{what[:1].upper()}{what[1:]} is not prepared in the cache {cache}, which can't be written "
            f"({cause.strerror}). Set HF_DATASETS_CACHE (or pass cache_dir=) to a folder that can, let somebody who may "
            "write there load it once with the same arguments, or read it with streaming=True."
        ) from error
