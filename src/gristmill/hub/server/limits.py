"""How many requests one client may send in a minute, if that is to be limited at all."""

from __future__ import annotations

import time
from collections.abc import Callable

from gristmill.hub.server.errors import Refusal

_WINDOW = 60
_MOST_CLIENTS = 100_000


class RateLimit:
    """Counts requests in windows of a minute.

    Args:
        most: Requests that one client may send in each.
        clock: Gives seconds.

    Example:
        >>> limit = RateLimit(2)
        >>> limit.count("a"), limit.count("a"), limit.count("b")
        (None, None, None)
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._window = -1
        self._counts: dict[str, int] = {}

    def count(self, client: str) -> None:
        """Counts one request.

        Args:
            client: Who sends it: a token, or an address.

        Raises:
            Refusal: It is one too many (429), with headers that clients wait by.
        """
        now = self._clock()
        window = int(now // _WINDOW)
        if window != self._window or len(self._counts) > _MOST_CLIENTS:
            self._window, self._counts = window, {}
        count = self._counts[client] = self._counts.get(client, 0) + 1
        if count > self._most:
            left = int((window + 1) * _WINDOW - now) + 1
            raise Refusal(
                429,
                f"More than {self._most} requests in a minute; the next minute begins in {left} seconds.",
                headers={
                    "RateLimit": f'"api";r=0;t={left}',
                    "RateLimit-Policy": f'"fixed window";"api";q={self._most};w={_WINDOW}',
                    "Retry-After": str(left),
                },
            )
