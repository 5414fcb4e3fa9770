"""A server that fetches what it has not got from another Hub, which is a second server on a socket of its own."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.hub.server import passing, serve_in_thread
from tests.hub.faulty import COMMIT, FaultyHub, drop, longer, redirect, says, short, status, wrong
from tests.hub.server.conftest import FILES, TRICKY, Wire, Writer, file, write

REPO = "/datasets/org/tiny"
BIG = bytes(range(256)) * 40_000


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Tries again without waiting."""
    monkeypatch.setattr("gristmill.files.retry.RetryPolicy.delay", lambda *args: 0.0)


@contextlib.contextmanager
def mirror(folder, upstream, **options):
    folder.mkdir(exist_ok=True)
    options.setdefault("mirror_ttl", 60.0)
    with serve_in_thread(folder, mirror=upstream, **options) as endpoint:
        yield Wire(endpoint)


def head_commit(wire, repo="org/tiny"):
    return wire.get(f"/api/datasets/{repo}").json["sha"]


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "copy"


def test_what_is_missing_is_fetched_and_is_the_same(endpoint, wire, copy):
    with mirror(copy, endpoint) as near:
        commit = head_commit(wire)
        assert near.get("/api/datasets/org/tiny").json["sha"] == commit
        listing = near.get("/api/datasets/org/tiny/tree/main?recursive=true").json
        assert listing == wire.get("/api/datasets/org/tiny/tree/main?recursive=true").json
        for path, content in FILES.items():
            got = near.get(f"{REPO}/resolve/main/{near.quoted(path)}")
            there = wire.get(f"{REPO}/resolve/main/{near.quoted(path)}")
            assert got.body == content
            for name in ("ETag", "X-Repo-Commit", "X-Linked-ETag", "X-Linked-Size", "Content-Length"):
                assert got.headers[name] == there.headers[name], (path, name)
        assert near.get(f"{REPO}/raw/main/{near.quoted(TRICKY)}").body == FILES[TRICKY]
        assert near.get(f"{REPO}/resolve/main/nothing").code == "EntryNotFound"
        assert near.get(f"{REPO}/resolve/nothing/notes.txt").code == "RevisionNotFound"
        assert near.get("/datasets/org/absent/resolve/main/x").code == "RepoNotFound"
        assert near.get("/api/models/org/model/tree/main").status == 200
        assert near.get("/org/model/resolve/main/config.json").body == b"{}"


def test_without_the_other_hub_it_is_as_it_was(folder, copy):
    with serve_in_thread(folder) as upstream:
        with mirror(copy, upstream, mirror_ttl=0.0) as near:
            before = near.get("/api/datasets/org/tiny/revision/main").json
            assert near.get(f"{REPO}/resolve/main/notes.txt").body == FILES["notes.txt"]
            assert near.get(f"{REPO}/resolve/main/notes.txt").headers["X-Gristmill-Mirror"] is None
    # Nobody listens there any more.
    with mirror(copy, upstream) as near:
        again = near.get("/api/datasets/org/tiny/revision/main")
        assert again.json["sha"] == before["sha"]
        assert again.headers["X-Gristmill-Mirror"] == "stale"
        assert len(near.get("/api/datasets/org/tiny/tree/main?recursive=true").json) > len(FILES)
        assert near.get(f"{REPO}/resolve/main/notes.txt").body == FILES["notes.txt"]
        assert near.get(f"{REPO}/resolve/{before['sha']}/notes.txt").body == FILES["notes.txt"]
        lacking = near.get(f"{REPO}/resolve/main/README.md")
        assert (lacking.status, lacking.headers["Retry-After"]) == (504, "5")
        assert near.get("/api/datasets/org/other").status == 504
        assert near.head(f"{REPO}/resolve/main/README.md").headers["Content-Length"] == str(
            len(FILES["README.md"])
        )
        assert near.get(f"{REPO}/resolve/main/empty.txt").body == b""  # nothing has to come for that
    # A server that fetches nothing lists what it has.
    with serve_in_thread(copy) as endpoint:
        near = Wire(endpoint)
        listed = near.get("/api/datasets/org/tiny/tree/main?recursive=true").json
        assert [item["path"] for item in listed] == ["empty.txt", "notes.txt"]
        assert near.get(f"{REPO}/resolve/main/README.md").code == "EntryNotFound"


