"""`gristmill run`: a script as it is, with Gristmill in the place of `datasets`."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import click

from gristmill.cli.app import app


@app.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", is_flag=True, help="SCRIPT is the dotted name of a module.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_command(module: bool, script: str, arguments: tuple[str, ...]) -> None:
    """Run a SCRIPT whose `import datasets` is Gristmill.

    Everything after SCRIPT is for the script.
    """
    from gristmill.legacy import STAND_IN, stand_in_for_datasets

    if not module and not Path(script).is_file():
        raise click.UsageError(f"There is no file {script}.")
    stand_in_for_datasets()
    # Programs that the script starts (torchrun, accelerate) find Gristmill in the same way as its workers.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STAND_IN), os.environ.get("PYTHONPATH")]))
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path.cwd()) if module else str(Path(script).resolve().parent))
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except Exception as error:  # what a script raises is shown as Python shows it
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from error
