"""The pool of connections behind an HTTP session: time limits, proxies, certificates, and what bodies may be packed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gristmill.errors import HubResponseError, InvalidArgumentError, shorten

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection; the data itself may take `config.GRISTMILL_TIMEOUT` between two pieces."""
_VARIABLES = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"


def open_client(user_agent: str, timeout: float) -> httpx.Client:
    """Makes a pool of connections; nothing is asked for yet.

    Args:
        user_agent: What to call ourselves.
        timeout: Seconds without progress after which a request is given up.

    Raises:
        InvalidArgumentError: The environment names a proxy or certificates that can't be used.

    Example:
        >>> with open_client("me", 5) as client:
        ...     client.headers["User-Agent"]
        'me'
    """
    import httpx

    try:
        return httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout), pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
            headers={"User-Agent": user_agent, "Accept-Encoding": "gzip"},
            # A proxy can't reach this machine's own ports, whatever HTTP_PROXY says.
            mounts={"all://127.0.0.1": None, "all://localhost": None},
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        # An unknown kind of proxy, one that needs a library, or certificates that are not there.
        raise InvalidArgumentError(
            f"No connection can be set up: {error}. Check the environment variables {_VARIABLES}."
        ) from error


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
