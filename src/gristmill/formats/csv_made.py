"""CSV columns whose values are made from cells by a function: those of `converters`, and dates of `parse_dates`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import CastError, shorten
from gristmill.features.build import array_from_values
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.source import SourceFile

__all__ = ["Maker", "makers"]

Maker = Callable[[Any, int], Any]
"""A function of the cells of a column and the index of the first one's row."""


def makers(names: Sequence[str], options: CsvOptions, file: SourceFile) -> dict[str, Maker]:
    """Gives the functions that make columns.

    Args:
        names: Names of the file's columns.
        options: The file's options.
        file: The file, for errors.
    """
    found: dict[str, Maker] = {}
    for name, format in options.dates(names, file.name).items():
        found[name] = _dates(format, name, file)
    for name, function in options.converter_of(names, file.name).items():
        found[name] = _converted(function, name, file)
    return found


def _converted(function: Callable[[str], Any], name: str, file: SourceFile) -> Maker:
    def make(cells: Any, row: int) -> Any:
        values = []
        cell = None
        try:
            for cell in cells.to_pylist():
                values.append(function("" if cell is None else cell))
        except Exception as error:
            raise CastError.at(
                f"its converter fails on {shorten(cell)}: {type(error).__name__}: {error}",
                file=file.name,
                row=row + len(values),
                column=name,
            ) from error
        return array_from_values(values, column=name, file=file.name, first_row=row)

    return make


def _dates(format: str | None, name: str, file: SourceFile) -> Maker:
    def make(cells: Any, row: int) -> Any:
        if format is None:
            try:
                return pc.cast(cells, pa.timestamp("us"))
            except pa.ArrowInvalid:
                pass  # parts of a day, zones: Python reads more forms than Arrow
        encoded = cells.dictionary_encode()
        times, text = [], ""
        try:
            for text in encoded.dictionary.to_pylist():
                times.append(_parse(text, format))
        except ValueError as error:
            raise CastError.at(
                f"{shorten(text)} is no date ({error})",
                file=file.name,
                row=row + pc.index(cells, text).as_py(),
                column=name,
                remedy="Pass the right date_format=, or leave the column out of parse_dates= to have its text.",
            ) from error
        made = array_from_values(times, column=name, file=file.name, first_row=row)
        made = pa.nulls(len(times), pa.timestamp("us")) if pa.types.is_null(made.type) else made
        return made.take(encoded.indices)

    return make


def _parse(text: str, format: str | None) -> dt.datetime:
    if format is not None:
        return dt.datetime.strptime(text, format)  # noqa: DTZ007  # a zone is there if the text has one
    # Before Python 3.11 the short form of UTC is not known.
    return dt.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
