"""The value of ``split=``: in which shape datasets come back, and which parts of which splits each of them is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits import ReadInstruction, SplitBase
from gristmill.splits.slices import GRAMMAR, SplitPart, parse_split

__all__ = ["SplitPart", "in_shape", "parse_split", "wanted_parts"]

T = TypeVar("T")
_DEEPEST = 20


def in_shape(split: object, make: Callable[[Any], T], depth: int = 0) -> Any:
    """Makes something of each name or slice in a value of ``split=`` and keeps its lists, tuples and dicts.

    Args:
        split: A name or slice, or a list, tuple or dict of them.
        make: What to do with one.
        depth: How deep in lists this one is.

    Raises:
        InvalidArgumentError: Lists are nested too deeply, or a dict's keys are no text.

    Example:
        >>> in_shape({"a": ["x", "y"]}, str.upper)
        {'a': ['X', 'Y']}
    """
    if depth > _DEEPEST:
        raise InvalidArgumentError.from_value("split", "...", "lists that are not nested so deeply")
    if isinstance(split, dict):
        if not all(isinstance(key, str) for key in split):
            raise InvalidArgumentError.from_value("split", split, "text as the keys of the dict")
        return {key: in_shape(value, make, depth + 1) for key, value in split.items()}
    if isinstance(split, list | tuple):
        made = [in_shape(value, make, depth + 1) for value in split]
        return made if isinstance(split, list) else tuple(made)
    return make(split)


def wanted_parts(split: object, known: Sequence[str], where: str = "") -> list[SplitPart]:
    """Reads one documented value of ``split=`` and checks its names.

    Args:
        split: A name or slice as text, a `ReadInstruction`, or names joined and cut.
        known: The splits there are.
        where: The dataset, for the error.

    Returns:
        Its parts; ``"all"`` is every split in turn.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The value is not of a documented form.

    Example:
        >>> [part.split for part in wanted_parts("all", ["train", "test"])]
        ['train', 'test']
    """
    if isinstance(split, str):
        text = str(split)
        # A name is a name, whatever characters are in it.
        single = text in known or text == "all"
        parts = [SplitPart(text)] if single else parse_split(text, known)
    elif isinstance(split, ReadInstruction):
        parts = list(split._parts)
    elif isinstance(split, SplitBase):
        parts = list(split.parts)
    else:
        raise InvalidArgumentError.from_value(
            "split", split, f"{GRAMMAR}. The splits are: {', '.join(known)}"
        )
    wanted = []
    for part in parts:
        if part.split == "all" and part.split not in known:
            wanted += [SplitPart(name, part.start, part.stop, part.percent) for name in known]
        elif part.split not in known:
            raise SplitNotFoundError.from_name(part.split, known, where)
        else:
            wanted.append(part)
    return wanted
