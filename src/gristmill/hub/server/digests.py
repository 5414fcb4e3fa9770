"""``Content-Digest`` (RFC 9530): what came can be compared with what was sent, by clients that want to.

On plain HTTP a flipped bit that the checksums of TCP let through would otherwise be somebody's data: the hash of a
whole file says nothing about a part of it, nor about a listing.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive

from gristmill.files.ranges import is_digest
from gristmill.hub.server.errors import Refusal

__all__ = [
    "DIGEST",
    "LARGEST_PART",
    "compared",
    "digest_of_hex",
    "digest_of_part",
    "digest_of_text",
    "wants_digest",
]

DIGEST = "Content-Digest"
LARGEST_PART = 16 << 20
"""Bytes of a part that is hashed before it is sent; of longer ones the client has to wait for too much."""
_WANTED = re.compile(r"(?:^|,)\s*sha-256\s*(?:=\s*(?P<weight>[0-9]+))?\s*(?:,|$)")
_BLOCK = 1 << 20


def wants_digest(request: Request) -> bool:
    """Says whether a client asks for the SHA-256 of what it gets (``Want-Content-Digest: sha-256=1``)."""
    match = _WANTED.search(request.headers.get("want-content-digest", ""))
    return match is not None and match["weight"] != "0"


def compared(headers: Headers, receive: Receive) -> Receive:
    """Gives what receives a request's body, and refuses it at its end if it is not what its client says it sent.

    Handlers act on bodies that are complete, so that nothing has happened by then.
    """
    said = headers.get(DIGEST)
    if said is None:
        return receive
    state = hashlib.sha256()

    async def receive_and_compare() -> Message:
        message = await receive()
        if message["type"] == "http.request":
            state.update(message.get("body", b""))
            if not message.get("more_body") and not is_digest(state.digest(), said):
                problem = "The request's body is not what its Content-Digest says was sent; send it again."
                raise Refusal(400, problem, "ContentDigestMismatch")
        return message

    return receive_and_compare


def digest_of_text(data: bytes) -> str:
    """Makes the header's value for a body.

    Example:
        >>> digest_of_text(b"a")
        'sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:'
    """
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def digest_of_hex(sha256: str) -> str:
    """Makes the header's value for a body whose SHA-256 is known (64 hex)."""
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"


def digest_of_part(handle: int, start: int, length: int) -> str:
    """Makes the header's value for a part of an open file; bytes that are not there any more are left out."""
    state, end = hashlib.sha256(), start + length
    while start < end and (block := os.pread(handle, min(_BLOCK, end - start), start)):
        state.update(block)
        start += len(block)
    return f"sha-256=:{base64.b64encode(state.digest()).decode()}:"
