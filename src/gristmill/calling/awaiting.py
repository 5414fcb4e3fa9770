"""Async functions given to `map` and `filter`: the calls for a block of rows run at the same time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any


def is_async(function: Callable[..., Any]) -> bool:
    """Says whether calling a function gives a coroutine.

    Example:
        >>> is_async(len)
        False
    """
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  # asked what kind it is, not whether there is one
    )


def run_together(coroutines: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Runs coroutines at the same time.

    Args:
        coroutines: What calls of an async function gave.

    Returns:
        For each, in order, its result, or the exception it ended with.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def gather() -> list[Any]:
        return await asyncio.gather(*coroutines, return_exceptions=True)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(gather())
    # A notebook runs a loop of its own in this thread, and a loop can't be run inside another.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(gather())).result()
