"""What runs in a process of its own to make Parquet files of one config: ``python -m gristmill.hub.server.conversion_job``.

A process of its own, because the files are anybody's: what fills the memory or ends a decoder ends it and not the server.
It reads what to do from its input (JSON), writes files into a folder, and ends when the server does.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

SHARD_SIZE = "500MB"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def convert(data: Path, config: str, out: Path) -> None:
    """Makes ``SPLIT/0000.parquet`` and so on of a config's splits.

    Args:
        data: A folder with the files and a card that names them.
        config: The config.
        out: Where the files go; made if needed.

    Raises:
        GristmillError: The data can't be read.
    """
    from gristmill.load import load_dataset

    loaded: Any = load_dataset(str(data), config, num_proc=None)
    for split, rows in loaded.items():
        folder = out / split
        folder.mkdir(parents=True)
        rows.to_parquet(str(folder / "part.parquet"), max_shard_size=SHARD_SIZE)
        for number, file in enumerate(sorted(folder.glob("part*.parquet"))):
            file.rename(folder / f"{number:04d}.parquet")


def _end_with_parent() -> None:
    # The server holds the other end of our input for as long as it lives.
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)


def outcome(error: BaseException) -> tuple[int, dict[str, object]]:
    """Says how a failure is reported.

    By 3 and why if the files can't be read, by 4 and the number if the machine failed, by 5 and why if it has too little
    memory.

    What the machine failed at, such as a full disk, may be well the next time, and must not stand for the files.

    Args:
        error: The failure.

    Example:
        >>> outcome(OSError(28, "No space left on device"))
        (4, {'errno': 28})
    """
    from gristmill.errors import GristmillError

    cause: Any = error
    while cause is not None:
        system = isinstance(cause, OSError) and not isinstance(cause, GristmillError)
        if system and (cause is error or cause.errno in _NO_ROOM):
            return 4, {"errno": cause.errno or errno.EIO}
        if isinstance(cause, MemoryError):  # also that of Arrow
            return 5, {"failed": _why(error)}
        cause = cause.__cause__
    return 3, {"failed": _why(error)}


def _why(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "reading it needs more memory than there is."
    return str(error)[:2000] or type(error).__name__


def main() -> int:
    """Does what the input's first line says; gives the exit status. Why it failed is the last line of the output."""
    from gristmill.errors import GristmillError

    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest_file"], task["largest_file"]))
        os.nice(10)
    try:
        convert(Path(task["data"]), task["config"], Path(task["out"]))
    except (GristmillError, MemoryError, OSError) as error:
        status, told = outcome(error)
        sys.stdout.write(json.dumps(told) + "\n")
        return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
