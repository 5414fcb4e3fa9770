"""The ASGI app: which handler answers which address, and how errors become answers."""

from __future__ import annotations

import itertools
import secrets
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from gristmill.hub.server import (
    bucket_api,
    commit_api,
    discussion_api,
    files_api,
    hub_api,
    lfs_api,
    manage_api,
    pages,
    repo_api,
    xet_api,
    xet_read_api,
)
from gristmill.hub.server.digests import DIGEST, compared, digest_of_text, wants_digest
from gristmill.hub.server.errors import Refusal, read_only, repo_not_found
from gristmill.hub.server.limits import RateLimit
from gristmill.hub.server.repos import TYPES
from gristmill.hub.server.request_log import RequestLog
from gristmill.hub.server.routing import Route, Table, split_path
from gristmill.hub.server.sending import ZERO_COPY
from gristmill.hub.server.served import Served
from gristmill.logging import get_logger

if TYPE_CHECKING:
    from gristmill.hub.server.conversion import Converter

_logger = get_logger(__name__)

# The first route that fits answers.
ROUTES = (
    Route("", pages.front),
    Route("health", hub_api.health),
    Route("api/whoami-v2", hub_api.whoami),
    Route("api/datasets-tags-by-type", hub_api.nothing),
    Route("api/models-tags-by-type", hub_api.nothing),
    Route("api/resolve-cache/{type}/{id}/{rev}/{path}", files_api.resolve_cache),
    Route("api/datasets/{id}/parquet", repo_api.parquet),
    Route("api/datasets/{id}/parquet/{config}", repo_api.parquet),
    Route("api/datasets/{id}/parquet/{config}/{split}", repo_api.parquet),
    Route("api/datasets/{id}/parquet/{config}/{split}/{file}", repo_api.parquet_file),
    Route("api/{type}", hub_api.list_repos),
    Route("api/{type}/{id}", repo_api.info),
    Route("api/{type}/{id}/revision/{rev}", repo_api.info),
    Route("api/{type}/{id}/tree/{rev}/{path}", repo_api.tree),
    Route("api/{type}/{id}/paths-info/{rev}", repo_api.paths_info, ("POST",)),
    Route("api/{type}/{id}/refs", repo_api.refs),
    Route("api/{type}/{id}/commits/{rev}", repo_api.commits),
    Route("api/{type}/{id}/auth-check", repo_api.auth_check),
    Route("api/{type}/{id}/auth-check/write", repo_api.auth_check_write),
    Route("api/repos/create", manage_api.create, ("POST",), writes=True),
    Route("api/repos/delete", manage_api.delete, ("DELETE",), writes=True),
    Route("api/repos/move", manage_api.move, ("POST",), writes=True),
    Route("api/validate-yaml", manage_api.validate_yaml, ("POST",), writes=True),
    Route("api/{type}/{id}/settings", manage_api.settings, ("PUT",), writes=True),
    Route("api/{type}/{id}/branch/{rev}", manage_api.add_branch, ("POST",), writes=True),
    Route("api/{type}/{id}/branch/{rev}", manage_api.remove_branch, ("DELETE",), writes=True),
    Route("api/{type}/{id}/tag/{rev}", manage_api.add_tag, ("POST",), writes=True),
    Route("api/{type}/{id}/tag/{rev}", manage_api.remove_tag, ("DELETE",), writes=True),
    Route("api/{type}/{id}/super-squash/{rev}", manage_api.squash, ("POST",), writes=True),
    Route("api/{type}/{id}/discussions", discussion_api.open_discussion, ("POST",), writes=True),
    Route("api/{type}/{id}/discussions", discussion_api.list_discussions),
    Route("api/{type}/{id}/discussions/{number}", discussion_api.discussion),
    Route("api/{type}/{id}/discussions/{number}/comment", discussion_api.comment, ("POST",), writes=True),
    Route(
        "api/{type}/{id}/discussions/{number}/comment/{comment}/edit",
        discussion_api.edit_comment,
        ("POST",),
        writes=True,
    ),
    Route(
        "api/{type}/{id}/discussions/{number}/comment/{comment}/hide",
        discussion_api.hide_comment,
        ("POST",),
        writes=True,
    ),
    Route("api/{type}/{id}/discussions/{number}/title", discussion_api.rename, ("POST",), writes=True),
    Route(
        "api/{type}/{id}/discussions/{number}/status", discussion_api.change_status, ("POST",), writes=True
    ),
    Route("api/{type}/{id}/discussions/{number}/merge", discussion_api.merge, ("POST",), writes=True),
    Route("api/{type}/{id}/preupload/{rev}", commit_api.preupload, ("POST",), writes=True),
    Route("api/{type}/{id}/commit/{rev}", commit_api.commit, ("POST",), writes=True),
    Route("api/{type}/{id}/xet-write-token/{rev}", xet_api.write_token, writes=True),
    Route("api/xet/{store}/v1/xorbs/{prefix}/{hash}", xet_api.xorb, ("POST",), writes=True),
    Route("api/xet/{store}/v1/shards", xet_api.shard, ("POST",), writes=True),
    Route("api/xet/v1/reconstructions/{hash}", xet_read_api.reconstruct),
    Route("api/xet/runs/{token}", xet_read_api.run),
    Route("api/xet/{path}", xet_api.absent, ("GET", "POST")),
    Route("v1/telemetry", xet_api.absent, ("POST",)),
    Route("api/lfs/upload/{token}", lfs_api.upload, ("PUT",)),
    Route("api/lfs/part/{token}", lfs_api.part, ("PUT",)),
    Route("api/lfs/complete/{token}", lfs_api.complete, ("POST",)),
    Route("api/lfs/complete/{token}", lfs_api.abort, ("DELETE",)),
    Route("api/lfs/verify/{type}/{id}", lfs_api.verify, ("POST",)),
    Route("{type}/{id}/info/lfs/objects/batch", lfs_api.batch, ("POST",)),
    Route("{id}/info/lfs/objects/batch", lfs_api.batch, ("POST",)),
    Route("api/buckets/{namespace}", bucket_api.list_buckets),
    Route("api/buckets/{bucket}", bucket_api.info),
    Route("api/buckets/{bucket}", bucket_api.create, ("POST",), writes=True),
    Route("api/buckets/{bucket}", bucket_api.delete, ("DELETE",), writes=True),
    Route("api/buckets/{bucket}/settings", bucket_api.settings, ("PUT",), writes=True),
    Route("api/buckets/{bucket}/tree/{path}", bucket_api.tree),
    Route("api/buckets/{bucket}/paths-info", bucket_api.paths_info, ("POST",)),
    Route("api/buckets/{bucket}/batch", bucket_api.batch, ("POST",), writes=True),
    Route("api/buckets/{bucket}/xet-write-token", bucket_api.write_token, writes=True),
    Route("api/buckets/{bucket}/xet-read-token", bucket_api.read_token),
    Route("api/buckets/{bucket}/{path}", bucket_api.absent, ("GET", "POST", "PUT", "DELETE")),
    Route("buckets/{bucket}/resolve/{path}", bucket_api.resolve),
    Route("buckets/{bucket}", pages.bucket_page),
    Route("github/{path}", files_api.github),
    Route("{type}/{id}/resolve/{rev}/{path}", files_api.resolve),
    Route("{type}/{id}/raw/{rev}/{path}", files_api.raw),
    Route("{type}/{id}", pages.repo_page),
    Route("{id}/resolve/{rev}/{path}", files_api.resolve),
    Route("{id}/raw/{rev}/{path}", files_api.raw),
    Route("{id}", pages.repo_page),
)
_TABLE = Table(ROUTES)