def test_a_branch_is_compared_again(repo, endpoint, wire, copy):
    with mirror(copy, endpoint, mirror_ttl=0.0) as near:
        before = head_commit(near)
        assert near.get(f"{REPO}/resolve/main/notes.txt").body == FILES["notes.txt"]
        (repo / "notes.txt").write_bytes(b"changed")
        assert head_commit(near) == head_commit(wire) != before
        assert near.get(f"{REPO}/resolve/main/notes.txt").body == b"changed"
        assert near.get(f"{REPO}/resolve/{before}/notes.txt").body == FILES["notes.txt"]
        assert near.get(f"{REPO}/resolve/{before[:9]}/notes.txt").headers["X-Repo-Commit"] == before


def test_an_answer_about_a_branch_holds_for_a_while(repo, endpoint, copy):
    with mirror(copy, endpoint, mirror_ttl=300.0) as near:
        before = head_commit(near)
        (repo / "notes.txt").write_bytes(b"changed")
        assert head_commit(near) == before


def test_branches_tags_and_commits(writer, copy):
    first = writer.commit(file("a.txt", b"1")).json["commitOid"]
    assert writer.post("/api/datasets/org/new/tag/main", {"tag": "v1"}).status == 200
    assert writer.post("/api/datasets/org/new/branch/feat%2Fx").status == 200
    second = writer.commit(file("a.txt", b"2"), title="the second").json["commitOid"]
    at = "/datasets/org/new/resolve"
    with mirror(copy, writer.endpoint) as near:
        assert near.get(f"{at}/v1/a.txt").body == b"1"
        assert near.get(f"{at}/feat%2Fx/a.txt").body == b"1"
        assert near.get(f"{at}/HEAD/a.txt").body == b"2"
        refs = near.get("/api/datasets/org/new/refs").json
        assert {ref["ref"]: ref["targetCommit"] for kind in refs.values() for ref in kind} == {
            "refs/tags/v1": first,
            "refs/heads/feat/x": first,
            "refs/heads/main": second,
        }
        [told] = near.get("/api/datasets/org/new/commits/main").json
        assert (told["id"], told["title"]) == (second, "the second")
        assert writer.post("/api/datasets/org/new/branch/feat%2Fx", method="DELETE").status == 200
        assert near.get(f"{at}/{first}/a.txt").body == b"1"


def test_a_commit_alone_is_enough(writer, copy):
    first = writer.commit(file("a.txt", b"1")).json["commitOid"]
    writer.commit(file("a.txt", b"2"))
    at = "/datasets/org/new/resolve"
    with mirror(copy, writer.endpoint) as near:
        assert near.get(f"{at}/{first}/a.txt").body == b"1"
    with serve_in_thread(copy) as endpoint:
        assert Wire(endpoint).get(f"{at}/{first}/a.txt").body == b"1"
        assert Wire(endpoint).get(f"{at}/main/a.txt").code == "RevisionNotFound"
        assert Wire(endpoint).get("/api/datasets").json[0]["id"] == "org/new"


def test_a_deleted_branch_is_deleted_here_as_well(writer, copy):
    writer.commit(file("a.txt", b"1"))
    writer.post("/api/datasets/org/new/branch/old")
    with mirror(copy, writer.endpoint, mirror_ttl=0.0) as near:
        assert near.get("/datasets/org/new/resolve/old/a.txt").body == b"1"
        writer.post("/api/datasets/org/new/branch/old", method="DELETE")
        assert near.get("/datasets/org/new/resolve/old/a.txt").code == "RevisionNotFound"
        assert [ref["name"] for ref in near.get("/api/datasets/org/new/refs").json["branches"]] == ["main"]


