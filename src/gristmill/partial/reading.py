"""One range over HTTP, gone on with where a connection broke off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gristmill.errors import HubError, HubResponseError, IncompleteBodyError
from gristmill.files.http import HttpSession, Refusal, is_unreachable
from gristmill.files.ranges import NOT_AS_SENT, WANT_DIGEST, CheckPart, check_part, has_digest
from gristmill.files.retry import Transient

__all__ = ["read_range"]

# What has to come for an attempt not to count as failed; less would let a server drip for ever.
_PROGRESS = 1 << 16


def read_range(
    session: HttpSession,
    url: str,
    start: int,
    length: int,
    *,
    headers: Mapping[str, str],
    check: CheckPart,
    refuse: Callable[[Refusal], Exception],
) -> bytes:
    """Reads a range of a file.

    Args:
        session: Where requests go through; its policy counts attempts that bring nothing.
        url: The file.
        start: First byte, counted from 0.
        length: How many bytes, all of which the file has.
        headers: Headers besides the session's own.
        check: Looks at what is answered before it is read, and raises what is wrong with it.
        refuse: Words the error for a final status such as 404.

    Raises:
        RangeIgnoredError: The answer is not 206 with the range asked for.
        HubError: The server refuses, or can't be reached in any attempt; says how many there were.
    """
    got = bytearray()

    def attempt() -> None:
        begun = len(got)
        try:
            _go_on(session, url, start, length, got, headers, check, refuse)
        except Transient:
            if len(got) - begun < _PROGRESS:
                raise

    try:
        while len(got) < length:
            session.policy.run(attempt, f"GET {url}")
    except HubError as error:
        if not (is_unreachable(error) or isinstance(error, IncompleteBodyError)):
            raise
        raise _counted(error, session.policy.attempts, start + len(got)) from error.__cause__
    return bytes(got)


def _go_on(
    session: HttpSession,
    url: str,
    start: int,
    length: int,
    got: bytearray,
    headers: Mapping[str, str],
    check: CheckPart,
    refuse: Callable[[Refusal], Exception],
) -> None:
    begun, wanted = len(got), length - len(got)
    first = start + begun
    sent = {
        **headers,
        "Range": f"bytes={first}-{start + length - 1}",
        "Accept-Encoding": "identity",
        **WANT_DIGEST,
    }
    with session.open(url, headers=sent, accept=(200, 206, 416), refuse=refuse) as response:
        part = check_part(response.status_code, response.headers, url, (first, wanted))
        check(part, response.headers)
        digest = response.headers.get("content-digest")
        try:
            for piece in response.iter_bytes():
                got += piece
                if len(got) > length:
                    raise HubResponseError.at_url("More bytes than asked for came", url, 206)
        except BaseException:
            # What has a digest counts only if it has been compared; what is too long, not at all.
            if digest or len(got) > length:
                del got[begun:]
            raise
        came: Any = bytes(memoryview(got)[begun:]) if digest else b""
    if len(got) < length:
        size = len(got) - begun
        if digest:
            del got[begun:]
        raise Transient(
            IncompleteBodyError.at_url(f"Only {size} of {wanted} bytes of a range came", url, 206)
        )
    if digest and not has_digest(came, digest):
        del got[begun:]
        raise Transient(IncompleteBodyError.at_url(NOT_AS_SENT, url, 206))


def _counted(error: HubError, attempts: int, at: int) -> HubError:
    made = type(error)(f"{error} ({attempts} attempts were made to go on at byte {at:,})")
    made.url, made.status = error.url, error.status
    return made
