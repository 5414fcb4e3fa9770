"""`gristmill download`: some shards of a large dataset, by a short name and their numbers."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, app


@app.command("download")
@click.argument("name")
@click.argument("first", type=click.IntRange(min=0), required=False)
@click.argument("last", type=click.IntRange(min=0), required=False)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder to put them into, under their names in the repository; the working folder by default.",
)
@click.option("--files", "pattern", help='Which files are the shards, for example "data/train-*.parquet".')
@click.option("--revision", "-r", default="main", show_default=True, help="Branch, tag or commit.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Most downloads at a time.")
@click.pass_obj
def download(
    settings: Settings,
    name: str,
    first: int | None,
    last: int | None,
    folder: Path,
    pattern: str | None,
    revision: str,
    jobs: int | None,
) -> None:
    """Fetch shards FIRST to LAST of the dataset NAME.

    NAME is org/name, or a short name: c4, fineweb (FineWeb-Edu, the 10BT sample), fineweb-2-fra, fineweb-all, smoltalk,
    tinystories. LAST is fetched too, FIRST alone is one shard, and without it the shards are listed.

    Shards come in beside their final names and get these when their hash is right. What is there whole is skipped and
    what was cut off is gone on with, so after a failure run the same command again.

    Example: gristmill download fineweb 0 3 --to data
    """
    from gristmill.hub.shards import download_shards

    got = download_shards(name, first, last, folder=folder, pattern=pattern, revision=revision, workers=jobs)
    settings.output.say(
        f"{got.repo_id} at {got.commit}; shards there: {got.total:,}, here already: {got.skipped:,}"
    )
    local: list[str | None] = [str(path) for path in got.local]
    local += [None] * (len(got.files) - len(local))
    settings.output.table(
        f"Shards, {sum(file.size for _, file in got.files):,} bytes",
        ["shard", "file", "bytes", "path"],
        [(number, file.path, file.size, path) for (number, file), path in zip(got.files, local, strict=True)],
        json_value={
            "repo": got.repo_id,
            "commit": got.commit,
            "total": got.total,
            "skipped": got.skipped,
            "shards": [
                {"shard": number, "file": file.path, "bytes": file.size, "path": path}
                for (number, file), path in zip(got.files, local, strict=True)
            ],
        },
    )
