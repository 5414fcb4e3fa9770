"""From a raw request path to a handler.

The path is split at ``/`` first and each part decoded afterwards, because a revision such as ``refs/convert/parquet``
arrives as one part with ``%2F`` in it; frameworks decode first and lose that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from gristmill.errors import UnsafePathError
from gristmill.files.paths import check_relative
from gristmill.hub.server.errors import bad_request
from gristmill.hub.server.repos import TYPES
from gristmill.hub.server.served import Served

_LONGEST_PATH = 8192
# First parts of addresses that are no organisation's name.
_RESERVED = {"api", "github", "buckets"}
# Refs that people also write with their slashes unencoded.
_LONG_REFS = {"convert", "pr", "heads"}

Handler = Callable[[Served, Request, dict[str, str]], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """A pattern of a path and what answers it.

    Attributes:
        pattern: Parts between slashes. ``{type}``, ``{id}`` and ``{bucket}`` (two parts), ``{rev}`` (one, or three of an unencoded ref),
            ``{path}`` (all the rest, perhaps none) and any other name in braces (one part) are handed to the handler.
        handler: Answers the request.
        methods: HTTP methods; HEAD goes with GET.
        writes: Whether a server that nobody may write to refuses it.
    """

    pattern: str
    handler: Handler
    methods: tuple[str, ...] = ("GET",)
    writes: bool = False

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The pattern's parts."""
        return tuple(self.pattern.split("/"))

    def match(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Compares decoded parts with the pattern; gives the values of its names, or None."""
        if not self.pattern:
            return None if any(parts) else {}
        if self.pattern.startswith("{id}") and parts[0] in _RESERVED:
            return None
        values: dict[str, str] = {}
        rest = list(parts)
        for wanted in self.parts:
            if wanted == "{path}":
                values["path"] = "/".join(rest)
                return values
            count = 2 if wanted in ("{id}", "{bucket}") else _revision_parts(rest) if wanted == "{rev}" else 1
            taken, rest = rest[:count], rest[count:]
            if len(taken) < count or not all(taken):
                return None
            if wanted.startswith("{"):
                values[wanted[1:-1]] = "/".join(taken)
            elif taken != [wanted]:
                return None
        return values if not any(rest) else None


class Table:
    """Routes, of which the first that fits answers.

    Args:
        routes: In the order in which they are tried.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        # Which ones can fit is known from the first part of an address: a few instead of all.
        firsts = {route.parts[0] for route in routes if not route.parts[0].startswith("{")}
        self._anywhere = [route for route in routes if route.parts[0].startswith("{")]
        self._beginning = {
            first: [route for route in routes if route.parts[0] == first or route in self._anywhere]
            for first in (*firsts, *TYPES)
        }

    def fitting(self, method: str, parts: Sequence[str]) -> Iterator[tuple[Route, dict[str, str]]]:
        """Gives the routes that fit an address, with the values of their names; without a type it is ``models``."""
        for route in self._beginning.get(parts[0], self._anywhere):
            values = route.match(parts) if method in route.methods else None
            if values is not None and values.setdefault("type", "models") in TYPES:
                yield route, values


def _revision_parts(rest: Sequence[str]) -> int:
    return 3 if len(rest) >= 3 and rest[0] == "refs" and rest[1] in _LONG_REFS else 1


def split_path(raw: bytes) -> list[str]:
    """Splits a raw request path into decoded parts.

    Args:
        raw: The path as sent, without the query.

    Raises:
        Refusal: It is not a path, too long, or its bytes are not UTF-8 text.

    Example:
        >>> split_path(b"/datasets/a/b/resolve/refs%2Fpr%2F1/x%20y.txt")
        ['datasets', 'a', 'b', 'resolve', 'refs/pr/1', 'x y.txt']
    """
    if not raw.startswith(b"/") or len(raw) > _LONGEST_PATH:
        raise bad_request("The request's path can't be used.")
    try:
        parts = [unquote_to_bytes(part).decode() for part in raw[1:].split(b"/")]
    except UnicodeDecodeError as error:
        raise bad_request("The request's path is not UTF-8 text.") from error
    if any("\0" in part for part in parts):
        raise bad_request("The request's path has a NUL in it.")
    return parts


def check_path(path: str) -> str:
    """Gives back a path inside a repository if it is a plain relative one.

    Raises:
        Refusal: It is absolute, empty, or has ``..`` or the like in it (400).
    """
    try:
        return check_relative(path)
    except UnsafePathError as error:
        raise bad_request(
            "A path must be relative, without empty parts, '.', '..' and backslashes."
        ) from error
