"""Who may read what: ``access.json`` in the served folder, ``gated:`` in a card, and `tokens` for those who write.

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
from gristmill.hub.server.tokens import Holder, read_tokens

Gated = Literal[False, "auto", "manual"]


@dataclass(frozen=True)
class Rule:
    """What ``access.json`` says about one repository."""

    gated: Gated | None = None
    private: bool = False
    tokens: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """Who sends a request: ``token`` is None for somebody without a token, ``holder`` for one that may not write."""

    token: str | None = None
    holder: Holder | None = None

    @property
    def anonymous(self) -> bool:
        """No token was sent."""
        return self.token is None


class Access:
    """The rules of a served folder.

    Args:
        rules: Rules by ``TYPE/ORG/NAME``.
        holders: Who holds which token.
        anyone_writes: Whether everybody may write as long as there are no holders to tell apart.
    """

    def __init__(
        self, rules: Mapping[str, Rule], holders: Mapping[str, Holder], anyone_writes: bool = False
    ) -> None:
        self._rules = dict(rules)
        self._holders = dict(holders)
        self.tokens = frozenset(token for rule in rules.values() for token in rule.tokens) | set(holders)
        self.anyone_writes = anyone_writes and not self.tokens

    @property
    def writable(self) -> bool:
        """Whether there is anybody who may write."""
        return self.anyone_writes or any(holder.write for holder in self._holders.values())

    @classmethod
    def read(cls, path: Path, tokens: Path, anyone_writes: bool = False) -> Access:
        """Reads ``access.json`` and the token file; no file means no rules and no tokens.

        Raises:
            FileFormatError: The file is not what it should be. A rule that can't be read must not mean "open".
            FileError: It is there and can't be read.
        """
        content = read_settings(path) or {}
        rules = {_key(id): _rule(id, value, path) for id, value in content.items()}
        return cls(rules, read_tokens(tokens), anyone_writes)

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
        return Caller(token, self._holders.get(token))

    def rule(self, type: str, id: str) -> Rule:
        """Gives the rule for a repository."""
        return self._rules.get(f"{type}/{id}", Rule())

    def may_read(self, caller: Caller, type: str, id: str) -> bool:
        """Says whether the caller is on the list of a repository, or holds a token that opens it."""
        if self.anyone_writes or (caller.holder is not None and caller.holder.may_read(type, id)):
            return True
        return caller.token is not None and self.rule(type, id).tokens.get(caller.token, False)

    def may_write(self, caller: Caller, type: str, id: str) -> bool:
        """Says whether the caller may make and change a repository."""
        return self.anyone_writes or (caller.holder is not None and caller.holder.may_write(type, id))


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
