"""The `gristmill` command's front door: all commands, errors turned into a sentence and an exit status."""

from __future__ import annotations

import contextlib
import sys

import click

from gristmill.cli.app import app
from gristmill.cli.output import Output
from gristmill.errors import FileError, GristmillError


def register() -> None:
    """Imports the modules that add their commands to `app`."""
    import gristmill.cli.commands  # noqa: F401  # registers by being imported


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: The words after ``gristmill``; those of the process if left out.

    Returns:
        The exit status: 0, 1 for an error that Gristmill words itself, 2 for wrong usage, 130 after Ctrl-C. As the
        installed script this is passed to `sys.exit`.
    """
    with contextlib.suppress(AttributeError, ValueError):
        # A name that the terminal can't show must not cost the result.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a replaced stdout
    try:
        register()
        status = app.main(args=arguments, standalone_mode=False, prog_name="gristmill")
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        Output().error("stopped; nothing half-written was left, run the same command again to go on")
        return 130
    except GristmillError as error:
        Output().error(str(error))
        return 1
    except OSError as error:
        Output().error(str(FileError.from_os_error("use", error.filename or "a file", error)))
        return 1
    return status if isinstance(status, int) else 0
