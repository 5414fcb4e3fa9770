"""The command line's root: global options, the settings every command gets, groups of commands."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from gristmill._version import __version__
from gristmill.cli.output import Output

_GLOBAL_FLAGS = {"--json", "--quiet", "-q"}
_GLOBAL_OPTIONS = {"--cache", "--seed"}


@dataclass(frozen=True)
class Settings:
    """What the global options say; commands get it as ``context.obj``.

    Attributes:
        output: Where results go.
        cache: Folder for downloads and prepared data, if one was named.
        seed: Seed of everything drawn at random.
    """

    output: Output = field(default_factory=Output)
    cache: Path | None = None
    seed: int = 1234


class _Suggesting(click.Group):
    """Says which command may have been meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with a suggestion where there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            names = self.list_commands(ctx)
            close = [name for name in names if name.startswith(args[0])]
            close = close or difflib.get_close_matches(args[0], names, n=1)
            if not close or "Did you mean" in error.message:
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(close)}?", ctx) from error


class Commands(_Suggesting):
    """Takes global options wherever they stand, so that `gristmill stats --json` works as people type it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Moves the global options to the front, where click looks for them."""
        front: list[str] = []
        rest: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--" or (word == "run" and not rest):  # after `run`, all is the script's
                rest += [word, *words]
            elif word in _GLOBAL_FLAGS or any(word.startswith(f"{name}=") for name in _GLOBAL_OPTIONS):
                front.append(word)
            elif word in _GLOBAL_OPTIONS:
                front += [word, *[value for value in [next(words, None)] if value is not None]]
            else:
                rest.append(word)
        return super().parse_args(ctx, front + rest)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; `gristmill … | head` is not an error, for which click would exit with status 1."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python would complain when it flushes what is left at exit.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return result


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Global options may stand before or after the command. HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE "
    "and the other documented variables are honoured.",
)
@click.version_option(__version__, prog_name="gristmill", message="%(prog)s %(version)s")
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for downloads and prepared data.",
)
@click.option("--seed", type=int, default=1234, show_default=True, help="Seed of everything drawn at random.")
@click.pass_context
def app(ctx: click.Context, as_json: bool, quiet: bool, cache: Path | None, seed: int) -> None:
    """From the Hugging Face Hub to training-ready rows."""
    # Not at the top: a variable that config refuses has to end in a sentence, too.
    from gristmill import config

    ctx.obj = Settings(Output(as_json=as_json, quiet=quiet), cache, seed)
    if cache is not None:
        downloads = cache / "datasets" / config.DOWNLOADED_DATASETS_DIR
        ctx.with_resource(
            config.override(
                HF_HUB_CACHE=cache / "hub",
                HF_DATASETS_CACHE=cache / "datasets",
                DOWNLOADED_DATASETS_PATH=downloads,
                EXTRACTED_DATASETS_PATH=downloads / config.EXTRACTED_DATASETS_DIR,
            )
        )
    if quiet or as_json:
        from gristmill.progress import disable_progress_bars

        disable_progress_bars()


def ask_first(ctx: click.Context, question: str) -> None:
    """Asks before something goes for good, and ends the command unless the answer is yes."""
    try:
        # Asked on stderr, so that stdout holds the result alone.
        agreed = click.confirm(question, err=True)
    except click.Abort as error:
        if isinstance(error.__context__, EOFError):
            raise click.UsageError(
                "nobody is there to answer: pass --yes, or --dry-run to look", ctx
            ) from error
        raise
    if not agreed:
        ctx.obj.output.say("nothing was removed")
        ctx.exit(1)


def size_of_option(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """The number of bytes that an option such as ``--max-size 10GB`` means; 0 may be said, too."""
    from gristmill.arguments import parse_size
    from gristmill.errors import InvalidArgumentError

    if value is None or value.strip() == "0":
        return None if value is None else 0
    try:
        return parse_size(int(value) if value.strip().isdecimal() else value)
    except InvalidArgumentError as error:
        raise click.BadParameter(f"{value!r} is no size: write 10GB, 500MB or 0", ctx, param) from error


@app.group("hub", cls=_Suggesting)
def hub_group() -> None:
    """Fetch from Hubs, publish on them, and be one."""


@app.group("cache", cls=_Suggesting)
def cache_group() -> None:
    """See, check and tidy what is kept on this disk."""
