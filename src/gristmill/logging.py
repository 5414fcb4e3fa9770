"""The library's logger and the documented functions that set how much it says.

The level comes from ``DATASETS_VERBOSITY`` (debug, info, warning, error, critical) and is ``warning`` by default.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from logging import CRITICAL, DEBUG, ERROR, FATAL, INFO, NOTSET, WARN, WARNING
from typing import Any

from gristmill.errors import InvalidArgumentError

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "NOTSET",
    "WARN",
    "WARNING",
    "disable_propagation",
    "enable_propagation",
    "get_logger",
    "get_verbosity",
    "set_verbosity",
    "set_verbosity_debug",
    "set_verbosity_error",
    "set_verbosity_info",
    "set_verbosity_warning",
]

log_levels = {"debug": DEBUG, "info": INFO, "warning": WARNING, "error": ERROR, "critical": CRITICAL}
_ROOT = "gristmill"


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]  # generic only in the type stubs
    """Writes to whatever sys.stderr is at the time, as pytest and notebooks replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _configure() -> None:
    root = logging.getLogger(_ROOT)
    if root.handlers:
        return
    handler = _StderrHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    root.addHandler(handler)
    root.propagate = False
    name = os.environ.get("DATASETS_VERBOSITY", "warning").lower()
    if name not in log_levels:
        raise InvalidArgumentError.from_choice("DATASETS_VERBOSITY", name, log_levels)
    root.setLevel(log_levels[name])


def get_logger(name: str | None = None) -> logging.Logger:
    """Gives the logger of a module of this library.

    Args:
        name: A dotted module name; the library's root logger if left out.

    Example:
        >>> get_logger("gristmill.hub").name
        'gristmill.hub'
    """
    _configure()
    return logging.getLogger(name or _ROOT)


def get_verbosity() -> int:
    """Gives the level of the library's root logger, as one of the ints of the standard `logging` module.

    Example:
        >>> get_verbosity() in (10, 20, 30, 40, 50)
        True
    """
    return get_logger().getEffectiveLevel()


def set_verbosity(verbosity: int) -> None:
    """Sets the level below which the library stays silent.

    Args:
        verbosity: One of the levels of the standard `logging` module, for example ``logging.INFO``.

    Example:
        >>> before = get_verbosity()
        >>> set_verbosity(ERROR)
        >>> get_verbosity()
        40
        >>> set_verbosity(before)
    """
    get_logger().setLevel(verbosity)


def set_verbosity_info() -> None:
    """Shows what the library does step by step; the same as ``set_verbosity(INFO)``."""
    set_verbosity(INFO)


def set_verbosity_warning() -> None:
    """Shows warnings and errors, the default; the same as ``set_verbosity(WARNING)``."""
    set_verbosity(WARNING)


def set_verbosity_debug() -> None:
    """Shows everything; the same as ``set_verbosity(DEBUG)``."""
    set_verbosity(DEBUG)


def set_verbosity_error() -> None:
    """Shows errors only; the same as ``set_verbosity(ERROR)``."""
    set_verbosity(ERROR)


def disable_propagation() -> None:
    """Keeps the library's messages out of the application's own log handlers (the default)."""
    get_logger().propagate = False


def enable_propagation() -> None:
    """Hands the library's messages to the application's log handlers instead of writing them to stderr itself."""
    root = get_logger()
    root.propagate = True
    root.handlers = [logging.NullHandler()]


_BARS = ("disable_progress_bar", "enable_progress_bar", "is_progress_bar_enabled")


def __getattr__(name: str) -> Any:
    """Gives the switches of progress bars: in `datasets` this module has them too."""
    if name in _BARS:
        return getattr(importlib.import_module("gristmill.progress"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
