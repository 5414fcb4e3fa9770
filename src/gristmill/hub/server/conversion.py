"""Makes Parquet of what is not, when somebody asks for it: in the background, one config at a time, once for a commit.

A request waits a few seconds for it and is told to come again after that (503). What can't be read is told (422), by the
reason that reading it had, and not tried again until the files change. What the machine may be to blame for (too little
memory, too little time) is tried again when it is asked for, at growing distances, and after each start of the server.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import anyio
from starlette.requests import Request

from gristmill.errors import GristmillError
from gristmill.files.atomic import sweep, temporary_name
from gristmill.files.lock import lock
from gristmill.hub.server.convert import ToConvert, to_convert
from gristmill.hub.server.converted import (
    Converted,
    MadeFile,
    Tries,
    copy_files,
    folder_of,
    read_converted,
    write_converted,
)
from gristmill.hub.server.errors import Refusal, header_text, unwritable
from gristmill.hub.server.hashing import blob_id, pointer_text
from gristmill.hub.server.history import History
from gristmill.hub.server.mirrored import MirroredRepo
from gristmill.hub.server.repo import CONVERT, Repo
from gristmill.hub.server.served import Served
from gristmill.hub.server.snapshots import Snapshot
from gristmill.logging import get_logger

__all__ = ["CONVERT_LIMIT", "Converter"]

_log = get_logger(__name__)
CONVERT_LIMIT = 1_000_000_000
"""Bytes of a config's files up to which it is converted."""
_WAIT = 8.0
_LOOK_AGAIN = 0.05
_LONGEST = 3600.0
_AGAIN_AFTER = 60.0
_GROWS = 20
_NAMES = frozenset({CONVERT, "~parquet"})


class _Passing(Exception):
    """A config could not be converted now, and perhaps another time."""


@dataclass
class _Job:
    """A conversion that runs, or ran: what it failed of as a whole, if it did, and when it ended."""

    refusal: Refusal | None = None
    ended: float = 0.0
    finished: bool = False
    children: list[subprocess.Popen[str]] = field(default_factory=list)


