"""Requests of xet uploads: the token, the xorbs, the shards.

Files are rebuilt when their shard comes, and served like any other; see `gristmill.hub.server.xet_store`.
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.hub.server import bucket_files, pending, xet_store
from gristmill.hub.server.errors import Refusal, repo_not_found
from gristmill.hub.server.history import History
from gristmill.hub.server.served import Served
from gristmill.hub.server.spool import open_spool, receive, receive_file
from gristmill.hub.server.xet_format import LARGEST_SHARD, LARGEST_XORB, check_hash
from gristmill.hub.server.xet_store import Depot, RepoDepot, XorbStore

_HOLDS = 3600
WRITE_PURPOSE = "xet-write"
READ_PURPOSE = "xet-read"


async def write_token(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/xet-write-token/REV``: a token for uploads to one repository, and where to send them."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    history = History(repo.folder)
    await served.save(pending.sweep, history)
    store = await served.save(xet_store.begin, RepoDepot(history))
    return token_answer(served, request, WRITE_PURPOSE, repo.type, repo.id, f"/api/xet/{store}")


def token_answer(
    served: Served, request: Request, purpose: str, type: str, id: str, path: str
) -> JSONResponse:
    """Makes the answer that gives out a token of xet.

    Args:
        served: Signs it.
        request: Asks for it; the caller has the right to it.
        purpose: What the token is for.
        type: Of the repository or bucket that it is for.
        id: Of that.
        path: Where it is to be used.
    """
    token = served.signer.sign(purpose, {"type": type, "id": id}, _HOLDS)
    url, until = f"{served.base_url(request)}{path}", int(time.time()) + _HOLDS
    headers = {
        "X-Xet-Access-Token": token,
        "X-Xet-Token-Expiration": str(until),
        "X-Xet-Cas-Url": url,
        "Cache-Control": "no-store",
    }
    return JSONResponse({"accessToken": token, "exp": until, "casUrl": url}, headers=headers)


async def xorb(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/xet/STORE/v1/xorbs/default/HASH``: takes a run of chunks."""
    store = await _store(served, request, values["store"])
    hash = check_hash(values["hash"])
    temporary = await served.save(store.depot.temporary)
    await receive_file(request, served, temporary, LARGEST_XORB, durable=False)
    await served.save(store.adopt, temporary, hash)
    return JSONResponse({"was_inserted": True})


async def shard(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/xet/STORE/v1/shards``: takes the list of files, and makes the files."""
    store = await _store(served, request, values["store"])
    with await served.save(open_spool, served) as body:
        await receive(request, served, body, LARGEST_SHARD)
        await served.save(body.flush)
        made = await served.save(store.build, body)
    return JSONResponse({"result": 1 if made else 0})


async def absent(_served: Served, _request: Request, _values: dict[str, str]) -> Response:
    """What clients ask for on their way and do without: known chunks, grants, newer versions, telemetry.

    Asked with a token of xet, which must not be taken for a wrong one of the Hub.
    """
    raise Refusal(404, "This server has no such part of xet.")


def bearer(request: Request) -> str:
    """Gives the token of a request to xet."""
    return request.headers.get("authorization", "").partition(" ")[2].strip()


async def _store(served: Served, request: Request, name: str) -> XorbStore:
    """Finds the store of a request: one of the repository that its token is for."""
    claim = served.signer.check(WRITE_PURPOSE, bearer(request))
    depot = await served.call(_depot, served, claim["type"], claim["id"])
    return await served.save(XorbStore, depot, name)


def _depot(served: Served, type: str, id: str) -> Depot:
    if type == bucket_files.TYPE:
        bucket = served.hub.buckets.find(id)
        if bucket is None:
            raise repo_not_found(False)
        return bucket
    repo = served.hub.find(type, id)
    if repo is None:
        raise repo_not_found(False)
    return RepoDepot(History(repo.folder))
