"""huggingface_hub's own progress bars, and how to be rid of them where one bar of ours says it all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gristmill.files.forks import ForkedLock

_lock = ForkedLock()
_inside = 0


@contextlib.contextmanager
def quiet_bars() -> Iterator[None]:
    """Switches the bars off for the length of a ``with`` block, unless the environment decides about them.

    Example:
        >>> with quiet_bars():
        ...     pass
    """
    global _inside  # noqa: PLW0603  # their switch is one for the process as well
    from huggingface_hub import constants
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    with _lock:
        ours = constants.HF_HUB_DISABLE_PROGRESS_BARS is None and (
            _inside > 0 or not are_progress_bars_disabled()
        )
        if ours:
            _inside += 1
            disable_progress_bars()
    try:
        yield
    finally:
        if ours:
            with _lock:
                _inside -= 1
                if not _inside:
                    enable_progress_bars()