def test_a_repository_of_ones_own_comes_first_and_a_copy_is_not_written_to(endpoint, copy):
    (copy / "datasets/org/tiny").mkdir(parents=True)
    (copy / "datasets/org/tiny/own.txt").write_bytes(b"own")
    with mirror(copy, endpoint, allow_write=True) as near:
        assert near.get(f"{REPO}/resolve/main/own.txt").body == b"own"
        assert near.get("/api/models/org/model").status == 200
        pushing = Writer(near.endpoint)
        # That it was looked for before, as clients that push do, is no obstacle.
        assert near.get("/api/datasets/me/mine").code == "RepoNotFound"
        assert pushing.create("me/mine").status == 200
        assert near.get("/api/datasets/me/mine").status == 200
        assert pushing.commit(file("a.txt", b"1"), repo="me/mine").status == 200
        assert near.get("/datasets/me/mine/resolve/main/a.txt").body == b"1"
        answer = pushing.post("/api/models/org/model/tag/main", {"tag": "v1"})
        assert answer.status == 403
        assert "is a mirror of" in answer.json["error"]


# -- an upstream Hub that goes wrong


@pytest.fixture
def hub():
    with FaultyHub({"big.parquet": BIG, "notes.txt": b"0123456789", "a/b.txt": b"b"}) as faulty:
        yield faulty


def objects(copy):
    return sorted(path.name for path in copy.glob("datasets/org/data/.gristmill/objects/*/*"))


def test_a_file_is_fetched_once_however_many_ask(hub, copy):
    with mirror(copy, hub.url) as near:
        assert head_commit(near, "org/data") == COMMIT
        hub.latency = 0.05
        with ThreadPoolExecutor(16) as pool:
            url = "/datasets/org/data/resolve/main/big.parquet"
            bodies = list(pool.map(lambda _: near.get(url).body, range(16)))
        assert all(body == BIG for body in bodies)
        assert len(hub.requests("resolve")) == 1
        assert len(hub.requests("/revision/main")) == 1
        assert objects(copy) == [hashlib.sha256(BIG).hexdigest()]


def test_the_first_requests_for_a_repository_ask_once(hub, copy):
    hub.latency = 0.05
    with mirror(copy, hub.url) as near, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: head_commit(near, "org/data"), range(8)))
        assert set(told) == {COMMIT}
        assert len(hub.requests("/tree/")) == 1


@pytest.mark.parametrize("fault", [wrong, longer, short(10)], ids=["wrong", "longer", "short"])
@pytest.mark.parametrize("small", [True, False])
def test_nothing_wrong_is_kept_or_taken_for_right(hub, copy, fault, small, monkeypatch):
    if not small:
        monkeypatch.setattr(passing, "_SMALL", 1000)
    hub.script("resolve", *[fault] * 20)
    with mirror(copy, hub.url) as near:
        url = "/datasets/org/data/resolve/main/big.parquet"
        for _ in range(2):
            try:
                answer = near.get(url)
            except HTTPException:
                continue  # broken off, which is how a client learns of it
            assert answer.status in (502, 504)
        assert objects(copy) == []
    with serve_in_thread(copy) as endpoint:
        assert Wire(endpoint).get("/api/datasets/org/data/tree/main").json == []


def test_a_fetch_that_broke_off_is_gone_on_with(hub, copy):
    hub.script("resolve", drop(3_000_000), drop(2_000_000))
    with mirror(copy, hub.url) as near:
        assert near.get("/datasets/org/data/resolve/main/big.parquet").body == BIG
    ranges = [seen.headers.get("range") for seen in hub.requests("resolve")]
    assert ranges[0] is None
    assert all(asked and asked != "bytes=0-" for asked in ranges[1:])


def test_a_large_file_is_sent_while_it_comes_in(hub, copy, monkeypatch):
    monkeypatch.setattr(passing, "_SMALL", 1000)
    with mirror(copy, hub.url) as near:
        url = "/datasets/org/data/resolve/main/big.parquet"
        assert near.get(url).body == BIG
        assert objects(copy) == [hashlib.sha256(BIG).hexdigest()]
        assert near.get(url, Range="bytes=5-9").body == BIG[5:10]
        assert len(hub.requests("resolve")) == 1


