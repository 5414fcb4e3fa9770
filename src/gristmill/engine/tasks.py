"""Tasks: pieces of work that each end as one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import InvalidArgumentError

INSIDE_WORKER = "GRISTMILL_INSIDE_WORKER"
"""Set in worker processes: work they start themselves is done in place, never by workers of workers."""

CONVERTING = ("pandas",)
"""What is imported by tasks that make Arrow arrays of Python values: pyarrow imports pandas to know its values."""


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Attributes:
        name: What to call it in messages, for example ``"rows 0 to 999"``.
        output: The file it ends as; a task whose file exists is done.
        argument: What the function is given, anything cloudpickle can send.
        size: How much work it is, in the unit of the progress bar.
    """

    name: str
    output: Path
    argument: Any
    size: int = 1


@dataclass(frozen=True)
class Context:
    """Where a task runs.

    Attributes:
        rank: The number of the worker process, from 0; None in the calling process.
        advance: To be told how much work was done since the last call.
    """

    rank: int | None
    advance: Callable[[int], object]


TaskFunction = Callable[[Any, Path, Context], None]
"""Given a task's argument, writes its output file (atomically) and returns nothing."""


def check_num_proc(num_proc: object) -> int | None:
    """Checks a number of worker processes; None, 0 and 1 mean to work in the calling process.

    Raises:
        InvalidArgumentError: It is negative or no whole number.

    Example:
        >>> check_num_proc(0), check_num_proc(4)
        (None, 4)
    """
    if num_proc is None:
        return None
    if isinstance(num_proc, bool) or not isinstance(num_proc, int) or num_proc < 0:
        raise InvalidArgumentError.from_value("num_proc", num_proc, "a whole number of worker processes")
    return num_proc if num_proc > 1 else None
