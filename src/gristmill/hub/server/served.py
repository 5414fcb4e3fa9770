"""What every handler works with: the served folder, the options, who may see what, and threads to do the work in."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request

from gristmill.errors import FileError
from gristmill.hub.server.access import Caller, Gated
from gristmill.hub.server.errors import (
    Refusal,
    bad_request,
    broke_off,
    gated,
    may_not_write,
    read_only,
    repo_not_found,
    unwritable,
)
from gristmill.hub.server.json_text import parse_json
from gristmill.hub.server.quick import Quick
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.repos import Hub
from gristmill.hub.server.signing import Signer
from gristmill.hub.server.snapshots import Snapshot

if TYPE_CHECKING:
    from gristmill.hub.server.mirror import Mirror

_P = ParamSpec("_P")
_T = TypeVar("_T")

NOBODY = "anyone"
"""User name of those who write where no tokens tell people apart."""

_WORKERS = 16
_READERS = 64
_WRITERS = 8
_LARGEST_BODY = 16 * 1024 * 1024
_LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?")
_HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")


class Served:
    """One served folder with its options.

    Args:
        hub: The folder.
        redirect_large: Files of at least this many bytes are answered with a redirect; None for never.
        public_url: How clients reach the server, if their requests do not say it.
    """

    def __init__(self, hub: Hub, redirect_large: int | None = None, public_url: str | None = None) -> None:
        self.hub = hub
        self.redirect_large = redirect_large
        self.public_url = public_url.rstrip("/") if public_url else None
        # Readers apart from the threads that hash, so that a new large repository delays nobody's download.
        self.reads = anyio.CapacityLimiter(_READERS)
        self.quick = Quick(self.reads)
        self._work = anyio.CapacityLimiter(_WORKERS)
        self._turns: dict[tuple[str, str], anyio.Lock] = {}
        # Writers apart from readers, for the same reason; those of one repository wait without a thread.
        self.writes = anyio.CapacityLimiter(_WRITERS)
        self._write_turns: dict[tuple[str, str], anyio.Lock] = {}
        self.signer = Signer()
        self.mirror: Mirror | None = None

    async def call(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Runs something that touches the disk in a thread, so that other requests go on."""
        return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._work)

    def caller(self, request: Request) -> Caller:
        """Finds out who asks.

        Raises:
            Refusal: The token is unknown.
        """
        return self.hub.access.identify(request.headers.get("authorization"))

    async def repo(self, request: Request, type: str, id: str, *, content: bool = False) -> Repo:
        """Finds the repository of a request.

        Args:
            request: Says who asks.
            type: ``datasets``, ``models`` or ``spaces``.
            id: ``ORG/NAME``.
            content: Whether the files' content is asked for, which gated repositories give to their members only.

        Raises:
            Refusal: There is none that the caller may see, or not its content.
        """
        caller = self.caller(request)
        try:
            repo = await self.call(self.hub.find, type, id)
            if repo is None or not self.visible(caller, repo):
                raise repo_not_found(caller.anonymous)
            if (
                content
                and not self._member(caller, repo)
                and (await self.call(self.gated, repo)) is not False
            ):
                raise gated(id, caller.anonymous)
        except FileNotFoundError as error:
            raise repo_not_found(caller.anonymous) from error
        return repo

    def visible(self, caller: Caller, repo: Repo) -> bool:
        """Says whether the caller may know of a repository."""
        return not self.private(repo) or self._member(caller, repo)

    def gives(self, caller: Caller, repo: Repo) -> bool:
        """Says whether the caller may have the content of a repository's files; reads its settings and card.

        Raises:
            FileNotFoundError: The repository is gone.
            Refusal: The card can't be read.
        """
        if self._member(caller, repo):
            return True
        return not self.private(repo) and self.gated(repo) is False

    def private(self, repo: Repo) -> bool:
        """Says whether a repository is private."""
        return self.hub.access.rule(repo.type, repo.id).private or repo.private

    def gated(self, repo: Repo) -> Gated:
        """Says how access to a repository is given; ``access.json`` comes before its settings, those before the card."""
        rule = self.hub.access.rule(repo.type, repo.id).gated
        rule = repo.gated if rule is None else rule
        return repo.card().gated if rule is None else rule

    def _member(self, caller: Caller, repo: Repo) -> bool:
        return self.hub.access.may_read(caller, repo.type, repo.id)

    async def snapshot(self, request: Request, repo: Repo, revision: str) -> Snapshot:
        """Gives what a revision of a repository holds.

        Raises:
            Refusal: There is no such revision, or the files can't be read.
        """
        return await self.in_turn(request, repo, repo.at, revision)

    async def in_turn(
        self, request: Request, repo: Repo, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Runs something that may hash a repository's files: one at a time, the others wait without a thread.

        Raises:
            Refusal: The repository is gone, or what the function raises.
        """
        async with self._turns.setdefault((repo.type, repo.id), anyio.Lock()):
            try:
                return await self.call(function, *args, **kwargs)
            except FileNotFoundError as error:
                raise repo_not_found(self.caller(request).anonymous) from error

    def require_writer(self, request: Request, type: str, id: str) -> Caller:
        """Finds out who asks, and refuses those who may not write to a repository (or make it).

        Raises:
            Refusal: Nobody may write to this server, or the caller may not write there.
        """
        caller = self.caller(request)
        if not self.hub.access.writable:
            raise read_only()
        if not self.hub.access.may_write(caller, type, id):
            raise may_not_write(caller.anonymous)
        # Where anyone on this machine may write, a web page open in a browser here is not meant. Tokens need no such
        # care, because browsers don't send them by themselves.
        if self.hub.access.anyone_writes and not _LOCAL_ORIGIN.fullmatch(
            request.headers.get("origin", "http://localhost")
        ):
            raise Refusal(403, "Web pages of other origins may not write to this server.")
        return caller

    async def writable_repo(self, request: Request, type: str, id: str) -> Repo:
        """Finds the repository that a request wants to change.

        Raises:
            Refusal: There is none that the caller may see, or it is not the caller's to change.
        """
        if not self.hub.access.writable:
            raise read_only()
        repo = await self.repo(request, type, id)
        self.require_writer(request, type, id)
        return repo

    async def write(
        self, type: str, id: str, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Runs something that changes a repository: one at a time, the others wait without a thread.

        Raises:
            Refusal: The repository is gone, the disk can't be written, or what the function raises.
        """
        async with self._write_turns.setdefault((type, id), anyio.Lock()):
            return await self.save(function, *args, **kwargs)

    async def save(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Runs something that writes to the disk, in a thread.

        Raises:
            Refusal: A file is gone, the disk can't be written, or what the function raises.
        """
        try:
            return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self.writes)
        except FileNotFoundError as error:
            raise repo_not_found(False) from error
        except OSError as error:
            raise unwritable("to its disk", error) from error
        except FileError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise repo_not_found(False) from error
            if isinstance(error.__cause__, OSError):
                raise unwritable("to its disk", error.__cause__) from error
            raise

    def author(self, request: Request) -> str:
        """Gives the name that a commit of this request bears."""
        holder = self.caller(request).holder
        return NOBODY if holder is None else holder.user

    def user(self, request: Request) -> str | None:
        """Gives the name of who sends a request; None if no known token says it."""
        try:
            holder = self.caller(request).holder
        except Refusal:
            return None
        return None if holder is None else holder.user

    def repo_url(self, request: Request, type: str, id: str) -> str:
        """Gives the absolute URL of a repository."""
        prefix = "" if type == "models" else f"{type}/"
        return f"{self.base_url(request)}/{prefix}{id}"

    def base_url(self, request: Request) -> str:
        """Gives the URL of the server as the client sees it, for absolute links."""
        if self.public_url is not None:
            return self.public_url
        headers = request.headers
        scheme = headers.get("x-forwarded-proto", request.url.scheme).split(",")[0].strip().lower()
        host = headers.get("x-forwarded-host", headers.get("host", "")).split(",")[0].strip()
        if scheme not in ("http", "https") or not _HOST.fullmatch(host):
            raise bad_request("The request's Host or X-Forwarded headers can't be used.")
        return f"{scheme}://{host}"


async def read_json(request: Request, empty: bool = False) -> dict[str, Any]:
    """Reads a request's body as a JSON object.

    Args:
        request: The request.
        empty: Whether no body at all will do.

    Raises:
        Refusal: It is none (400), or too large (413).
    """
    body = await read_body(request)
    try:
        value = {} if empty and not body else parse_json(body)
    except (ValueError, RecursionError) as error:
        raise bad_request("The request's body is no JSON.") from error
    if not isinstance(value, dict):
        raise bad_request("The request's body must be a JSON object.")
    return value


async def read_body(request: Request) -> bytes:
    """Reads a request's body, up to a limit.

    Raises:
        Refusal: It is larger (413), or broke off (400).
    """
    body = bytearray()
    try:
        async for block in request.stream():
            body += block
            if len(body) > _LARGEST_BODY:
                raise Refusal(413, f"The request's body is larger than {_LARGEST_BODY} bytes.")
    except ClientDisconnect as error:
        raise broke_off() from error
    return bytes(body)


def private_of(asked: dict[str, Any]) -> bool | None:
    """Reads from a request's body whether something is to be private; None if it does not say.

    Raises:
        Refusal: It says something else (400).
    """
    if asked.get("visibility") is not None:
        if asked["visibility"] not in ("public", "private"):
            raise bad_request("visibility must be public or private.")
        return bool(asked["visibility"] == "private")
    private = asked.get("private")
    if not isinstance(private, bool | None):
        raise bad_request("private must be true or false.")
    return private


def flag(text: str | None) -> bool:
    """Reads a switch of a query or form: ``true``, ``True`` and ``1`` are on.

    Example:
        >>> flag("True"), flag("false"), flag(None)
        (True, False, False)
    """
    return text is not None and text.lower() in ("1", "true", "on", "yes")


def number(text: str | None, default: int, most: int) -> int:
    """Reads a positive number of a query, cut to `most`.

    Raises:
        Refusal: It is not a positive number (400).
    """
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        raise bad_request("A limit must be a positive number.")
    return min(int(text.lstrip("0")[:18]), most)
