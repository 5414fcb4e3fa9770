"""Runs the app on a socket: in the foreground for the command, in a thread for tests and the demo."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import uvicorn

from gristmill.errors import HubConnectionError, InvalidArgumentError
from gristmill.files.http import origin
from gristmill.hub.server.app import App
from gristmill.hub.server.patience import PatientProtocol
from gristmill.hub.server.zero_copy import with_zero_copy
from gristmill.logging import get_logger

_logger = get_logger(__name__)

_GRACE = 1
_STOP_WITHIN = 30.0


@dataclass(frozen=True)
class Tls:
    """Files for HTTPS: the certificate (with those between it and the root), and its key if that is in another file."""

    cert: str | os.PathLike[str]
    key: str | os.PathLike[str] | None = None

    def check(self) -> None:
        """Tries the files, so that a wrong one is told before the server starts.

        Raises:
            InvalidArgumentError: They can't be used.
        """
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self.cert, self.key)
        except OSError as error:
            raise InvalidArgumentError(
                f"The certificate {self.cert} can't be used: {error}. Name PEM files of a certificate and its key."
            ) from error


def tls_of(cert: str | os.PathLike[str] | None, key: str | os.PathLike[str] | None) -> Tls | None:
    """Puts the files for HTTPS together; None if there are none.

    Raises:
        InvalidArgumentError: There is a key without a certificate.
    """
    if cert is None and key is not None:
        raise InvalidArgumentError("A TLS key needs its certificate: name that as well.")
    return None if cert is None else Tls(cert, key)


class _Server(uvicorn.Server):
    """Tells when it answers."""

    def __init__(self, app: App, ready: Callable[[], None], tls: Tls | None) -> None:
        super().__init__(
            uvicorn.Config(
                with_zero_copy(app),
                ssl_certfile=tls.cert if tls else None,
                ssl_keyfile=tls.key if tls else None,
                http=PatientProtocol,
                ws="none",
                lifespan="off",
                loop="asyncio",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # A peer that does not read keeps its connection half closed for ever, with bytes waiting for it.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


def listen(host: str, port: int) -> socket.socket:
    """Opens the socket to serve on.

    Args:
        host: Name or address.
        port: 0 for a free one.

    Raises:
        InvalidArgumentError: The address can't be used, for example because another program listens on it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        problem = f"Can't listen on {host}:{port}: {getattr(error, 'strerror', None) or error}."
        raise InvalidArgumentError(f"{problem} Choose another host or port (0 takes a free port).") from error
    return listener


def check_open(app: App, listener: socket.socket) -> None:
    """Refuses to let everybody write who can reach this machine.

    Raises:
        InvalidArgumentError: There are no tokens, anyone may write, and the socket is not on the loopback interface.
    """
    host = listener.getsockname()[0]
    if app.served.hub.access.anyone_writes and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        listener.close()
        raise InvalidArgumentError(
            f"Anyone who reaches {host} could write. Name a token file (--tokens), or listen on 127.0.0.1."
        )


def check_upstream(app: App, listener: socket.socket, endpoint: str) -> None:
    """Refuses a mirror of itself, which would wait for its own answers.

    Raises:
        InvalidArgumentError: What is missing would be fetched from this very server.
    """
    if app.served.mirror is None:
        return
    upstream = app.served.mirror.upstream.endpoint
    own = [endpoint, *([app.served.public_url] if app.served.public_url else [])]
    # The loopback interface has two names.
    if origin(upstream.replace("//localhost", "//127.0.0.1")) in [origin(url) for url in own]:
        listener.close()
        raise InvalidArgumentError(
            f"The mirror would fetch from itself ({upstream}). Name the Hub to fetch from: --upstream, or HF_ENDPOINT."
        )


def endpoint_of(listener: socket.socket, tls: Tls | None = None) -> str:
    """Gives the URL at which this machine reaches a listening socket."""
    scheme = "http" if tls is None else "https"
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # what was bound, not what to bind
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def run(app: App, host: str, port: int, ready: Callable[[str], None] | None, tls: Tls | None = None) -> None:
    """Serves until Ctrl-C or SIGTERM; see `gristmill.hub.server.serve`."""
    if tls is not None:
        tls.check()
    listener = listen(host, port)
    check_open(app, listener)
    endpoint = endpoint_of(listener, tls)
    check_upstream(app, listener, endpoint)

    def answers() -> None:
        # Clients give up after ten seconds; hashing a large repository may take longer, so it begins before they ask.
        threading.Thread(
            target=app.served.hub.look_after, name="gristmill-hub-look-after", daemon=True
        ).start()
        if ready is not None:
            ready(endpoint)

    server = _Server(app, answers, tls)
    with _signals_stop(server), contextlib.closing(app):
        server.run(sockets=[listener])


@contextlib.contextmanager
def _signals_stop(server: uvicorn.Server) -> Iterator[None]:
    # uvicorn catches the signals, stops cleanly, and raises them again for the handlers it found: these. A stop that was
    # asked for is no error, and one that is asked for before uvicorn listens to signals is not lost.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def run_in_thread(app: App, host: str, port: int, tls: Tls | None = None) -> Iterator[str]:
    """Serves while the ``with`` block runs; see `gristmill.hub.server.serve_in_thread`."""
    if tls is not None:
        tls.check()
    listener = listen(host, port)
    check_open(app, listener)
    endpoint = endpoint_of(listener, tls)
    check_upstream(app, listener, endpoint)
    answers = threading.Event()
    server = _Server(app, answers.set, tls)

    def serve() -> None:
        try:
            server.run(sockets=[listener])
        finally:
            answers.set()

    thread = threading.Thread(target=serve, name="gristmill-hub-server", daemon=True)
    thread.start()
    try:
        answers.wait()
        if not server.started:
            raise HubConnectionError.at_url("The server did not start; its log says why", endpoint)
        yield endpoint
    finally:
        server.should_exit = True
        thread.join(_STOP_WITHIN)
        app.close()
        if thread.is_alive():
            _logger.warning("the server at %s did not stop within %g s", endpoint, _STOP_WITHIN)
