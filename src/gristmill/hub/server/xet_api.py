"""Requests of xet uploads: the token, the xorbs, the shards.

Nothing is ever read back this way: files are rebuilt when their shard comes, and served like any other.
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.hub.server.errors import Refusal, repo_not_found
from gristmill.hub.server.history import History
from gristmill.hub.server.served import Served
from gristmill.hub.server.spool import open_spool, receive, receive_file
from gristmill.hub.server.xet_format import LARGEST_SHARD, LARGEST_XORB, check_hash
from gristmill.hub.server.xet_store import XorbStore

_HOLDS = 3600
_PURPOSE = "xet-write"


async def write_token(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/xet-write-token/REV``: a token for uploads to one repository, and where to send them."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    await served.save(XorbStore(History(repo.folder)).sweep)
    token = served.signer.sign(_PURPOSE, {"type": repo.type, "id": repo.id}, _HOLDS)
    url, until = f"{served.base_url(request)}/api/xet", int(time.time()) + _HOLDS
    headers = {
        "X-Xet-Access-Token": token,
        "X-Xet-Token-Expiration": str(until),
        "X-Xet-Cas-Url": url,
        "Cache-Control": "no-store",
    }
    return JSONResponse({"accessToken": token, "exp": until, "casUrl": url}, headers=headers)


async def xorb(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/xet/v1/xorbs/default/HASH``: takes a run of chunks."""
    store = await _store(served, request)
    hash = check_hash(values["hash"])
    temporary = await served.save(store.temporary)
    await receive_file(request, served, temporary, LARGEST_XORB, durable=False)
    await served.save(store.adopt, temporary, hash)
    return JSONResponse({"was_inserted": True})


async def shard(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``POST /api/xet/v1/shards``: takes the list of files, and makes the files."""
    store = await _store(served, request)
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


async def _store(served: Served, request: Request) -> XorbStore:
    """Finds the repository that a request's token is for."""
    claim = served.signer.check(_PURPOSE, request.headers.get("authorization", "").partition(" ")[2].strip())
    repo = await served.call(served.hub.find, claim["type"], claim["id"])
    if repo is None:
        raise repo_not_found(False)
    return XorbStore(History(repo.folder))
