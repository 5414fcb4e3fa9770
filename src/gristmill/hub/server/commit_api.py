"""Requests that write files: preupload (how to send what), and the commit itself."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.hub.server import changes, pending
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.hashing import LfsRules, blob_id
from gristmill.hub.server.history import History
from gristmill.hub.server.ignore import ignored
from gristmill.hub.server.intake import Intake
from gristmill.hub.server.operations import (
    AddFile,
    AddStored,
    Header,
    Operation,
    check_commit_path,
    parse_line,
)
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.repos import Hub
from gristmill.hub.server.served import Served, flag, read_json
from gristmill.hub.server.snapshots import Entry, Snapshot
from gristmill.hub.server.spool import open_spool, receive

_MOST_FILES = 1000
_LONGEST_LINE = 32 * 1024 * 1024  # files of more than 10 MB are asked for by LFS
_LARGEST_COMMIT = 1024 * 1024 * 1024
_MOST_OPERATIONS = 100_000
_SETTINGS_LIMIT = 256 * 1024


async def preupload(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/preupload/REV``: how each file is to be sent, and what is there now."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    asked = await read_json(request)
    files = asked.get("files")
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise bad_request("files must be a list of objects.")
    if len(files) > _MOST_FILES:
        raise bad_request(f"At most {_MOST_FILES} files can be asked about at once.")
    snapshot = await served.snapshot(request, repo, values["rev"])
    return JSONResponse({"files": await served.call(_modes, snapshot, asked, files)})


def _modes(snapshot: Snapshot, asked: dict[str, Any], files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own = LfsRules(_text(asked, "gitAttributes", snapshot.entries.get(".gitattributes")))
    usual = LfsRules(None)
    paths = [check_commit_path(file.get("path")) for file in files]
    left_out = ignored(_text(asked, "gitIgnore", snapshot.entries.get(".gitignore")) or "", paths)
    told = []
    for file, path in zip(files, paths, strict=True):
        size = file.get("size", 0)
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise bad_request("size must be a number of bytes.")
        # Data formats go as LFS whatever the attributes say: datasets deletes a shard once it is sent that way.
        lfs = size > 0 and (
            own.matches(path, size) or usual.matches(path, size) or _binary(file.get("sample"))
        )
        entry = snapshot.entries.get(path)
        told.append(
            {
                "path": path,
                "uploadMode": "lfs" if lfs else "regular",
                "shouldIgnore": path in left_out,
                "oid": None if entry is None else entry.sha256 or entry.blob_id,
            }
        )
    return told


def _text(asked: dict[str, Any], key: str, entry: Entry | None) -> str | None:
    sent = asked.get(key)
    if isinstance(sent, str):
        return sent[:_SETTINGS_LIMIT]
    if entry is None:
        return None
    with entry.found.file.open("rb") as stream:
        return stream.read(_SETTINGS_LIMIT).decode("utf-8", "replace")


def _binary(sample: Any) -> bool:
    try:
        content = base64.b64decode(sample) if isinstance(sample, str) else b""
    except (binascii.Error, ValueError):
        return False
    try:
        # The sample may end within a character.
        content.decode() if len(content) < 4 else content[: len(content) - 3].decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        return error.start < len(content) - 6
    return b"\0" in content


async def commit(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/commit/REV``: adds, copies and deletes files, all or nothing."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    author = served.author(request)
    create_pr = flag(request.query_params.get("create_pr"))
    with await served.save(open_spool, served) as body:
        await receive(request, served, body, _LARGEST_COMMIT)
        header, operations, note = await served.save(_read_commit, body, History(repo.folder))
    made = await served.write(
        repo.type,
        repo.id,
        _commit,
        served.hub,
        repo,
        values["rev"],
        header,
        operations,
        author,
        create_pr,
        note,
    )
    page = served.repo_url(request, repo.type, repo.id)
    told = {
        "success": True,
        "commitOid": made.commit,
        "commitUrl": f"{page}/commit/{made.commit}",
        "hookOutput": "",
    }
    if made.pull is not None:
        told["pullRequestUrl"] = f"{page}/discussions/{made.pull}"
    return JSONResponse(told)


def _commit(
    hub: Hub,
    repo: Repo,
    revision: str,
    header: Header,
    operations: list[Operation],
    author: str,
    create_pr: bool,
    note: pending.CommitNote,
) -> changes.Committed:
    kept = changes.begin_history(hub, repo)
    return changes.commit(kept, revision, header, operations, author, create_pr, note)


def _read_commit(body: IO[bytes], history: History) -> tuple[Header, list[Operation], pending.CommitNote]:
    """Reads a commit line by line; contents are stored as they come, nothing refers to them yet."""
    header: Header | None = None
    operations: list[Operation] = []
    with Intake(history) as intake, pending.CommitNote(history) as note:
        for line in _lines(body):
            told = parse_line(line)
            if isinstance(told, Header) != (header is None):
                raise bad_request("A commit must begin with its header, and have one.")
            if isinstance(told, Header):
                header = told
            elif isinstance(told, AddFile):
                size, id = len(told.content), blob_id(told.content)
                note.add(id)
                if not history.has(id, size):
                    intake.add(told.content, id)
                operations.append(AddStored(told.path, None, size, id))
            else:
                operations.append(told)
            if len(operations) > _MOST_OPERATIONS:
                raise Refusal(413, f"A commit may have {_MOST_OPERATIONS} operations at most.")
        if header is None:
            raise bad_request("A commit must begin with its header.")
        intake.finish()
    return header, operations, note


def _lines(body: IO[bytes]) -> Iterator[bytes]:
    body.seek(0)
    while line := body.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise Refusal(413, "A file of the commit is too large to be sent in it; send it by LFS.")
        if line.strip():
            yield line
