"""Stands between a client and a real server: notes each request, and goes wrong on demand."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.http_server import OWN, HangUp, LocalServer, body_of, passed_on, send


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


class Proxy(LocalServer):
    def __init__(self, upstream: str) -> None:
        super().__init__()
        self.upstream = urlsplit(upstream)
        self.seen: list[Seen] = []
        self.scripts: list[tuple[str, str, deque[Fault]]] = []
        self.told = threading.Condition()

    def script(self, method: str, text: str, *faults: Fault) -> None:
        self.scripts.append((method, text, deque(faults)))

    def requests(self, method: str, text: str = "") -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method and text in seen.path]

    def wait_for(self, method: str, text: str, count: int) -> bool:
        with self.told:
            return self.told.wait_for(lambda: len(self.requests(method, text)) >= count, 30)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = body_of(handler)
        seen = Seen(handler.command, handler.path, len(body))
        with self.told:
            found = [f for m, t, f in self.scripts if m == seen.method and t in seen.path and f]
            wanted = found[0].popleft() if found else None
            self.seen.append(seen)
            self.told.notify_all()
        fault = None if wanted is None else wanted(seen)
        if isinstance(fault, int):
            send(handler, fault, {})
            return
        if fault == "drop":
            raise HangUp
        status, headers, content = passed_on(handler, self.upstream, body)
        if fault is not None:
            raise HangUp
        length = headers.get("content-length", str(len(content)))
        kept = {name: value for name, value in headers.items() if name not in OWN}
        send(handler, status, {**kept, "Content-Length": length}, content)
