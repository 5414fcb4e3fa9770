"""`gristmill stats`: what a folder of decision records holds."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, app


@app.command("stats")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data/decisions"),
    show_default=True,
    help="Folder that fetch-decisions wrote to.",
)
@click.pass_obj
def stats_command(settings: Settings, data: Path) -> None:
    """Count a folder of decision records and write a report.

    STATS.md is for reading; report.html has plots, and is one page that needs nothing else.
    """
    from gristmill.corpus.report import COLUMNS, write_report

    report = write_report(data)
    rows = report.stats.table()
    # A terminal shows the counts; lengths are in the report, and everything is in the JSON.
    shown = COLUMNS.index("groups") + 1
    everything = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    settings.output.table(
        "Decision records", COLUMNS[:shown], [row[:shown] for row in rows], json_value=everything
    )
    settings.output.say(f"Report: {report.page} (and {report.markdown.name} beside it)")
