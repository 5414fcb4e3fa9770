"""HTTP servers of tests: a real socket, a thread of its own, and one function that answers."""

import contextlib
import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult

from typing_extensions import Self

# Headers that belong to one connection, or that each server writes by itself.
OWN = ("transfer-encoding", "connection", "date", "server", "content-length")


class HangUp(Exception):
    """Raised by `LocalServer.answer`: the connection ends where it is."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are part of the tests


class LocalServer:
    """Answers every request by `answer`, which subclasses write, from ``with`` to its end.

    Attributes:
        url: Where it is, without a slash at the end.
    """

    def __init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                try:
                    server.answer(self)
                except (HangUp, OSError):
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        self.wfile.flush()
                        self.connection.shutdown(socket.SHUT_RDWR)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815  # as the base class calls them

            def log_message(self, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes = b"") -> None:
    """Sends a whole answer; its length is told unless `headers` tell one."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if status not in (204, 304) and not any(name.lower() == "content-length" for name in headers):
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def body_of(handler: BaseHTTPRequestHandler) -> bytes:
    """Reads the body of a request, chunked or not."""
    if handler.headers.get("Transfer-Encoding") != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    pieces = []
    while size := int(handler.rfile.readline(), 16):
        pieces.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(pieces)


def passed_on(
    handler: BaseHTTPRequestHandler,
    upstream: SplitResult,
    body: bytes,
    announced: int | None = None,
    stall: float | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Asks another server what `handler` was asked.

    Args:
        handler: The request.
        upstream: The other server.
        body: What is sent.
        announced: The length that is announced for it, its own unless given.
        stall: Only send, wait so many seconds, and hang up: status 0.

    Returns:
        Status, headers by names in lower case, content.
    """
    assert upstream.hostname is not None
    connection = http.client.HTTPConnection(upstream.hostname, upstream.port, timeout=30)
    try:
        connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
        for name, value in handler.headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body) if announced is None else announced))
        connection.endheaders(body)
        if stall is not None:
            threading.Event().wait(stall)  # tests may have time.sleep return at once
            return 0, {}, b""
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    finally:
        connection.close()
