"""`gristmill extract`: the text of Parquet files in memory-mapped ``.docs`` files."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli.app import Settings, app


@app.command("extract")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="A name that ends in .docs: one file with everything. Any other: a folder, a .docs file for each Parquet file.",
)
@click.option("--column", help="Column of text or of messages; by default text, messages or conversations.")
@click.option("--role", help="Field of a message with its role; by default role or from.")
@click.option("--content", help="Field of a message with its text; by default content or value.")
@click.option(
    "--role-number",
    "numbers",
    multiple=True,
    metavar="NAME=N",
    help="Byte of a role, 0 to 254, beyond system 0, user 1, assistant 2, tool 3; may be given several times.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Row groups decoded at the same time.")
@click.pass_obj
def extract_command(
    settings: Settings,
    files: tuple[str, ...],
    output: Path,
    column: str | None,
    role: str | None,
    content: str | None,
    numbers: tuple[str, ...],
    threads: int | None,
) -> None:
    """Take the text of Parquet FILES into .docs files.

    FILES are paths, patterns, hf:// or http(s) URLs. A chat column keeps the role of each message and where each
    conversation begins. Text that is not UTF-8 is refused with its row. The same files give the same bytes.

    Example: gristmill extract "shards/*.parquet" -o train.docs
    """
    from gristmill.docs_file import extract

    roles = parse_role_numbers(numbers)
    made = extract(
        list(files), output, column=column, role=role, content=content, roles=roles, threads=threads
    )
    settings.output.table(
        "Extracted",
        ["file", "sources", "column", "documents", "conversations", "bytes of text", "MB/s"],
        [
            (
                str(one.output),
                len(one.sources),
                one.column,
                one.documents,
                one.conversations,
                one.text_bytes,
                one.text_bytes / 1e6 / max(one.seconds, 1e-9),
            )
            for one in made
        ],
    )


def parse_role_numbers(numbers: tuple[str, ...]) -> dict[str, int]:
    """Reads ``NAME=N`` options.

    Args:
        numbers: The options' values.

    Raises:
        click.UsageError: One is not of that form.
    """
    roles: dict[str, int] = {}
    for text in numbers:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal():
            raise click.UsageError(f'--role-number takes NAME=N, for example critic=4; not "{text}".')
        roles[name] = int(number)
    return roles
