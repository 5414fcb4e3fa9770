"""Requests of xet downloads, which are for buckets: what a file is made of, and the runs of chunks it is made of."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from gristmill.hub.server.bucket_files import Bucket
from gristmill.hub.server.errors import Refusal, repo_not_found
from gristmill.hub.server.resolve import open_found, parse_range
from gristmill.hub.server.served import Served
from gristmill.hub.server.walk import Found
from gristmill.hub.server.xet_api import READ_PURPOSE, bearer
from gristmill.hub.server.xet_format import check_hash
from gristmill.hub.server.xet_read import read_run, reconstruction, run_of, runs_between

_RUN_PURPOSE = "xet-run"
_HOLDS = 3600.0
_AT_ONCE = 8  # chunks of 64 KiB


async def reconstruct(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/xet/v1/reconstructions/HASH``: which chunks make a file of the bucket that the token is for."""
    claim = served.signer.check(READ_PURPOSE, bearer(request))
    hash = check_hash(values["hash"])
    bucket = await _bucket(served, claim)
    found = await served.call(bucket.with_hash, hash)
    if found is None:
        raise Refusal(404, f"No file of this bucket has the hash {hash}.")
    size = found.stamp.size
    part = parse_range(request.headers.get("range"), size)
    if part == "unsatisfiable":
        raise Refusal(416, "The range is outside of the file.", headers={"Content-Range": f"bytes */{size}"})
    first, end = (0, size) if isinstance(part, str) else (part.start, part.start + part.length)
    base = served.base_url(request)
    urls = {}
    for run in runs_between(first, end):
        told = {"id": bucket.id, "path": found.path, "hash": hash, "run": run}
        urls[run] = f"{base}/api/xet/runs/{served.signer.sign(_RUN_PURPOSE, told, _HOLDS)}"
    return JSONResponse(reconstruction(hash, size, first, end, urls))


async def run(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/xet/runs/TOKEN``: a run of chunks, or a range of it; the address itself says which."""
    claim = served.signer.check(_RUN_PURPOSE, values["token"])
    bucket = await _bucket(served, claim)
    found = await served.call(_still, bucket, claim)
    asked = run_of(found.stamp.size, claim["run"])
    part = parse_range(request.headers.get("range"), asked.size)
    if part == "unsatisfiable":
        message = f"The run has {asked.size} bytes; the range asked for is outside."
        raise Refusal(416, message, headers={"Content-Range": f"bytes */{asked.size}"})
    first, length = (0, asked.size) if isinstance(part, str) else (part.start, part.length)
    headers = {
        "Content-Type": "application/octet-stream",
        "Accept-Ranges": "bytes",
        "Content-Length": str(length),
    }
    if request.method == "HEAD":
        return Response(None, 200, {**headers, "Content-Length": str(asked.size)})
    if not isinstance(part, str):
        headers["Content-Range"] = f"bytes {first}-{first + length - 1}/{asked.size}"
    handle = await anyio.to_thread.run_sync(open_found, found, limiter=served.reads)
    pieces = _pieces(served, handle, read_run(handle, asked, first, length))
    return StreamingResponse(pieces, 200 if isinstance(part, str) else 206, headers)


async def _pieces(served: Served, handle: int, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    try:
        while block := await anyio.to_thread.run_sync(_some, pieces, limiter=served.reads):
            yield block
    finally:
        os.close(handle)


def _some(pieces: Iterator[bytes]) -> bytes:
    return b"".join(islice(pieces, _AT_ONCE))


def _still(bucket: Bucket, claim: dict[str, Any]) -> Found:
    found = bucket.find(claim["path"])
    if found is None or bucket.hashes.get(found) != claim["hash"]:
        # The same content may have another name by now.
        found = bucket.with_hash(claim["hash"])
    if found is None:
        raise Refusal(404, "The file was changed or deleted.")
    return found


async def _bucket(served: Served, claim: dict[str, Any]) -> Bucket:
    bucket = await served.call(served.hub.buckets.find, claim["id"])
    if bucket is None:
        raise repo_not_found(False)
    return bucket
