"""Requests about one repository: info, tree, paths-info, refs, commits, Parquet listing, access check."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from gristmill.errors import shorten
from gristmill.hub.server import listing
from gristmill.hub.server.convert import parquet_urls
from gristmill.hub.server.errors import Refusal, bad_request, entry_not_found, header_text
from gristmill.hub.server.json_text import parse_json
from gristmill.hub.server.repo import CONVERT, Repo
from gristmill.hub.server.routing import check_path
from gristmill.hub.server.served import Served, flag, number, read_body
from gristmill.hub.server.snapshots import Snapshot
from gristmill.hub.tree import is_commit

_PAGE = 1000
_PAGE_EXPANDED = 50
_PAGE_COMMITS = 50
_MOST_PATHS = 10_000
_FILE_KEYS = {"sha", "siblings", "usedStorage", "mainSize"}


def asked_keys(request: Request) -> list[str]:
    """Reads the ``expand=KEY`` of a query."""
    return request.query_params.getlist("expand") + request.query_params.getlist("expand[]")


def head_of(served: Served, repo: Repo) -> dict[str, Any]:
    """Describes a repository without hashing its files."""
    created, modified = repo.times()
    return listing.repo_head(
        repo.type,
        repo.id,
        repo.card(),
        private=served.private(repo),
        gated=served.gated(repo),
        created=created,
        modified=modified,
    )


def whole_info(served: Served, repo: Repo, revision: str, *, blobs: bool, keys: list[str]) -> dict[str, Any]:
    """Describes a repository at a revision; with `keys`, nothing but those."""
    told = head_of(served, repo)
    if not keys or _FILE_KEYS & set(keys):
        told |= listing.repo_files(repo.at(revision), blobs)
    return listing.only(told, keys) if keys else told


async def info(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME[/revision/REV]``: what a repository is and holds."""
    repo = await served.repo(request, values["type"], values["id"])
    told = await served.in_turn(
        request,
        repo,
        whole_info,
        served,
        repo,
        values.get("rev", "main"),
        blobs=flag(request.query_params.get("blobs")),
        keys=asked_keys(request),
    )
    warning = (await served.in_turn(request, repo, repo.card)).warning
    headers = {"X-HF-Warning": f"card; {header_text(warning)}"} if warning else None
    return JSONResponse(told, headers=headers)


