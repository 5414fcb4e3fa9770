"""`gristmill hub upload`: a file or folder, as it is, into a repository with one commit."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, hub_group


@hub_group.command("upload")
@click.argument("repo")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.argument("path_in_repo", required=False)
@click.option(
    "--type",
    "repo_type",
    type=click.Choice(["dataset", "model"]),
    default="dataset",
    show_default=True,
    help="Kind of repository.",
)
@click.option("--revision", "-r", help="Branch.  [default: main]")
@click.option("--create", is_flag=True, help="Make the repository, or the branch, if it is not there.")
@click.option("--private", is_flag=True, help="If the repository is made, make it private.")
@click.option("--create-pr", is_flag=True, help="Leave the branch alone and open a pull request.")
@click.option(
    "--include", multiple=True, metavar="GLOB", help="Only these files; may be given several times."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Not these; may be given several times.")
@click.option("--message", "-m", help="First line of the commit.")
@click.pass_obj
def hub_upload(
    settings: Settings,
    repo: str,
    path: Path,
    path_in_repo: str | None,
    repo_type: str,
    revision: str | None,
    create: bool,
    private: bool,
    create_pr: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    message: str | None,
) -> None:
    """Upload PATH, a file or folder, to the repository REPO.

    It is one commit to the Hub HF_ENDPOINT; other files there stay. What the repository holds already is not sent, and
    after a failure run it again: what has arrived is not sent a second time. `gristmill hub push` publishes rows instead.

    Example: gristmill hub upload me/corpus shards/ data --create --exclude "*.tmp"
    """
    from gristmill.hub.uploading import upload_files

    done = upload_files(
        repo,
        path,
        path_in_repo,
        repo_type=repo_type,
        revision=revision,
        create=create,
        private=True if private else None,
        create_pr=create_pr,
        include=include,
        exclude=exclude,
        commit_message=message,
    )
    settings.output.say(done.pull_request or done.url)
    settings.output.table(
        done.repo_id,
        ["files", "bytes", "sent", "bytes sent"],
        [(done.files, done.size, len(done.sent), done.sent_size)],
        json_value={
            "repo": done.repo_id,
            "commit": done.commit,
            "url": done.url,
            "pull_request": done.pull_request,
            "files": done.files,
            "bytes": done.size,
            "sent": list(done.sent),
            "bytes_sent": done.sent_size,
        },
    )
