"""Records as JSON lines: one file a source, keys in a fixed order, whole or absent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from gristmill.corpus.decisions.record import Record
from gristmill.errors import FileFormatError
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import reading, writing


def record_line(record: Record) -> str:
    """Writes a record as one line of JSON, with its newline.

    Example:
        >>> from gristmill.corpus.decisions.record import noul_options
        >>> record_line(Record("noul", "It rains.", noul_options(), "é", (0.5, 0.5), "mine", "g", "train"))[
        ...     :45
        ... ]
        '{"type": "noul", "instructions": "It rains.",'
    """
    return json.dumps(record.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def write_records(path: str | Path, records: Iterable[Record]) -> None:
    """Writes a JSONL file that appears under its name only when it is whole.

    Args:
        path: Final name.
        records: The records, in the order they are written.

    Raises:
        FileError: The file can't be written.

    Example:
        >>> import tempfile
        >>> from gristmill.corpus.decisions.record import noul_options
        >>> rain = Record(
        ...     "noul", "It rains.", noul_options(), "Wet street.", (0.2, 0.8), "mine", "g", "train"
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_records(f"{folder}/mine.jsonl", [rain])
        ...     list(iter_records(f"{folder}/mine.jsonl")) == [rain]
        True
    """
    with writing(path), atomic_file(path, "w") as file:
        file.writelines(record_line(record) for record in records)


def iter_records(path: str | Path) -> Iterator[Record]:
    """Yields the records of a JSONL file, one at a time.

    Args:
        path: A file that `write_records` wrote.

    Raises:
        FileFormatError: A line is not a record; the message names it.
        FileError: The file can't be read.
    """
    with reading(path, "jsonl"), Path(path).open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            yield _parse_line(line, Path(path), number)


def _parse_line(line: str, path: Path, number: int) -> Record:
    try:
        return Record.from_dict(json.loads(line))
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise FileFormatError.at(
            f"not a decision record ({str(error)[:120]})", file=path, line=number
        ) from error
