"""For those who run a server: its log, its limit, its health, and HTTPS."""

import json
import shutil
import ssl
import subprocess
import urllib.request

import pytest

from gristmill.errors import FileError, FileFormatError, FileMissingError, InvalidArgumentError
from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.limits import RateLimit
from tests.hub.server.conftest import Wire, Writer, file


def test_the_log(folder, tmp_path):
    log = tmp_path / "log.jsonl"
    (folder / "tokens.json").write_text('{"hf_ann": {"user": "ann", "write": ["ann/*"]}}')
    with serve_in_thread(folder, log=log) as endpoint:
        writer, ann = Writer(endpoint), {"Authorization": "Bearer hf_ann"}
        writer.create("ann/x")
        assert writer.create("ann/x").status == 401
        body = {"organization": "ann", "name": "x", "type": "dataset"}
        assert writer.post("/api/repos/create", body, **ann).status == 200
        asked = {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 4}]}
        answer = writer.post("/datasets/ann/x.git/info/lfs/objects/batch", asked, **ann).json
        writer.ask("PUT", answer["objects"][0]["actions"]["upload"]["href"].removeprefix(endpoint), b"evil")
        got = writer.get("/datasets/org/tiny/resolve/main/notes.txt?token=secret")
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["user"], line["status"]) for line in lines] == [
        (None, 401),
        (None, 401),
        ("ann", 200),
        ("ann", 200),
        (None, 400),
        (None, 200),
    ]
    assert lines[-1]["bytes"] == len(got.body) == 10
    assert lines[-1]["id"] == got.headers["X-Request-Id"]
    assert lines[-1]["path"] == "/datasets/org/tiny/resolve/main/notes.txt"
    assert lines[-2]["path"] == "/api/lfs/upload/…"
    assert "hf_ann" not in text
    with pytest.raises(FileError):
        with serve_in_thread(folder, log=tmp_path / "no/such/folder"):
            pass


def test_the_limit(folder):
    with serve_in_thread(folder, rate_limit=3) as endpoint:
        wire = Wire(endpoint)
        statuses = [wire.get("/api/datasets", Authorization=f"Bearer hf_{n}").status for n in range(8)]
        assert set(statuses) == {200, 429}
        answer = wire.get("/api/datasets")
        if answer.status == 429:
            assert answer.headers["RateLimit"].startswith('"api";r=0;t=')
            assert 0 < int(answer.headers["Retry-After"]) <= 61
        assert wire.get("/health").status == 200


def test_the_limit_by_its_clock():
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    limit.count("a")
    limit.count("a")
    limit.count("b")
    now[0] = 59.0
    with pytest.raises(Refusal) as caught:
        limit.count("a")
    assert caught.value.headers["Retry-After"] == "2"
    now[0] = 60.0
    limit.count("a")


def test_health(folder, wire):
    assert wire.get("/health").json == {"status": "ok", "writable": False}
    shutil.move(folder, folder.with_name("away"))
    assert wire.get("/health").status == 503


def test_anyone_may_write_on_this_machine_only(folder):
    with pytest.raises(InvalidArgumentError, match="Anyone"):
        with serve_in_thread(folder, host="0.0.0.0", allow_write=True):
            pass
    (folder / "tokens.json").write_text('{"hf_ann": {"user": "ann", "write": ["ann/*"]}}')
    with serve_in_thread(folder, host="0.0.0.0", allow_write=True) as endpoint:
        assert Writer(endpoint).commit(file("a", b"a"), repo="org/tiny").status == 401


def test_writing_is_allowed_but_no_token_may(folder):
    (folder / "tokens.json").write_text('{"hf_ann": {"user": "ann", "read": ["*"]}}')
    with pytest.raises(InvalidArgumentError, match="none of them may"):
        with serve_in_thread(folder, allow_write=True):
            pass


def test_web_pages_elsewhere_may_not_write(writer):
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
    ):
        assert writer.commit(file("a", b"a"), Origin=origin).status == 403
        assert writer.post("/api/repos/create", {"name": "me/x"}, Origin=origin).status == 403
    assert writer.commit(file("a", b"a"), Origin=writer.endpoint).status == 200


@pytest.mark.parametrize(
    "tokens",
    [
        {"nope": {"user": "a"}},
        {"hf_a": {}},
        {"hf_a": {"user": "../a"}},
        {"hf_a": {"user": "a", "write": "*"}},
        {"hf_a": {"user": "a", "write": ["a/b/c/d"]}},
        {"hf_a": {"user": "a", "admin": True}},
        [],
    ],
)
def test_token_files_that_can_not_be_used(folder, tokens):
    (folder / "tokens.json").write_text(json.dumps(tokens))
    with pytest.raises(FileFormatError, match=r"tokens\.json"):
        with serve_in_thread(folder):
            pass


def test_a_token_file_that_is_not_there(folder):
    with pytest.raises(FileMissingError):
        with serve_in_thread(folder, tokens=folder / "nope.json"):
            pass


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_https(folder, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    with serve_in_thread(folder, tls_cert=cert, tls_key=key, allow_write=True) as endpoint:
        assert endpoint.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(cert))
        body = b'{"name": "x", "organization": "org", "type": "dataset"}'
        request = urllib.request.Request(f"{endpoint}/api/repos/create", body)
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            assert json.load(answer)["url"] == f"{endpoint}/datasets/org/x"
    for wrong in ({"tls_cert": key}, {"tls_cert": folder / "nope"}, {"tls_key": key}):
        with pytest.raises(InvalidArgumentError):
            with serve_in_thread(folder, **wrong):
                pass
