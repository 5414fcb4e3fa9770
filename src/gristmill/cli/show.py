"""`gristmill show`: the columns and first rows of anything that can be loaded."""

from __future__ import annotations

from typing import Any

import click

from gristmill.cli.app import Settings, app

# More columns than these are too narrow to read beside each other; each row is then a table of its own.
_SIDE_BY_SIDE = 10


@app.command("show")
@click.argument("name")
@click.option("--config", "-c", help="The config, where the dataset has several.")
@click.option("--split", "-s", help='The split, or a slice such as "train[:10%]"; the first one if left out.')
@click.option("--rows", "-n", type=click.IntRange(min=0), default=5, show_default=True, help="Rows to show.")
@click.option("--revision", "-r", help="Branch, tag or commit on the Hub.")
@click.pass_obj
def show(
    settings: Settings, name: str, config: str | None, split: str | None, rows: int, revision: str | None
) -> None:
    """Show the columns and first rows of a dataset.

    NAME is a name on the Hub (org/name), a folder, or a data file: its path, or its URL (https://, hf:// and others).

    Example: gristmill show google/boolq --split "train[:10%]"
    """
    from gristmill.load import preview_dataset

    preview = preview_dataset(name, config, split=split, rows=rows, revision=revision)
    others = f" of {', '.join(preview.splits)}" if len(preview.splits) > 1 else ""
    settings.output.say(f"{preview.name}, split {preview.split}{others}: {preview.num_rows:,} rows")
    if preview.commit:
        settings.output.say(f"commit {preview.commit}")
    if settings.output.as_json:
        settings.output.result(vars(preview))
        return
    settings.output.table("Columns", ["column", "type"], preview.columns.items())
    names = list(preview.columns)
    if len(names) <= _SIDE_BY_SIDE:
        settings.output.table(
            "First rows", names, ([_cut(row[key]) for key in names] for row in preview.rows)
        )
        return
    for number, row in enumerate(preview.rows):
        settings.output.table(f"Row {number}", ["column", "value"], [(key, _cut(row[key])) for key in names])


def _cut(value: Any, limit: int = 200) -> Any:
    """Keeps a table readable: long texts and nested values are cut."""
    if value is None or isinstance(value, int | float | bool):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
