"""`gristmill cache rm`: removes things from the caches, by name, age or size."""

from __future__ import annotations

import re
from typing import Any

import click

from gristmill.cli.app import Settings, ask_first, cache_group, size_of_option
from gristmill.cli.cache_ls import ago, as_json, kind_option

_AGE = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def _age(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    match = _AGE.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is no age: write 30d, 12h, 45min or 2w", ctx, param)
    return float(match["number"]) * _SECONDS[match["unit"]]


@cache_group.command("rm")
@click.argument("names", nargs=-1)
@kind_option
@click.option(
    "--older", metavar="AGE", callback=_age, help="Only what was last used so long ago: 30d, 12h, 2w."
)
@click.option(
    "--max-size",
    metavar="SIZE",
    callback=size_of_option,
    help="Remove the least recently used until no more than this is left: 10GB, 0.",
)
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be removed.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def cache_rm(
    ctx: click.Context,
    names: tuple[str, ...],
    kinds: tuple[Any, ...],
    older: float | None,
    max_size: int | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove things from the caches, by name, age or size.

    NAMES are names, patterns such as "me/*", or the beginnings of keys, as `gristmill cache ls` shows them.

    What another process is writing stays; nothing outside the caches is touched, and links are not followed. Models go
    only when they are named, or with --kind model.

    Example: gristmill cache rm --older 30d --dry-run
    """
    from gristmill.prepared.cache_list import list_cache
    from gristmill.prepared.cache_remove import choose_entries, remove_from_cache

    settings: Settings = ctx.obj
    if not names and not kinds and older is None and max_size is None:
        raise click.UsageError("say what to remove: names, --kind, --older or --max-size", ctx)
    chosen = choose_entries(list_cache(), names, kinds=kinds, older_than=older, max_size=max_size)
    total = sum(entry.size for entry in chosen)
    if not settings.output.as_json:
        settings.output.table(
            f"{len(chosen)} things to remove, {total:,} bytes",
            ["kind", "name", "detail", "key", "bytes", "last used"],
            [(e.kind, e.name, e.detail, e.key, e.size, ago(e.age)) for e in chosen],
        )
    if dry_run or not chosen:
        if settings.output.as_json:
            settings.output.result({"removed": [], "kept": [], "would_remove": [as_json(e) for e in chosen]})
        return
    if not yes:
        ask_first(ctx, f"Remove {len(chosen)} things ({total:,} bytes)?")
    done = remove_from_cache(chosen)
    for entry, why in done.kept:
        settings.output.error(f"{entry.kind} {entry.name} {entry.key} stays: {why}")
    if settings.output.as_json:
        kept = [{**as_json(entry), "why": why} for entry, why in done.kept]
        settings.output.result({"removed": [as_json(entry) for entry in done.removed], "kept": kept})
    settings.output.say(f"removed {len(done.removed)} things, {done.size:,} bytes")
    if done.kept:
        ctx.exit(1)