def test_a_range_of_a_large_file_does_not_wait_for_the_whole(hub, copy, monkeypatch):
    monkeypatch.setattr(passing, "_SMALL", 1000)
    with mirror(copy, hub.url) as near:
        url = "/datasets/org/data/resolve/main/big.parquet"
        part = near.get(url, Range="bytes=100-299")
        assert (part.status, part.body) == (206, BIG[100:300])
        assert part.headers["Content-Range"] == f"bytes 100-299/{len(BIG)}"
        assert near.get(url, Range="bytes=-8").body == BIG[-8:]
        assert near.get(url, Range=f"bytes={len(BIG)}-").status == 416
        assert objects(copy) == []
        asked = [seen.headers.get("range") for seen in hub.requests("resolve")]
        assert asked == ["bytes=100-299", f"bytes={len(BIG) - 8}-{len(BIG) - 1}"]
        # As many bytes as half of it, and it is fetched whole.
        third = len(BIG) // 3
        assert near.get(url, Range=f"bytes=0-{third}").body == BIG[: third + 1]
        assert near.get(url, Range=f"bytes={third}-{2 * third}").body == BIG[third : 2 * third + 1]
        assert near.get(url).body == BIG
        assert objects(copy) == [hashlib.sha256(BIG).hexdigest()]


@pytest.mark.parametrize("fault", [status(200, b"all of it"), status(206, b"x", Content_Range="bytes 0-0/7")])
def test_a_range_that_is_another_one_is_refused(hub, copy, fault, monkeypatch):
    monkeypatch.setattr(passing, "_SMALL", 1000)
    hub.script("resolve", *[fault] * 9)
    with mirror(copy, hub.url) as near:
        assert near.get("/datasets/org/data/resolve/main/big.parquet", Range="bytes=1-5").status == 502


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (status(401, X_Error_Code="RepoNotFound"), (401, "RepoNotFound")),
        (status(404, X_Error_Code="RepoNotFound"), (401, "RepoNotFound")),
        (status(401, X_Error_Code="GatedRepo"), (403, "GatedRepo")),
        (status(403, X_Error_Code="GatedRepo"), (403, "GatedRepo")),
        (status(401, X_Error_Message="Invalid credentials in Authorization header"), (502, None)),
        (status(404, X_Error_Code="RevisionNotFound"), (404, "RevisionNotFound")),
        (status(429, Retry_After="1"), (429, None)),
        (status(500), (502, None)),
        (status(503), (502, None)),
        (says({"sha": "no commit"}), (502, None)),
        (says([]), (502, None)),
        (status(200, b"<html>"), (502, None)),
    ],
)
def test_what_the_other_hub_refuses(hub, copy, fault, expected):
    hub.script("/revision/", *[fault] * 9)
    with mirror(copy, hub.url) as near:
        answer = near.get("/api/datasets/org/data")
        assert (answer.status, answer.code) == expected
        assert (
            hub.url.partition("//")[2] not in (answer.headers["X-Error-Message"] or "")
            or "Hub" not in answer.body.decode()
        )
    assert not (copy / "datasets/org/data").exists()


def test_what_fails_for_a_moment_only_is_asked_again(hub, copy):
    hub.script("/revision/", status(429, Retry_After="60"), status(429), status(429))
    with mirror(copy, hub.url) as near:
        assert near.get("/api/datasets/org/data").status == 429


HOSTILE = [
    [{"type": "file", "path": "../../evil", "size": 1, "oid": "0" * 40}],
    [{"type": "file", "path": "/etc/evil", "size": 1, "oid": "0" * 40}],
    [{"type": "file", "path": "a\\..\\evil", "size": 1, "oid": "0" * 40}],
    [{"type": "file", "path": "a\0b", "size": 1, "oid": "0" * 40}],
    [{"type": "file", "path": "a", "size": -1, "oid": "0" * 40}],
    [{"type": "file", "path": "a", "size": 10**30, "oid": "0" * 40}],
    [{"type": "file", "path": "a", "size": 1.5, "oid": "0" * 40}],
    [{"type": "file", "path": "a", "size": 1, "oid": "../../../../evil"}],
    [{"type": "file", "path": "a", "size": 1, "oid": "0" * 40, "lfs": {"oid": "../evil", "size": 1}}],
    [{"type": "file", "path": path, "size": 1, "oid": "0" * 40} for path in ("a", "a/b")],
    [{"type": "file", "path": "a", "size": size, "oid": "0" * 40} for size in (1, 2)],
    ["a"],
    {"files": []},
]


