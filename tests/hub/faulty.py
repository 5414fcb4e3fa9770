"""A small Hub on a real socket that goes wrong on demand.

It serves one dataset, ``org/data``, at one commit, and at older ones after `FaultyHub.move`; old names of it are in
`FaultyHub.renamed`. `FaultyHub.script` lines up replies for requests whose path holds
a text: each is used once, after them the truth is told again. Every request is recorded.
"""

import hashlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.http_server import HangUp, LocalServer, send

COMMIT = "c0ffee" + "0" * 34
REPO = "org/data"


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    drop_after: int | None = None  # bytes of the body after which the connection breaks


@dataclass(frozen=True)
class Seen:
    path: str  # decoded by nobody: as it came
    query: dict[str, list[str]]
    headers: dict[str, str]


Fault = Callable[[Reply, Seen], Reply]


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda truth, seen: Reply(code, body, named)


def says(value: object, code: int = 200, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda truth, seen: Reply(
        code, json.dumps(value).encode(), {"Content-Type": "application/json", **named}
    )


def redirect(url: str, code: int = 302) -> Fault:
    return lambda truth, seen: Reply(code, b"", {"Location": url})


def drop(after: int) -> Fault:
    def fault(truth: Reply, seen: Seen) -> Reply:
        return Reply(truth.status, truth.body, truth.headers, drop_after=after)

    return fault


def hang_up(truth: Reply, seen: Seen) -> Reply:
    return Reply(drop_after=-1)


def short(length: int) -> Fault:
    """A well-formed answer that ends too early: its Content-Length fits what is sent."""
    return lambda truth, seen: Reply(truth.status, truth.body[:length], truth.headers)


def wrong(truth: Reply, seen: Seen) -> Reply:
    return Reply(truth.status, bytes(255 - byte for byte in truth.body), truth.headers)


def longer(truth: Reply, seen: Seen) -> Reply:
    return Reply(truth.status, truth.body + b"more", truth.headers)


class FaultyHub(LocalServer):
    """Serves `files`; those whose name ends in ``.parquet`` as large files with a sha256."""

    def __init__(self, files: dict[str, bytes], page: int = 1000) -> None:
        super().__init__()
        self.files = files
        self.page = page
        self.latency = 0.0  # seconds before each answer
        self.seen: list[Seen] = []
        self.scripts: list[tuple[str, deque[Fault]]] = []
        self.info: dict[str, object] = {"id": REPO, "sha": COMMIT, "private": False, "gated": False}
        self.commit = COMMIT  # what main stands for
        self.branches = ["main", "feat/x"]
        self.renamed: list[str] = []  # names from which a redirect leads to REPO
        self._older: dict[str, dict[str, bytes]] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True  # connections that are kept alive hang up as well
        super().stop()

    def script(self, text: str, *faults: Fault) -> None:
        self.scripts.append((text, deque(faults)))

    def move(self, commit: str, files: dict[str, bytes]) -> None:
        """Commits other files; those of the commits before stay where they are."""
        self._older[self.commit] = self.files
        self.commit, self.files = commit, files
        self.info = {**self.info, "sha": commit}

    def requests(self, text: str) -> list[Seen]:
        return [seen for seen in self.seen if text in seen.path]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.command not in ("GET", "HEAD"):
            send(handler, 501, {})
            raise HangUp
        parts = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        seen = Seen(parts.path, parse_qs(parts.query), headers)
        time.sleep(self.latency)
        truth = self._truth(seen)
        with self._lock:
            self.seen.append(seen)
            fault = next(
                (faults.popleft() for text, faults in self.scripts if text in seen.path and faults), None
            )
        reply = truth if fault is None else fault(truth, seen)
        if self._stopped:
            reply = hang_up(truth, seen)
        if reply.drop_after == -1:
            raise HangUp
        length = reply.headers.get("Content-Length", str(len(reply.body)))
        headers = reply.headers if reply.status == 304 else {**reply.headers, "Content-Length": length}
        send(handler, reply.status, headers, reply.body[: reply.drop_after])
        if reply.drop_after is not None:
            raise HangUp

    def _truth(self, seen: Seen) -> Reply:
        api = f"/api/datasets/{REPO}"
        for name in self.renamed:
            if f"/datasets/{name}/" in seen.path:
                query = "?" + urlencode(seen.query, doseq=True) if seen.query else ""
                target = seen.path.replace(f"/datasets/{name}/", f"/datasets/{REPO}/")
                return Reply(307, b"", {"Location": target + query})
        if seen.path.startswith(f"{api}/revision/"):
            revision = unquote(seen.path.rpartition("/")[2])
            if revision in (*self.branches, self.commit):
                return _json(self.info)
            known = revision in self._older
            return _json({**self.info, "sha": revision}) if known else _refusal(404, "RevisionNotFound")
        if seen.path.startswith(f"{api}/tree/"):
            return self._tree(seen, seen.path.rpartition("/")[2])
        if seen.path.startswith(f"{api}/parquet/"):
            return _json([f"{self.url}{seen.path}/0.parquet"])
        match = re.match(rf"/datasets/{REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", seen.path)
        if match is not None:
            commit = match["revision"] if match["revision"] in self._older else self.commit
            content = self._older.get(commit, self.files).get(unquote(match["path"]))
            if content is None:
                return _refusal(404, "EntryNotFound", **{"X-Repo-Commit": commit})
            return _file(content, etag_of(unquote(match["path"]), content), seen, commit)
        content = self.files.get(unquote(seen.path[1:]))  # plain files, outside any repository
        if content is not None:
            return _file(content, hashlib.sha256(content).hexdigest(), seen)
        return _refusal(401 if seen.path.startswith("/api") else 404, "RepoNotFound")

    def _tree(self, seen: Seen, commit: str) -> Reply:
        if commit not in (self.commit, *self._older):
            return _refusal(404, "RevisionNotFound")
        files = self._older.get(commit, self.files)
        entries = [tree_entry(path, content) for path, content in sorted(files.items())]
        start = int(seen.query.get("cursor", ["0"])[0])
        more = start + self.page < len(entries)
        following = f"{self.url}{seen.path}?recursive=true&expand=false&cursor={start + self.page}"
        headers = {"Link": f'<{following}>; rel="next"'} if more else {}
        return _json(entries[start : start + self.page], headers)


def etag_of(path: str, content: bytes) -> str:
    if path.endswith(".parquet"):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def tree_entry(path: str, content: bytes) -> dict[str, object]:
    entry: dict[str, object] = {
        "type": "file",
        "oid": etag_of(path, content),
        "size": len(content),
        "path": path,
    }
    if path.endswith(".parquet"):
        pointer = {"oid": etag_of(path, content), "size": len(content), "pointerSize": 130}
        return {**entry, "oid": hashlib.sha1(path.encode()).hexdigest(), "lfs": pointer}
    return entry


def _json(value: object, headers: dict[str, str] | None = None) -> Reply:
    return Reply(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})


def _refusal(code: int, error: str, **headers: str) -> Reply:
    return Reply(code, b"", {"X-Error-Code": error, "X-Error-Message": f"no: {error}", **headers})


def _file(content: bytes, etag: str, seen: Seen, commit: str = COMMIT) -> Reply:
    headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
    if seen.headers.get("if-none-match") == f'"{etag}"':
        return Reply(304, b"", headers)
    asked = re.sub(
        r"^bytes=-(\d+)$",
        lambda m: f"bytes={max(0, len(content) - int(m[1]))}-",
        seen.headers.get("range", ""),
    )
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
    if match is None or seen.headers.get("if-range", f'"{etag}"') != f'"{etag}"':
        return Reply(200, content, headers)
    first = int(match[1])
    last = min(int(match[2]) if match[2] else len(content) - 1, len(content) - 1)
    if first >= len(content):
        return Reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    return Reply(
        206, content[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(content)}"}
    )
