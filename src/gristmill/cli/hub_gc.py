"""`gristmill hub gc`: frees what no branch, tag or pull request of the repositories in a folder reaches any more."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gristmill.cli.app import Settings, ask_first, hub_group

if TYPE_CHECKING:
    from gristmill.hub.server.garbage import Collected


@hub_group.command("gc")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("repos", nargs=-1)
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be freed.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def hub_gc(ctx: click.Context, folder: Path, repos: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Free what no branch, tag or pull request of the repositories in DIR reaches any more.

    That is what super-squash, deleted branches and commits that never came to be leave behind. Until then a squashed commit
    can still be read by its id. REPOS are ids such as me/rows or models/me/tiny; all of DIR if there are none.

    A server of DIR may run meanwhile, and pushes to it: what was uploaded within a day stays.

    Example: gristmill hub gc ./my-hub --dry-run
    """
    from gristmill.hub.server import collect_garbage

    settings: Settings = ctx.obj
    found = collect_garbage(folder, repos, dry_run=True)
    failed = [each for each in found if each.failed]
    found = [each for each in found if not each.failed]
    size = sum(each.size for each in found)
    if not settings.output.as_json:
        settings.output.table(
            f"{size:,} bytes to free in {len(found)} repositories",
            ["repository", "commits", "contents", "bytes"],
            [(f"{each.type}/{each.id}", each.commits, each.contents, each.size) for each in found],
        )
    freed = []
    if found and not dry_run:
        if not yes:
            ask_first(ctx, f"Free {size:,} bytes in {len(found)} repositories?")
        done = collect_garbage(folder, [f"{each.type}/{each.id}" for each in found])
        failed += [each for each in done if each.failed]
        freed = [each for each in done if not each.failed]
        settings.output.say(f"freed {sum(each.size for each in freed):,} bytes in {len(freed)} repositories")
    for each in failed:
        settings.output.error(f"{each.type}/{each.id} stays as it is: {each.failed}")
    if settings.output.as_json:
        kept = [{"type": each.type, "id": each.id, "why": each.failed} for each in failed]
        would = {"would_free": [_told(each) for each in found]} if dry_run else {}
        settings.output.result({"freed": [_told(each) for each in freed], "kept": kept, **would})
    if failed:
        ctx.exit(1)


def _told(each: Collected) -> dict[str, object]:
    return {name: value for name, value in asdict(each).items() if name != "failed"}
