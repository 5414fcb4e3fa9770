"""What a process has from the one that started it, so that a server is used only by a process that is as it was."""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import Any

VOLATILE = frozenset({"PYTEST_CURRENT_TEST"})
"""Variables that no library looks at when it is imported, and that change all the time."""

_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def inheritance() -> tuple[Any, ...]:
    """Gives what a child of this process would have from it, but for open files and the working folder."""
    root = os.stat("/")  # noqa: PTH116  # the time of a Path is more than that of the call
    return (
        os.getpid(),
        sys.executable,
        {name: value for name, value in os.environ.items() if name not in VOLATILE},
        list(map(str, sys.path)),
        [resource.getrlimit(limit) for limit in _LIMITS],
        _umask(),
        (os.getpgrp(), os.getsid(0)),
        (os.getresuid(), os.getresgid(), os.getgroups()),
        (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)),
        (root.st_dev, root.st_ino),
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        [number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN],
    )


def _umask() -> str:
    # There is no way to ask for it that does not change it for a moment, for all threads, but this one.
    with open("/proc/self/status", "rb") as status:  # noqa: PTH123  # as above
        for line in status:
            if line.startswith(b"Umask:"):
                return line.decode()
    return ""
