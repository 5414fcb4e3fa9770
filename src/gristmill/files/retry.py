"""One policy for trying again: 4 attempts, waiting 0.5, 1 and 2 s between them, or what the server asks for.

Pure apart from `time.sleep`: what is worth another attempt is told by the exception (`Transient`), so the policy knows
nothing of HTTP, and tests pass their own `sleep`.
"""

from __future__ import annotations

import email.utils
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeVar

from gristmill.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)
_LONG = 15.0  # seconds
_SECONDS = re.compile(r"\s*[0-9]{1,9}\s*")
_LIMIT = re.compile(r'\s*"[^"]*"\s*;\s*r=(?P<left>[0-9]{1,9})\s*;\s*t=(?P<seconds>[0-9]{1,9})\s*')


class Transient(Exception):  # a signal between two layers, never shown to a user
    """Says that an attempt failed in a way that may pass; `.error` is what to raise when no attempt is left."""

    def __init__(self, error: Exception, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how fast to try again.

    Attributes:
        attempts: Attempts in all, at least 1.
        first_delay: Seconds before the second attempt; doubled for each further one.
        longest_delay: Seconds that are never exceeded, whatever a server asks for in ``Retry-After``.
        sleep: What waits; replaced in tests.
    """

    attempts: int = 4
    first_delay: float = 0.5
    longest_delay: float = 300.0
    sleep: Callable[[float], None] = time.sleep

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the failed attempt number `attempt` (counted from 0).

        Example:
            >>> [RetryPolicy().delay(n) for n in range(3)]
            [0.5, 1.0, 2.0]
            >>> RetryPolicy().delay(0, retry_after=7)
            7
        """
        wanted = self.first_delay * 2**attempt if retry_after is None else retry_after
        return min(wanted, self.longest_delay)

    def run(self, attempt: Callable[[], T], what: str) -> T:
        """Calls `attempt` until it returns, fails for good, or the attempts are used up.

        Args:
            attempt: Called without arguments; raises `Transient` when trying again makes sense.
            what: What is being tried, for the log.

        Returns:
            What `attempt` returned.

        Raises:
            Exception: The `.error` of the last `Transient`, or whatever else `attempt` raised.
        """
        for number in range(self.attempts):
            try:
                return attempt()
            except Transient as failure:  # noqa: PERF203  # the loop is there for the exception
                if number + 1 >= self.attempts:
                    raise failure.error from failure.error.__cause__
                wait = self.delay(number, failure.retry_after)
                # Who waits for long wants to know what for.
                level = logging.WARNING if wait >= _LONG else logging.INFO
                _log.log(level, "%s: %s; attempt %d in %.1f s", what, failure.error, number + 2, wait)
                self.sleep(wait)
        raise AssertionError("a policy has at least one attempt")


def parse_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Reads a ``Retry-After`` header: seconds, or a date (RFC 9110, section 10.2.3).

    Args:
        value: The header's text, if there was one.
        now: The present, for tests.

    Returns:
        Seconds to wait, 0 or more, or None if the header says nothing usable.

    Example:
        >>> parse_retry_after("120"), parse_retry_after("soon"), parse_retry_after(None)
        (120.0, None, None)
    """
    if value is None:
        return None
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        # The parser of the standard library lets some of its own stumbles out.
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - (now or datetime.now(timezone.utc))).total_seconds())


def parse_rate_limit(value: str | None) -> float | None:
    """Reads a ``RateLimit`` header, which says how many requests are left and when the window ends.

    Args:
        value: The header's text, if there was one, such as ``"api";r=0;t=55``.

    Returns:
        Seconds to wait (one more than the header says, since it rounds down), or None if requests are left or the
        header says nothing usable.

    Example:
        >>> parse_rate_limit('"api";r=0;t=55'), parse_rate_limit('"api";r=3;t=55'), parse_rate_limit(None)
        (56.0, None, None)
    """
    match = _LIMIT.fullmatch(value) if value is not None else None
    return float(match["seconds"]) + 1 if match is not None and int(match["left"]) == 0 else None
