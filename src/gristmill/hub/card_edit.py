"""Changes of a dataset card: some keys of its YAML head are set, everything else stays as its author wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from gristmill.errors import CardError
from gristmill.hub.card import HEAD, dump_yaml, parse_yaml, with_metadata

__all__ = ["with_changes"]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def with_changes(text: str, changes: Mapping[str, Any], where: str = "README.md") -> str:
    r"""Sets keys of a card's head; comments, order and spelling of the others stay, and the text below does.

    Args:
        text: The whole README, with or without a head.
        changes: The new value of each key; None takes the key out.
        where: What to call the card in errors.

    Returns:
        The whole README; `text` itself if the head says all of that already.

    Raises:
        CardError: The head can't be used as it is.

    Example:
        >>> with_changes("---\n# mine\nlicense: mit  # yes\n---\n# Hello\n", {"size": 3})
        '---\n# mine\nlicense: mit  # yes\nsize: 3\n---\n# Hello\n'
    """
    match = HEAD.match(text)
    if match is None:
        kept = {key: value for key, value in changes.items() if value is not None}
        return with_metadata(text, kept) if kept else text
    head = match["yaml"]
    before = parse_yaml(head, where, text.count("\n", 0, match.start("yaml")) + 1)
    wanted = {
        key: value for key, value in {**before, **changes}.items() if value is not None or key not in changes
    }
    if wanted == before:
        return text
    edited = _edit(head, {key: value for key, value in changes.items() if before.get(key) != value})
    try:
        good = edited is not None and parse_yaml(edited, where) == wanted
    except CardError:  # an alias whose anchor is gone, for example
        good = False
    if edited is None or not good:
        return with_metadata(text, wanted)
    return text[: match.start("yaml")] + edited + text[match.end("yaml") :]


def _edit(head: str, changes: Mapping[str, Any]) -> str | None:
    """Replaces the lines of some keys; None where keys and lines do not go together."""
    root = yaml.compose(head, Loader=_LOADER) if head.strip() else None
    pairs = [] if root is None else root.value
    if root is not None and (not isinstance(root, yaml.MappingNode) or root.flow_style):
        return None
    ending = "\r\n" if "\r\n" in head else "\n"
    lines = head.splitlines(keepends=True)
    starts = [key.start_mark.line for key, _ in pairs]
    stops = [*starts, len(lines)][1:]
    spans = {
        key.value: (start, _last(lines, start, stop))
        for (key, _), start, stop in zip(pairs, starts, stops, strict=True)
    }
    if len(set(starts)) < len(starts) or len(spans) < len(pairs):
        return None
    blocks = {
        key: "" if value is None else dump_yaml({key: value}).replace("\n", ending)
        for key, value in changes.items()
    }
    for key, (start, stop) in sorted(spans.items(), key=lambda item: -item[1][0]):
        if key in blocks:
            lines[start:stop] = [blocks.pop(key)]
    return "".join([*lines, *blocks.values()])


def _last(lines: list[str], start: int, stop: int) -> int:
    """Finds where the lines of a value end: comments and blank lines below it are about what follows."""
    while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#")):
        stop -= 1
    return stop