async def tree(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/tree/REV[/PATH]``: files and folders, in pages."""
    folder = values["path"].strip("/")
    if folder:
        check_path(folder)
    repo = await served.repo(request, values["type"], values["id"])
    snapshot = await served.snapshot(request, repo, values["rev"])
    if folder in snapshot.entries:
        return JSONResponse([listing.tree_entry(snapshot.entries[folder])])
    query = request.query_params
    expand = flag(query.get("expand"))
    most = _PAGE_EXPANDED if expand else _PAGE
    limit = number(query.get("limit"), most, most)
    items = await served.call(
        _page, snapshot, folder, flag(query.get("recursive")), query.get("cursor"), limit + 1
    )
    if items is None:
        raise entry_not_found(folder, snapshot.commit)
    headers = {"X-Repo-Commit": snapshot.commit}
    if len(items) > limit:
        cursor = base64.urlsafe_b64encode(items[limit - 1].path.encode()).decode()
        headers["Link"] = next_link(served, request, cursor)
    commit = snapshot.commit if expand else None
    return JSONResponse([listing.tree_entry(item, commit) for item in items[:limit]], headers=headers)


def _page(
    snapshot: Snapshot, folder: str, recursive: bool, cursor: str | None, count: int
) -> list[Any] | None:
    if folder and folder not in snapshot.folders:
        return None
    try:
        after = base64.urlsafe_b64decode(cursor).decode() if cursor else ""
    except (binascii.Error, ValueError) as error:
        raise bad_request("The cursor is not one that this server gave out.") from error
    items = snapshot.below(folder, recursive, after)
    return [item for item, _ in zip(items, range(count), strict=False)]


def next_link(served: Served, request: Request, cursor: str) -> str:
    """Makes the ``Link`` header for the next page: the same request with a cursor."""
    pairs = [(key, value) for key, value in request.query_params.multi_items() if key != "cursor"]
    path = quote(request.scope["raw_path"].decode("latin-1"), safe="/%~:@!$&'()*+=")
    return f'<{served.base_url(request)}{path}?{urlencode([*pairs, ("cursor", cursor)])}>; rel="next"'


async def paths_info(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/paths-info/REV``: entries of the paths that exist."""
    repo = await served.repo(request, values["type"], values["id"])
    paths, expand = _asked_paths(await read_body(request), request.headers.get("content-type", ""))
    snapshot = await served.snapshot(request, repo, values["rev"])
    folders = await served.call(lambda: snapshot.folders)
    found = [
        snapshot.entries.get(path) or folders.get(path) for path in dict.fromkeys(p.strip("/") for p in paths)
    ]
    commit = snapshot.commit if expand else None
    return JSONResponse([listing.tree_entry(item, commit) for item in found if item is not None])


def _asked_paths(body: bytes, content_type: str) -> tuple[list[str], bool]:
    try:
        if content_type.partition(";")[0].strip().lower() == "application/json":
            form = parse_json(body)
        else:
            pairs = parse_qs(body.decode(), max_num_fields=_MOST_PATHS + 10)
            form = {"paths": pairs.get("paths", []), "expand": flag((pairs.get("expand") or [""])[-1])}
        paths, expand = form["paths"], form.get("expand", False)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise bad_request("The body must hold paths, as a form or as JSON.") from error
    paths = [paths] if isinstance(paths, str) else paths
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise bad_request("paths must be a list of texts.")
    if len(paths) > _MOST_PATHS:
        raise bad_request(f"At most {_MOST_PATHS} paths can be asked for at once.")
    return paths, bool(expand)


async def refs(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/refs``: branches and the like."""
    repo = await served.repo(request, values["type"], values["id"])
    named = await served.in_turn(request, repo, repo.refs)
    pulls = "include_prs" in request.query_params or "include_pull_requests" in request.query_params
    return JSONResponse(listing.refs(named, pulls))


async def commits(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/commits/REV``: the history, newest first, in pages."""
    repo = await served.repo(request, values["type"], values["id"])
    snapshot = await served.snapshot(request, repo, values["rev"])
    query = request.query_params
    limit = number(query.get("limit"), _PAGE_COMMITS, _PAGE)
    cursor = query.get("cursor")
    if cursor is not None and not is_commit(cursor):
        raise bad_request("The cursor is not one that this server gave out.")
    # The next page begins with a commit and not at a number, so that none is walked through again.
    page = await served.call(lambda: list(islice(repo.history(snapshot, cursor), limit + 1)))
    if cursor is not None and not page:
        raise bad_request("The commit that this page begins with is not here any more; list anew.")
    headers = {"Link": next_link(served, request, page[limit].id)} if len(page) > limit else None
    told = [listing.commit_entry(commit, "formatted" in asked_keys(request)) for commit in page[:limit]]
    return JSONResponse(told, headers=headers)


async def auth_check(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/auth-check``: whether the caller may read the repository's files."""
    await served.repo(request, values["type"], values["id"], content=True)
    return JSONResponse({})


async def auth_check_write(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/auth-check/write``: whether the caller may change the repository."""
    await served.writable_repo(request, values["type"], values["id"])
    return JSONResponse({})


async def parquet(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/parquet[/CONFIG[/SPLIT]]``: URLs of the Parquet files."""
    repo = await served.repo(request, "datasets", values["id"], content=True)
    converted = await served.in_turn(request, repo, repo.converted)
    base = f"{served.base_url(request)}/api/datasets/{repo.id}/parquet"
    told: Mapping[str, Any] | list[str] = parquet_urls(converted, base)
    for kind in ("config", "split"):
        name = values.get(kind)
        if name is not None:
            assert isinstance(told, Mapping)
            if name not in told:
                raise Refusal(
                    404, f"There is no {kind} {shorten(name)} made of Parquet files.", "EntryNotFound"
                )
            told = told[name]
    return JSONResponse(told)


async def parquet_file(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/parquet/CONFIG/SPLIT/N.parquet``: redirects to the file."""
    repo = await served.repo(request, "datasets", values["id"], content=True)
    converted = await served.in_turn(request, repo, repo.converted)
    stem, dot, suffix = values["file"].partition(".")
    number_text = f"{int(stem):04d}" if stem.isascii() and stem.isdigit() and len(stem) < 10 else stem
    path = f"{values['config']}/{values['split']}/{number_text}{dot}{suffix}"
    if converted is None or path not in converted.entries:
        raise Refusal(404, f"There is no Parquet file {shorten(path)}.", "EntryNotFound")
    target = f"/datasets/{repo.id}/resolve/{quote(CONVERT, safe='')}/{quote(path)}"
    return RedirectResponse(target, 302)
