"""Requests about buckets: make, list, change and delete them, list and read their files, and the batches that write."""

from __future__ import annotations

import base64
import binascii
import bisect
import contextlib
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.errors import GristmillError, shorten
from gristmill.hub.server import xet_api, xet_store
from gristmill.hub.server.access import Caller
from gristmill.hub.server.bucket_batch import BucketOperation, apply_batch, parse_batch
from gristmill.hub.server.bucket_files import TYPE, Bucket
from gristmill.hub.server.errors import Refusal, bad_request, repo_not_found
from gristmill.hub.server.files_api import until_still
from gristmill.hub.server.listing import time_text
from gristmill.hub.server.repo_api import next_link
from gristmill.hub.server.repos import valid_id
from gristmill.hub.server.resolve import file_headers, file_response
from gristmill.hub.server.routing import check_path
from gristmill.hub.server.served import Served, flag, number, private_of, read_json
from gristmill.hub.server.snapshots import Entry
from gristmill.hub.server.spool import open_spool, receive
from gristmill.hub.server.walk import Found

_PAGE = 1000
_MOST_PATHS = 1000
_LARGEST_BATCH = 64 * 1024 * 1024


async def readable(served: Served, request: Request, id: str) -> Bucket:
    """Finds the bucket of a request; as ORG, ``me`` is the caller unless there is somebody of that name.

    Raises:
        Refusal: There is none that the caller may see.
    """
    caller = served.caller(request)
    bucket = await served.call(served.hub.buckets.find, id) if valid_id(id) else None
    if bucket is None and (own := _own(served, request, id)) != id and valid_id(own):
        bucket = await served.call(served.hub.buckets.find, own)
    try:
        if bucket is None or not await served.call(visible, served, caller, bucket):
            raise repo_not_found(caller.anonymous)
    except FileNotFoundError as error:
        raise repo_not_found(caller.anonymous) from error
    return bucket


def _own(served: Served, request: Request, id: str) -> str:
    """Gives the id that is meant: ``me/NAME`` is a bucket of the caller."""
    namespace, _, name = id.partition("/")
    return f"{served.author(request)}/{name}" if namespace == "me" else id


async def writable(served: Served, request: Request, id: str) -> Bucket:
    """Finds the bucket that a request wants to change.

    Raises:
        Refusal: There is none that the caller may see, or it is not the caller's to change.
    """
    bucket = await readable(served, request, id)
    served.require_writer(request, TYPE, bucket.id)
    return bucket


def visible(served: Served, caller: Caller, bucket: Bucket) -> bool:
    """Says whether the caller may know of a bucket.

    Raises:
        FileNotFoundError: The bucket is gone.
    """
    return not _private(served, bucket) or served.hub.access.may_read(caller, TYPE, bucket.id)


def _private(served: Served, bucket: Bucket) -> bool:
    return served.hub.access.rule(TYPE, bucket.id).private or bucket.settings().private


# -- buckets


