"""`tqdm` as a class that heeds the switch of `gristmill.progress`, for code that makes its own bars."""

from __future__ import annotations

from typing import Any

from tqdm import auto

from gristmill.progress import are_progress_bars_disabled

__all__ = ["tqdm"]


class tqdm(auto.tqdm):  # type: ignore[type-arg]  # noqa: N801  # its documented name
    """A bar of the library tqdm, silent while progress bars are switched off.

    Args:
        *args: As for ``tqdm.tqdm``.
        **kwargs: As for ``tqdm.tqdm``.

    Example:
        >>> list(tqdm([1, 2], disable=True))
        [1, 2]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if are_progress_bars_disabled():
            kwargs["disable"] = True
        super().__init__(*args, **kwargs)
