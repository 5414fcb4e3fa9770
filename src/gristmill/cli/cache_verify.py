"""`gristmill cache verify`: looks at every byte in the caches."""

from __future__ import annotations

from typing import Any

import click

from gristmill.cli.app import Settings, cache_group
from gristmill.cli.cache_ls import kind_option


@cache_group.command("verify")
@click.argument("names", nargs=-1)
@kind_option
@click.option(
    "--fix", is_flag=True, help="Remove what is damaged; it is fetched or prepared again when needed."
)
@click.pass_context
def cache_verify(ctx: click.Context, names: tuple[str, ...], kinds: tuple[Any, ...], fix: bool) -> None:
    """Check that what is in the caches is what it was.

    NAMES are names, patterns such as "me/*", or the beginnings of keys; without any, all is checked.

    Prepared files are compared with the checksums taken when they were written, files from the Hub with the hash that
    is their name. The exit status is 1 if something is damaged (with --fix: and could not be removed).

    Example: gristmill cache verify --fix
    """
    from gristmill.prepared.cache_list import list_cache
    from gristmill.prepared.cache_remove import choose_entries
    from gristmill.prepared.cache_verify import verify_cache

    settings: Settings = ctx.obj
    entries = list_cache()
    if names or kinds:
        entries = choose_entries(entries, names, kinds=kinds)
    found = verify_cache(entries, fix)
    settings.output.say(
        f"{found.checked} files checked, {found.unchecked} with nothing on record, {len(found.problems)} damaged"
    )
    rows = [(p.entry.kind, p.entry.name, str(p.path), p.problem, p.fixed) for p in found.problems]
    columns = ["kind", "name", "file", "problem", "removed"]
    problems = [dict(zip(columns, row, strict=True)) for row in rows]
    summary = {"checked": found.checked, "unchecked": found.unchecked, "problems": problems}
    if rows or settings.output.as_json:
        settings.output.table("Damaged", columns, rows, json_value=summary)
    if not found.sound:
        ctx.exit(1)
