"""Requests about pull requests and discussions: open, list, read, comment, rename, close, merge."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.hub.server import discussions
from gristmill.hub.server.discussions import Event, check_text, check_title
from gristmill.hub.server.errors import bad_request, revision_not_found
from gristmill.hub.server.listing import time_text
from gristmill.hub.server.manage_api import write_history
from gristmill.hub.server.merging import diff_text
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.served import Served, flag, number, read_json
from gristmill.hub.server.state import Pull
from gristmill.hub.server.versioned import VersionedRepo

_PAGE = 50
_MOST_COMMITS = 500


async def open_discussion(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/discussions``: begins a discussion, or a pull request without a change so far."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    asked = await read_json(request)
    title = check_title(asked.get("title"))
    description = check_text(asked.get("description") or title, "description")
    pull = flag(str(asked.get("pullRequest", False)))
    num = await write_history(
        served, repo, discussions.open_discussion, title, description, served.author(request), pull
    )
    url = f"{served.repo_url(request, repo.type, repo.id)}/discussions/{num}"
    return JSONResponse({"num": num, "url": url, "pullRequest": pull})


async def list_discussions(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/discussions``: pull requests and discussions, the newest first, in pages."""
    repo = await served.repo(request, values["type"], values["id"])
    query = request.query_params
    pulls = await served.call(_pulls, repo)
    kind, status, author = query.get("type", "all"), query.get("status", "all"), query.get("author")
    found = [
        (num, pull)
        for num, pull in sorted(pulls.items(), reverse=True)
        if kind in ("all", "pull_request" if pull.commit else "discussion")
        and status in ("all", "closed" if pull.status in ("closed", "merged") else "open")
        and author in (None, pull.author)
    ]
    page = query.get("p")
    start = _PAGE * (0 if page in (None, "0") else number(page, 0, 10**7))
    told = [_discussion(repo, num, pull) for num, pull in found[start : start + _PAGE]]
    closed = sum(pull.status in ("closed", "merged") for pull in pulls.values())
    counts = {"count": len(found), "start": start, "numClosedDiscussions": closed}
    return JSONResponse({"discussions": told, **counts})


