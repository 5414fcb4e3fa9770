"""``gristmill hub serve --mirror``: what is not here is fetched from another Hub, kept, and served from then on.

A revision that a request names is asked for again when the last answer is older than `ttl`; without that Hub, what it
was last is served, with ``X-Gristmill-Mirror: stale``. Repositories that are no copies come first and are never asked for.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from functools import partial

import anyio
import anyio.to_thread

from gristmill import config
from gristmill.errors import (
    GristmillError,
    HubError,
    InvalidArgumentError,
    RevisionNotFoundError,
    UnsafePathError,
)
from gristmill.files.http import is_unreachable
from gristmill.hub.server.access import Caller
from gristmill.hub.server.errors import Refusal, repo_not_found, unwritable
from gristmill.hub.server.fetching import Fetches
from gristmill.hub.server.mirror_room import MirrorRoom
from gristmill.hub.server.mirrored import MirroredRepo
from gristmill.hub.server.pinning import change, pin
from gristmill.hub.server.repo import CONVERT
from gristmill.hub.server.repos import Hub, valid_id
from gristmill.hub.server.upstream import Upstream, as_refusal, token_for
from gristmill.hub.tree import is_commit
from gristmill.logging import get_logger

__all__ = ["Mirror", "open_mirror"]

_log = get_logger(__name__)
_TYPES = ("datasets", "models")
_EXPORTS = frozenset({CONVERT, "~parquet"})
_THREADS = 8
_PASSING = 64
_TURNS = 64
# A Hub that did not answer is left alone for a while: each request would wait for it again.
_DOWN_FOR = 10.0
_REFUSED_FOR = 10.0
_MOST_REMEMBERED = 10_000


class Mirror:
    """Fetches what is missing from another Hub.

    Args:
        hub: The served folder.
        upstream: The other Hub.
        ttl: Seconds for which a branch is taken to be what that Hub said last.
        most: Bytes that the contents fetched may take; None for no bound.
    """

    def __init__(self, hub: Hub, upstream: Upstream, ttl: float = 60.0, most: int | None = None) -> None:
        self.hub = hub
        self.upstream = upstream
        self.ttl = ttl
        self.room = None if most is None else MirrorRoom(hub.root, upstream.endpoint, most)
        self.fetches = Fetches(upstream, self.room)
        self.passing = anyio.CapacityLimiter(_PASSING)
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._turns = [anyio.Lock() for _ in range(_TURNS)]
        self._answers: OrderedDict[tuple[str, str, str], tuple[float, bool | Refusal]] = OrderedDict()
        self._lock = threading.Lock()
        self._down_until = 0.0

    def close(self) -> None:
        """Stops what is being fetched; a later start goes on with it."""
        self.fetches.close()
        self.upstream.close()

    async def prepare(self, caller: Caller, values: dict[str, str], convert: bool = False) -> bool:
        """Makes sure that what a request is about is here as far as the other Hub has it.

        Args:
            caller: Who asks.
            values: The repository's type and id, and the revision if one is named.
            convert: Whether the Parquet files of `main` are asked for.

        Returns:
            Whether it is as the other Hub said some time ago, and can't be asked now.

        Raises:
            Refusal: It is not here, and that Hub has not got it, does not give it, or can't be reached.
        """
        type, id = values["type"], values["id"]
        access = self.hub.access
        hidden = access.rule(type, id).private and not access.may_read(caller, type, id)
        if type not in _TYPES or not valid_id(id) or hidden:
            return False
        try:
            revision = values.get("rev", "main")
            # What that Hub has not converted, this one may.
            convert = convert or revision in _EXPORTS
            stale = await self._ensured(type, id, "main" if revision in _EXPORTS else revision)
            if convert:
                try:
                    await self._ensured(type, id, CONVERT)
                except Refusal as refusal:
                    _log.info("%s has no Parquet files made by the upstream Hub: %s", id, refusal.message)
        except Refusal as refusal:
            if refusal.code == "RepoNotFound" and caller.anonymous:
                raise Refusal(401, refusal.message, refusal.code) from refusal
            raise
        return stale

    async def _ensured(self, type: str, id: str, revision: str) -> bool:
        key = (type, id, revision)
        known = self._remembered(key)
        if known is None:
            async with self._turns[hash(key[:2]) % _TURNS]:
                known = self._remembered(key)
                if known is None:
                    known = await anyio.to_thread.run_sync(partial(self._ask, *key), limiter=self._threads)
        if isinstance(known, Refusal):
            # It may have been made here since.
            if await anyio.to_thread.run_sync(self._is_own, type, id, limiter=self._threads):
                return False
            raise Refusal(known.status, known.message, known.code, known.headers)
        return known

    def _is_own(self, type: str, id: str) -> bool:
        repo = self.hub.find(type, id)
        return repo is not None and not isinstance(repo, MirroredRepo)

    def _remembered(self, key: tuple[str, str, str]) -> bool | Refusal | None:
        until, answer = self._answers.get(key, (0.0, False))
        return answer if time.monotonic() < until else None

    def _ask(self, type: str, id: str, revision: str) -> bool | Refusal:
        answer: bool | Refusal
        try:
            answer = self._pin(type, id, revision)
            until = self.ttl if answer is False else min(self.ttl, _DOWN_FOR)
        except Refusal as refusal:
            answer, until = refusal, 0.0 if refusal.status in (429, 502, 504) else _REFUSED_FOR
        with self._lock:
            self._answers[type, id, revision] = (time.monotonic() + min(until, self.ttl), answer)
            self._answers.move_to_end((type, id, revision))
            while len(self._answers) > _MOST_REMEMBERED:
                self._answers.popitem(last=False)
        return answer

    def _pin(self, type: str, id: str, revision: str) -> bool:
        """Brings a revision up to date; says whether what is here could not be compared with the other Hub."""
        repo = self.hub.find(type, id)
        if repo is not None and not isinstance(repo, MirroredRepo):
            return False
        if repo is not None and repo.state().upstream != self.upstream.endpoint:
            return False  # a copy from elsewhere is served as it is
        known = repo.commit_of(revision) if repo is not None else None
        if known is not None and is_commit(revision):
            return False
        down = time.monotonic() < self._down_until
        if down and known is not None:
            return True
        if down:
            message = f"{id} is not here as asked for, and {self.upstream.endpoint} can't be reached."
            raise Refusal(504, message, headers={"Retry-After": "5"})
        ref = repo.state().ref_of(revision) if repo is not None else None
        try:
            got = pin(self.hub.root, self.upstream, type, id, revision, ref)
            commit = got.facts.commit
            change(got.folder, lambda state: state.with_commit(commit, got.ref))
        except (HubError, UnsafePathError) as error:
            if isinstance(error, HubError) and is_unreachable(error):
                self._down_until = time.monotonic() + _DOWN_FOR
            if isinstance(error, RevisionNotFoundError) and repo is not None and ref is not None:
                gone = ref
                change(repo.folder, lambda state: state.without_ref(gone))
            elif known is not None:
                _log.warning(
                    "%s of %s is served as it was last, commit %s: %s", revision, id, known[:12], error
                )
                return True
            raise as_refusal(error, self.upstream.endpoint, id, revision) from error
        except FileNotFoundError as error:
            raise repo_not_found(anonymous=False) from error  # removed meanwhile
        except GristmillError as error:
            if isinstance(error.__cause__, OSError):
                raise unwritable("to its disk", error.__cause__) from error
            _log.warning("%s could not be mirrored: %s", id, error)
            raise Refusal(500, f"{id} could not be mirrored; the server's log says why.") from error
        return False


def open_mirror(
    hub: Hub, endpoint: str | None, token: str | bool | None, ttl: float, most: int | None = None
) -> Mirror:
    """Makes a served folder fetch what it has not got.

    Args:
        hub: The served folder.
        endpoint: The other Hub; None for ``HF_ENDPOINT``.
        token: A token for it; None for the one that is set up for ``HF_ENDPOINT``, if it is that; False for none.
        ttl: Seconds for which an answer about a branch holds.
        most: Bytes that the contents fetched may take; None for no bound.

    Raises:
        InvalidArgumentError: The endpoint is no URL, the token can't be one, or offline mode is on.
    """
    if config.HF_HUB_OFFLINE:
        raise InvalidArgumentError(
            "Offline mode is on and a mirror fetches. Unset HF_HUB_OFFLINE, or serve without --mirror."
        )
    upstream = Upstream(endpoint or config.HF_ENDPOINT, token_for(endpoint, token))
    hub.upstream = upstream.endpoint
    return Mirror(hub, upstream, ttl, most)
