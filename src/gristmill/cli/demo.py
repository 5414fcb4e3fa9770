"""`gristmill demo`: the main job on the data that ships inside the package."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, app


@app.command("demo")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("gristmill-demo"),
    show_default=True,
    help="Folder for the records, the report and a cache of their own.",
)
@click.pass_context
def demo_command(ctx: click.Context, out: Path) -> None:
    """Run the main job offline, on data shipped with Gristmill."""
    from gristmill.corpus.decisions.run import COLUMNS
    from gristmill.demo.run import SHOWN_COLUMNS, SHOWN_DATASET, run_demo

    settings: Settings = ctx.obj
    output = settings.output
    result = run_demo(out, settings.seed, output.say)
    if output.as_json:
        output.result(result.to_dict())
    else:
        counts = ", ".join(f"{name} {rows:,}" for name, rows in result.rows.items())
        rows = [(question, answer, passage[:80] + "…") for question, answer, passage in result.first_rows]
        output.table(f"First rows of {SHOWN_DATASET} ({counts} rows)", SHOWN_COLUMNS, rows)
        output.table("Decision records", COLUMNS, result.decisions.table())
        output.say(f"Records and licences: {result.decisions.out}")
        output.say(f"Report, open it in a browser: {result.report.page}")
        output.say(f"Done in {result.seconds:.1f} s.")
    for failed in result.decisions.failed:
        output.error(f"{failed.source} ({failed.repo}) failed: {failed.reason}")
    if result.decisions.failed:
        ctx.exit(1)