async def create(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/buckets/ORG/NAME``: makes a bucket; as ORG, ``me`` is the caller."""
    id = _own(served, request, values["bucket"])
    if not valid_id(id):
        raise bad_request(
            "A bucket's id must be ORG/NAME of letters, digits, '-', '_' and '.', 96 characters at most."
        )
    served.require_writer(request, TYPE, id)
    private = private_of(await read_json(request, empty=True))
    url = f"{served.base_url(request)}/buckets/{id}"
    try:
        await served.write(TYPE, id, served.hub.buckets.create, id, private is True)
    except Refusal as refusal:
        if refusal.status == 409:
            refusal.body["url"] = url
        raise
    return JSONResponse({"url": url, "id": id, "name": id})


async def info(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/buckets/ORG/NAME``: what a bucket is and how much it holds."""
    bucket = await readable(served, request, values["bucket"])
    return JSONResponse(await _reading(served, request, _info, served, bucket))


def _info(served: Served, bucket: Bucket) -> dict[str, Any]:
    settings, files = bucket.settings(), bucket.files()
    return {
        "id": bucket.id,
        "author": bucket.id.partition("/")[0],
        "private": _private(served, bucket),
        "createdAt": time_text(settings.created),
        "size": sum(found.stamp.size for found in files.values()),
        "totalFiles": len(files),
    }


async def list_buckets(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/buckets/ORG``: the buckets of an organisation or user that the caller may see, in pages."""
    caller = served.caller(request)
    namespace = values["namespace"]
    if namespace == "me":
        if caller.anonymous and not served.hub.access.anyone_writes:
            raise Refusal(401, "You must be authenticated to list your own buckets: send a token (HF_TOKEN).")
        namespace = served.author(request)
    words = [word.lower() for word in request.query_params.getlist("search")]
    limit = number(request.query_params.get("limit"), _PAGE, _PAGE)
    after = _cursor(request)

    def listed() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for id in visible_buckets(served, caller):
            owner, _, name = id.partition("/")
            bucket = served.hub.buckets.find(id)
            wanted = owner == namespace and id > after and all(word in name.lower() for word in words)
            if wanted and bucket is not None and len(found) <= limit:
                with contextlib.suppress(FileNotFoundError, Refusal):
                    found.append(_info(served, bucket))
        return found

    told = await served.call(listed)
    headers = {}
    if len(told) > limit:
        headers["Link"] = next_link(served, request, _encoded(told[limit - 1]["id"]))
    return JSONResponse(told[:limit], headers=headers)


def visible_buckets(served: Served, caller: Caller) -> list[str]:
    """Lists the ids of the buckets that a caller may see."""
    found = []
    for id in served.hub.buckets.ids():
        bucket = served.hub.buckets.find(id)
        # Removed since the folder was listed, or damaged, which must not hide the others.
        with contextlib.suppress(FileNotFoundError, GristmillError):
            if bucket is not None and visible(served, caller, bucket):
                found.append(id)
    return found


async def delete(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``DELETE /api/buckets/ORG/NAME``: deletes a bucket and its files."""
    bucket = await writable(served, request, values["bucket"])
    await served.write(TYPE, bucket.id, served.hub.buckets.delete, bucket)
    return Response(None, 200)


async def settings(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``PUT /api/buckets/ORG/NAME/settings``: makes a bucket private or public."""
    bucket = await writable(served, request, values["bucket"])
    private = private_of(await read_json(request))
    if private is not None:
        await served.write(TYPE, bucket.id, served.hub.buckets.set_private, bucket, private)
    return JSONResponse({"private": await served.call(_private, served, bucket)})


async def move(served: Served, request: Request, old: str, new: str) -> Response:
    """``POST /api/repos/move`` with the type ``bucket``: gives a bucket another id."""
    bucket = await writable(served, request, old)
    served.require_writer(request, TYPE, new)
    await served.write(TYPE, bucket.id, served.hub.buckets.move, bucket, new)
    await served.save(served.hub.moves.add, TYPE, bucket.id, new)
    return JSONResponse({"url": f"{served.base_url(request)}/buckets/{new}"})


# -- files


async def tree(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/buckets/ORG/NAME/tree[/PREFIX]``: files whose paths begin with a text, and folders, in pages."""
    bucket = await readable(served, request, values["bucket"])
    query = request.query_params
    limit = number(query.get("limit"), _PAGE, _PAGE)
    told = await _reading(
        served,
        request,
        _page,
        bucket,
        values["path"],
        flag(query.get("recursive")),
        _cursor(request),
        limit + 1,
    )
    headers = {}
    if len(told) > limit:
        headers["Link"] = next_link(served, request, _encoded(told[limit - 1]["path"]))
    return JSONResponse(told[:limit], headers=headers)


def _page(bucket: Bucket, prefix: str, recursive: bool, after: str, count: int) -> list[dict[str, Any]]:
    files = bucket.files()
    paths = list(files)
    found: dict[str, Found] = {}
    newest: dict[str, int] = {}
    for path in paths[bisect.bisect_left(paths, prefix) :]:
        if not path.startswith(prefix):
            break
        # The prefix is a text on the Hub: "logs" finds logs/a, which is in the folder, and logs2/a, which clients drop.
        start = len(prefix) + (1 if prefix and path[len(prefix) :].startswith("/") else 0)
        inner, slash, _ = path[start:].partition("/")
        if slash and not recursive:
            name = path[:start] + inner
            newest[name] = max(newest.get(name, 0), files[path].stamp.ctime_ns)
        else:
            found[path] = files[path]
    names = sorted(name for name in (*found, *newest) if name > after)[:count]
    return [_entry(bucket, found[name]) if name in found else _folder(name, newest[name]) for name in names]


def _folder(path: str, changed_ns: int) -> dict[str, Any]:
    return {"type": "directory", "path": path, "uploadedAt": time_text(changed_ns / 1e9)}


def _entry(bucket: Bucket, found: Found) -> dict[str, Any]:
    return {
        "type": "file",
        "path": found.path,
        "size": found.stamp.size,
        "xetHash": bucket.hashes.compute(found),
        "mtime": time_text(found.modified),
        "uploadedAt": time_text(found.stamp.ctime_ns / 1e9),
    }


async def paths_info(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/buckets/ORG/NAME/paths-info``: entries of the files that exist."""
    bucket = await readable(served, request, values["bucket"])
    paths = (await read_json(request)).get("paths")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise bad_request("paths must be a list of texts.")
    if len(paths) > _MOST_PATHS:
        raise bad_request(f"At most {_MOST_PATHS} paths can be asked for at once.")

    def entries() -> list[dict[str, Any]]:
        found = [bucket.find(path) for path in dict.fromkeys(paths) if _plain(path)]
        return [_entry(bucket, each) for each in found if each is not None]

    return JSONResponse(await _reading(served, request, entries))


def _plain(path: str) -> bool:
    try:
        return bool(check_path(path))
    except Refusal:
        return False  # the root, or a folder with a slash at its end: no file


async def resolve(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/buckets/ORG/NAME/resolve/PATH``: the content of a file."""
    path = check_path(values["path"])
    bucket = await readable(served, request, values["bucket"])

    async def answer() -> Response:
        found = await served.call(bucket.find, path)
        if found is None:
            raise Refusal(404, f"There is no {shorten(path)} in this bucket.", "EntryNotFound")
        headers = file_headers(bucket_entry(found), None)
        hash = bucket.hashes.get(found)
        if hash is None and request.method == "HEAD":
            hash = await served.call(bucket.hashes.compute, found)
        if hash is not None:
            url = f"{served.base_url(request)}/api/buckets/{bucket.id}/xet-read-token"
            headers |= {"X-Xet-Hash": hash, "Link": f'<{url}>; rel="xet-auth"'}
        return await file_response(request, bucket_entry(found), headers, served.reads)

    return await until_still(answer, bucket.distrust, path)


def bucket_entry(found: Found) -> Entry:
    """Describes a file as those that answer requests for files want it; the stamp stands for the content."""
    stamp = found.stamp
    return Entry(found.path, stamp.size, f"{stamp.inode:x}-{stamp.size:x}-{stamp.ctime_ns:x}", None, found)


async def batch(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/buckets/ORG/NAME/batch``: adds, copies and deletes files, each by itself."""
    bucket = await writable(served, request, values["bucket"])
    with await served.save(open_spool, served) as body:
        await receive(request, served, body, _LARGEST_BATCH)
        body.seek(0)
        operations = await served.save(parse_batch, body)
    sources: dict[tuple[str, str], Bucket | None] = {}
    for operation in operations:
        type, id = operation.source
        if operation.kind == "copyFile" and operation.source not in sources:
            sources[operation.source] = await _source(served, request, id) if type == "bucket" else None

    def source_of(operation: BucketOperation) -> Bucket | None:
        return sources[operation.source]

    failed = await served.write(TYPE, bucket.id, apply_batch, bucket, operations, source_of)
    told = {
        "success": not failed,
        "processed": len(operations),
        "succeeded": len(operations) - len(failed),
        "failed": failed,
    }
    return JSONResponse(told, 422 if failed and len(failed) == len(operations) else 200)


async def _source(served: Served, request: Request, id: str) -> Bucket | None:
    try:
        return await readable(served, request, id)
    except Refusal:
        return None


async def absent(served: Served, request: Request, values: dict[str, str]) -> Response:
    """What else could be asked of a bucket, such as its events, which clients do without."""
    await readable(served, request, values["bucket"])
    raise Refusal(404, "There is nothing at this address.")


# -- xet


async def write_token(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/buckets/ORG/NAME/xet-write-token``: a token for uploads, and where to send them."""
    bucket = await writable(served, request, values["bucket"])
    await served.save(bucket.sweep_uploads)
    store = await served.save(xet_store.begin, bucket)
    return xet_api.token_answer(served, request, xet_api.WRITE_PURPOSE, TYPE, bucket.id, f"/api/xet/{store}")


async def read_token(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/buckets/ORG/NAME/xet-read-token``: a token for downloads, and where they are to be had."""
    bucket = await readable(served, request, values["bucket"])
    return xet_api.token_answer(served, request, xet_api.READ_PURPOSE, TYPE, bucket.id, "/api/xet")


# -- what they share


async def _reading(served: Served, request: Request, function: Any, *args: Any) -> Any:
    """Runs something that looks at a bucket, which may be deleted or changed meanwhile."""
    try:
        return await until_still(lambda: served.call(function, *args), lambda: None, "The bucket")
    except FileNotFoundError as error:
        raise repo_not_found(served.caller(request).anonymous) from error


def _cursor(request: Request) -> str:
    cursor = request.query_params.get("cursor")
    try:
        return base64.urlsafe_b64decode(cursor).decode() if cursor else ""
    except (binascii.Error, ValueError) as error:
        raise bad_request("The cursor is not one that this server gave out.") from error


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()
