"""What HTTP answers mean: refusals and failures as errors, bodies read within bounds."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gristmill.errors import (
    EntryNotFoundError,
    HubError,
    HubResponseError,
    RateLimitedError,
    shorten,
)
from gristmill.files.retry import Transient, parse_rate_limit, parse_retry_after

if TYPE_CHECKING:
    import httpx

__all__ = ["Refusal", "failure", "read_bounded", "refuse_plainly", "transient"]

_MESSAGE_LIMIT = 16_384


@dataclass(frozen=True)
class Refusal:
    """An answer that is final and not the one wanted.

    Attributes:
        url: The URL asked for (not that of a redirect, which may hold a signature).
        status: HTTP status.
        code: What the server put into ``X-Error-Code``, or ``""``.
        message: What the server says about it, shortened, or ``""``.
    """

    url: str
    status: int
    code: str = ""
    message: str = ""


def refuse_plainly(refusal: Refusal) -> HubError:
    """Words the error for an answer of a server of which nothing is known."""
    said = f": the server says {refusal.message}" if refusal.message else ""
    kind = EntryNotFoundError if refusal.status in (404, 410) else HubResponseError
    problem = "There is nothing here" if kind is EntryNotFoundError else "The answer can't be used"
    error: HubError = kind.at_url(problem + said, refusal.url, refusal.status)
    return error


def read_bounded(response: httpx.Response, url: str, limit: int) -> bytes:
    """Reads a body of at most `limit` bytes; a longer one is an error before it is read whole."""
    announced = response.headers.get("content-length", "")
    pieces: list[bytes] = []
    size = int(announced) if announced.isdigit() else 0
    if size <= limit:
        size = 0
        for piece in response.iter_bytes():
            size += len(piece)
            if size > limit:
                break
            pieces.append(piece)
    if size > limit:
        problem = f"The answer is larger than the {limit:,} bytes expected at most"
        raise HubResponseError.at_url(problem, url, response.status_code)
    return b"".join(pieces)


def transient(error: HubError, cause: Exception, retry_after: float | None = None) -> Transient:
    """Makes a failure that trying again may mend, with its cause and how long the server wants one to wait."""
    error.__cause__ = cause
    return Transient(error, retry_after)


def failure(response: httpx.Response, url: str, refuse: Callable[[Refusal], Exception]) -> Exception:
    """Makes the exception for a status that is not an answer: worth another attempt, or final."""
    status, headers = response.status_code, response.headers
    wait = parse_retry_after(headers.get("retry-after"))
    if status == 429:
        limit = parse_rate_limit(headers.get("ratelimit"))
        wait = wait if limit is None else limit
        time = "a few minutes" if wait is None else f"{math.ceil(wait)} s"
        remedy = f"Wait {time} and run it again; a token (`hf auth login` or HF_TOKEN) raises the limit"
        return Transient(RateLimitedError.at_url("The server asks to slow down", url, status, remedy), wait)
    refusal = Refusal(url, status, headers.get("x-error-code", ""), _message(response))
    if status == 408 or status >= 500:
        said = f": {refusal.message}" if refusal.message else ""
        remedy = "That is the server's trouble: run it again later; what was fetched is kept"
        return Transient(HubResponseError.at_url(f"The server failed{said}", url, status, remedy), wait)
    return refuse(refusal)


def _message(response: httpx.Response) -> str:
    """What the server says in its header or JSON body, as one short line; text from outside, so shown as a repr."""
    said: Any = response.headers.get("x-error-message")
    if not said and "json" in response.headers.get("content-type", ""):
        with contextlib.suppress(ValueError, RecursionError, HubResponseError):
            body = json.loads(read_bounded(response, "", _MESSAGE_LIMIT))
            said = body.get("error") or body.get("errors") if isinstance(body, dict) else None
    return shorten(said, 300) if said else ""
