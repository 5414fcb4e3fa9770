"""`gristmill docsinfo`: a ``.docs`` file checked, and some of its documents."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, app
from gristmill.cli.extract import parse_role_numbers


@app.command("docsinfo")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--documents", "-n", "count", type=click.IntRange(min=0), default=0, help="Documents to print.")
@click.option(
    "--from", "first", type=click.IntRange(min=0), default=0, show_default=True, help="The first of them."
)
@click.option("--no-check", is_flag=True, help="Do not read the whole file to check it.")
@click.option(
    "--role-number",
    "numbers",
    multiple=True,
    metavar="NAME=N",
    help="Role the file was written with, as for extract.",
)
@click.pass_obj
def docsinfo(
    settings: Settings, file: Path, count: int, first: int, no_check: bool, numbers: tuple[str, ...]
) -> None:
    """Check a .docs FILE and tell what is in it.

    Every invariant is checked: offsets that rise, UTF-8 in each document, padding, and the checksum over all of it. With
    -n, documents (in a chat file: conversations) are printed.
    """
    from gristmill.docs_file import DocsFile

    docs = DocsFile(file, parse_role_numbers(numbers))
    if not no_check:
        docs.check()
    total = docs.num_conversations if docs.is_chat else len(docs)
    if first > max(total - 1, 0):
        raise click.BadParameter(f"it holds {total:,}, counted from 0", param_hint="--from")
    chosen = range(first, min(first + count, total))
    shown = [docs.conversation(i) if docs.is_chat else docs[i] for i in chosen]
    facts = {
        "file": str(file),
        "kind": "chat" if docs.is_chat else "text",
        "messages" if docs.is_chat else "documents": len(docs),
        **({"conversations": docs.num_conversations} if docs.is_chat else {}),
        "bytes of text": len(docs.text),
        "bytes": len(docs.text) + docs.text_at,
        "check": "left out" if no_check else "every invariant holds",
    }
    if settings.output.as_json:
        settings.output.result({**facts, "shown": shown})
        return
    settings.output.table("Docs file", ["what", "value"], facts.items())
    for number, item in zip(chosen, shown, strict=True):
        if isinstance(item, str):
            settings.output.table(f"Document {number}", ["text"], [(item,)])
        else:
            rows = [(message["role"], message["content"]) for message in item]
            settings.output.table(f"Conversation {number}", ["role", "content"], rows)
