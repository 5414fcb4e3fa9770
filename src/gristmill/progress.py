"""One way to show progress: a bar on a terminal, nothing elsewhere, one switch.

``HF_DATASETS_DISABLE_PROGRESS_BARS`` set to true or false wins over `enable_progress_bars` and
`disable_progress_bars`; ``HF_HUB_DISABLE_PROGRESS_BARS`` is honoured as well, since users set it to mean the same.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Protocol, TypeVar

from gristmill.config import _flag

__all__ = [
    "are_progress_bars_disabled",
    "disable_progress_bar",
    "disable_progress_bars",
    "enable_progress_bar",
    "enable_progress_bars",
    "is_progress_bar_enabled",
    "progress",
    "track",
]

T = TypeVar("T")
_disabled_by_code = False


def _switch() -> bool | None:
    for name in ("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS"):
        value = _flag(name, None)
        if value is not None:
            return value
    return None


def are_progress_bars_disabled() -> bool:
    """Says whether bars are switched off, by the environment or by code (not whether there is a terminal).

    Example:
        >>> enable_progress_bars()
        >>> are_progress_bars_disabled()
        False
    """
    by_environment = _switch()
    return _disabled_by_code if by_environment is None else by_environment


def disable_progress_bars() -> None:
    """Switches progress bars off for this process, unless the environment says otherwise.

    Example:
        >>> disable_progress_bars()
        >>> are_progress_bars_disabled()
        True
        >>> enable_progress_bars()
    """
    global _disabled_by_code  # noqa: PLW0603  # one process-wide switch is what is documented
    _disabled_by_code = True


def enable_progress_bars() -> None:
    """Switches progress bars on again for this process, unless the environment says otherwise.

    Example:
        >>> enable_progress_bars()
        >>> are_progress_bars_disabled()
        False
    """
    global _disabled_by_code  # noqa: PLW0603  # one process-wide switch is what is documented
    _disabled_by_code = False


def is_progress_bar_enabled() -> bool:
    """Says whether bars are switched on; the older name's way of asking.

    Example:
        >>> is_progress_bar_enabled() == (not are_progress_bars_disabled())
        True
    """
    return not are_progress_bars_disabled()


# The older names, which scripts still use.
disable_progress_bar = disable_progress_bars
enable_progress_bar = enable_progress_bars


class Progress(Protocol):
    """What a running display can do."""

    def update(self, n: int = 1) -> object:
        """Says that `n` more units are done."""


class _Silent:
    def update(self, n: int = 1) -> object:
        return None


@contextlib.contextmanager
def progress(
    description: str, total: int | None = None, unit: str = "rows", shown: bool = True
) -> Iterator[Progress]:
    """Shows one bar for the length of a ``with`` block.

    Args:
        description: What is being done, a few words.
        total: How many units there are, if known.
        unit: ``"rows"``, ``"files"``, or ``"B"`` for bytes (then scaled to kB, MB, ...).
        shown: False for no bar here, whatever is switched on.

    Yields:
        An object whose ``update(n)`` says that `n` more units are done. Silent when stderr is no terminal or bars
        are switched off, so callers never have to ask.

    Example:
        >>> with progress("reading", total=2) as bar:
        ...     _ = bar.update(2)
    """
    if not shown or are_progress_bars_disabled() or sys.stderr is None or not sys.stderr.isatty():
        yield _Silent()
        return
    from tqdm.auto import tqdm

    options: dict[str, Any] = {"unit_scale": True, "unit_divisor": 1000} if unit == "B" else {}
    # A bar below another one is wiped when it is done, so that a hundred files are not a hundred lines.
    options["leave"] = None
    with tqdm(total=total, desc=description, unit=unit if unit == "B" else f" {unit}", **options) as bar:
        yield bar


def track(items: Iterable[T], description: str, total: int | None = None, unit: str = "rows") -> Iterator[T]:
    """Iterates over `items` under a progress bar.

    Args:
        items: What to iterate over.
        description: What is being done, a few words.
        total: How many items there are; taken from ``len(items)`` if left out and possible.
        unit: What one item is called.

    Example:
        >>> list(track([1, 2], "counting"))
        [1, 2]
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    with progress(description, total, unit) as bar:
        for item in items:
            yield item
            bar.update(1)
