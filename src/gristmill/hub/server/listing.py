"""What the API says about repositories, files and commits, as JSON values. Pure: no I/O, no requests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.hashing import pointer_text
from gristmill.hub.server.snapshots import Commit, Entry, Folder, Snapshot

COMMIT_TITLE = "Content of the folder"
_OF_THE_CARD = {"models": ("pipeline_tag", "library_name"), "spaces": ("sdk",)}


def time_text(seconds: float) -> str:
    """Writes a time as the API does.

    Args:
        seconds: Since 1970.

    Example:
        >>> time_text(1.5)
        '1970-01-01T00:00:01.500Z'
    """
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def tree_entry(item: Entry | Folder, commit: str | None = None) -> dict[str, Any]:
    """Describes a file or folder of a tree.

    Args:
        item: The file or folder.
        commit: The commit to name as the last one that touched it, if no history says which; None to leave that out.
    """
    told: dict[str, Any]
    if isinstance(item, Folder):
        told = {"type": "directory", "oid": item.oid, "size": 0, "path": item.path}
    else:
        told = {"type": "file", "oid": item.blob_id, "size": item.size, "path": item.path}
        if item.sha256 is not None:
            pointer = len(pointer_text(item.sha256, item.size))
            told["lfs"] = {"oid": item.sha256, "size": item.size, "pointerSize": pointer}
    if commit is not None:
        last = item.commit
        id, title = (commit, COMMIT_TITLE) if last is None else (last.id, last.title)
        told["lastCommit"] = {"id": id, "title": title, "date": time_text(item.modified)}
    return told


def siblings(entries: Iterable[Entry], blobs: bool) -> list[dict[str, Any]]:
    """Lists files the way repository infos do; `blobs` adds sizes and ids."""
    told = []
    for entry in entries:
        item: dict[str, Any] = {"rfilename": entry.path}
        if blobs:
            item |= {"size": entry.size, "blobId": entry.blob_id}
            if entry.sha256 is not None:
                pointer = len(pointer_text(entry.sha256, entry.size))
                item["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": pointer}
        told.append(item)
    return told


def repo_head(
    type: str, id: str, card: ServedCard, *, private: bool, gated: Any, created: float, modified: float
) -> dict[str, Any]:
    """Describes a repository without looking into its files."""
    told: dict[str, Any] = {
        "_id": hashlib.sha1(f"{type}/{id}".encode(), usedforsecurity=False).hexdigest()[:24],
        "id": id,
        "author": id.partition("/")[0],
        "lastModified": time_text(modified),
        "createdAt": time_text(created),
        "private": private,
        "gated": gated,
        "disabled": False,
        "downloads": 0,
        "downloadsAllTime": 0,
        "likes": 0,
        "trendingScore": 0,
        "tags": card.tags,
    }
    if type == "models":
        told["modelId"] = id
    for key in _OF_THE_CARD.get(type, ()):
        value = (card.metadata or {}).get(key)
        if isinstance(value, str):
            told[key] = value
    if card.metadata is not None:
        told["cardData"] = dict(card.metadata)
    return told


def repo_files(snapshot: Snapshot, blobs: bool) -> dict[str, Any]:
    """Describes what a repository holds at a revision."""
    used = sum(entry.size for entry in snapshot.entries.values())
    return {
        "sha": snapshot.commit,
        "usedStorage": used,
        "mainSize": used,
        "siblings": siblings(snapshot.entries.values(), blobs),
    }


def only(told: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Cuts a repository info to the keys asked for; its id is always there."""
    wanted = {"_id", "id", *keys}
    return {key: value for key, value in told.items() if key in wanted}


def commit_entry(commit: Commit, formatted: bool) -> dict[str, Any]:
    """Describes a commit."""
    told: dict[str, Any] = {
        "id": commit.id,
        "title": commit.title,
        "message": commit.message,
        "date": time_text(commit.time),
        "authors": [{"user": commit.author, "avatar": ""}],
    }
    if formatted:
        told["formatted"] = {"title": commit.title, "message": commit.message}
    return told


def refs(named: Mapping[str, str], pulls: bool) -> dict[str, Any]:
    """Lists a repository's refs.

    Args:
        named: Commits by full ref, such as ``refs/heads/main``.
        pulls: Whether to list the pull requests.
    """
    kinds = {"heads": "branches", "convert": "converts", "tags": "tags", "pr": "pullRequests"}
    told: dict[str, Any] = {key: [] for key in kinds.values() if pulls or key != "pullRequests"}
    for ref, commit in named.items():
        _, kind, name = ref.split("/", 2)
        if kinds[kind] in told:
            told[kinds[kind]].append({"name": name, "ref": ref, "targetCommit": commit})
    return told
