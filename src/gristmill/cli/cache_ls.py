"""`gristmill cache ls`: what is in the caches, how large, and when it was last used."""

from __future__ import annotations

import datetime as dt
from typing import Any

import click

from gristmill.cli.app import Settings, cache_group

KINDS = ("prepared", "transforms", "download", "dataset", "model", "leftover")
kind_option = click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="Only this kind; may be given several times.",
)


@cache_group.command("ls")
@click.argument("names", nargs=-1)
@kind_option
@click.option(
    "--sort",
    type=click.Choice(["size", "used", "name"]),
    default="size",
    show_default=True,
    help="Largest first, longest unused first, or by name.",
)
@click.pass_obj
def cache_ls(settings: Settings, names: tuple[str, ...], kinds: tuple[Any, ...], sort: str) -> None:
    """List what is in the caches.

    NAMES are names, patterns such as "me/*", or the beginnings of keys; without any, all is listed.

    Kinds: prepared (a split ready to be opened), transforms (results of map and others), download (a file from a URL),
    dataset and model (a repository from the Hub), leftover (what a dead process was writing).

    Example: gristmill cache ls --sort used
    """
    from gristmill.prepared.cache_list import list_cache
    from gristmill.prepared.cache_remove import choose_entries

    entries = list_cache()
    if names or kinds:
        wanted = {id(entry) for entry in choose_entries(entries, names, kinds=kinds)}
        entries = [entry for entry in entries if id(entry) in wanted]
    if sort != "size":
        entries.sort(key=lambda entry: entry.last_used if sort == "used" else entry.name)
    total = sum(entry.size for entry in entries)
    settings.output.table(
        f"{len(entries)} things, {total:,} bytes",
        ["kind", "name", "detail", "key", "bytes", "last used"],
        [
            (
                e.kind,
                e.name,
                e.detail,
                e.key[:12] if e.kind in ("prepared", "transforms") else e.key,
                e.size,
                ago(e.age),
            )
            for e in entries
        ],
        json_value=[as_json(entry) for entry in entries],
    )


def as_json(entry: Any) -> dict[str, Any]:
    """Gives what ``--json`` prints of an entry."""
    used = dt.datetime.fromtimestamp(entry.last_used, dt.timezone.utc)
    return {
        "kind": entry.kind,
        "name": entry.name,
        "detail": entry.detail,
        "key": entry.key,
        "bytes": entry.size,
        "last_used": used.isoformat(timespec="seconds"),
        "paths": [str(path) for path in entry.paths],
    }


def ago(seconds: float) -> str:
    """Words an age.

    Example:
        >>> ago(59), ago(3600 * 5), ago(86400 * 45)
        ('59 s', '5 h', '45 d')
    """
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"