class App:
    """Serves a folder as a Hub.

    Args:
        served: The folder and the options.
        converter: Makes Parquet files of the others, if they are to be made.
        limit: Counts the requests of each client, if there is to be a limit.
        log: Notes requests, if they are to be noted.
    """

    def __init__(
        self,
        served: Served,
        converter: Converter | None = None,
        limit: RateLimit | None = None,
        log: RequestLog | None = None,
    ) -> None:
        self.served = served
        self._converter = converter
        self._limit = limit
        self._log = log
        self._run = secrets.token_hex(4)
        self._numbers = itertools.count()

    def close(self) -> None:
        """Closes what the app keeps open, when it answers no more."""
        for helper in (self.served.mirror, self._converter):
            if helper is not None:
                helper.close()
        if self._log is not None:
            self._log.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, as ASGI wants it."""
        if scope["type"] != "http":
            await _other_protocol(scope, receive, send)
            return
        request = Request(scope, compared(Headers(scope=scope), receive))
        status, sent, id, start = 0, 0, f"{self._run}{next(self._numbers):08x}", time.monotonic()

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                answered = MutableHeaders(scope=message)
                answered["X-Request-Id"] = id
                if getattr(request.state, "stale", False):
                    answered["X-Gristmill-Mirror"] = "stale"
                if getattr(request.state, "warning", ""):
                    answered["X-HF-Warning"] = request.state.warning
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            sent += message["count"] if message["type"] == ZERO_COPY else len(message.get("body", b""))
            await send(message)

        try:
            response = await self._answer(request)
            # Bodies that are files have theirs already, if it can be had.
            body = getattr(response, "body", None)
            if body and request.method != "HEAD" and wants_digest(request):
                response.headers.setdefault(DIGEST, digest_of_text(bytes(body)))
            await response(scope, receive, send_with_id)
        except Exception:
            if status:
                raise  # the server breaks the connection off, which is how the client learns of it
            _logger.exception("answering %s %s failed", scope["method"], scope["path"])
            await Refusal(500, "Something went wrong inside the server; its log says more.").response()(
                scope, receive, send_with_id
            )
        finally:
            if self._log is not None:
                user = self.served.user(request)
                self._log.write(request, user, status, sent, time.monotonic() - start, id)

    async def _answer(self, request: Request) -> Response:
        parts: list[str] = []
        try:
            parts = split_path(request.scope.get("raw_path") or request.scope["path"].encode())
            if self._limit is not None and parts != ["health"]:
                address = request.client.host if request.client else ""
                # Only a token that is known has a count of its own: others would be made up to get around the limit.
                known = self.served.user(request) is not None
                self._limit.count(request.headers["authorization"] if known else address)
            method = "GET" if request.method == "HEAD" else request.method
            for route, values in _TABLE.fitting(method, parts):
                if route.writes and not self.served.hub.access.writable:
                    raise read_only()
                if "id" in values and not route.writes:
                    await self._prepare(request, values, "parquet" in route.pattern)
                return await route.handler(self.served, request, values)
            await self._refuse(request, parts, method)
        except Refusal as refusal:
            return await self._moved(request, parts, refusal) or refusal.response()
        raise AssertionError("a request that fits no route is refused")

    async def _prepare(self, request: Request, values: dict[str, str], parquet: bool) -> None:
        """Sees to it that what a request is about is here, where it can be fetched or made."""
        served = self.served
        if parquet:
            values = {**values, "type": "datasets"}
        if served.mirror is not None:
            request.state.stale = await served.mirror.prepare(served.caller(request), values, parquet)
        if self._converter is not None:
            await self._converter.prepare(request, values, parquet)

    async def _moved(self, request: Request, parts: list[str], refusal: Refusal) -> Response | None:
        """Redirects from the old id of a repository, if that is why it was not found."""
        if refusal.code != "RepoNotFound" or not parts:
            return None
        caller = self.served.caller(request)
        target = await self.served.call(manage_api.moved_target, self.served, caller, parts)
        if target is None:
            return None
        query = request.url.query
        location = f"{self.served.base_url(request)}{target}{'?' if query else ''}{query}"
        return Response(None, 307, {"Location": location})

    async def _refuse(self, request: Request, parts: list[str], method: str) -> None:
        """Says why nothing answers: no such repository, nothing may be written, or no such address."""
        caller = self.served.caller(request)
        if method not in ("GET", "OPTIONS") and not self.served.hub.access.writable:
            raise read_only()
        if parts[0] == "api" and len(parts) > 2 and parts[1] in (*TYPES, "buckets"):
            if parts[1] == "buckets" or len(parts) == 3:
                raise repo_not_found(caller.anonymous)
            await self.served.repo(request, parts[1], "/".join(parts[2:4]))
        raise Refusal(404, "There is nothing at this address.")


async def _other_protocol(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        if message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
    else:
        await send({"type": "websocket.close", "code": 1000})
