"""`gristmill fetch-decisions`: Hub datasets to typed decision records."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from gristmill.cli.app import Settings, app
from gristmill.errors import InvalidArgumentError


@app.command("fetch-decisions")
@click.option("--only", metavar="A,B", help="Names of the sources to run, separated by commas.")
@click.option("--cap", type=int, default=60_000, show_default=True, help="Most records kept of a source.")
@click.option(
    "--val-frac",
    type=float,
    default=0.05,
    show_default=True,
    help="Share of groups that go to validation.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data/decisions"),
    show_default=True,
    help="Folder for the records.",
)
@click.option(
    "--source",
    "files",
    multiple=True,
    metavar="FILE.yaml",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A source of your own; may be given several times. Without --only, no other source is run.",
)
@click.option(
    "--revision",
    "revisions",
    multiple=True,
    metavar="SOURCE=REV",
    help="Read a source at this branch, tag or commit instead of main.",
)
@click.option("--allow-unlicensed", is_flag=True, help="Also read repositories that declare no licence.")
@click.pass_context
def fetch_decisions_command(
    ctx: click.Context,
    only: str | None,
    cap: int,
    val_frac: float,
    out: Path,
    files: tuple[Path, ...],
    revisions: tuple[str, ...],
    allow_unlicensed: bool,
) -> None:
    """Turn Hub datasets into typed decision records.

    Each source becomes a file of JSON lines; DATA_LICENSES.md lists where its rows are from. `gristmill stats` counts them.

    Example: gristmill fetch-decisions --only boolq,arc --cap 200
    """
    from gristmill.corpus.decisions import Limits, fetch_decisions, read_source
    from gristmill.corpus.decisions.run import COLUMNS

    settings: Settings = ctx.obj
    result = fetch_decisions(
        out,
        only=[name.strip() for name in only.split(",") if name.strip()] if only is not None else None,
        own=[read_source(path) for path in files],
        limits=Limits(cap=cap, val_frac=val_frac, seed=settings.seed),
        revisions=dict(_pair(text) for text in revisions),
        allow_unlicensed=allow_unlicensed,
    )
    settings.output.table("Decision records", COLUMNS, result.table(), json_value=result.to_dict())
    if any(source.status == "written" for source in result.sources):
        settings.output.say(f"Written to {out}; the licences are in {out / 'DATA_LICENSES.md'}.")
    for source in result.sources:
        if source.tally.invalid:
            kinds = ", ".join(
                f"{count:,} {kind}" for kind, count in sorted(source.tally.invalid_kinds.items())
            )
            settings.output.say(f"Invalid in {source.source}: {kinds}")
    if any(source.tally.invalid and source.tally.written for source in result.sources):
        settings.output.say(f"What these mean: gristmill stats --data {shlex.quote(str(out))}")
    for left_out in result.skipped:
        settings.output.say(f"Left out: {left_out.source} ({left_out.repo}): {left_out.reason}")
    for failed in result.failed:
        settings.output.error(f"{failed.source} ({failed.repo}) failed: {failed.reason}")
    if result.failed:
        ctx.exit(1)


def _pair(text: str) -> tuple[str, str]:
    name, equals, revision = text.partition("=")
    if not (name and equals and revision):
        raise InvalidArgumentError.from_value("revision", text, "SOURCE=REV, for example boolq=main")
    return name, revision
