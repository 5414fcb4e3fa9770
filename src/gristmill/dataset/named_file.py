"""A result in one file: the name that the user gave, the rows of all pieces, and what was noted about each piece."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.features.columnless import with_metadata
from gristmill.table.arrow_file import ArrowFileWriter, open_arrow

FACTS = b"gristmill"
"""Key of the schema's metadata where a file says what was noted about it."""


@dataclass(frozen=True)
class Computed:
    """What was computed.

    Attributes:
        table: All rows.
        files: The Arrow files behind them, in order; empty if they are in memory.
        facts: What the job noted about each piece, with the row it begins at.
        ranges: The rows each piece was computed from.
    """

    table: pa.Table
    files: tuple[Path, ...]
    facts: tuple[dict[str, Any], ...]
    ranges: tuple[tuple[int, int], ...]


def noted(table: pa.Table) -> dict[str, Any]:
    """Gives what a file says was noted about it."""
    facts: dict[str, Any] = json.loads((table.schema.metadata or {}).get(FACTS, b"{}"))
    return facts


def open_named(file: Path, rows: int, fingerprint: str | None = None) -> Computed | None:
    """Opens a result.

    Args:
        file: Where it is.
        rows: How many rows it was computed from, for files that do not say.
        fingerprint: Take it only if it is this result; None takes whatever is there.

    Returns:
        The result; None if it is another one than was asked for.

    Raises:
        FileError: It can't be read, or is no Arrow file.
    """
    table = open_arrow(
        file, check="offsets"
    )  # whatever stands under a name of the user's, not only what we wrote
    facts = noted(table)
    if fingerprint is not None and facts.get("fingerprint") != fingerprint:
        return None
    pieces = tuple(facts.get("pieces", (facts,)))
    ranges = tuple((int(start), int(stop)) for start, stop in facts.get("ranges", ((0, rows),)))
    return Computed(with_metadata(table, None), (file,), pieces, ranges)


def write_named(file: Path, fingerprint: str, computed: Computed) -> Computed:
    """Writes a result into one file and deletes the pieces.

    Args:
        file: Where it goes.
        fingerprint: The result.
        computed: Its pieces.

    Returns:
        The result, from the one file.

    Raises:
        FileError: It can't be written.
    """
    facts = {"fingerprint": fingerprint, "pieces": computed.facts, "ranges": computed.ranges}
    schema = computed.table.schema.with_metadata({FACTS: json.dumps(facts).encode()})
    with ArrowFileWriter(file, schema) as writer:
        writer.write_table(computed.table)
    # Pieces that an interrupted run of another function left for this file will never be used.
    pattern = re.compile(re.escape(file.name) + r"-[0-9a-f]{16}_\d+_\d+\.arrow")
    left = [path for path in file.parent.iterdir() if pattern.fullmatch(path.name)]
    for path in {*computed.files, *left}:
        path.unlink(missing_ok=True)
    return Computed(with_metadata(open_arrow(file), None), (file,), computed.facts, computed.ranges)
