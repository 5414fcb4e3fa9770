"""Gated and private: what somebody without a token, a stranger and a member see."""

import json
import time

import pytest

from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import Wire, write

MEMBER, STRANGER, UNKNOWN = "Bearer hf_member", "Bearer hf_stranger", "Bearer hf_unknown"
TOKENS = {"hf_member": True, "hf_stranger": False}
FILE = "/datasets/org/{}/resolve/main/a.txt"


@pytest.fixture
def guarded(folder):
    write(folder / "datasets/org/gated", {"a.txt": b"a"})
    write(folder / "datasets/org/private", {"a.txt": b"a"})
    write(folder / "datasets/org/card", {"a.txt": b"a", "README.md": b"---\ngated: auto\n---\n"})
    rules = {
        "org/gated": {"gated": "manual", "tokens": TOKENS},
        "org/private": {"private": True, "tokens": TOKENS},
    }
    (folder / "access.json").write_text(json.dumps(rules))
    with serve_in_thread(folder) as endpoint:
        yield Wire(endpoint)


def outcome(wire, target, token):
    # A listing of Parquet files is asked for again while they are made, which takes as long as it takes.
    while (answer := wire.get(target, **({"Authorization": token} if token else {}))).status == 503:
        assert answer.headers["Retry-After"] == "5"
        time.sleep(0.1)
    return answer.status, answer.code


@pytest.mark.parametrize(
    ("name", "token", "expected"),
    [
        ("gated", None, (401, "GatedRepo")),
        ("gated", STRANGER, (403, "GatedRepo")),
        ("gated", MEMBER, (200, None)),
        ("card", None, (401, "GatedRepo")),
        ("card", MEMBER, (403, "GatedRepo")),
        ("private", None, (401, "RepoNotFound")),
        ("private", STRANGER, (404, "RepoNotFound")),
        ("private", MEMBER, (200, None)),
        ("missing", None, (401, "RepoNotFound")),
        ("missing", MEMBER, (404, "RepoNotFound")),
    ],
)
def test_files(guarded, name, token, expected):
    assert outcome(guarded, FILE.format(name), token) == expected
    assert outcome(guarded, f"/datasets/org/{name}/raw/main/a.txt", token) == expected
    assert outcome(guarded, f"/api/datasets/org/{name}/auth-check", token) == expected
    assert outcome(guarded, f"/api/datasets/org/{name}/parquet", token) == expected


def test_a_gated_repository_can_be_looked_at(guarded):
    assert guarded.get("/api/datasets/org/gated").json["gated"] == "manual"
    assert guarded.get("/api/datasets/org/card").json["gated"] == "auto"
    assert guarded.get("/api/datasets/org/gated/tree/main").status == 200


def test_a_private_repository_looks_like_a_missing_one(guarded):
    for path in ("", "/tree/main", "/refs", "/commits/main", "/revision/main"):
        private = guarded.get(f"/api/datasets/org/private{path}")
        missing = guarded.get(f"/api/datasets/org/missing{path}")
        assert (private.status, private.code, private.body) == (missing.status, missing.code, missing.body)
    assert guarded.get("/datasets/org/private").body == guarded.get("/datasets/org/missing").body


def test_lists_show_what_the_caller_may_see(guarded):
    def ids(**headers):
        return [item["id"] for item in guarded.get("/api/datasets?author=org", **headers).json]

    assert "org/private" not in ids()
    assert "org/private" not in ids(Authorization=STRANGER)
    assert "org/private" in ids(Authorization=MEMBER)
    assert b"org/private" not in guarded.get("/").body
    assert b"org/private" in guarded.get("/", Authorization=MEMBER).body


@pytest.mark.parametrize("header", [UNKNOWN, "Basic hf_member", "hf_member", "Bearer", "Bearer hf_m\xfc"])
def test_bad_tokens(guarded, header):
    for target in ("/api/datasets/org/tiny", FILE.format("private"), "/api/whoami-v2", "/"):
        answer = guarded.get(target, Authorization=header)
        assert answer.status == 401
        assert answer.headers["X-Error-Message"] == "Invalid credentials in Authorization header"


def test_whoami(guarded):
    assert guarded.get("/api/whoami-v2").status == 401
    assert guarded.get("/api/whoami-v2", Authorization=MEMBER).json["type"] == "user"


def test_without_rules_tokens_are_not_looked_at(wire, folder):
    assert wire.get("/api/datasets/org/tiny", Authorization=UNKNOWN).status == 200
    write(folder / "datasets/org/card", {"a.txt": b"a", "README.md": b"---\ngated: auto\n---\n"})
    assert outcome(wire, FILE.format("card"), None) == (401, "GatedRepo")
    assert outcome(wire, FILE.format("card"), UNKNOWN) == (403, "GatedRepo")
    assert wire.get("/api/whoami-v2", Authorization=UNKNOWN).status == 401
