"""The pool of connections behind an HTTP session: time limits, proxies, certificates, and what bodies may be packed in."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gristmill.errors import HubResponseError, InvalidArgumentError, shorten

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection; the data itself may take `config.GRISTMILL_TIMEOUT` between two pieces."""
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
_VARIABLES = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"


def open_client(
    user_agent: str, timeout: float, proxies: Mapping[str, str | None] | None = None
) -> httpx.Client:
    """Makes a pool of connections; nothing is asked for yet.

    Args:
        user_agent: What to call ourselves.
        timeout: Seconds without progress after which a request is given up.
        proxies: ``"http"``, ``"https"`` or ``"all"``, or the beginning of a URL -> the proxy's URL, None for none; of
            what is not named, the environment tells.

    Raises:
        InvalidArgumentError: `proxies` or the environment name a proxy or certificates that can't be used.

    Example:
        >>> with open_client("me", 5) as client:
        ...     client.headers["User-Agent"]
        'me'
    """
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
    # A proxy can't reach this machine's own ports, whatever HTTP_PROXY says; one that was asked for by name may.
    mounts: dict[str, Any] = {"all://127.0.0.1": None, "all://localhost": None}
    if proxies:
        mounts = _transports(proxies, limits)
    try:
        return httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout), pool=None),
            limits=limits,
            headers={"User-Agent": user_agent, "Accept-Encoding": "gzip"},
            mounts=mounts,
            verify=_certificates(*map(os.environ.get, _CERTIFICATES)),
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        # An unknown kind of proxy, one that needs a library, or certificates that are not there.
        raise InvalidArgumentError(
            f"No connection can be set up: {error}. Check the environment variables {_VARIABLES}."
        ) from error


@functools.lru_cache(maxsize=1)
def _certificates(*_where: str | None) -> ssl.SSLContext:
    """Reads whom to trust once a process: it takes longer than a request does."""
    import httpx

    return httpx.create_ssl_context()


def _transports(proxies: Mapping[str, str | None], limits: httpx.Limits) -> dict[str, Any]:
    import httpx

    try:
        return {
            start if "://" in start else f"{start}://": proxy
            and httpx.HTTPTransport(proxy=proxy, limits=limits)
            for start, proxy in proxies.items()
        }
    except (ValueError, TypeError, AttributeError, ImportError, httpx.InvalidURL) as error:
        expected = f'a mapping such as {{"https": "http://proxy:3128"}} ({error})'
        raise InvalidArgumentError.from_value("proxies", proxies, expected) from error


def check_packing(response: httpx.Response, url: str) -> None:
    """Refuses a body that is packed in another way than was asked for, before any of it is unpacked.

    One layer of gzip grows a piece of a body a thousandfold at most; layers upon layers, and other ways of packing,
    know no such bound, and a few thousand bytes would fill the memory.

    Args:
        response: The answer; its body is not read yet.
        url: What was asked for, for the error.

    Raises:
        HubResponseError: It is packed in more than one layer of gzip, or in something else.
    """
    packing = response.headers.get("content-encoding", "")
    layers = [layer for part in packing.split(",") if (layer := part.strip().lower()) not in ("", "identity")]
    if layers not in ([], ["gzip"]):
        problem = f"The body is packed as {shorten(packing)}, and at most gzip was asked for"
        raise HubResponseError.at_url(problem, url, response.status_code)