@pytest.mark.parametrize("listing", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_list_of_files_is_refused(hub, copy, listing):
    hub.script("/tree/", *[says(listing)] * 9)
    with mirror(copy, hub.url) as near:
        assert near.get("/api/datasets/org/data/tree/main").status == 502
    left = [path for path in copy.parent.rglob("*") if path.is_file()]
    assert left == []


def test_a_list_of_files_without_end_is_refused(hub, copy):
    page = [{"type": "file", "path": "a", "size": 1, "oid": "0" * 40}]
    link = f'<{hub.url}/api/datasets/org/data/tree/{COMMIT}?recursive=true&expand=false>; rel="next"'
    hub.script("/tree/", *[says(page, Link=link)] * 99)
    with mirror(copy, hub.url) as near:
        assert near.get("/api/datasets/org/data/tree/main").status == 502


def test_a_file_that_no_disk_holds_is_refused(hub, copy):
    entry = {"type": "file", "path": "a.bin", "size": 2**62, "oid": "0" * 40}
    hub.script("/tree/", says([entry]))
    with mirror(copy, hub.url) as near:
        assert near.head("/datasets/org/data/resolve/main/a.bin").headers["Content-Length"] == str(2**62)
        answer = near.get("/datasets/org/data/resolve/main/a.bin")
        assert answer.status == 507
        assert objects(copy) == []


# -- tokens, and who may read


def test_the_token_goes_to_the_other_hub_and_nowhere_else(hub, copy, tmp_path, caplog):
    elsewhere = FaultyHub({"big": BIG})
    with elsewhere:
        hub.script("resolve/" + COMMIT + "/notes", redirect(f"{elsewhere.url}/big"))
        with mirror(copy, hub.url, mirror_token="hf_secret", log=tmp_path / "log") as near:
            answers = [
                near.get("/api/datasets/org/data", Authorization="Bearer hf_client"),
                near.get("/datasets/org/data/resolve/main/a/b.txt", Authorization="Bearer hf_client"),
                near.get("/datasets/org/data/resolve/main/notes.txt", Authorization="Bearer hf_client"),
                near.get("/datasets/org/data/resolve/main/nothing"),
                near.get("/datasets/org/none/resolve/main/nothing"),
            ]
        assert {seen.headers.get("authorization") for seen in hub.seen} == {"Bearer hf_secret"}
        assert len(elsewhere.seen) >= 1
        assert {seen.headers.get("authorization") for seen in elsewhere.seen} == {None}
    told = "".join(str(answer.headers) + answer.body.decode() for answer in answers)
    assert "hf_secret" not in told + (tmp_path / "log").read_text() + caplog.text
    assert all("hf_secret" not in path.read_text() for path in copy.rglob("*.json"))


def test_the_token_of_the_environment_is_for_hf_endpoint_only(hub, copy, monkeypatch):
    from gristmill import config

    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_mine")
    with mirror(copy, hub.url) as near:
        head_commit(near, "org/data")
    with config.override(HF_ENDPOINT=hub.url), mirror(copy, True) as near:
        head_commit(near, "org/data")
    sent = [seen.headers.get("authorization") for seen in hub.requests("/revision/")]
    assert sent == [None, "Bearer hf_mine"]


def test_what_is_private_or_gated_there_is_so_here(hub, copy):
    hub.info = {**hub.info, "gated": "auto"}
    copy.mkdir()
    (copy / "tokens.json").write_text(json.dumps({"hf_ann": {"user": "ann", "read": ["org/*"]}}))
    with mirror(copy, hub.url, mirror_ttl=0.0) as near:
        url, ann = "/datasets/org/data/resolve/main/notes.txt", "Bearer hf_ann"
        assert (near.get(url).status, near.get(url).code) == (401, "GatedRepo")
        assert near.get(url, Authorization=ann).body == b"0123456789"
        hub.info = {**hub.info, "gated": False, "private": True}
        assert near.get(url).code == "RepoNotFound"
        assert near.get("/api/datasets").json == []
        assert near.get(url, Authorization=ann).body == b"0123456789"
        hub.info = {**hub.info, "private": False}
        assert near.get(url).body == b"0123456789"


def test_access_json_has_the_last_word_on_gates(hub, copy):
    hub.info = {**hub.info, "gated": "manual"}
    copy.mkdir()
    (copy / "access.json").write_text(json.dumps({"org/data": {"gated": False}}))
    with mirror(copy, hub.url) as near:
        assert near.get("/datasets/org/data/resolve/main/notes.txt").body == b"0123456789"


def test_a_repository_that_is_private_here_is_not_asked_for(hub, copy):
    copy.mkdir()
    (copy / "access.json").write_text(json.dumps({"org/data": {"private": True}}))
    with mirror(copy, hub.url) as near:
        assert near.get("/api/datasets/org/data").code == "RepoNotFound"
    assert hub.seen == []


def test_a_name_that_no_repository_has_is_not_asked_for(hub, copy):
    with mirror(copy, hub.url) as near:
        for name in ("a--b/c", "..%2Fx/y", "a/b.git", "spaces/org/data"):
            assert near.get(f"/api/datasets/{name}").status in (400, 401, 404)
        assert near.raw(b"/api/datasets/org/..")[0] in (400, 401, 404)
    assert hub.seen == []


def test_it_stops_while_a_file_comes_in(hub, copy):
    hub.latency = 0.3
    with mirror(copy, hub.url) as near:
        head_commit(near, "org/data")
        asking = threading.Thread(
            target=lambda: (
                contextlib.suppress(OSError) and near.get("/datasets/org/data/resolve/main/big.parquet")
            )
        )
        asking.start()
    asking.join(20)
    assert not asking.is_alive()


# -- clients, with nothing set but the address


CLIENT = """
import json
from gristmill import load_dataset
rows = load_dataset("org/rows", split="train")
first = next(iter(load_dataset("org/rows", split="train", streaming=True, columns=["n"])))
from huggingface_hub import HfFileSystem, hf_hub_download, snapshot_download
path = hf_hub_download("org/rows", "README.md", repo_type="dataset")
folder = snapshot_download("org/rows", repo_type="dataset", revision="main")
listed = sorted(HfFileSystem().glob("datasets/org/rows/data/*"))
with HfFileSystem().open("datasets/org/rows/data/train-0.parquet") as file:
    tail = file.seek(-4, 2) and file.read()
print(json.dumps([rows["n"][:3], first, open(path).read(), listed, tail.decode()]))
"""


def client(tmp_path, name, endpoint):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / name),
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", CLIENT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_clients_work_online_and_without_the_other_hub(tmp_path, copy):
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": range(1000), "text": ["x" * 50] * 1000}), sink)
    write(
        tmp_path / "far/datasets/org/rows",
        {"README.md": b"# Rows\n", "data/train-0.parquet": sink.getvalue()},
    )
    expected = [[0, 1, 2], {"n": 0}, "# Rows\n", ["datasets/org/rows/data/train-0.parquet"], "PAR1"]
    with serve_in_thread(tmp_path / "far") as upstream, mirror(copy, upstream) as near:
        assert client(tmp_path, "first", near.endpoint) == expected
    with mirror(copy, upstream) as near:
        assert client(tmp_path, "second", near.endpoint) == expected


