"""Requests that make, change and delete repositories, branches and tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gristmill.errors import CardError
from gristmill.hub.card import parse_card
from gristmill.hub.server import bucket_api, bucket_files, changes
from gristmill.hub.server.access import Caller
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.operations import parse_file
from gristmill.hub.server.repo import Repo
from gristmill.hub.server.repos import TYPES, valid_id
from gristmill.hub.server.served import Served, private_of, read_json
from gristmill.hub.server.state import MAIN, RepoState

_TYPE_NAMES = {"dataset": "datasets", "model": "models", "space": "spaces"}


async def create(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``POST /api/repos/create``: makes a repository, with some small files if the client has them ready."""
    asked = await read_json(request)
    type, id = _named(served, request, asked)
    served.require_writer(request, type, id)
    private = private_of(asked) is True
    files = asked.get("files") or []
    if not isinstance(files, list):
        raise bad_request("files must be a list.")
    url, author = served.repo_url(request, type, id), served.author(request)
    begun = [parse_file(file) for file in files]
    try:
        await served.write(type, id, changes.create, served.hub, type, id, author, private, begun)
    except Refusal as refusal:
        if refusal.status == 409:
            refusal.body["url"] = url
        raise
    return JSONResponse({"url": url, "name": id, "id": id})


async def delete(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``DELETE /api/repos/delete``: deletes a repository and all of its history."""
    type, id = _named(served, request, await read_json(request))
    repo = await served.writable_repo(request, type, id)
    await served.write(type, id, changes.delete, served.hub, repo)
    return Response(None, 200)


async def move(served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``POST /api/repos/move``: gives a repository another id."""
    asked = await read_json(request)
    old, new = asked.get("fromRepo"), asked.get("toRepo")
    if not isinstance(old, str) or not isinstance(new, str) or not valid_id(new):
        raise bad_request("fromRepo and toRepo must be ids of repositories.")
    if asked.get("type") == "bucket":
        return await bucket_api.move(served, request, old, new)
    type = _type(asked)
    repo = await served.writable_repo(request, type, old)
    served.require_writer(request, type, new)
    await served.write(type, old, changes.move, served.hub, repo, new)
    return JSONResponse({"url": served.repo_url(request, type, new)})


def _named(served: Served, request: Request, asked: dict[str, Any]) -> tuple[str, str]:
    name, organisation = asked.get("name"), asked.get("organization")
    if not isinstance(name, str) or not isinstance(organisation, str | None):
        raise bad_request("name and organization must be texts.")
    id = name if "/" in name else f"{organisation or served.author(request)}/{name}"
    if not valid_id(id):
        raise bad_request(
            "A repository's id must be ORG/NAME of letters, digits, '-', '_' and '.', 96 characters at most."
        )
    return _type(asked), id


def _type(asked: dict[str, Any]) -> str:
    name = asked.get("type") or "model"
    type = _TYPE_NAMES.get(name, name) if isinstance(name, str) else ""
    if type not in TYPES:
        raise bad_request("type must be dataset, model or space.")
    return type


async def settings(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``PUT /api/datasets/ORG/NAME/settings``: makes a repository private or gated, or neither."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    asked = await read_json(request)
    private, gated = private_of(asked), asked.get("gated")
    if gated not in (None, False, "auto", "manual"):
        raise bad_request("gated must be false, auto or manual.")

    def change(state: RepoState) -> RepoState:
        state = state if private is None else replace(state, private=private)
        return state if gated is None else replace(state, gated=gated)

    state = await write_history(served, repo, changes.change_state, change)
    return JSONResponse({"private": state.private, "gated": state.gated or False})


async def write_history(served: Served, repo: Repo, change: Any, *args: Any) -> Any:
    """Changes a repository, which has a history from then on."""
    return await served.write(
        repo.type, repo.id, lambda: change(changes.begin_history(served.hub, repo), *args)
    )


async def add_branch(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/branch/BRANCH``: makes a branch."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    asked = await read_json(request, empty=True)
    start = asked.get("startingPoint") or MAIN
    if not isinstance(start, str):
        raise bad_request("startingPoint must be a revision.")
    await write_history(served, repo, changes.add_ref, "heads", values["rev"], start)
    return JSONResponse({})


async def remove_branch(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``DELETE /api/datasets/ORG/NAME/branch/BRANCH``: deletes a branch."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    await write_history(served, repo, changes.remove_ref, "heads", values["rev"])
    return JSONResponse({})


async def add_tag(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/tag/REV``: gives a revision a name that stays."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    name = (await read_json(request)).get("tag")
    if not isinstance(name, str):
        raise bad_request("tag must be a text.")
    await write_history(served, repo, changes.add_ref, "tags", name, values["rev"])
    return JSONResponse({})


async def remove_tag(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``DELETE /api/datasets/ORG/NAME/tag/TAG``: deletes a tag."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    await write_history(served, repo, changes.remove_ref, "tags", values["rev"])
    return JSONResponse({})


async def squash(served: Served, request: Request, values: dict[str, str]) -> Response:
    """``POST /api/datasets/ORG/NAME/super-squash/BRANCH``: makes the history of a branch one commit."""
    repo = await served.writable_repo(request, values["type"], values["id"])
    message = (await read_json(request)).get("message") or "Squash history"
    if not isinstance(message, str):
        raise bad_request("message must be a text.")
    made = await write_history(served, repo, changes.squash, values["rev"], message, served.author(request))
    return JSONResponse({"commitOid": made})


async def validate_yaml(_served: Served, request: Request, _values: dict[str, str]) -> Response:
    """``POST /api/validate-yaml``: whether the head of a README.md can be read."""
    content = (await read_json(request)).get("content")
    if not isinstance(content, str):
        raise bad_request("content must be the text of a README.md.")
    try:
        parse_card(content, "README.md")
    except CardError as error:
        return JSONResponse({"errors": [{"message": str(error)}], "warnings": []}, 400)
    return JSONResponse({"errors": [], "warnings": []})


def moved_target(served: Served, caller: Caller, parts: list[str]) -> str | None:
    """Gives the path that a request for the old id of a moved repository goes to; None if it is about none.

    Where a repository went that the caller may not see is not told: its new id would be.

    Args:
        served: Knows what was moved.
        caller: Who asks.
        parts: The parts of the request's path, decoded.
    """
    skip = 1 if parts[0] == "api" else 0
    typed = len(parts) > skip and parts[skip] in (*TYPES, bucket_files.TYPE)
    type, first = (parts[skip], skip + 1) if typed else ("models", skip)
    rest = parts[first + 2 :]
    if len(parts) < first + 2 or (skip and not typed):
        return None
    name = parts[first + 1]
    suffix = ".git" if name.endswith(".git") else ""
    new = served.hub.moves.target(type, f"{parts[first]}/{name.removesuffix('.git')}")
    if new is None or not _visible(served, caller, type, new):
        return None
    return "/" + "/".join(
        quote(part, safe="") for part in [*parts[:first], *f"{new}{suffix}".split("/"), *rest]
    )


def _visible(served: Served, caller: Caller, type: str, id: str) -> bool:
    try:
        if type == bucket_files.TYPE:
            bucket = served.hub.buckets.find(id)
            return bucket is not None and bucket_api.visible(served, caller, bucket)
        repo = served.hub.find(type, id)
        return repo is not None and served.visible(caller, repo)
    except FileNotFoundError:
        return False
