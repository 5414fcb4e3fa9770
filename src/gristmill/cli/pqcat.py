"""`gristmill pqcat`: one column of a Parquet file, with its levels."""

from __future__ import annotations

from typing import Any

import click

from gristmill.cli.app import Settings, app
from gristmill.errors import InvalidArgumentError


@app.command("pqcat")
@click.argument("file")
@click.argument("column")
@click.option("--levels", is_flag=True, help="Also the repetition and definition level of every entry.")
@click.option(
    "--rows", metavar="A:B", default=":", help="Rows from A up to, not including, B; counted from 0."
)
@click.pass_obj
def pqcat(settings: Settings, file: str, column: str, levels: bool, rows: str) -> None:
    """Print a COLUMN of a Parquet FILE, with its levels.

    One line an entry: row, levels if asked for, value.

    FILE is a path, an http(s) URL, or hf://datasets/org/name[@revision]/path; only what holds the rows is fetched.
    COLUMN is the path of a leaf as pqinfo shows it, such as messages.list.element.content; a beginning is enough if
    only one leaf has it. Levels are read from the pages. An entry without a value is null, as is an empty list: the
    definition level tells them apart. With --json, one JSON object a line; bytes are base64.

    Example: gristmill pqcat chats.parquet messages.list.element.content --levels --rows 0:10
    """
    from gristmill.parquet import plain_values, read_leaf

    for batch in read_leaf(file, column, _parse_rows(rows)):
        entries = zip(
            batch.rows.tolist(),
            batch.repetition.tolist(),
            batch.definition.tolist(),
            plain_values(batch.values),
            strict=True,
        )
        for row, repetition, definition, value in entries:
            if settings.output.as_json:
                found = {"rep": repetition, "def": definition} if levels else {}
                settings.output.record({"row": row, **found, "value": value})
            else:
                found_text = f"{repetition}\t{definition}\t" if levels else ""
                settings.output.record(f"{row}\t{found_text}{_text(value)}")


def _parse_rows(text: str) -> tuple[int | None, int | None]:
    first, colon, last = text.partition(":")
    try:
        bounds = (int(first) if first else None, int(last) if last else None)
    except ValueError as error:
        raise InvalidArgumentError.from_value(
            "--rows", text, "A:B, two row numbers, each of which may be left out"
        ) from error
    if not colon:
        raise InvalidArgumentError.from_value(
            "--rows", text, "A:B, two row numbers, each of which may be left out"
        )
    return bounds


def _text(value: Any) -> str:
    """Keeps an entry on its line: breaks and tabs in text are escaped."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
