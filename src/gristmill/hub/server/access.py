"""Who may read what: ``access.json`` in the served folder, and ``gated:`` in a card.

::

    {"org/name": {"gated": "manual", "private": false, "tokens": {"hf_member": true, "hf_stranger": false}}}

A token listed anywhere in the file is known to the server; true next to it lets its holder read that repository.
Without the file (or without any token in it) there is nobody to tell apart: tokens are not looked at, except that a
gated repository tells "no token" (401) from "a token without access" (403). Ids are of datasets unless they begin with
``models/`` or ``spaces/``.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gristmill.errors import FileFormatError
from gristmill.hub.server.errors import bad_token
from gristmill.hub.server.settings import read_settings

Gated = Literal[False, "auto", "manual"]


@dataclass(frozen=True)
class Rule:
    """What ``access.json`` says about one repository."""

    gated: Gated | None = None
    private: bool = False
    tokens: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """Who sends a request: ``token`` is None for somebody without a token."""

    token: str | None = None

    @property
    def anonymous(self) -> bool:
        """No token was sent."""
        return self.token is None


class Access:
    """The rules of a served folder.

    Args:
        rules: Rules by ``TYPE/ORG/NAME``.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = dict(rules)
        self.tokens = frozenset(token for rule in rules.values() for token in rule.tokens)

    @classmethod
    def read(cls, path: Path) -> Access:
        """Reads ``access.json``; no file means no rules.

        Raises:
            FileFormatError: The file is not what it should be. A rule that can't be read must not mean "open".
            FileError: It is there and can't be read.
        """
        content = read_settings(path) or {}
        return cls({_key(id): _rule(id, value, path) for id, value in content.items()})

    def identify(self, header: str | None) -> Caller:
        """Finds out who sends a request.

        Args:
            header: The request's ``Authorization``.

        Raises:
            Refusal: It holds something else than a known token.
        """
        if header is None:
            return Caller()
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if not self.tokens:
            return Caller(token or None)
        known = [hmac.compare_digest(token.encode(), each.encode()) for each in self.tokens]
        if scheme.lower() != "bearer" or not any(known):
            raise bad_token()
        return Caller(token)

    def rule(self, type: str, id: str) -> Rule:
        """Gives the rule for a repository."""
        return self._rules.get(f"{type}/{id}", Rule())

    def may_read(self, caller: Caller, type: str, id: str) -> bool:
        """Says whether the caller is on the list of a repository."""
        return caller.token is not None and self.rule(type, id).tokens.get(caller.token, False)


def _key(id: str) -> str:
    return id if id.count("/") == 2 else f"datasets/{id}"


def _rule(id: str, value: Any, path: Path) -> Rule:
    if isinstance(value, dict) and not set(value) - {"gated", "private", "tokens"}:
        gated, private, tokens = value.get("gated"), value.get("private", False), value.get("tokens", {})
        if (
            (gated is None or gated is False or gated in ("auto", "manual"))
            and isinstance(private, bool)
            and isinstance(tokens, dict)
            and all(token.isascii() and isinstance(allowed, bool) for token, allowed in tokens.items())
        ):
            return Rule(gated, private, tokens)
    raise FileFormatError.at(
        f'the rule for "{id}" can\'t be used',
        file=path,
        remedy='Expected {"gated": false, "auto" or "manual", "private": true or false, "tokens": {"hf_…": true}}.',
    )
