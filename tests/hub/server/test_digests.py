"""What is sent can be compared with what came, in both directions."""

import base64
import hashlib
import json

import pytest
from starlette.requests import Request

from gristmill.hub.server import digests
from tests.hub.server.conftest import file

BIG = "data/train-00000-of-00002.parquet"
WANT = {"Want_Content_Digest": "sha-256=1"}


def digest(data):
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


@pytest.mark.parametrize("part", [None, "bytes=5-70000", "bytes=-3", "bytes=7-"])
@pytest.mark.parametrize("path", [BIG, "notes.txt"])
def test_files_and_their_parts(wire, path, part):
    more = {} if part is None else {"Range": part}
    answer = wire.get(f"/datasets/org/tiny/resolve/main/{path}", **WANT, **more)
    assert answer.headers["Content-Digest"] == digest(answer.body)
    assert answer.headers["Content-Length"] == str(len(answer.body))
    assert "Content-Digest" not in wire.get(f"/datasets/org/tiny/resolve/main/{path}", **more).headers


def test_long_parts_are_not_waited_for(wire, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.resolve.LARGEST_PART", 10)
    url = f"/datasets/org/tiny/resolve/main/{BIG}"
    assert "Content-Digest" in wire.get(url, Range="bytes=0-9", **WANT).headers
    assert "Content-Digest" not in wire.get(url, Range="bytes=0-10", **WANT).headers
    assert "Content-Digest" in wire.get(url, **WANT).headers  # whole: its hash is known


def test_listings_and_refusals(wire):
    for target in ("/api/datasets/org/tiny", "/api/datasets/org/tiny/tree/main", "/api/datasets/org/none"):
        answer = wire.get(target, **WANT)
        assert answer.headers["Content-Digest"] == digest(answer.body)
    assert "Content-Digest" not in wire.head("/api/datasets/org/tiny", **WANT).headers


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("sha-256=1", True),
        ("sha-512=3, sha-256=10", True),
        ("sha-256", True),
        ("sha-256=0", False),
        ("sha-512=1", False),
        ("", False),
    ],
)
def test_who_wants_one(header, wanted):
    scope = {"type": "http", "headers": [(b"want-content-digest", header.encode())]}
    assert digests.wants_digest(Request(scope)) is wanted


def test_a_body_that_came_otherwise_changes_nothing(writer):
    before = writer.get("/api/datasets/org/new/revision/main").json["sha"]
    lines = [{"key": "header", "value": {"summary": "x", "description": ""}}]
    key, value = file("a.txt", b"a")
    body = "\n".join(json.dumps(line) for line in [*lines, {"key": key, "value": value}]).encode()
    target = "/api/datasets/org/new/commit/main"
    damaged = body.replace(b"YQ==", b"YA==")
    answer = writer.ask("POST", target, damaged, Content_Digest=digest(body))
    assert (answer.status, answer.code) == (400, "ContentDigestMismatch")
    assert writer.get("/api/datasets/org/new/revision/main").json["sha"] == before
    assert writer.ask("POST", target, body, Content_Digest=digest(body)).status == 200
    assert writer.get("/datasets/org/new/resolve/main/a.txt").body == b"a"


def test_a_file_that_became_shorter_has_the_digest_of_what_is_there(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    with (tmp_path / "x").open("rb") as opened:
        assert digests.digest_of_part(opened.fileno(), 1, 10) == digest(b"bc")