async def discussion(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``/api/datasets/ORG/NAME/discussions/N``: one of them, with what was said and done."""
    diff = flag(request.query_params.get("diff"))
    # What was changed is content: gated repositories show it to their members only.
    repo = await served.repo(request, values["type"], values["id"], content=diff)
    num = _number(values["number"])
    return JSONResponse(await served.in_turn(request, repo, _details, repo, num, diff))


def _details(repo: Repo, num: int, diff: bool) -> dict[str, Any]:
    pulls = _pulls(repo)
    if num not in pulls or not isinstance(repo, VersionedRepo):
        raise revision_not_found(f"refs/pr/{num}")
    pull = pulls[num]
    events = [_event(each) for each in discussions.read_events(repo.kept, num, pull)]
    told = _discussion(repo, num, pull)
    if pull.commit is not None:
        events += _commits(repo, pull)
        told["changes"] = {"base": f"refs/heads/{pull.base}", "mergeCommitId": pull.merge_commit}
        told["filesWithConflicts"] = discussions.conflicts_of(repo, pull)
        told["diffUrl"] = None
        if diff:
            trees = repo.kept.tree(pull.base_commit), repo.kept.tree(pull.commit)
            told["diff"] = diff_text(*trees, lambda blob: repo.kept.object(blob).read_bytes())
    # Those of one moment stay as they came.
    return {**told, "events": sorted(events, key=lambda event: str(event["createdAt"]))}


def _commits(repo: VersionedRepo, pull: Pull) -> list[dict[str, Any]]:
    snapshot = repo.named(pull.commit or "")
    assert snapshot is not None
    own = takewhile(lambda commit: commit.id != pull.base_commit, repo.history(snapshot))
    return [
        {
            "id": commit.id[:24],
            "type": "commit",
            "createdAt": time_text(commit.time),
            "author": {"name": commit.author},
            "data": {"subject": commit.title, "oid": commit.id},
        }
        for commit, _ in zip(own, range(_MOST_COMMITS), strict=False)
    ]


async def comment(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/comment``: says something."""
    repo, num, asked = await _asked(served, request, values)
    text = check_text(asked.get("comment"), "comment")
    said = await write_history(served, repo, discussions.comment, num, text, served.author(request))
    return JSONResponse({"newMessage": _event(said)})


async def edit_comment(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/comment/ID/edit``: changes what one said."""
    repo, num, asked = await _asked(served, request, values)
    text = check_text(asked.get("content"), "content")
    author = served.author(request)
    done = await write_history(served, repo, discussions.edit_comment, num, values["comment"], text, author)
    return JSONResponse({"updatedComment": _event(done)})


async def hide_comment(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/comment/ID/hide``: takes away what somebody said, for good."""
    repo, num, _ = await _asked(served, request, values)
    author = served.author(request)
    done = await write_history(served, repo, discussions.edit_comment, num, values["comment"], None, author)
    return JSONResponse({"updatedComment": _event(done)})


async def rename(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/title``: gives it another title."""
    repo, num, asked = await _asked(served, request, values)
    title = check_title(asked.get("title"))
    done = await write_history(served, repo, discussions.rename, num, title, served.author(request))
    return JSONResponse({"newTitle": _event(done)})


async def change_status(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/status``: opens or closes it."""
    repo, num, asked = await _asked(served, request, values)
    status = asked.get("status")
    if status not in ("open", "closed"):
        raise bad_request("status must be open or closed.")
    done = await write_history(
        served, repo, discussions.change_status, num, status, _said(asked), served.author(request)
    )
    return JSONResponse({"newStatus": _event(done)})


async def merge(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST …/discussions/N/merge``: brings a pull request into its branch."""
    repo, num, asked = await _asked(served, request, values)
    made = await write_history(
        served, repo, discussions.merge_pull, num, _said(asked), served.author(request)
    )
    return JSONResponse({"success": True, "mergeCommitId": made})


async def _asked(
    served: Served, request: Request, values: dict[str, str]
) -> tuple[Repo, int, dict[str, Any]]:
    repo = await served.writable_repo(request, values["type"], values["id"])
    num = _number(values["number"])
    if num not in await served.call(_pulls, repo):
        raise revision_not_found(f"refs/pr/{num}")
    return repo, num, await read_json(request, empty=True)


def _said(asked: dict[str, Any]) -> str | None:
    return check_text(asked["comment"], "comment") if asked.get("comment") else None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _pulls(repo: Repo) -> dict[int, Pull]:
    return dict(repo.kept.state().pulls) if isinstance(repo, VersionedRepo) else {}


def _discussion(repo: Repo, num: int, pull: Pull) -> dict[str, Any]:
    return {
        "num": num,
        "title": pull.title,
        "author": {"name": pull.author},
        "createdAt": time_text(pull.time),
        "status": pull.status,
        "isPullRequest": pull.commit is not None,
        "repo": {"name": repo.id, "type": repo.type.removesuffix("s")},
    }


def _event(event: Event) -> dict[str, Any]:
    told = {
        "id": event["id"],
        "type": event["type"],
        "createdAt": time_text(event["time"]),
        "author": {"name": event["author"]},
    }
    if event["type"] == "comment":
        *earlier, latest = [
            {"raw": text, "html": "", "updatedAt": time_text(when), "author": {"name": author}}
            for text, when, author in event["texts"]
        ]
        about = {"edited": bool(earlier), "hidden": event["hidden"], "history": earlier}
        return {**told, "data": {"latest": latest, **about}}
    if event["type"] == "title-change":
        return {**told, "data": {"from": event["old"], "to": event["new"]}}
    return {**told, "data": {"status": event["status"]}}
