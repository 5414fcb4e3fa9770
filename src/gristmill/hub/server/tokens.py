"""Who may write what: ``tokens.json`` in the served folder, or a file named at the start.

::

    {"hf_ann": {"user": "ann", "write": ["ann/*", "models/team/*"], "read": ["team/*"]}}

A scope is ``ORG/NAME``, ``ORG/*`` or ``*``; one that begins with ``datasets/``, ``models/``, ``spaces/`` or
``buckets/`` is about that type, others are about all. Who may write may read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import FileFormatError
from gristmill.hub.server.settings import read_settings

_SCOPE = re.compile(r"\*|(?:(?:datasets|models|spaces|buckets)/)?[A-Za-z0-9._-]+/(?:\*|[A-Za-z0-9._-]+)")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_REMEDY = 'Expected {"hf_…": {"user": "ann", "write": ["ann/*"], "read": ["org/name", "models/org/*"]}}.'


@dataclass(frozen=True)
class Holder:
    """Who holds a token, and which repositories it opens.

    Attributes:
        user: Name; repositories made without an organisation are theirs.
        write: Scopes that can be written to.
        read: Scopes of private and gated repositories that can be read.
    """

    user: str
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    def may_write(self, type: str, id: str) -> bool:
        """Says whether a repository can be written to."""
        return covers(self.write, type, id)

    def may_read(self, type: str, id: str) -> bool:
        """Says whether a repository can be read, be it private or gated."""
        return covers(self.read, type, id) or self.may_write(type, id)

    @property
    def organisations(self) -> list[str]:
        """Organisations in whose name something can be written."""
        names = {scope.split("/")[-2] for scope in self.write if "/" in scope}
        return sorted(names - {self.user})


def covers(scopes: Iterable[str], type: str, id: str) -> bool:
    """Says whether one of the scopes is about a repository.

    Example:
        >>> (
        ...     covers(["org/*"], "datasets", "org/a"),
        ...     covers(["models/org/*"], "datasets", "org/a"),
        ...     covers(["*"], "x", "y/z"),
        ... )
        (True, False, True)
    """
    organisation = id.partition("/")[0]
    names = {"*", id, f"{organisation}/*", f"{type}/{id}", f"{type}/{organisation}/*"}
    return not names.isdisjoint(scopes)


def read_tokens(path: Path) -> dict[str, Holder]:
    """Reads a token file; none means no tokens.

    Raises:
        FileFormatError: It is not what it should be.
        FileError: It is there and can't be read.
    """
    content: Mapping[str, Any] = read_settings(path) or {}
    return {token: _holder(token, value, path) for token, value in content.items()}


def _holder(token: str, value: Any, path: Path) -> Holder:
    if (
        token.isascii()
        and token.startswith("hf_")
        and isinstance(value, dict)
        and not set(value) - {"user", "write", "read"}
    ):
        user, write, read = value.get("user"), value.get("write", []), value.get("read", [])
        scopes = [*write, *read] if isinstance(write, list) and isinstance(read, list) else [None]
        good = all(isinstance(scope, str) and _SCOPE.fullmatch(scope) for scope in scopes)
        if isinstance(user, str) and _USER.fullmatch(user) and good:
            return Holder(user, tuple(write), tuple(read))
    # The token itself is a secret, and error messages end up in logs.
    raise FileFormatError.at(f"the entry of the token {token[:5]}… can't be used", file=path, remedy=_REMEDY)
