"""Pools of connections."""

import ssl

import httpx

from gristmill.files import connections
from gristmill.files.connections import open_client


def test_certificates_are_read_once(monkeypatch):
    connections._certificates.cache_clear()
    made = []
    real = httpx.create_ssl_context

    def make() -> ssl.SSLContext:
        made.append(1)
        return real()

    monkeypatch.setattr(httpx, "create_ssl_context", make)
    for _ in range(3):
        open_client("me", 5).close()
    assert len(made) == 1
    # Another place to look is another answer.
    monkeypatch.setenv("SSLKEYLOGFILE", "")
    open_client("me", 5).close()
    assert len(made) == 2
    connections._certificates.cache_clear()
