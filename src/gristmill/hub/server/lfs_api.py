"""LFS: where large files are sent to, the sending, whole or in parts, and the question whether they arrived."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.errors import shorten
from gristmill.hub.server import lfs_parts, pending
from gristmill.hub.server.errors import Refusal, bad_request, repo_not_found
from gristmill.hub.server.history import History
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.served import Served, read_json
from gristmill.hub.server.spool import receive_file

_MEDIA_TYPE = "application/vnd.git-lfs+json"
_MOST_OBJECTS = 1000
_MOST_URLS = 20_000  # of parts in one answer; what is beyond that is to be sent whole
_HOLDS = 6 * 3600.0
_LARGEST = 1 << 50
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UPLOAD = "lfs-upload"
_HOLDS_PARTS = 24 * 3600.0  # an object of many parts takes long
_PART, _COMPLETE = "part", "complete"


async def batch(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /datasets/ORG/NAME.git/info/lfs/objects/batch``: which objects are wanted, and where to send them."""
    type, id = values["type"], values["id"].removesuffix(".git")
    asked = await read_json(request)
    if asked.get("operation") == "download":
        repo = await served.repo(request, type, id, content=True)
    else:
        repo = await served.writable_repo(request, type, id)
        if asked.get("operation") != "upload":
            raise bad_request("operation must be upload or download.")
    if asked.get("hash_algo", "sha256") not in (
        "sha256",
        "sha_256",
    ):  # as git-lfs and huggingface.js spell it
        raise bad_request("hash_algo must be sha256.")
    objects = asked.get("objects")
    if not isinstance(objects, list) or len(objects) > _MOST_OBJECTS:
        raise bad_request(f"objects must be a list of {_MOST_OBJECTS} at most.")
    base = served.base_url(request)
    wanted = [_object(each) for each in objects]
    if asked["operation"] == "upload":
        told = await served.save(_uploads, served, repo, wanted, base, "multipart" in _transfers(asked))
    else:
        url = served.repo_url(request, type, id)
        snapshot = await served.snapshot(request, repo, "main")
        paths = {entry.sha256: entry.path for entry in snapshot.entries.values()}
        told = [_download(oid, size, paths.get(oid), url) for oid, size in wanted]
    parts = any("chunk_size" in each.get("actions", {}).get("upload", {}).get("header", {}) for each in told)
    answer = {"transfer": "multipart" if parts else "basic", "objects": told, "hash_algo": "sha256"}
    return JSONResponse(answer, media_type=_MEDIA_TYPE)


def _transfers(asked: dict[str, Any]) -> list[Any]:
    transfers = asked.get("transfers")
    return transfers if isinstance(transfers, list) else []


def _object(each: Any) -> tuple[str, int]:
    oid, size = (each.get("oid"), each.get("size")) if isinstance(each, dict) else (None, None)
    if not isinstance(oid, str) or not _SHA256.fullmatch(oid):
        raise bad_request(f"The oid {shorten(str(oid))} is no sha256.")
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _LARGEST:
        raise bad_request("The size of an object must be a number of bytes.")
    return oid, size


