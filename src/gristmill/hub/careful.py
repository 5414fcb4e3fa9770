"""What huggingface_hub's own connections lack: they wait for ever for a silent server, and take and send anything."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import sys
from collections.abc import Iterator
from typing import Any

from gristmill import config
from gristmill.files.connections import CONNECT_TIMEOUT
from gristmill.files.forks import ForkedLock
from gristmill.files.ranges import NOT_AS_SENT, WANT_DIGEST, has_digest

__all__ = ["careful_requests"]

_lock = ForkedLock()
_inside: dict[int, tuple[Any, Any, int]] = {}


@contextlib.contextmanager
def careful_requests() -> Iterator[None]:
    """Lets requests of huggingface_hub end after `config.GRISTMILL_TIMEOUT` seconds without a byte, and seals them.

    Sealed is what is in memory, so not a large file that has a hash of its own: both sides can tell by the
    ``Content-Digest`` (RFC 9530) that a body arrived as it was sent, and what did not is asked for again. The client of huggingface_hub is one for the
    process, so this is for the length of a ``with`` block. A limit that somebody gave it is kept.

    Example:
        >>> with careful_requests():
        ...     pass
    """
    from huggingface_hub import get_session

    client: Any = get_session()
    with _lock:
        key = id(client)
        _, before, count = _inside.get(key, (client, client.timeout, 0))
        _inside[key] = (client, before, count + 1)  # the client itself, so that no other gets its id
        if not count:
            client.event_hooks["request"].append(_seal)
            client.event_hooks["response"].append(_compare)
            if all(wait is None for wait in before.as_dict().values()):
                connect = min(CONNECT_TIMEOUT, config.GRISTMILL_TIMEOUT)
                client.timeout = type(before)(config.GRISTMILL_TIMEOUT, connect=connect, pool=None)
    try:
        yield
    finally:
        with _lock:
            _, before, count = _inside.pop(key)
            if count > 1:
                _inside[key] = (client, before, count - 1)
            else:
                client.timeout = before
                client.event_hooks["request"].remove(_seal)
                client.event_hooks["response"].remove(_compare)


def _seal(request: Any) -> None:
    request.headers.setdefault("Want-Content-Digest", WANT_DIGEST["Want-Content-Digest"])
    try:
        body = request.content
    except Exception:  # noqa: BLE001  # a stream is not in memory; each version of the client has its own error for that
        return
    if body:
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        request.headers["Content-Digest"] = f"sha-256=:{digest}:"


def _compare(response: Any) -> None:
    digest = response.headers.get("content-digest")
    if digest is None or response.headers.get("content-encoding"):
        return
    if not has_digest(response.read(), digest):
        library = sys.modules[type(response).__module__.partition(".")[0]]
        raise library.ReadError(NOT_AS_SENT, request=response.request)
