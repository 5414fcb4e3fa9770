"""What goes wrong while something is written to a Hub through huggingface_hub, as Gristmill's errors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from gristmill.errors import (
    AccessError,
    GristmillError,
    HubConnectionError,
    HubError,
    HubResponseError,
    InvalidArgumentError,
    RateLimitedError,
    shorten,
)
from gristmill.files.http import Refusal
from gristmill.files.retry import RetryPolicy, Transient, parse_rate_limit, parse_retry_after
from gristmill.hub.answers import Target
from gristmill.hub.careful import careful_requests

__all__ = ["Conflict", "Remote"]

T = TypeVar("T")
_CLIENTS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
_QUOTA = ("quota", "storage limit", "storage usage", "payment", "exceeded")
_REMEDY = "Check the network and HF_ENDPOINT, then run it again; what has arrived is not sent again"


class Conflict(Exception):  # a signal between two layers, never shown to a user
    """Somebody else changed the branch in between (409, 412); `.error` is what to raise when no attempt is left."""

    def __init__(self, error: HubError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class Remote:
    """Calls huggingface_hub, with retries and with its errors turned into ours.

    Attributes:
        target: What is written to.
        policy: How often to try again.
    """

    target: Target
    policy: RetryPolicy

    def call(self, doing: str, function: Callable[[], T]) -> T:
        """Calls a function until it works, fails for good, or the attempts are used up.

        Args:
            doing: What is tried, as "upload data/train.parquet".
            function: What to call; it may be called several times.

        Raises:
            AccessError: A token is missing, unknown, or may not write; or there is no room left for this account.
            RateLimitedError: The Hub asks to slow down, also after all attempts.
            HubConnectionError: No answer, after all attempts.
            HubError: The Hub refuses, or answers nonsense.
        """

        def attempt() -> T:
            try:
                with self.translated(doing):
                    return function()
            except Conflict as conflict:  # only a commit is made anew; anything else is asked again
                raise Transient(conflict.error) from conflict

        return self.policy.run(attempt, doing)

    @contextlib.contextmanager
    def translated(self, doing: str) -> Iterator[None]:
        """Turns what huggingface_hub raises inside the block into what `call` raises, `Transient` or `Conflict`."""
        try:
            with careful_requests():
                yield
        except (GristmillError, Transient, Conflict):
            raise
        except Exception as error:
            found = self._meaning(doing, error)
            if found is None:
                raise
            raise found from error

    def _meaning(self, doing: str, error: Exception) -> Exception | None:
        for cause in _chain(error):
            response = getattr(cause, "response", None)
            if response is not None and hasattr(response, "status_code"):
                return self._answered(doing, response, cause)
            if type(cause).__module__.partition(".")[0] in _CLIENTS:
                problem = (
                    f"Could not {doing}: no usable answer ({type(cause).__name__}: {shorten(str(cause))})"
                )
                return Transient(HubConnectionError.at_url(problem, self.target.page, None, _REMEDY))
        if type(error).__name__ == "HFValidationError":
            return InvalidArgumentError(f"Could not {doing}: {error}")
        if isinstance(error, LookupError | TypeError | AttributeError) and _raised_by_client(error):
            problem = f"Could not {doing}: the answer can't be understood ({type(error).__name__}: {error})"
            return Transient(HubResponseError.at_url(problem, self.target.page, None, _REMEDY))
        if isinstance(error, RuntimeError | OSError | ValueError):
            problem = f"Could not {doing}: {shorten(str(error), 500)}"
            return self._error(HubResponseError, problem, self.target.page, None, _REMEDY)
        return None

    def _answered(self, doing: str, response: Any, error: BaseException) -> Exception:
        status, headers = int(response.status_code), response.headers
        message = str(getattr(error, "server_message", None) or headers.get("x-error-message") or "")
        url = str(response.url).partition("?")[0]  # what follows may be a signature
        said = f": the server says {shorten(message, 300)}" if message else ""
        wait = parse_retry_after(headers.get("retry-after"))
        if status == 429:
            limit = parse_rate_limit(headers.get("ratelimit"))
            slow: HubError = RateLimitedError.at_url(
                f"Could not {doing}: the server asks to slow down", url, status, _REMEDY
            )
            return Transient(slow, wait if limit is None else limit)
        if status == 408 or status >= 500 or headers.get("x-error-code") == "ContentDigestMismatch":
            return Transient(
                HubResponseError.at_url(f"Could not {doing}: the server failed{said}", url, status, _REMEDY),
                wait,
            )
        if status in (409, 412):
            problem = f"Could not {doing}: others keep changing {self.target}"
            return Conflict(HubResponseError.at_url(problem + said, url, status, "Run it again"))
        if status in (402, 403, 413) and any(word in message.lower() for word in _QUOTA):
            problem = f"Could not {doing}: there is no room left for {self.target}{said}"
            remedy = "Delete what is not needed there, or ask its owner for more room; then run it again"
            return self._error(AccessError, problem, url, status, remedy)
        refusal = Refusal(
            url, status, headers.get("x-error-code") or "", shorten(message, 300) if message else ""
        )
        if status == 403 and refusal.code != "GatedRepo" and "disabled" not in message.lower():
            problem = f"Your token has no right to write to {self.target}{said}"
            remedy = (
                "Use a token with the role write whose account may write there: `hf auth login`, or HF_TOKEN"
            )
            return self._error(AccessError, problem, url, status, remedy)
        if status in (400, 413, 422):
            return self._error(HubResponseError, f"Could not {doing}{said or ': refused'}", url, status, "")
        return self.target.refuse(refusal)

    @staticmethod
    def _error(kind: type[HubError], problem: str, url: str, status: int | None, remedy: str) -> HubError:
        error: HubError = kind.at_url(problem, url, status, remedy)
        return error


def _raised_by_client(error: BaseException) -> bool:
    """Says whether it was huggingface_hub itself that stumbled, over an answer that is not what it expects."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "huggingface_hub"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
