"""Stands between a client and a real server: notes each request, and goes wrong on demand."""

import contextlib
import http.client
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from typing_extensions import Self


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    size: int


# Given what the server would be asked, gives a status to answer instead, "drop" to hang up before it is asked, "lose" to
# hang up after it has answered, or None to let it through.
Fault = Callable[[Seen], "int | str | None"]


def answer(status: int) -> Fault:
    return lambda seen: status


def drop(seen: Seen) -> str:
    return "drop"


def lose(seen: Seen) -> str:
    return "lose"


class Proxy:
    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.seen: list[Seen] = []
        self.scripts: list[tuple[str, str, deque[Fault]]] = []
        self.told = threading.Condition()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                proxy._pass(self)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815  # as the base class calls them

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def script(self, method: str, text: str, *faults: Fault) -> None:
        self.scripts.append((method, text, deque(faults)))

    def requests(self, method: str, text: str = "") -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method and text in seen.path]

    def wait_for(self, method: str, text: str, count: int) -> bool:
        with self.told:
            return self.told.wait_for(lambda: len(self.requests(method, text)) >= count, 30)

    def _pass(self, handler: BaseHTTPRequestHandler) -> None:
        body = self._body(handler)
        seen = Seen(handler.command, handler.path, len(body))
        with self.told:
            found = [f for m, t, f in self.scripts if m == seen.method and t in seen.path and f]
            wanted = found[0].popleft() if found else None
            self.seen.append(seen)
            self.told.notify_all()
        fault = None if wanted is None else wanted(seen)
        if isinstance(fault, int):
            handler.send_response(fault)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if fault != "drop":
            status, headers, content = self._ask(handler, body)
            if fault is None:
                handler.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                        handler.send_header(name, value)
                if not any(name.lower() == "content-length" for name, _ in headers):
                    handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)
                return
        handler.close_connection = True
        with contextlib.suppress(OSError):
            handler.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _body(handler: BaseHTTPRequestHandler) -> bytes:
        if handler.headers.get("Transfer-Encoding") != "chunked":
            return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(handler.rfile.readline(), 16):
            pieces.append(handler.rfile.read(size))
            handler.rfile.readline()
        handler.rfile.readline()
        return b"".join(pieces)

    def _ask(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        assert self.upstream.hostname is not None
        connection = http.client.HTTPConnection(self.upstream.hostname, self.upstream.port, timeout=30)
        try:
            headers = {k: v for k, v in handler.headers.items() if k.lower() != "transfer-encoding"}
            connection.request(
                handler.command, handler.path, body, {**headers, "Content-Length": str(len(body))}
            )
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()
