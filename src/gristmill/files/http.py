"""One HTTP session for everything Gristmill fetches, with other libraries' errors turned into ours.

One attempt is `HttpSession.open`: it follows redirects itself, so that the token goes to the endpoint's own origin and
nowhere else, and raises `Transient` for what may pass (429, 5xx, no answer, a connection that broke off). What is
asked for as a whole (`get_json`, `get_range`) runs such attempts under the session's `RetryPolicy`; downloads do so in
`gristmill.hub.transfer`, since they go on where the last attempt stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from gristmill import config
from gristmill._version import __version__
from gristmill.errors import (
    HubConnectionError,
    HubError,
    HubResponseError,
    IncompleteBodyError,
    InvalidArgumentError,
    shorten,
)
from gristmill.files.connections import check_packing, open_client
from gristmill.files.forks import renew_in_children
from gristmill.files.http_answers import Refusal, failure, read_bounded, refuse_plainly, transient
from gristmill.files.ranges import (
    NOT_AS_SENT,
    WANT_DIGEST,
    CheckPart,
    ContentRange,
    accept_part,
    check_part,
    has_digest,
)
from gristmill.files.retry import RetryPolicy, Transient

if TYPE_CHECKING:
    import httpx

__all__ = [
    "JSON_LIMIT",
    "HttpSession",
    "Refusal",
    "is_unreachable",
    "join_url",
    "origin",
    "refuse_plainly",
    "user_agent",
]

JSON_LIMIT = 64_000_000
"""Bytes of a JSON answer that are read at most."""
_MOST_REDIRECTS = 10
# Headers about one server's own state: meaningless, or a secret, anywhere else.
_OWN_ORIGIN_ONLY = ("authorization", "if-range")


def origin(url: str) -> tuple[str, str, int]:
    """Gives the scheme, host and port of a URL: what decides who may see a token.

    Raises:
        InvalidArgumentError: It is not an http(s) URL with a host.

    Example:
        >>> origin("https://Hub.example/api")
        ('https', 'hub.example', 443)
    """
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError as error:
        raise InvalidArgumentError.from_value("url", url, "an http:// or https:// URL") from error
    if scheme not in ("http", "https") or not host:
        raise InvalidArgumentError.from_value("url", url, "an http:// or https:// URL")
    return scheme, host, port if port is not None else (443 if scheme == "https" else 80)


def join_url(page: str, link: str) -> str:
    """Gives the URL that a link on a page means; one that no URL can be made of as it is, for `origin` to refuse.

    Example:
        >>> join_url("https://hub/a/b", "c"), join_url("https://hub", "http://[c")
        ('https://hub/a/c', 'http://[c')
    """
    try:
        return urljoin(page, link)
    except ValueError:
        return link


def user_agent() -> str:
    """What Gristmill calls itself in requests.

    Example:
        >>> user_agent().startswith("gristmill/")
        True
    """
    return f"gristmill/{__version__}; python/{platform.python_version()}"


def _close_own(client: httpx.Client, pid: int) -> None:
    # A forked child shares its parent's sockets and must leave them open.
    if pid == os.getpid():
        client.close()


class HttpSession:
    """Connections, token, retries. Threads may share one; it survives a fork and can be pickled.

    Args:
        endpoint: The only origin the token is sent to.
        token: Bearer token, or None for anonymous requests.
        policy: How often and how fast to try again.
        timeout: Seconds without progress after which an attempt is given up; `config.GRISTMILL_TIMEOUT` if left out.
        proxies: See `open_client`.
        agent: What to add to what Gristmill calls itself.

    Example:
        >>> HttpSession("https://huggingface.co").policy.attempts
        4
    """

    def __init__(
        self,
        endpoint: str,
        token: str | None = None,
        policy: RetryPolicy | None = None,
        timeout: float | None = None,
        proxies: Mapping[str, str | None] | None = None,
        agent: str = "",
    ) -> None:
        self.endpoint = endpoint
        self.policy = policy or RetryPolicy()
        self._origin = origin(endpoint)
        self._token = token
        self._timeout = timeout
        self._proxies = proxies
        self._agent = f"{user_agent()}; {agent}" if agent else user_agent()
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Forgets connections without closing them: a forked child must not talk over its parent's sockets."""
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_client": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.renew()
        renew_in_children(self)

    def close(self) -> None:
        """Closes the connections; the session opens new ones if it is used again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connections(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                wait = config.GRISTMILL_TIMEOUT if self._timeout is None else self._timeout
                self._client = open_client(self._agent, wait, self._proxies)
                # Nobody has to close a client by hand: its sockets go with the session.
                weakref.finalize(self, _close_own, self._client, os.getpid())
            return self._client

    @contextlib.contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        accept: Collection[int] = (200,),
        refuse: Callable[[Refusal], Exception] = refuse_plainly,
    ) -> Iterator[httpx.Response]:
        """Makes one attempt to GET a URL; the body is read inside the block.

        Args:
            url: What to ask for.
            headers: Headers besides the session's own.
            accept: Statuses that are answers; every other one is an error.
            refuse: Words the error for a final status that is not in `accept`.

        Yields:
            The answer, its body not read yet.

        Raises:
            Transient: Trying again may help: no connection, one that broke off (also inside the block), 408, 429, 5xx.
            HubError: What `refuse` says, redirects that lead nowhere, or a body packed in a way nobody asked for.
            InvalidArgumentError: The environment names a proxy or certificates that can't be used.
        """
        import httpx

        try:
            with contextlib.closing(self._follow(url, dict(headers or {}))) as response:
                check_packing(response, url)
                if response.status_code not in accept:
                    raise failure(response, url, refuse)
                yield response
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL) as error:
            raise HubResponseError.at_url(f"The request can't be made ({error})", url) from error
        except httpx.TransportError as error:
            problem = f"No usable answer ({type(error).__name__}: {error})"
            remedy = "Check the network and HF_ENDPOINT, then run it again; what was fetched is kept"
            raise transient(HubConnectionError.at_url(problem, url, None, remedy), error) from error
        except (httpx.DecodingError, httpx.StreamError) as error:
            raise transient(
                HubResponseError.at_url(f"The body can't be read ({error})", url), error
            ) from error

    def _follow(self, url: str, headers: dict[str, str]) -> httpx.Response:
        target, first, own = url, origin(url), True
        for _ in range(_MOST_REDIRECTS + 1):
            # Once off the origin, own-origin headers stay off, also if a redirect leads back.
            own = _origin_of_redirect(target, url) == first and own
            sent = headers if own else {k: v for k, v in headers.items() if k.lower() not in _OWN_ORIGIN_ONLY}
            if own and self._token and origin(target) == self._origin:
                sent = {**sent, "Authorization": f"Bearer {self._token}"}
            client = self._connections()
            response = client.send(client.build_request("GET", target, headers=sent), stream=True)
            if not response.has_redirect_location:
                return response
            response.close()
            target = join_url(target, response.headers["location"])
        raise HubResponseError.at_url(f"More than {_MOST_REDIRECTS} redirects, probably in a circle", url)

    def get_bytes(
        self,
        url: str,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
        refuse: Callable[[Refusal], Exception] = refuse_plainly,
    ) -> tuple[bytes, Mapping[str, str]]:
        """Fetches a small body whole, with retries.

        Args:
            url: What to ask for.
            limit: Most bytes that are read.
            headers: Headers besides the session's own.
            refuse: Words the error for a final status that is not 200.

        Returns:
            The body and the answer's headers (names in lower case).

        Raises:
            HubResponseError: The body is larger than `limit`.
            IncompleteBodyError: It is not what the server says it sent (``Content-Digest``), in any attempt.
            HubError: As for `open`, after all attempts.
        """
        sent = {**(headers or {}), **WANT_DIGEST}

        def attempt() -> tuple[bytes, Mapping[str, str]]:
            with self.open(url, headers=sent, refuse=refuse) as response:
                body, said = read_bounded(response, url, limit), response.headers
            # The digest is that of the body as it was packed.
            if "content-encoding" not in said and not has_digest(body, said.get("content-digest")):
                raise Transient(IncompleteBodyError.at_url(NOT_AS_SENT, url, 200))
            return body, dict(said)

        return self.policy.run(attempt, f"GET {url}")

    def get_json(
        self, url: str, *, limit: int = JSON_LIMIT, refuse: Callable[[Refusal], Exception] = refuse_plainly
    ) -> tuple[Any, Mapping[str, str]]:
        """Fetches and parses a JSON document, with retries.

        Args:
            url: What to ask for.
            limit: Most bytes that are read.
            refuse: Words the error for a final status that is not 200.

        Returns:
            The parsed value and the answer's headers (names in lower case).

        Raises:
            HubResponseError: The body is larger than `limit`, or not JSON.
            HubError: As for `open`, after all attempts.
        """
        body, headers = self.get_bytes(
            url, limit=limit, headers={"Accept": "application/json"}, refuse=refuse
        )
        try:
            return json.loads(body), headers
        except (ValueError, RecursionError) as error:
            start = shorten(body[:80].decode("utf-8", "replace"))
            raise HubResponseError.at_url(f"The answer is not JSON, it begins with {start}", url) from error

    def get_range(
        self,
        url: str,
        start: int,
        length: int,
        *,
        headers: Mapping[str, str] | None = None,
        check: CheckPart = accept_part,
        refuse: Callable[[Refusal], Exception] = refuse_plainly,
    ) -> bytes:
        """Fetches part of a file, or refuses: a server that ignores the range is never read from.

        Args:
            url: The file.
            start: First byte, counted from 0.
            length: How many bytes; fewer come back only where the file ends.
            headers: Headers besides the session's own.
            check: Looks at what is answered before it is read, and raises what is wrong with it.
            refuse: Words the error for a final status such as 404.

        Returns:
            The bytes. Where the server sends a ``Content-Digest``, they have it.

        Raises:
            InvalidArgumentError: `start` is negative or `length` not positive.
            RangeIgnoredError: The answer is not 206 with the range asked for.
            HubError: As for `open`, after all attempts.
        """
        if start < 0 or length < 1:
            raise InvalidArgumentError.from_value("range", (start, length), "start >= 0 and length >= 1")
        asked = f"bytes={start}-{start + length - 1}"
        return self._get_part(url, asked, (start, length), dict(headers or {}), check, refuse)[0]

    def get_suffix(
        self, url: str, length: int, *, refuse: Callable[[Refusal], Exception] = refuse_plainly
    ) -> tuple[bytes, ContentRange, Mapping[str, str]]:
        """Fetches the end of a file of unknown size.

        Args:
            url: The file.
            length: How many bytes; fewer come back only if the file is shorter.
            refuse: Words the error for a final status such as 404.

        Returns:
            The bytes, which ones of how many they are, and the answer's headers.

        Raises:
            RangeIgnoredError: The answer is not 206 with the range asked for, or does not say how long the file is.
            HubError: As for `open`, after all attempts.
        """
        return self._get_part(url, f"bytes=-{length}", length, {}, accept_part, refuse)

    def _get_part(
        self,
        url: str,
        asked: str,
        expected: tuple[int, int] | int,
        headers: dict[str, str],
        check: CheckPart,
        refuse: Callable[[Refusal], Exception],
    ) -> tuple[bytes, ContentRange, Mapping[str, str]]:
        sent = {**headers, "Range": asked, "Accept-Encoding": "identity", **WANT_DIGEST}

        def attempt() -> tuple[bytes, ContentRange, Mapping[str, str]]:
            with self.open(url, headers=sent, accept=(200, 206, 416), refuse=refuse) as response:
                part = check_part(response.status_code, response.headers, url, expected)
                check(part, response.headers)
                wanted = part.last + 1 - part.first
                body = read_bounded(response, url, wanted)
            if len(body) < wanted:
                problem = f"Only {len(body)} of {wanted} bytes of a range came"
                raise Transient(IncompleteBodyError.at_url(problem, url, 206))
            if not has_digest(body, response.headers.get("content-digest")):
                raise Transient(IncompleteBodyError.at_url(NOT_AS_SENT, url, 206))
            return body, part, response.headers

        return self.policy.run(attempt, f"GET {url}")


def _origin_of_redirect(target: str, url: str) -> tuple[str, str, int]:
    try:
        return origin(target)
    except InvalidArgumentError as error:
        raise HubResponseError.at_url(
            f"Redirected to {shorten(target)}, which is no web address", url
        ) from error


def is_unreachable(error: HubError) -> bool:
    """Says whether a failure is about the server's state (no answer, 429, 5xx) rather than about what was asked for."""
    status = error.status or 0
    return isinstance(error, HubConnectionError) or status == 429 or status >= 500