class Converter:
    """Converts the datasets of a served folder.

    Args:
        served: What is served.
        limit: Bytes of a config's files up to which it is converted.
    """

    def __init__(self, served: Served, limit: int = CONVERT_LIMIT) -> None:
        self.served = served
        self.limit = limit
        self._jobs: dict[tuple[Path, str], _Job] = {}
        self._lock = threading.Lock()
        self._one = threading.Lock()
        self._stopped = False
        self._began = time.time()

    def close(self) -> None:
        """Ends what runs; nothing of it is kept."""
        self._stopped = True
        for job in list(self._jobs.values()):
            for child in job.children:
                child.kill()

    async def prepare(self, request: Request, values: dict[str, str], listing: bool) -> None:
        """Sees to it that the Parquet files a request asks for are made, if it asks for some and may have them.

        Args:
            request: Says who asks.
            values: The repository, and the revision, config or path.
            listing: Whether the list of Parquet files is asked for.

        Raises:
            Refusal: They are being made (503), can't be made (422), or the caller may not read the repository.
        """
        if values["type"] != "datasets" or not (listing or values.get("rev") in _NAMES):
            return
        repo = await self.served.repo(request, "datasets", values["id"], content=True)
        head = await self.served.in_turn(request, repo, repo.head)
        todo = await self.served.call(self.missing, repo, head)
        if todo:
            job = self._start(repo, head)
            if await self.served.call(_has_others, repo, head, _asked(values), todo):
                await self._tell_failures(request, repo, head, values)
                return
            with anyio.move_on_after(_WAIT):
                while not job.finished:  # noqa: ASYNC110  # a thread converts
                    await anyio.sleep(_LOOK_AGAIN)
            if not job.finished:
                message = f"The Parquet files of {repo.id} are being made; ask again in a few seconds."
                raise Refusal(503, message, headers={"Retry-After": "5"})
            if job.refusal is not None:
                refusal = job.refusal
                raise Refusal(refusal.status, refusal.message, refusal.code, refusal.headers)
        await self._tell_failures(request, repo, head, values)

    async def _tell_failures(
        self, request: Request, repo: Repo, head: Snapshot, values: dict[str, str]
    ) -> None:
        found = await self.served.call(read_converted, repo.folder, head.commit)
        if found is None or not found.failed:
            return
        asked = _asked(values)
        config = asked if asked in found.failed else next(iter(found.failed))
        why = f"The config {config} of {repo.id} could not be converted to Parquet: {found.failed[config]}"
        if asked != config:
            if asked:
                return
            converted = await self.served.in_turn(request, repo, repo.converted)
            if converted is not None:  # the others are there; clients print this
                request.state.warning = f"parquet; {header_text(why)}"
                return
        raise Refusal(422, why, "ConversionFailed")

    def missing(self, repo: Repo, head: Snapshot) -> list[ToConvert]:
        """Lists the configs of which Parquet files have not been made yet, or are to be tried again."""
        found = read_converted(repo.folder, head.commit)
        if found is not None:
            now = time.time()
            again = {name for name, tries in found.tries.items() if tries.due(now, self._began)}
            return (
                [one for one in to_convert(head, repo.card(), repo.id) if one.name in again] if again else []
            )
        if isinstance(repo, MirroredRepo) and CONVERT in repo.state().refs:
            return []  # the other Hub has done it
        return to_convert(head, repo.card(), repo.id)

    def _start(self, repo: Repo, head: Snapshot) -> _Job:
        key = (repo.folder, head.commit)
        with self._lock:
            now = time.monotonic()
            old = [k for k, one in self._jobs.items() if one.finished and one.ended + _AGAIN_AFTER < now]
            for each in old:
                del self._jobs[each]
            known = self._jobs.get(key)
            if known is not None and not (known.finished and known.refusal is None):
                return known
            job = self._jobs[key] = _Job()
        thread = threading.Thread(
            target=self._run, args=(job, repo, head), name="gristmill-convert", daemon=True
        )
        thread.start()
        return job

    def _run(self, job: _Job, repo: Repo, head: Snapshot) -> None:
        try:
            with self._one, lock(History(repo.folder).inside("convert") / f".{head.commit}.lock"):
                todo = self.missing(repo, head)  # another server may have done it
                if todo and not self._stopped:
                    self._convert(job, repo, head, todo)
        except OSError as error:
            job.refusal = unwritable(f"the Parquet files of {repo.id}", error)
        except GristmillError as error:
            cause = error.__cause__
            job.refusal = (
                unwritable(f"the Parquet files of {repo.id}", cause)
                if isinstance(cause, OSError)
                else Refusal(500, f"The Parquet files of {repo.id} could not be made: {error}")
            )
        except Refusal as refusal:
            job.refusal = refusal
        except Exception:  # noqa: BLE001  # told to those who wait
            _log.exception("converting %s failed", repo.id)
            job.refusal = Refusal(500, "Something went wrong inside the server; its log says more.")
        finally:
            job.ended = time.monotonic()
            job.finished = True

    def _convert(self, job: _Job, repo: Repo, head: Snapshot, todo: list[ToConvert]) -> None:
        folder = History(repo.folder).inside("convert")
        sweep(folder)
        work = temporary_name(folder / "work")
        work.mkdir()
        before = read_converted(repo.folder, head.commit) or Converted()
        made: list[MadeFile] = list(before.files)
        failed, tries = dict(before.failed), dict(before.tries)
        try:
            copy_files(before.files, folder_of(repo.folder, head.commit), work / "out")
            for config in todo:
                failed.pop(config.name, None)
                count = tries.pop(config.name, Tries(0, 0.0)).count + 1
                try:
                    why = self._convert_config(job, repo, config, work)
                except _Passing as passing:
                    why = f"{passing} It will be tried again."
                    tries[config.name] = Tries(count, time.time())
                if why:
                    failed[config.name] = why
                    _log.warning("%s, config %s: no Parquet files: %s", repo.id, config.name, why)
                else:
                    made += _made_files(work / "out", config.name)
            converted = Converted(tuple(sorted(made, key=lambda file: file.path)), failed, tries)
            write_converted(repo.folder, head.commit, work / "out", converted)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        _log.info("%s at %s: %d Parquet files made", repo.id, head.commit, len(made))

    def _convert_config(self, job: _Job, repo: Repo, config: ToConvert, work: Path) -> str:
        """Makes the files of one config; gives why not, or an empty text.

        Raises:
            _Passing: The machine may be to blame.
        """
        if config.size > self.limit:
            return f"its files have {config.size:,} bytes, and this server converts up to {self.limit:,}."
        with self._held(repo, config):
            self._fetch(repo, config)
            return self._convert_files(job, repo, config, work)

    def _convert_files(self, job: _Job, repo: Repo, config: ToConvert, work: Path) -> str:
        data = work / "data"
        shutil.rmtree(data, ignore_errors=True)
        names = _lay_out(config, data)
        task = {
            "data": str(data),
            "config": config.name,
            "out": str(work / "out" / config.name),
            "largest_file": max(config.size * _GROWS, 1_000_000_000),
        }
        status, said = self._in_process(job, task, work)
        if status == 0:
            return ""
        shutil.rmtree(work / "out" / config.name, ignore_errors=True)
        if self._stopped:
            raise Refusal(503, "The server is being stopped.", headers={"Retry-After": "5"})
        if status in (3, 5):
            with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
                why = _retold(str(json.loads(said.splitlines()[-1])["failed"]), data, names, repo.id)
                if status == 5:
                    raise _Passing(why)
                return why
        if status == 4:
            with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
                number = int(json.loads(said.splitlines()[-1])["errno"])
                raise unwritable(f"the Parquet files of {repo.id}", OSError(number, os.strerror(number)))
        if status is None:
            raise _Passing(f"it took longer than {_LONGEST:.0f} s.")
        raise _Passing("the process that read it was ended; it may need more memory than there is.")

    def _in_process(self, job: _Job, task: dict[str, object], work: Path) -> tuple[int | None, str]:
        cache = work / "cache"
        # Nothing of the server's own: no token, no cache, and no other Hub.
        unset = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT"}
        environment = {
            **{name: value for name, value in os.environ.items() if name not in unset},
            "HF_HOME": str(cache),
            "HF_HUB_CACHE": str(cache / "hub"),
            "HF_DATASETS_CACHE": str(cache / "datasets"),
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "TMPDIR": str(work),
        }
        with subprocess.Popen(
            [sys.executable, "-m", "gristmill.hub.server.conversion_job"],
            env=environment,
            cwd=work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as child:
            job.children.append(child)
            assert child.stdin is not None
            assert child.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(f"{json.dumps(task)}\n")
                child.stdin.flush()
            try:
                status: int | None = child.wait(_LONGEST)
            except subprocess.TimeoutExpired:
                child.kill()
                status = None
            said = child.stdout.read(10_000)
            job.children.remove(child)
        shutil.rmtree(cache, ignore_errors=True)
        return status, said

    def _held(self, repo: Repo, config: ToConvert) -> contextlib.AbstractContextManager[None]:
        """Keeps the contents of a copy here while they are read."""
        room = self.served.mirror.room if self.served.mirror is not None else None
        if room is None or not isinstance(repo, MirroredRepo):
            return contextlib.nullcontext()
        return room.hold(entry.found.file for entries in config.splits.values() for entry in entries)

    def _fetch(self, repo: Repo, config: ToConvert) -> None:
        """Waits for the contents of a copy that are not here yet."""
        mirror = self.served.mirror
        if not isinstance(repo, MirroredRepo) or mirror is None:
            return
        for entry in (entry for entries in config.splits.values() for entry in entries):
            if not repo.has(entry):
                fetch = mirror.fetches.start(repo, entry)
                while not fetch.finished and not self._stopped:
                    time.sleep(_LOOK_AGAIN)
                if fetch.failure is not None:
                    raise fetch.failure


def _asked(values: dict[str, str]) -> str:
    """Gives the config that a request is about; empty for all."""
    return values.get("config") or values.get("path", "").partition("/")[0]


def _has_others(repo: Repo, head: Snapshot, asked: str, todo: list[ToConvert]) -> bool:
    """Says whether what is asked for is there while others are tried again."""
    found = read_converted(repo.folder, head.commit)
    return found is not None and asked not in {one.name for one in todo} and bool(asked or found.files)


def _retold(text: str, folder: Path, names: Mapping[str, str], id: str) -> str:
    """Words an error about the files as they are called in the repository; paths of this machine are nobody's business."""
    for name, path in names.items():
        text = text.replace(f"{folder}/{name}", path).replace(name, path)
    return text.replace(str(folder), id).replace(str(folder.parent), id)


def _lay_out(config: ToConvert, folder: Path) -> dict[str, str]:
    """Gives the files plain names in a folder of their own, and a card that says which are which.

    What the repository's own card names could lie outside of it, as patterns or as addresses; this one names files.

    Returns:
        What they are called in the repository, by their plain names.
    """
    called: dict[str, str] = {}
    told: list[dict[str, object]] = []
    for number, (split, entries) in enumerate(config.splits.items()):
        names = []
        (folder / str(number)).mkdir(parents=True)
        for position, entry in enumerate(entries):
            suffixes = "".join(PurePosixPath(entry.path).suffixes[-2:])
            name = f"{number}/{position:06d}{_safe(suffixes)}"
            (folder / name).symlink_to(entry.found.file)
            names.append(name)
            called[name] = entry.found.path
        told.append({"split": split, "path": names})
    card: dict[str, object] = {
        "configs": [{**config.options, "config_name": config.name, "data_files": told}]
    }
    if config.features is not None:
        card["dataset_info"] = [{"config_name": config.name, "features": config.features}]
    # JSON is YAML, too.
    (folder / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n", encoding="utf-8")
    return called


def _safe(suffixes: str) -> str:
    return "".join(c for c in suffixes if c.isalnum() or c in "._-")


def _made_files(out: Path, config: str) -> Iterable[MadeFile]:
    for file in sorted((out / config).glob("*/*.parquet")):
        digest, size = hashlib.sha256(), 0
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                digest.update(block)
                size += len(block)
        sha256 = digest.hexdigest()
        yield MadeFile(file.relative_to(out).as_posix(), size, blob_id(pointer_text(sha256, size)), sha256)
