"""A proxy that goes wrong at random, between any client and a real server: see `KINDS`."""

import os
import random
import threading
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.http_server import OWN, HangUp, LocalServer, body_of, passed_on

KINDS = ("drop", "stall", "truncate", "corrupt", "reorder", "refuse")
"""Hang up; say nothing more for `FaultProxy.stall` seconds; end too early, with or without the right length announced;
change bits; put pieces in another order; answer 429 or 5xx instead."""

_STATUSES = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Plan:
    """What is to go wrong with one request: where, and numbers from 0 to 1 that say how."""

    kind: str
    in_request: bool
    a: float
    b: float


def corrupted(body: bytes, a: float, b: float) -> bytes:
    """Changes one to three bytes that are next to each other."""
    changed = bytearray(body)
    at = int(a * len(body))
    for place in range(at, min(at + 1 + int(b * 3), len(body))):
        changed[place] ^= 1 << int(b * 8)
    return bytes(changed)


def reordered(body: bytes, a: float, b: float) -> bytes:
    """Swaps two pieces that follow each other."""
    first = int(a * len(body))
    second = first + 1 + int(b * (len(body) - first))
    third = min(len(body), second + max(1, second - first))
    return body[:first] + body[second:third] + body[first:second] + body[third:]


def shortened(body: bytes, a: float, b: float) -> bytes:
    return body[: int(a * len(body))]


_DAMAGE = {"truncate": shortened, "corrupt": corrupted, "reorder": reordered}


class FaultProxy(LocalServer):
    """Passes requests on to a server; from `begin` to `end` some go wrong, as a seed says.

    Attributes:
        hits: How often each kind of fault was met: only what really changed something is counted.
        received: Bytes of request bodies that came, by method.

    Args:
        upstream: The server.
        stall: Seconds that a stalled connection says nothing.
    """

    def __init__(self, upstream: str, stall: float = 0.5) -> None:
        super().__init__()
        self.upstream = urlsplit(upstream)
        self.stall = stall
        self.hits: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self._draw: random.Random | None = None
        self._rate = 0.0
        self._kinds: tuple[str, ...] = KINDS
        self._next = ""
        self._requests = self._forced = 0
        self._lock = threading.Lock()

    def begin(self, seed: int, rate: float, kinds: tuple[str, ...] = KINDS) -> None:
        """From now on each request goes wrong with the probability `rate`."""
        with self._lock:
            self._draw, self._rate, self._kinds = random.Random(seed), rate, kinds
            self._requests, self._forced = 0, self._draw.randint(1, 3)
            self._next = kinds[seed % len(kinds)]  # so that a row of seeds tries every kind

    def end(self) -> None:
        """From now on nothing goes wrong."""
        with self._lock:
            self._draw = None

    def _plan(self, has_body: bool) -> Plan | None:
        with self._lock:
            draw = self._draw
            if draw is None:
                return None
            self._requests += 1
            # One of the first requests goes wrong whatever the rate, by the kind whose turn it is.
            if draw.random() >= self._rate and self._requests != self._forced:
                return None
            kind, self._next = self._next or draw.choice(self._kinds), ""
            return Plan(kind, has_body and draw.random() < 0.5, draw.random(), draw.random())

    def _hit(self, plan: Plan) -> None:
        with self._lock:
            self.hits[plan.kind] += 1

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = body_of(handler)
        with self._lock:
            self.received[handler.command] += len(body)
        plan = self._plan(bool(body))
        if plan is not None and plan.in_request:
            body = self._spoil_request(handler, body, plan)
            plan = None
        if plan is not None and plan.b < 0.5 and plan.kind in ("drop", "stall", "refuse"):
            self._fail(handler, plan)  # before the server is asked
            return
        status, headers, content = passed_on(handler, self.upstream, body)
        if plan is not None and plan.kind in ("drop", "refuse"):
            self._fail(handler, plan)  # the server did what it was asked to; the client does not learn of it
            return
        self._reply(handler, status, headers, content, plan)

    def _fail(self, handler: BaseHTTPRequestHandler, plan: Plan) -> None:
        self._hit(plan)
        if plan.kind == "refuse":
            handler.send_response(_STATUSES[int(plan.a * len(_STATUSES))])
            if plan.b < 0.25:
                handler.send_header("Retry-After", "1")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if plan.kind == "stall":
            threading.Event().wait(self.stall)  # tests may have time.sleep return at once
        raise HangUp

    def _spoil_request(self, handler: BaseHTTPRequestHandler, body: bytes, plan: Plan) -> bytes:
        """Gives the body that the server gets, or breaks off in the middle of it."""
        if plan.kind == "refuse":
            self._fail(handler, plan)
            raise HangUp
        if plan.kind in ("drop", "stall") or (plan.kind == "truncate" and plan.b < 0.5):
            self._hit(plan)
            sent = shortened(body, plan.a, plan.b)
            passed_on(handler, self.upstream, sent, len(body), self.stall * (plan.kind == "stall"))
            raise HangUp
        damaged = _DAMAGE[plan.kind](body, plan.a, plan.b)
        if damaged != body:
            self._hit(plan)
        return damaged

    def _reply(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        headers: dict[str, str],
        content: bytes,
        plan: Plan | None,
    ) -> None:
        length, sent = len(content), content
        if handler.command == "HEAD":
            length = int(headers.get("content-length", 0))
        if plan is not None and plan.kind in _DAMAGE:
            sent = _DAMAGE[plan.kind](content, plan.a, plan.b)
            if sent != content:
                self._hit(plan)
            if plan.b < 0.5:
                length = len(sent)  # as if it were whole
        elif plan is not None:
            self._hit(plan)
            sent = shortened(content, plan.a, plan.b)
        handler.send_response(status)
        for name, value in headers.items():
            if name not in OWN:
                handler.send_header(name, value)
        if status not in (204, 304):
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(sent)
        if plan is not None and plan.kind == "stall":
            handler.wfile.flush()
            threading.Event().wait(self.stall)  # tests may have time.sleep return at once
        if plan is not None and (plan.kind == "stall" or len(sent) < length):
            raise HangUp


def patterns(usual: int = 6) -> range:
    """The seeds to try; GRISTMILL_FAULT_PATTERNS says how many and GRISTMILL_FAULT_SEED the first."""
    first = int(os.environ.get("GRISTMILL_FAULT_SEED", "0"))
    return range(first, first + int(os.environ.get("GRISTMILL_FAULT_PATTERNS", str(usual))))


class Tally:
    """How a row of patterns ended; `check` asserts that they were worth something."""

    def __init__(self, proxy: FaultProxy, seeds: range) -> None:
        self.proxy = proxy
        self.seeds = seeds
        self.ended: Counter[str] = Counter()

    def check(self) -> None:
        print(  # noqa: T201  # for who runs many (-s)
            f"patterns {self.seeds.start}-{self.seeds.stop - 1}: {dict(self.ended)}, {dict(self.proxy.hits)}"
        )
        if len(self.seeds) >= len(KINDS):
            assert set(self.proxy.hits) == set(KINDS), "a kind of fault was never met"
            assert self.ended["whole"], "no pattern left anything whole"