def test_killed_while_a_file_comes_in(hub, copy):
    hub.files["slow.parquet"] = slow = os.urandom(3_000_000)

    def stall(truth, seen):
        time.sleep(0.5)
        return drop(1_000_000)(truth, seen)

    hub.script("slow.parquet", *[stall] * 9)
    copy.mkdir()
    command = [
        sys.executable,
        "-m",
        "gristmill",
        "hub",
        "serve",
        str(copy),
        "--port",
        "0",
        "--mirror",
        "--json",
    ]
    process = subprocess.Popen(
        [*command, "--upstream", hub.url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    told = ""
    assert process.stdout is not None
    while not told.endswith("}\n"):
        told += process.stdout.readline()
    near = Wire(json.loads(told)["endpoint"])
    url = "/datasets/org/data/resolve/main/slow.parquet"
    part = copy / f"datasets/org/data/.gristmill/tmp/{hashlib.sha256(slow).hexdigest()}.part"
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(near.get, url)
        while not (part.exists() and part.stat().st_size) and not asked.done():
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert isinstance(asked.exception(), HTTPException | OSError)
    assert objects(copy) == []
    hub.scripts.clear()
    hub.seen.clear()
    with mirror(copy, hub.url) as near:
        assert near.get(url).body == slow
    assert hub.requests("slow.parquet")[0].headers["range"].startswith("bytes=")
