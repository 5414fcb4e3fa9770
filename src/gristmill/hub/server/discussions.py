"""Pull requests and discussions on disk: what is said in them, their status, and the merge.

Number, title, status and commits are in the repository's state, so that a merge moves the branch and closes the pull
request in one step. What people say is in ``.gristmill/discussions/N.json``.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Any, Literal

from gristmill.errors import FileFormatError
from gristmill.files.atomic import atomic_file
from gristmill.hub.server import changes
from gristmill.hub.server.errors import Refusal, bad_request, revision_not_found
from gristmill.hub.server.history import History
from gristmill.hub.server.merging import merge
from gristmill.hub.server.operations import Header
from gristmill.hub.server.state import MAIN, Pull, RepoState
from gristmill.hub.server.versioned import VersionedRepo

_FOLDER = "discussions"
_MOST_EVENTS = 5000
_LONGEST_TEXT = 64 * 1024
_LONGEST_TITLE = 300

Event = dict[str, Any]
"""``id``, ``type``, ``time``, ``author``, and what its type needs."""


def check_text(value: Any, name: str, longest: int = _LONGEST_TEXT) -> str:
    """Gives back a text of a request, if it is one and not too long.

    Raises:
        Refusal: It is not (400).
    """
    if not isinstance(value, str) or not value.strip():
        raise bad_request(f"{name} must be a text.")
    if len(value) > longest:
        raise bad_request(f"{name} may have {longest} characters at most.")
    return value.strip()


def check_title(value: Any) -> str:
    """Gives back a title of a request; see `check_text`."""
    return " ".join(check_text(value, "title", _LONGEST_TITLE).split())


def open_discussion(repo: VersionedRepo, title: str, description: str, author: str, pull: bool) -> int:
    """Begins a discussion, or a pull request that changes nothing yet and so is a draft; gives its number."""

    def change(state: RepoState) -> RepoState:
        head = state.heads[MAIN] if pull else None
        begun = Pull(
            head, MAIN if pull else "", head or "", title, description, author, changes.now(),
            "draft" if pull else "open",
        )  # fmt: skip
        return replace(state, pulls={**state.pulls, changes.next_number(state): begun})

    return max(changes.change_state(repo, change).pulls)


def read_events(history: History, number: int, pull: Pull) -> list[Event]:
    """Reads what was said and done, the oldest first; the description is the first comment.

    Raises:
        FileFormatError: It is damaged.
    """
    path = history.folder / _FOLDER / f"{number}.json"
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["events"]
    except FileNotFoundError:
        first = _event(
            "comment", pull.author, texts=[[pull.description, pull.time, pull.author]], hidden=False
        )
        return [{**first, "id": f"{number:024x}", "time": pull.time}]
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError.at("can't be read as a discussion", file=path) from error
    return list(events)


def _write_events(history: History, number: int, events: list[Event]) -> None:
    if len(events) > _MOST_EVENTS:
        raise Refusal(413, f"A discussion may have {_MOST_EVENTS} events at most.")
    with atomic_file(history.inside(_FOLDER) / f"{number}.json", "w", make_folder=False) as file:
        json.dump({"events": events}, file, ensure_ascii=False, separators=(",", ":"))


def _append(history: History, number: int, events: list[Event], *more: Event) -> Event:
    """Writes some events after those before; gives the last. None is earlier than the one before, whatever the clock."""
    for event in more:
        before = events[-1]["time"] if events else 0.0
        events = [*events, {**event, "time": max(event["time"], before)}]
    _write_events(history, number, events)
    return events[-1]


def _event(type: str, author: str, **more: Any) -> Event:
    return {"id": secrets.token_hex(12), "type": type, "time": changes.now(), "author": author, **more}


def find(state: RepoState, number: int) -> Pull:
    """Gives a pull request or discussion by its number.

    Raises:
        Refusal: There is none (404).
    """
    if number not in state.pulls:
        raise revision_not_found(f"refs/pr/{number}")
    return state.pulls[number]


def comment(repo: VersionedRepo, number: int, text: str, author: str) -> Event:
    """Adds a comment."""
    with repo.kept.writing():
        pull = find(repo.kept.state(), number)
        return _append(repo.kept, number, read_events(repo.kept, number, pull), _comment(text, author))


def _comment(text: str, author: str) -> Event:
    return _event("comment", author, texts=[[text, changes.now(), author]], hidden=False)


def _with_status(said: str | None, status: str, author: str) -> list[Event]:
    # What is said comes before what is done.
    said_first = [_comment(said, author)] if said else []
    return [*said_first, _event("status-change", author, status=status)]


def edit_comment(repo: VersionedRepo, number: int, id: str, text: str | None, author: str) -> Event:
    """Changes a comment, which only its author may; or hides it for good, without a text, as every writer may.

    Raises:
        Refusal: There is no such comment (404), or it is hidden or somebody else's (403).
    """
    with repo.kept.writing():
        events = read_events(repo.kept, number, find(repo.kept.state(), number))
        at = next((at for at, e in enumerate(events) if e["id"] == id and e["type"] == "comment"), None)
        if at is None:
            raise Refusal(404, "There is no such comment.")
        event = events[at]
        if text is not None and (event["hidden"] or event["author"] != author):
            raise Refusal(403, "Only its author can change a comment, and nobody one that is hidden.")
        if text is None:
            events[at] = {**event, "texts": [["", changes.now(), author]], "hidden": True}
        else:
            events[at] = {**event, "texts": [*event["texts"], [text, changes.now(), author]]}
        _write_events(repo.kept, number, events)
        return events[at]


def rename(repo: VersionedRepo, number: int, title: str, author: str) -> Event:
    """Gives a discussion another title."""
    with repo.kept.writing():
        state = repo.kept.state()
        pull = find(state, number)
        done = _event("title-change", author, old=pull.title, new=title)
        done = _append(repo.kept, number, read_events(repo.kept, number, pull), done)
        repo.kept.write_state(_with(state, number, replace(pull, title=title)))
        return done


def change_status(
    repo: VersionedRepo, number: int, status: Literal["open", "closed"], said: str | None, author: str
) -> Event:
    """Opens or closes a discussion.

    Raises:
        Refusal: It is merged, or has that status already (400).
    """
    with repo.kept.writing():
        state = repo.kept.state()
        pull = find(state, number)
        if pull.status in ("merged", status):
            raise bad_request(f"This is {pull.status} already.")
        events = read_events(repo.kept, number, pull)
        done = _append(repo.kept, number, events, *_with_status(said, status, author))
        repo.kept.write_state(_with(state, number, replace(pull, status=status)))
        return done


def merge_pull(repo: VersionedRepo, number: int, said: str | None, author: str) -> str:
    """Brings a pull request into its branch as one commit; gives that.

    Raises:
        Refusal: It is not open or changes nothing (400), its branch is gone (404), or others changed the same files
            since it began (409, with their paths).
    """
    history = repo.kept
    with history.writing():
        state = history.state()
        pull = find(state, number)
        if pull.commit is None or pull.status != "open":
            what = "is no pull request" if pull.commit is None else f"is {pull.status}, not open"
            raise bad_request(f"This {what}.")
        if pull.commit == pull.base_commit:
            raise bad_request("This pull request changes nothing yet.")
        head = state.heads.get(pull.base)
        if head is None:
            raise revision_not_found(pull.base)
        files, conflicts = merge(
            history.tree(pull.base_commit), history.tree(head), history.tree(pull.commit)
        )
        if conflicts:
            raise Refusal(
                409,
                "Others changed the same files since this pull request began.",
                body={"filesWithConflicts": conflicts},
            )
        events = read_events(history, number, pull)
        made = head
        if any(not file.commit for file in files.values()) or len(files) != len(history.tree(head)):
            header = Header(f"{pull.title} (#{number})", said or "", None)
            made = changes.add_commit(history, head, files, header, author)
        merged = replace(pull, status="merged", merge_commit=made)
        history.write_state(_with(changes.moved_ref(state, f"refs/heads/{pull.base}", made), number, merged))
        _append(history, number, events, *_with_status(said, "merged", author))
        return made


def conflicts_of(repo: VersionedRepo, pull: Pull) -> list[str]:
    """Lists the files that stand against merging a pull request now."""
    head = repo.kept.state().heads.get(pull.base)
    if pull.commit is None or head is None or pull.status in ("merged", "closed"):
        return []
    kept = repo.kept
    return merge(kept.tree(pull.base_commit), kept.tree(head), kept.tree(pull.commit))[1]


def _with(state: RepoState, number: int, pull: Pull) -> RepoState:
    return replace(state, pulls={**state.pulls, number: pull})
