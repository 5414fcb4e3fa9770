"""The formats there are: one line each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.files.compression import compression_suffix
from gristmill.formats.base import Format

__all__ = ["format_of_path", "get_format", "get_writer", "known_formats"]

# name -> (module, class); a module is loaded when its format is first used
_FORMATS = {
    "arrow": ("gristmill.formats.arrow", "ArrowFormat"),
    "csv": ("gristmill.formats.csv", "CsvFormat"),
    "docs": ("gristmill.formats.docs", "DocsFormat"),
    "json": ("gristmill.formats.json", "JsonFormat"),
    "parquet": ("gristmill.formats.parquet", "ParquetFormat"),
    "text": ("gristmill.formats.text", "TextFormat"),
    "xml": ("gristmill.formats.xml", "XmlFormat"),
}
# What writes without the module of the format, which is that of its reader.
_WRITERS = {
    "csv": ("gristmill.formats.csv_write", "write_csv_file"),
    "json": ("gristmill.formats.json_layout", "write_json_file"),
}
_SUFFIXES = {
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
    ".docs": "docs",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".geoparquet": "parquet",
    ".gpq": "parquet",
    ".txt": "text",
    ".xml": "xml",
}


def known_formats() -> list[str]:
    """Lists the names of the formats.

    Example:
        >>> known_formats()
        ['arrow', 'csv', 'docs', 'json', 'parquet', 'text', 'xml']
    """
    return sorted(_FORMATS)


@cache
def get_format(name: str) -> Format[Any]:
    """Finds a format.

    Args:
        name: One of `known_formats`.

    Raises:
        InvalidArgumentError: No such format; lists those there are.

    Example:
        >>> get_format("json").suffixes
        ('.json', '.jsonl', '.ndjson')
    """
    if name not in _FORMATS:
        raise InvalidArgumentError.from_choice("format", name, _FORMATS)
    module, class_name = _FORMATS[name]
    made: Format[Any] = getattr(importlib.import_module(module), class_name)()
    return made


@cache
def get_writer(name: str) -> Callable[..., int]:
    """Finds what writes a format: `Format.write`, without loading what only reading needs, which takes longest for CSV.

    Args:
        name: One of `known_formats`.

    Raises:
        InvalidArgumentError: No such format; lists those there are.
    """
    if name not in _WRITERS:
        return get_format(name).write
    module, function = _WRITERS[name]
    write: Callable[..., int] = getattr(importlib.import_module(module), function)
    return write


def format_of_path(path: str) -> Format[Any] | None:
    """Finds the format of a file by its name, also under a compression suffix.

    Args:
        path: Path or URL; only its end counts.

    Returns:
        The format, or None if the name says none.

    Example:
        >>> format_of_path("data/train.JSONL.gz").name
        'json'
    """
    name = str(path).lower()
    name = name.removesuffix(compression_suffix(name)).rpartition("/")[2]
    dot = name.rfind(".")
    found = _SUFFIXES.get(name[dot:]) if dot >= 0 else None
    return get_format(found) if found else None
