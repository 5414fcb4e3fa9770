"""Takes a commit of another Hub into the served folder: the list of its files first, then what refers to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gristmill.errors import InvalidArgumentError
from gristmill.files.atomic import atomic_folder, sweep
from gristmill.files.lock import lock
from gristmill.hub.server.history import History
from gristmill.hub.server.mirrored import MirrorState, mirror_file, read_state, write_files, write_state
from gristmill.hub.server.upstream import Facts, Upstream

__all__ = ["Pin", "change", "pin"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A revision of another Hub that is here.

    Attributes:
        folder: The repository's folder.
        facts: What that Hub says about it, its commit among that.
        ref: The full ref; None for a commit.
    """

    folder: Path
    facts: Facts
    ref: str | None


def pin(root: Path, upstream: Upstream, type: str, id: str, revision: str, known: str | None = None) -> Pin:
    """Asks what a revision stands for now, and keeps the list of its files; no ref leads to it yet.

    A repository that is new here comes to be with its first commit, whole or not at all.

    Args:
        root: The served folder.
        upstream: The other Hub.
        type: ``datasets`` or ``models``.
        id: ``ORG/NAME``.
        revision: Branch, tag, ref or commit.
        known: The full ref, if it is known which the revision names.

    Raises:
        InvalidArgumentError: There is a repository of this id here that is no copy of that one.
        UnsafePathError: That Hub lists a path that can't be used.
        HubError: It refuses, can't be reached, or answers nonsense.
        FileError: The folder can't be written.
    """
    name = "main" if revision == "HEAD" else revision
    facts = upstream.facts(type, id, name)
    ref = known or upstream.ref(type, id, name)
    folder = root / type / id
    if not mirror_file(folder).is_file():
        _create(folder, upstream, type, id, facts)
    state = read_state(mirror_file(folder))
    if (state.upstream, state.id) != (upstream.endpoint, id):
        raise InvalidArgumentError(
            f"{type}/{id} is a mirror of {state.upstream}/{state.id} and not of {upstream.endpoint}. Use another folder."
        )
    history = History(folder)
    if history.find(facts.commit) is None:
        _take(history, upstream, type, id, facts)
    if (state.private, state.gated) != (facts.private, facts.gated):
        change(folder, lambda now: replace(now, private=facts.private, gated=facts.gated))
    return Pin(folder, facts, ref)


def _create(folder: Path, upstream: Upstream, type: str, id: str, facts: Facts) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    sweep(folder.parent)
    with lock(folder.with_name(f".{folder.name}.lock")):
        if mirror_file(folder).is_file():
            return
        if folder.exists():
            raise InvalidArgumentError(
                f"There is a repository {type}/{id} in {folder.parent.parent.parent} that is no mirror. "
                "Use another folder, or remove it."
            )
        with atomic_folder(folder) as made:
            history = History(made)
            _take(history, upstream, type, id, facts)
            created = round(time.time(), 3)
            state = MirrorState(
                upstream.endpoint, id, created=created, private=facts.private, gated=facts.gated
            )
            write_state(mirror_file(made), state)


def _take(history: History, upstream: Upstream, type: str, id: str, facts: Facts) -> None:
    files = upstream.files_at(type, id, facts.commit)
    history.inside()
    write_files(history, upstream.about(type, id, facts), files)


def change(folder: Path, how: Callable[[MirrorState], MirrorState], always: bool = False) -> MirrorState:
    """Replaces what is on record about a copy by what `how` makes of it.

    Args:
        folder: The repository's folder.
        how: Gives the new record.
        always: Write it also if it is the same: servers then look anew at which contents are here.

    Raises:
        FileNotFoundError: The repository is gone.
        FileError: It can't be written.
    """
    with History(folder).writing():
        before = read_state(mirror_file(folder))
        after = how(before)
        if always or after != before:
            write_state(mirror_file(folder), after)
        return after
