"""Row numbers in a file: where the user names one, and where finding them took work that the next run can save."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from gristmill.arguments import file_path
from gristmill.dataset.named_file import Computed, noted, open_named, write_named
from gristmill.dataset.place import Place
from gristmill.errors import GristmillError, InvalidArgumentError
from gristmill.files.borders import writing
from gristmill.logging import get_logger
from gristmill.table.arrow_file import open_arrow
from gristmill.table.gather import arrow_vector
from gristmill.table.selection import IndexVector, as_vector, compact

ROWS = "indices"
"""Name of the column with the row numbers."""

WORTH_KEEPING = 1_000_000
"""Rows from which on an order is kept without being asked for: sorting so many takes a second or more."""

_log = get_logger(__name__)


def file_name(argument: str, given: object) -> str | None:
    """Checks the name of a file for row numbers.

    Args:
        argument: What the user called it.
        given: A path, or None.

    Raises:
        InvalidArgumentError: It is none.
    """
    return None if given is None else file_path(argument, given)


def kept_rows(place: Place, rows: int, make: Callable[[], range | IndexVector]) -> range | IndexVector:
    """Finds row numbers, or reads those that an earlier run found.

    Args:
        place: Where they go; its fingerprint says which numbers they are.
        rows: How many rows there are to choose from.
        make: Finds them.

    Returns:
        Row numbers, mapped from the file if there is one.

    Raises:
        FileError: The file can't be written.
        InvalidArgumentError: The user's file holds something else.
    """
    if place.file is None and (place.folder is None or rows < WORTH_KEEPING):
        return make()
    file = place.file or place.directory() / f"{place.stem()}.arrow"
    if place.reuse and (found := _read(file, place, rows)) is not None:
        return found
    return _write(file, place, make())


def write_rows(place: Place, chosen: range | IndexVector) -> range | IndexVector:
    """Writes row numbers into the file that the user named, if they named one; ranges need none.

    Args:
        place: With the file.
        chosen: Row numbers.

    Returns:
        The same row numbers.

    Raises:
        FileError: The file can't be written.
    """
    return chosen if place.file is None or isinstance(chosen, range) else _write(place.file, place, chosen)


def _read(file: Path, place: Place, rows: int) -> range | IndexVector | None:
    with writing(file):
        there = file.is_file()
    if not there:
        return None
    try:
        found = open_named(file, rows, place.identity.value)
        if found is None and place.file is not None:
            _check_ours(file)
    except GristmillError as error:
        if place.file is not None:
            raise
        _log.warning("the cached order %s can't be used and is computed again: %s", file, error)
        return None
    if found is None or found.table.column_names != [ROWS]:
        return None
    numbers = found.table.column(0).combine_chunks().to_numpy() if found.table.num_rows else None
    if numbers is None:
        return range(0)
    return None if numbers.min() < 0 or numbers.max() >= rows else compact(numbers)


def _check_ours(file: Path) -> None:
    table = open_arrow(file)
    if table.column_names != [ROWS] or "fingerprint" not in noted(table):
        raise InvalidArgumentError(
            f"The file {file} is there already and holds something else than row numbers written here: name another "
            "file, or pass load_from_cache_file=False."
        )


def _write(file: Path, place: Place, chosen: range | IndexVector) -> range | IndexVector:
    table = pa.table({ROWS: arrow_vector(as_vector(chosen))})
    write_named(file, place.identity.value, Computed(table, (), ({},), ((0, len(chosen)),)))
    return chosen