def _uploads(
    served: Served, repo: Repo, wanted: list[tuple[str, int]], base: str, parts: bool
) -> list[dict[str, Any]]:
    history = History(repo.folder)
    pending.sweep(history)
    told, urls = [], 0
    for oid, size in wanted:
        item: dict[str, Any] = {"oid": oid, "size": size}
        pending.note(history, oid)
        if not history.has(oid, size):
            claim = {"type": repo.type, "id": repo.id, "oid": oid, "size": size}
            count = -(-size // lfs_parts.part_size(size))
            if parts and 1 < count <= _MOST_URLS - urls:
                urls += count
                upload = _in_parts(served, lfs_parts.begin(history, oid, size), claim, base)
            else:
                href = f"{base}/api/lfs/upload/{served.signer.sign(_UPLOAD, claim, _HOLDS)}"
                upload = {"href": href, "header": {}}
            verify = f"{base}/api/lfs/verify/{repo.type}/{repo.id}"
            item |= {
                "authenticated": True,
                "actions": {"upload": upload, "verify": {"href": verify, "header": {}}},
            }
        told.append(item)
    return told


def _in_parts(
    served: Served, upload: lfs_parts.PartsUpload, claim: dict[str, Any], base: str
) -> dict[str, Any]:
    claim = {**claim, "upload": upload.name, "part": upload.part}

    def url(kind: str, **more: Any) -> str:
        return f"{base}/api/lfs/{kind}/{served.signer.sign(kind, {**claim, **more}, _HOLDS_PARTS)}"

    urls = {f"{number:05d}": url(_PART, number=number) for number in range(1, upload.count + 1)}
    return {"href": url(_COMPLETE), "header": {"chunk_size": str(upload.part), **urls}}


def _download(oid: str, size: int, path: str | None, url: str) -> dict[str, Any]:
    item: dict[str, Any] = {"oid": oid, "size": size}
    if path is None:
        return item | {"error": {"code": 404, "message": "There is no such object."}}
    return item | {"actions": {"download": {"href": f"{url}/resolve/main/{quote(path)}", "header": {}}}}


async def upload(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``PUT /api/lfs/upload/TOKEN``: the bytes of an object; the address itself says which, and that it may be sent."""
    claim = served.signer.check(_UPLOAD, values["token"])
    oid, size = claim["oid"], claim["size"]
    repo = await served.call(served.hub.find, claim["type"], claim["id"])
    if repo is None:
        raise repo_not_found(False)
    history = History(repo.folder)
    if await served.save(history.has, oid, size):
        return Response(None, 200)
    temporary = await served.save(history.temporary)
    received, digest = await receive_file(request, served, temporary, size)
    if (received, digest) != (size, oid):
        temporary.unlink(missing_ok=True)
        raise bad_request(f"{received} bytes with sha256 {digest} came, not {size} with {oid}.")
    await served.save(pending.note, history, oid)
    await served.save(history.adopt, temporary, oid)
    return Response(None, 200)


async def part(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``PUT /api/lfs/part/TOKEN``: a part of an object; the answer's ``ETag`` stands for it when all are there."""
    claim = served.signer.check(_PART, values["token"])
    upload = await served.save(_parts_upload, served, claim)
    wanted = upload.length(claim["number"])
    temporary = await served.save(upload.temporary)
    received, digest = await receive_file(request, served, temporary, wanted)
    if received != wanted:
        temporary.unlink(missing_ok=True)
        raise bad_request(f"{received} bytes came, not the {wanted} of this part.")
    await served.save(upload.adopt, claim["number"], digest, temporary)
    return Response(None, 200, {"ETag": f'"{digest}"'})


async def complete(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/lfs/complete/TOKEN``: all parts were sent."""
    claim = served.signer.check(_COMPLETE, values["token"])
    asked = await read_json(request)
    parts = asked.get("parts")
    try:
        told = {int(each["partNumber"]): str(each["etag"]).strip('"') for each in parts or []}
    except (TypeError, KeyError, ValueError) as error:
        raise bad_request("parts must be a list of partNumber and etag.") from error
    if asked.get("oid", claim["oid"]) != claim["oid"]:
        raise bad_request("This address is for another object.")
    upload = await served.save(_parts_upload, served, claim)
    # One at a time of those that share two digits: a client that asks again waits for the first, and finds the object.
    await served.write("lfs", upload.name[:2], upload.complete, told)
    return JSONResponse({}, media_type=_MEDIA_TYPE)


async def abort(served: Served, _request: Request, values: dict[str, str]) -> Response:
    """``DELETE /api/lfs/complete/TOKEN``: the parts are not wanted any more."""
    claim = served.signer.check(_COMPLETE, values["token"])
    upload = await served.save(_parts_upload, served, claim)
    await served.save(upload.abort)
    return Response(None, 200)


def _parts_upload(served: Served, claim: dict[str, Any]) -> lfs_parts.PartsUpload:
    repo = served.hub.find(claim["type"], claim["id"])
    if repo is None:
        raise repo_not_found(False)
    return lfs_parts.PartsUpload(
        History(repo.folder), claim["upload"], claim["oid"], claim["size"], claim["part"]
    )


async def verify(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/lfs/verify/datasets/ORG/NAME``: whether an object arrived."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    oid, size = _object(await read_json(request))
    if not await served.save(History(repo.folder).has, oid, size):
        raise Refusal(404, f"The object {oid} is not here.")
    return JSONResponse({}, media_type=_MEDIA_TYPE)
