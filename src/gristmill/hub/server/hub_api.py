"""Requests about the whole server: the list of repositories, and who one is."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.errors import GristmillError
from gristmill.hub.server.access import Caller
from gristmill.hub.server.errors import Refusal, bad_request, bad_token
from gristmill.hub.server.listing import only
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.repo_api import asked_keys, head_of, next_link, whole_info
from gristmill.hub.server.served import NOBODY, Served, flag, number
from gristmill.logging import get_logger

_logger = get_logger(__name__)
_PAGE = 1000
_TIMES = ("lastModified", "createdAt")
_SORTS = (*_TIMES, "downloads", "likes", "trendingScore")


async def list_repos(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets``: the repositories that the caller may see and the query asks for."""
    query = request.query_params
    caller = served.caller(request)
    limit = number(query.get("limit"), _PAGE, _PAGE)
    sort = query.get("sort", "")
    if sort and sort not in _SORTS:
        raise bad_request(f"sort must be one of {', '.join(_SORTS)}.")
    matching = await served.call(_matching, served, request, caller, values["type"])
    down = query.get("direction", "-1") == "-1"
    matching.sort(key=lambda item: item[0].id)
    matching.sort(key=lambda item: item[1].get(sort, 0), reverse=down)
    # A page begins behind the last one of the page before, so that repositories which come and go shift nothing.
    after = _read_cursor(query.get("cursor"), sort)
    rest = [item for item in matching if after is None or _is_behind(item, after, sort, down)]
    headers = {}
    if len(rest) > limit:
        last, about = rest[limit - 1]
        cursor = json.dumps([about.get(sort, 0), last.id]).encode()
        headers["Link"] = next_link(served, request, base64.urlsafe_b64encode(cursor).decode())
    keys, full = asked_keys(request), flag(query.get("full"))
    told = []
    for repo, short in rest[:limit]:
        head = short
        if full or {"sha", "siblings", "usedStorage", "mainSize"} & set(keys):
            try:
                head = await served.in_turn(
                    request, repo, whole_info, served, repo, "main", blobs=False, keys=keys
                )
            except (Refusal, GristmillError) as error:
                _logger.warning("%s is listed without its files: %s", repo.id, error)
        told.append(only(head, keys) if keys else head)
    return JSONResponse(told, headers=headers)


def _matching(
    served: Served, request: Request, caller: Caller, type: str
) -> list[tuple[Repo, dict[str, Any]]]:
    query = request.query_params
    words = [word.lower() for word in query.getlist("search")]
    tags, author, gated = query.getlist("filter"), query.get("author"), query.get("gated")
    tags += query.getlist("pipeline_tag")
    found = []
    for repo in served.hub.repos(type):
        if not all(word in repo.id.lower() for word in words):
            continue
        if author is not None and repo.id.partition("/")[0].lower() != author.lower():
            continue
        try:
            if not served.visible(caller, repo):
                continue
            head = head_of(served, repo)
        except FileNotFoundError:
            continue  # removed since the folder was listed
        except (Refusal, GristmillError) as error:
            # One that can't be read must not hide the others; asked for by its name, it says what is wrong.
            _logger.warning("%s is left out of the list: %s", repo.id, error)
            continue
        wanted = all(tag in head["tags"] for tag in tags)
        if wanted and (gated is None or bool(head["gated"]) == flag(gated)):
            found.append((repo, head))
    return found


def _read_cursor(cursor: str | None, sort: str) -> tuple[Any, str] | None:
    if not cursor:
        return None
    try:
        value, id = json.loads(base64.urlsafe_b64decode(cursor))
        if not isinstance(id, str) or not isinstance(value, str if sort in _TIMES else int):
            raise ValueError("made up")
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise bad_request("The cursor is not one that this server gave out.") from error
    return value, id


def _is_behind(item: tuple[Repo, dict[str, Any]], after: tuple[Any, str], sort: str, down: bool) -> bool:
    value = item[1].get(sort, 0)
    if value != after[0]:
        return bool(value < after[0] if down else value > after[0])
    return item[0].id > after[1]


async def whoami(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``/api/whoami-v2``: something about the holder of a known token, 401 for everybody else."""
    caller = served.caller(request)
    if caller.token is None:
        raise Refusal(401, "You are not authenticated: this server was asked without a token.")
    access, holder = served.hub.access, caller.holder
    if holder is None and not access.anyone_writes and caller.token not in access.tokens:
        raise bad_token()
    writer = access.anyone_writes or bool(holder and holder.write)
    name = holder.user if holder is not None else NOBODY if writer else "reader"
    token = {"displayName": name, "role": "write" if writer else "read"}
    user = {"type": "user", "id": name, "name": name, "fullname": name, "email": None, "isPro": False}
    organisations = [
        {"type": "org", "name": org} for org in (holder.organisations if holder is not None else [])
    ]
    auth = {"type": "access_token", "accessToken": token}
    return JSONResponse({**user, "orgs": organisations, "auth": auth})


async def health(served: Served, _request: Request, _values: dict[str, str]) -> Response:
    """``/health``: whether the server answers and its folder is there, for whoever watches it."""
    if not await served.call(served.hub.root.is_dir):
        raise Refusal(503, "The served folder is not there.")
    return JSONResponse({"status": "ok", "writable": served.hub.access.writable})


async def nothing(_served: Served, _request: Request, _values: dict[str, str]) -> Response:
    """Lists that a plain folder has nothing for."""
    return JSONResponse({})
