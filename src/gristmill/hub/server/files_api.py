"""Requests for the content of files: resolve, its redirect target, raw, and the mirror of GitHub files."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from gristmill.errors import shorten
from gristmill.hub.server.access import Caller
from gristmill.hub.server.digests import wants_digest
from gristmill.hub.server.errors import Refusal, entry_not_found, unreadable
from gristmill.hub.server.hashing import ChangedWhileRead, pointer_text
from gristmill.hub.server.mirrored import MirroredRepo
from gristmill.hub.server.passing import missing_response
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.resolve import file_answer, file_headers, file_response
from gristmill.hub.server.routing import check_path
from gristmill.hub.server.served import Served
from gristmill.hub.server.snapshots import Entry
from gristmill.hub.server.walk import HIDDEN_FOLDERS, Found, Stamp, inside

_ATTEMPTS = 3
_T = TypeVar("_T")


async def resolve(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/datasets/ORG/NAME/resolve/REV/PATH``: the content of a file, or a redirect to it."""
    return await _content(served, request, values, redirect=True)


async def resolve_cache(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/resolve-cache/datasets/ORG/NAME/COMMIT/PATH``: where `resolve` redirects to."""
    return await _content(served, request, values, redirect=False)


async def _content(served: Served, request: Request, values: dict[str, str], redirect: bool) -> Response:
    type, id, path = values["type"], values["id"], check_path(values["path"])
    caller = served.caller(request)
    ready = await served.quick.call(
        f"{type}/{id}",
        wants_digest(request),
        _at_once,
        served,
        request,
        caller,
        type,
        id,
        values["rev"],
        path,
        redirect,
    )
    if ready is not None:
        return ready
    repo = await served.repo(request, type, id, content=True)

    async def answer() -> Response:
        snapshot = await served.snapshot(request, repo, values["rev"])
        entry = snapshot.entries.get(path)
        if entry is None:
            raise entry_not_found(path, snapshot.commit)
        headers = file_headers(entry, snapshot.commit)
        if redirect and served.redirect_large is not None and entry.size >= served.redirect_large:
            target = f"/api/resolve-cache/{type}/{id}/{snapshot.commit}/{quote(path)}"
            return Response(None, 307, {**headers, "Location": target})
        return await _file(served, request, repo, entry, headers)

    return await until_still(answer, repo.distrust, path)


def _at_once(
    served: Served, request: Request, caller: Caller, type: str, id: str, rev: str, path: str, redirect: bool
) -> Response | None:
    """Answers what most ask for, a file that is here of a revision that is known, in one go.

    None where anything has to be waited for, refused or looked at again: that is for the long way.
    """
    try:
        repo = served.hub.find(type, id)
        if repo is None or isinstance(repo, MirroredRepo) or not served.gives(caller, repo):
            return None
        snapshot = repo.known(rev)
        entry = None if snapshot is None else snapshot.entries.get(path)
        if snapshot is None or entry is None:
            return None
        if redirect and served.redirect_large is not None and entry.size >= served.redirect_large:
            return None
        return file_answer(request, entry, file_headers(entry, snapshot.commit), served.reads)
    except (FileNotFoundError, ChangedWhileRead):
        return None


async def _file(
    served: Served, request: Request, repo: Repo, entry: Entry, headers: dict[str, str]
) -> Response:
    if isinstance(repo, MirroredRepo) and not await served.call(repo.has, entry):
        if served.mirror is None or repo.state().upstream != served.hub.upstream:
            raise Refusal(504, f"{shorten(entry.path)} was not copied here.")
        return await missing_response(served.mirror, request, repo, entry, headers, served.reads)
    if isinstance(repo, MirroredRepo) and served.mirror is not None and served.mirror.room is not None:
        await served.call(served.mirror.room.used, entry.found.file)
    return await file_response(request, entry, headers, served.reads)


async def raw(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/datasets/ORG/NAME/raw/REV/PATH``: as git has it, so the pointer text of an LFS file."""
    path = check_path(values["path"])
    repo = await served.repo(request, values["type"], values["id"], content=True)

    async def answer() -> Response:
        snapshot = await served.snapshot(request, repo, values["rev"])
        entry = snapshot.entries.get(path)
        if entry is None:
            raise entry_not_found(path, snapshot.commit)
        if entry.sha256 is None:
            return await _file(served, request, repo, entry, file_headers(entry, snapshot.commit))
        headers = {"X-Repo-Commit": snapshot.commit, "ETag": f'"{entry.blob_id}"'}
        return Response(pointer_text(entry.sha256, entry.size), 200, headers, "text/plain; charset=utf-8")

    return await until_still(answer, repo.distrust, path)


async def github(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/github/OWNER/REPO/REV/PATH``: a file of the folder's GitHub mirror."""
    path = check_path(values["path"])

    async def answer() -> Response:
        entry = await served.call(_mirrored, served, path)
        if entry is None:
            raise Refusal(404, "There is no such file in the GitHub mirror.", "EntryNotFound")
        return await file_response(request, entry, file_headers(entry, None), served.reads)

    return await until_still(answer, lambda: None, path)


def _mirrored(served: Served, path: str) -> Entry | None:
    file = served.hub.root / "github" / path
    parts = path.split("/")
    hub = served.hub
    if len(parts) < 4 or HIDDEN_FOLDERS & set(parts) or not inside(file, hub.root, hub.follow_links):
        return None
    try:
        if not file.is_file():
            return None
        found = Found(path, file, Stamp.of(file.stat()))
        digest = served.hub.hasher.hash(found, lfs=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    return Entry(path, found.stamp.size, digest, None, found)


async def until_still(answer: Callable[[], Awaitable[_T]], distrust: Callable[[], None], path: str) -> _T:
    """Answers from a state of the folder that is still true when the file is opened.

    Raises:
        Refusal: It does not stop changing (503), or what `answer` raises.
    """
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(ChangedWhileRead):
            return await answer()
        distrust()
    raise Refusal(503, f"{path} is being changed; try again.", headers={"Retry-After": "2"})
