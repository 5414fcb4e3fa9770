"""A small hub of every kind of trouble, served on a real socket."""

import base64
import hashlib
import http.client
import json
import socket
from email.message import Message
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from gristmill.hub.server import serve_in_thread

TRICKY = "docs/deep/a space & ünï#1 100%.txt"
FILES = {
    "README.md": b"---\nlicense: mit\nlanguage: [en]\ntags: [tiny]\ndate: 2024-01-02\n---\n# Tiny\n",
    "data/train-00000-of-00002.parquet": b"PAR1" + bytes(range(256)) * 500 + b"PAR1",
    "data/train-00001-of-00002.parquet": b"PAR1second",
    "data/test-00000-of-00001.parquet": b"PAR1test",
    "notes.txt": b"0123456789",
    "empty.txt": b"",
    TRICKY: b"tricky",
}


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Wire:
    """Requests over one connection each, with nothing followed, repeated or normalised."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        parts = urlsplit(endpoint)
        assert parts.hostname is not None
        assert parts.port is not None
        self.address = (parts.hostname, parts.port)

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> "Answer":
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, target, body, named)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    @staticmethod
    def quoted(path: str) -> str:
        return quote(path)

    def get(self, target: str, **headers: str) -> "Answer":
        return self.ask("GET", target, None, **headers)

    def head(self, target: str, **headers: str) -> "Answer":
        return self.ask("HEAD", target, None, **headers)

    def raw(self, target: bytes, method: bytes = b"GET") -> tuple[int, bytes]:
        with socket.create_connection(self.address, timeout=20) as connection:
            connection.sendall(
                method + b" " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            )
            answer = b""
            while block := connection.recv(65536):
                answer += block
        return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[2]


class Answer:
    def __init__(self, status: int, headers: Message, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.headers["X-Error-Code"]


class Writer(Wire):
    """Requests that write, as clients put them, with the answers as they come."""

    def post(self, target: str, value: object = None, method: str = "POST", **headers: str) -> Answer:
        return self.ask(method, target, json.dumps(value or {}).encode(), **headers)

    def create(self, repo: str = "org/new", type: str = "dataset", **more: object) -> Answer:
        organisation, _, name = repo.partition("/")
        return self.post(
            "/api/repos/create", {"organization": organisation, "name": name, "type": type, **more}
        )

    def commit(
        self,
        *operations: tuple[str, dict[str, object]],
        repo: str = "org/new",
        revision: str = "main",
        parent: str | None = None,
        title: str = "change",
        query: str = "",
        **headers: str,
    ) -> Answer:
        header: dict[str, object] = {"summary": title, "description": ""}
        if parent is not None:
            header["parentCommit"] = parent
        lines = [{"key": key, "value": value} for key, value in [("header", header), *operations]]
        body = "\n".join(json.dumps(line) for line in lines).encode()
        revision = quote(revision, safe="")
        return self.ask("POST", f"/api/datasets/{repo}/commit/{revision}{query}", body, **headers)

    def send_lfs(self, content: bytes, repo: str = "org/new") -> str:
        oid = hashlib.sha256(content).hexdigest()
        asked = {"operation": "upload", "objects": [{"oid": oid, "size": len(content)}]}
        answer = self.post(f"/datasets/{repo}.git/info/lfs/objects/batch", asked)
        actions = answer.json["objects"][0].get("actions")
        if actions:
            href = urlsplit(actions["upload"]["href"])
            assert self.ask("PUT", href.path, content).status == 200
            assert self.post(urlsplit(actions["verify"]["href"]).path, asked["objects"][0]).status == 200
        return oid


def file(path: str, content: bytes) -> tuple[str, dict[str, object]]:
    return "file", {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "hub/datasets/org/tiny", FILES)
    write(tmp_path / "hub/models/org/model", {"config.json": b"{}", "model.safetensors": b"weights"})
    write(tmp_path / "hub/github/owner/repo/v1", {"data/a.csv": b"a,b\n1,2\n"})
    write(tmp_path, {"secret.txt": b"secret"})
    return tmp_path / "hub"


@pytest.fixture
def repo(folder):
    return folder / "datasets/org/tiny"


@pytest.fixture
def endpoint(folder):
    with serve_in_thread(folder) as endpoint:
        yield endpoint


@pytest.fixture
def wire(endpoint):
    return Wire(endpoint)


@pytest.fixture
def writer(folder):
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        assert writer.create().status == 200
        yield writer
