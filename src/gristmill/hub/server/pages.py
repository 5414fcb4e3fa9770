"""Plain pages for people: which repositories there are, and which files they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gristmill.errors import GristmillError
from gristmill.hub.server.access import Caller
from gristmill.hub.server.bucket_api import readable, visible_buckets
from gristmill.hub.server.bucket_files import TYPE
from gristmill.hub.server.repos import TYPES
from gristmill.hub.server.served import Served

_MOST_FILES = 2000
_SAFETY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "td{padding:.1rem 1rem .1rem 0}td.n{text-align:right;font-variant-numeric:tabular-nums}code{word-break:break-all}"
)


async def front(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``/``: the repositories that the caller may see."""
    caller = served.caller(request)
    base = served.base_url(request)
    body = [f"<p>Use this Hub: <code>export HF_ENDPOINT={escape(base)}</code></p>"]
    for type in TYPES:
        ids = await served.call(_visible_ids, served, caller, type)
        if ids:
            links = (f'<li><a href="{_prefix(type)}/{quote(id)}">{escape(id)}</a></li>' for id in ids)
            body.append(f"<h2>{type}</h2><ul>{''.join(links)}</ul>")
    buckets = await served.call(visible_buckets, served, caller)
    if buckets:
        links = (f'<li><a href="/{TYPE}/{quote(id)}">{escape(id)}</a></li>' for id in buckets)
        body.append(f"<h2>{TYPE}</h2><ul>{''.join(links)}</ul>")
    return _page("Gristmill Hub", body)


async def repo_page(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/datasets/ORG/NAME``: the files of a repository."""
    repo = await served.repo(request, values["type"], values["id"])
    snapshot = await served.snapshot(request, repo, "main")
    base = f"{_prefix(repo.type)}/{quote(repo.id)}/resolve/main"
    sizes = {path: entry.size for path, entry in snapshot.entries.items()}
    about = f"<p>{len(sizes):,} files at commit <code>{snapshot.commit}</code></p>"
    return _page(repo.id, [about, *_table(base, sizes)])


async def bucket_page(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/buckets/ORG/NAME``: the files of a bucket."""
    bucket = await readable(served, request, values["bucket"])
    sizes = {path: found.stamp.size for path, found in (await served.call(bucket.files)).items()}
    table = _table(f"/{TYPE}/{quote(bucket.id)}/resolve", sizes)
    return _page(bucket.id, [f"<p>{len(sizes):,} files</p>", *table])


def _table(base: str, sizes: Mapping[str, int]) -> list[str]:
    rows = (
        f'<tr><td><a href="{base}/{quote(path)}">{escape(path)}</a></td><td class="n">{size:,}</td></tr>'
        for path, size in islice(sizes.items(), _MOST_FILES)
    )
    table = [f"<table><tr><th>file</th><th>bytes</th></tr>{''.join(rows)}</table>"]
    if len(sizes) > _MOST_FILES:
        table.append(f"<p>… and {len(sizes) - _MOST_FILES:,} more.</p>")
    return table


def _visible_ids(served: Served, caller: Caller, type: str) -> list[str]:
    ids = []
    for repo in served.hub.repos(type):
        # Removed since the folder was listed, or damaged, which must not hide the others.
        with contextlib.suppress(FileNotFoundError, GristmillError):
            if served.visible(caller, repo):
                ids.append(repo.id)
    return ids


def _prefix(type: str) -> str:
    return "" if type == "models" else f"/{type}"


def _page(title: str, body: Iterable[str]) -> Response:
    html = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>{''.join(body)}</html>"
    )
    return HTMLResponse(html, headers=_SAFETY)
