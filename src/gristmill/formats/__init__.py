"""File formats: each reads to record batches and writes from them; one module a format."""

from gristmill.formats.base import Format
from gristmill.formats.registry import format_of_path, get_format, known_formats
from gristmill.formats.source import Position, SourceFile

__all__ = ["Format", "Position", "SourceFile", "format_of_path", "get_format", "known_formats"]
