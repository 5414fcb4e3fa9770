"""Dicts that a function returns row after row, taken apart as they come: nearly all have the keys of the first one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from gristmill.calling.owned import UNCHANGEABLE, owned

NOTHING_ODD = object()
"""Says that all answers were alike."""
_MOST_KEYS = 64


class Alike:
    """What a function returned for rows: dicts that all have the same keys, by column.

    Args:
        first: The first of them.

    Attributes:
        names: The keys, in the order of the first one.
        columns: The values of each, copied where the function could change them later.
        kinds: The type of the first value of each, of which no value can be changed; None if one could.

    Example:
        >>> alike = Alike({"a": 1})
        >>> alike.extend([{"a": 2}, {"b": 3}], None), alike.columns
        ({'b': 3}, [[1, 2]])
    """

    __slots__ = ("columns", "kinds", "names")

    def __init__(self, first: dict[str, Any]) -> None:
        self.names = tuple(first)
        self.columns = [[owned(value)] for value in first.values()]
        self.kinds = [type(value) if type(value) in UNCHANGEABLE else None for value in first.values()]

    @classmethod
    def beginning_with(cls, answer: Any) -> Alike | None:
        """Begins with the first answer; None if it is no dict, or one of a kind that is better looked at as a whole."""
        if type(answer) is not dict or not 0 < len(answer) <= _MOST_KEYS:
            return None
        return cls(answer) if all(type(name) is str for name in answer) else None

    def __len__(self) -> int:
        return len(self.columns[-1])

    def extend(self, given: Iterable[Any], function: Callable[[Any], Any] | None) -> Any:
        """Adds answers until one is not like the others.

        Args:
            given: What to call the function with, or its answers.
            function: The function; None if they are answers.

        Returns:
            The first answer that is no dict with the same keys, or `NOTHING_ODD`.
        """
        adds = [column.append for column in self.columns]
        return _loop(self.names, function is not None)(given, function, *adds, *self.kinds)

    def dicts(self) -> list[dict[str, Any]]:
        """Gives them as they were returned."""
        return [dict(zip(self.names, values, strict=True)) for values in zip(*self.columns, strict=True)]


@functools.lru_cache(maxsize=512)
def _loop(names: tuple[str, ...], calls: bool) -> Callable[..., Any]:
    """Gives the loop that takes apart dicts with certain keys.

    With the keys written in, each value is one lookup and one append. The function is called by the loop itself, since
    Python enters a function of Python's faster from there than from `map`.
    """
    numbers = range(len(names))
    adds = "".join(f", add{number}" for number in numbers)
    # Names go in as string literals (their repr), so nothing in them is ever run.
    looked_up = "; ".join(f"v{number} = answer[{name!r}]" for number, name in enumerate(names))
    # Most values are of the type of the first one; of another type, they may be what the function fills again.
    checks = [f"        if type(v{n}) is not kind{n}: v{n} = owned(v{n})" for n in numbers]
    kinds = "".join(f", kind{number}" for number in numbers)
    added = "; ".join(f"add{number}(v{number})" for number in numbers)
    lines = [
        f"def loop(given, function{adds}{kinds}):",
        "    for answer in given:",
        *(["        answer = function(answer)"] if calls else []),
        f"        if type(answer) is not dict or len(answer) != {len(names)}:",
        "            return answer",
        "        try:",
        f"            {looked_up}",
        "        except KeyError:",
        "            return answer",
        *checks,
        f"        {added}",
        "    return nothing_odd",
    ]
    made: dict[str, Any] = {"nothing_odd": NOTHING_ODD, "owned": owned}
    exec("\n".join(lines), made)  # noqa: S102  # the keys go in as string literals
    loop: Callable[..., Any] = made["loop"]
    return loop
