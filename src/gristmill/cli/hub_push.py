"""`gristmill hub push`: data files, or a saved dataset, published as Parquet with one commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gristmill.cli.app import Settings, hub_group


@hub_group.command("push")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.argument("repo")
@click.option("--config", "-c", default="default", show_default=True, help="The config it becomes.")
@click.option("--split", "-s", help="Push one split alone; the others there stay.")
@click.option("--revision", "-r", help="Branch, made if it is not there.  [default: main]")
@click.option("--private", is_flag=True, help="If the repository is made, make it private.")
@click.option("--create-pr", is_flag=True, help="Leave the branch alone and open a pull request.")
@click.option("--max-shard-size", help="Size of a file as Arrow data.  [default: 500MB]")
@click.option("--message", "-m", help="First line of the commit.")
@click.option("--num-proc", type=click.IntRange(min=1), help="Processes that read and write files.")
@click.pass_obj
def hub_push(
    settings: Settings,
    source: Path,
    repo: str,
    config: str,
    split: str | None,
    revision: str | None,
    private: bool,
    create_pr: bool,
    max_shard_size: str | None,
    message: str | None,
    num_proc: int | None,
) -> None:
    """Publish SOURCE as the dataset REPO, in one commit.

    SOURCE is a data file, a folder of them, or what save_to_disk made; it becomes Parquet files and a card. Run it again
    after a failure: what has arrived is not sent a second time.

    Example: gristmill hub push reviews/ me/reviews
    """
    from gristmill.dataset.saving import is_saved, is_saved_dict
    from gristmill.dataset_dict import DatasetDict
    from gristmill.load import load_dataset, load_from_disk

    saved = is_saved(source) or is_saved_dict(source)
    # A plain path such as "data" would be looked for on the Hub if it were not there.
    found = load_from_disk(source) if saved else load_dataset(str(source.resolve()), num_proc=num_proc)
    parts = found if isinstance(found, DatasetDict) else DatasetDict({str(found.split or "train"): found})
    options: dict[str, Any] = {
        "private": private or None,
        "revision": revision,
        "create_pr": create_pr,
        "max_shard_size": max_shard_size,
        "commit_message": message,
        "num_proc": num_proc,
    }
    info = (
        parts.push_to_hub(repo, config, **options)
        if split is None
        else parts[split].push_to_hub(repo, config, split=split, **options)
    )
    pushed = parts if split is None else {split: parts[split]}
    settings.output.say(info.pr_url or info.commit_url)
    settings.output.table(
        repo,
        ["split", "rows"],
        [(name, part.num_rows) for name, part in pushed.items()],
        json_value={
            "repo": info.repo_url.repo_id,
            "commit": info.oid,
            "url": info.commit_url,
            "pull_request": info.pr_url,
            "splits": {name: part.num_rows for name, part in pushed.items()},
        },
    )
