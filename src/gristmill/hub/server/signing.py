"""Addresses and tokens that carry their own right: signed by this server, for one thing, until a time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from gristmill.hub.server.errors import Refusal

_TAG = 32


class Signer:
    """Signs with a key that lives as long as the process.

    Example:
        >>> signer = Signer()
        >>> signer.check("upload", signer.sign("upload", {"oid": "ab"}, seconds=60))["oid"]
        'ab'
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def sign(self, purpose: str, claim: Mapping[str, Any], seconds: float) -> str:
        """Makes a token, of characters that need no quoting in URLs.

        Args:
            purpose: What it is for; a token for one purpose is worth nothing for another.
            claim: What it says, as JSON values.
            seconds: How long it holds.
        """
        # Whole milliseconds: two tokens for one claim are of one length.
        until = round(1000 * (time.time() + seconds))
        payload = json.dumps([purpose, dict(claim), until], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._tag(payload) + payload).decode().rstrip("=")

    def check(self, purpose: str, token: str) -> dict[str, Any]:
        """Gives what a token says.

        Raises:
            Refusal: It was not signed here, is for something else, or too old (401).
        """
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        tag, payload = raw[:_TAG], raw[_TAG:]
        if not hmac.compare_digest(tag, self._tag(payload)):
            raise Refusal(401, "This address or token was not made by this server since it was started.")
        made_for, claim, until = json.loads(payload)
        if made_for != purpose or 1000 * time.time() > until:
            raise Refusal(401, "This address or token holds no longer, or not for this; ask for a new one.")
        result: dict[str, Any] = claim
        return result

    def _tag(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, payload, hashlib.sha256)
