"""Writes docs/guide/cli.md from the commands' own ``--help``.

::

    python tools/cli_reference.py           write the page
    python tools/cli_reference.py --check   say whether the page is up to date (exit status 1 if not)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":  # as a script, only this folder is on the path
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from gristmill.cli.app import app  # noqa: E402  # needs the path set above
from gristmill.cli.main import register  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "cli.md"
HEAD = """\
# Command line

Every command prints a table for people, or JSON with `--json`; words go to stderr, results to stdout.
The exit status is 0, 1 for an error (one sentence on stderr says what and what to do), 2 for wrong usage, 130 after Ctrl-C.
This page is what `--help` prints; `tools/cli_reference.py` writes it.
"""


def commands(group: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Gives each command's words and help text, groups before their commands."""
    yield context.command_path, group.get_help(context)
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                with click.Context(
                    command, info_name=name, parent=context, **command.context_settings
                ) as inner:
                    yield from commands(command, inner)


def render() -> str:
    """Writes the page as Markdown."""
    register()
    # The width must not depend on the terminal.
    with click.Context(app, info_name="gristmill", terminal_width=100, **app.context_settings) as context:
        sections = [
            f"## {words}\n\n```text\n{text.rstrip()}\n```\n" for words, text in commands(app, context)
        ]
    return "\n".join([HEAD, *sections])


def main(arguments: list[str]) -> int:
    """Runs the tool; gives the exit status."""
    page = render()
    if arguments == ["--check"]:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page
        if stale:
            print(f"{PAGE} is out of date; run: python tools/cli_reference.py", file=sys.stderr)
        return int(stale)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
