"""Lists, tuples and dicts of paths, however deep: a function applied to each path, the shape kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["leaves", "map_leaves"]


def leaves(value: Any) -> Iterator[Any]:
    """Yields what is in lists, tuples and dicts, in order.

    Example:
        >>> list(leaves({"a": ["x", "y"], "b": "z"}))
        ['x', 'y', 'z']
    """
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def map_leaves(function: Callable[[Any], Any], value: Any, threads: int = 1) -> Any:
    """Applies a function to what is in lists, tuples and dicts, several at a time, and gives the same shape.

    Args:
        function: Given one leaf.
        value: The leaves, in any shape.
        threads: How many calls at a time.

    Example:
        >>> map_leaves(str.upper, {"a": ["x", "y"], "b": "z"})
        {'a': ['X', 'Y'], 'b': 'Z'}
    """
    found = list(leaves(value))
    if threads > 1 and len(found) > 1:
        with ThreadPoolExecutor(min(threads, len(found)), thread_name_prefix="gristmill-files") as pool:
            results = iter(list(pool.map(function, found)))
    else:
        results = iter([function(leaf) for leaf in found])
    return _rebuild(value, results)


def _rebuild(value: Any, results: Iterator[Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _rebuild(item, results) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_rebuild(item, results) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return next(results)
