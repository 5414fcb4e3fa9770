"""`gristmill hub download`: files of a repository, whole and checked, into the cache or a folder."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, hub_group


@hub_group.command("download")
@click.argument("repo")
@click.argument("files", nargs=-1)
@click.option("--revision", default="main", show_default=True, help="Branch, tag or commit.")
@click.option(
    "--type",
    "repo_type",
    type=click.Choice(["dataset", "model"]),
    default="dataset",
    show_default=True,
    help="Kind of repository.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Copy the files into this folder as well, under their names in the repository.",
)
@click.pass_obj
def hub_download(
    settings: Settings, repo: str, files: tuple[str, ...], revision: str, repo_type: str, folder: Path | None
) -> None:
    """Download FILES of the repository REPO, or all of it.

    In FILES, * and ? match as in a shell.

    The commit is fixed first; what is there whole is not fetched again, and a download that was cut off goes on where
    it stopped.

    Example: gristmill hub download nyu-mll/glue "mrpc/*.parquet" --to data
    """
    from gristmill.hub.fetch import fetch_files

    got = fetch_files(repo, files, revision=revision, repo_type=repo_type, folder=folder)
    settings.output.say(f"{got.repo_id} at {got.commit}")
    settings.output.table(
        f"{len(got.files)} files, {sum(file.size for file in got.files):,} bytes",
        ["file", "bytes", "path"],
        [(file.path, file.size, file.local) for file in got.files],
        json_value={
            "repo": got.repo_id,
            "commit": got.commit,
            "files": [{"file": file.path, "bytes": file.size, "path": str(file.local)} for file in got.files],
        },
    )
