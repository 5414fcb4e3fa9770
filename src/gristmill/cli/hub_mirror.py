"""`gristmill hub mirror`: a repository of another Hub, copied into a folder that `gristmill hub serve` serves."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, hub_group


@hub_group.command("mirror")
@click.argument("repo")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--revision",
    "-r",
    "revisions",
    multiple=True,
    help="Branch, tag or commit; may be given several times.  [default: main]",
)
@click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Only these files (and the card); may be given several times.",
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Not these; may be given several times.")
@click.option(
    "--type",
    "repo_type",
    type=click.Choice(["dataset", "model"]),
    default="dataset",
    show_default=True,
    help="Kind of repository.",
)
@click.option(
    "--jobs", "-j", type=click.IntRange(min=1), default=8, help="Most downloads at a time.  [default: 8]"
)
@click.option("--check", is_flag=True, help="Read what is in DIR already, and fetch again what is damaged.")
@click.pass_obj
def hub_mirror(
    settings: Settings,
    repo: str,
    folder: Path,
    revisions: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    repo_type: str,
    jobs: int,
    check: bool,
) -> None:
    """Copy the repository REPO of a Hub into DIR, to be served there.

    It is copied from HF_ENDPOINT.

    The copy has the commits and hashes of the original, and each file is checked by its hash. What is in DIR already is not
    fetched again and what was cut off is gone on with, so after a failure, or to bring DIR up to date, run the same command
    again. Several revisions are kept side by side. In GLOB, * also matches /.

    Example: gristmill hub mirror nyu-mll/glue /srv/hub --include "mrpc/*"
    """
    from gristmill.hub.server import mirror_repo

    copied = mirror_repo(
        repo,
        folder,
        revision=revisions or "main",
        repo_type=repo_type,
        include=include,
        exclude=exclude,
        max_workers=jobs,
        check=check,
    )
    settings.output.table(
        f"{repo} in {folder}",
        ["revision", "commit", "files", "bytes", "fetched", "bytes fetched", "whole"],
        [
            (one.revision, one.commit, one.files, one.size, one.fetched, one.fetched_size, one.whole)
            for one in copied
        ],
        json_value={
            "repo": repo,
            "folder": str(copied[0].folder),
            "private": copied[0].private,
            "gated": copied[0].gated,
            "revisions": [
                {
                    "revision": one.revision,
                    "commit": one.commit,
                    "files": one.files,
                    "bytes": one.size,
                    "fetched": one.fetched,
                    "bytes_fetched": one.fetched_size,
                    "whole": one.whole,
                }
                for one in copied
            ],
        },
    )
    if copied[-1].private or copied[-1].gated:
        kind = "private" if copied[-1].private else "gated"
        settings.output.say(
            f"{repo} is {kind}, and so is the copy: only tokens that tokens.json in {folder} lets read it will."
        )
