"""Pools of connections."""

import httpx

from gristmill.files import connections
from gristmill.files.connections import open_client


def test_certificates_are_read_once(monkeypatch):
    connections._certificates.cache_clear()
    made = []
    real = httpx.create_ssl_context
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: made.append(1) or real())
    for _ in range(3):
        open_client("me", 5).close()
    assert len(made) == 1
    # Another place to look is another answer.
    monkeypatch.setenv("SSLKEYLOGFILE", "")
    open_client("me", 5).close()
    assert len(made) == 2
    connections._certificates.cache_clear()
