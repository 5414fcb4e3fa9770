"""The head of a repository's README.md as the API shows it: plain JSON, bounded, and absent if it is broken."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.errors import CardError
from gristmill.hub.card import parse_card
from gristmill.hub.server.access import Gated
from gristmill.hub.server.errors import unreadable
from gristmill.hub.server.walk import Found, Stamp

_CARD_LIMIT = 16 * 1024 * 1024
_TAGGED = (
    "task_categories",
    "task_ids",
    "language",
    "license",
    "size_categories",
    "annotations_creators",
    "language_creators",
    "multilinguality",
    "source_datasets",
    "benchmark",
    "modality",
)

_PLAIN = ("tags", "pipeline_tag", "library_name", "sdk")


@dataclass(frozen=True)
class ServedCard:
    """What the API says about a card.

    Attributes:
        metadata: The YAML head as JSON values; None if there is none or it is broken.
        configs: The ``configs`` list of the head, if it is one.
        warning: Why the head is left out, if it is broken.
    """

    metadata: Mapping[str, Any] | None = None
    configs: list[dict[str, Any]] = field(default_factory=list)
    warning: str = ""

    @property
    def gated(self) -> Gated:
        """What the card says about asking for access."""
        value = (self.metadata or {}).get("gated")
        if value is True:
            return "auto"
        return value if value in ("auto", "manual") else False

    @property
    def tags(self) -> list[str]:
        """The tags a Hub makes of a card: ``license:mit``, ``language:en``, and those of its ``tags``."""
        head = self.metadata or {}
        tags = [f"{key}:{value}" for key in _TAGGED for value in _texts(head.get(key))]
        plain = [tag for key in _PLAIN for tag in _texts(head.get(key))]
        return list(dict.fromkeys([*tags, *plain]))


class CardCache:
    """Cards by file, read again when the file changes."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Stamp, ServedCard]] = {}

    def read(self, found: Found | None) -> ServedCard:
        """Reads a card.

        Args:
            found: The README.md; None if there is none.

        Raises:
            Refusal: The file is there and can't be read.
        """
        if found is None:
            return ServedCard()
        known = self._known.get(found.file)
        if known is not None and known[0] == found.stamp:
            return known[1]
        try:
            with found.file.open("rb") as stream:
                text = stream.read(_CARD_LIMIT).decode("utf-8", "replace")
        except FileNotFoundError:
            return ServedCard()
        except OSError as error:
            raise unreadable(found.path, error) from error
        card = _served(text)
        self._known[found.file] = (found.stamp, card)
        return card


def _served(text: str) -> ServedCard:
    try:
        card = parse_card(text, "README.md")
        metadata = to_json(card.metadata)
    except CardError as error:
        return ServedCard(warning=str(error))
    return ServedCard(metadata or None, card.configs)


def to_json(value: Any) -> Any:
    """Turns what YAML can hold into what JSON can hold: dates and keys become text, NaN becomes null.

    Example:
        >>> to_json({1: [dt.date(2024, 1, 2), float("nan")]})
        {'1': ['2024-01-02', None]}
    """
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [to_json(item) for item in value]
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [
        str(item) for item in values if isinstance(item, str | int | float) and not isinstance(item, bool)
    ]
