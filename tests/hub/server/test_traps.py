"""The traps that clients of the Hub fall into, one after the other as the protocol page lists them."""

import hashlib
import json
import os
import re
import threading
from urllib.parse import urlencode, urlsplit

import pytest
from huggingface_hub import HfApi

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.hashing import blob_id
from tests.hub.server.conftest import FILES, TRICKY, Wire, file, write

API = "/api/datasets/org/tiny"
BASE = "/datasets/org/tiny/resolve"
BIG = "data/train-00000-of-00002.parquet"


def follow(wire, link):
    return wire.get(link.split(">")[0].removeprefix(f"<{wire.endpoint}"))


def pages(wire, target):
    """All entries of a list, and how many pages they came in."""
    entries, count = [], 0
    answer = wire.get(target)
    while True:
        entries += answer.json
        count += 1
        link = answer.headers["Link"]
        if link is None:
            return entries, count
        assert re.fullmatch(rf'<{re.escape(wire.endpoint)}/[^>,;]*>; rel="next"', link), link
        answer = follow(wire, link)


def test_01_the_commit_is_on_every_answer_about_a_file(folder):
    with serve_in_thread(folder, redirect_large=100_000) as endpoint:
        wire = Wire(endpoint)
        sha = wire.get(API).json["sha"]
        etag = wire.head(f"{BASE}/main/notes.txt").headers["ETag"]
        for path, headers, status in [
            ("notes.txt", {}, 200),
            ("notes.txt", {"Range": "bytes=2-3"}, 206),
            ("notes.txt", {"Range": "bytes=99-"}, 416),
            ("notes.txt", {"If_None_Match": etag}, 304),
            (BIG, {}, 307),
            ("nothing.txt", {}, 404),
        ]:
            for ask in (wire.get, wire.head):
                answer = ask(f"{BASE}/main/{path}", **headers)
                expected = (
                    200 if ask == wire.head and status in (206, 416) else status
                )  # ranges are of GET alone
                assert (answer.status, answer.headers["X-Repo-Commit"]) == (expected, sha), (path, headers)


def test_02_where_a_redirect_leads_tells_all_again(folder):
    with serve_in_thread(folder, redirect_large=100_000) as endpoint:
        wire = Wire(endpoint)
        first = wire.head(f"{BASE}/main/{BIG}")
        last = wire.head(first.headers["Location"])
        for name in ("X-Repo-Commit", "ETag", "X-Linked-ETag", "X-Linked-Size"):
            assert first.headers[name] == last.headers[name] != None, name  # noqa: E711
        assert last.headers["Content-Length"] == str(len(FILES[BIG]))


def test_03_slashes_in_revisions_and_paths(writer):
    writer.post("/api/datasets/org/new/branch/feat%2Fx")
    assert writer.commit(file("d/a b.txt", b"x"), revision="feat/x").status == 200
    for rev in ("feat%2Fx", "refs%2Fheads%2Ffeat%2Fx", "refs/heads/feat%2Fx"):
        for path in ("d/a%20b.txt", "d%2Fa%20b.txt"):
            assert writer.get(f"/datasets/org/new/resolve/{rev}/{path}").body == b"x", (rev, path)
        for path in ("d", "d/", ""):
            assert writer.get(f"/api/datasets/org/new/tree/{rev}/{path}").status == 200
    # Unencoded, as polars and people write it.
    assert writer.get(f"{API}/tree/refs/convert/parquet/default/train/").status == 200
    for rev in ("refs/convert/parquet", "refs%2Fconvert%2Fparquet"):
        assert writer.get(f"{BASE}/{rev}/default/test/0000.parquet").body == b"PAR1test"


def test_04_errors_have_codes_and_private_looks_like_missing(folder):
    rules = {
        "org/tiny": {"gated": "auto", "tokens": {"hf_in": True, "hf_out": False}},
        "org/secret": {"private": True, "tokens": {"hf_in": True}},
    }
    write(folder, {"access.json": json.dumps(rules).encode(), "datasets/org/secret/a.txt": b"a"})
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        for headers, missing, gated in [({}, 401, 401), ({"Authorization": "Bearer hf_out"}, 404, 403)]:
            for target in ("/api/datasets/{}", "/datasets/{}/resolve/main/a.txt", "/api/datasets/{}/tree/main",
                           "/api/datasets/{}/refs", "/api/datasets/{}/revision/v1", "/datasets/{}"):  # fmt: skip
                answers = [wire.get(target.format(id), **headers) for id in ("org/secret", "org/none")]
                told = [
                    (
                        a.status,
                        a.code,
                        a.body,
                        {k: v for k, v in a.headers.items() if k not in ("x-request-id", "date")},
                    )
                    for a in answers
                ]
                assert told[0] == told[1]
                assert (answers[0].status, answers[0].code) == (missing, "RepoNotFound")
            answer = wire.get(f"{BASE}/main/notes.txt", **headers)
            assert (answer.status, answer.code) == (gated, "GatedRepo")
            assert wire.head(f"{BASE}/main/notes.txt", **headers).code == "GatedRepo"
        opened = wire.get("/datasets/org/secret/resolve/main/a.txt", Authorization="Bearer hf_in")
        assert opened.body == b"a"
        bad = wire.get("/datasets/org/secret/resolve/main/a.txt", Authorization="Bearer hf_what")
        assert bad.headers["X-Error-Message"] == "Invalid credentials in Authorization header"


def test_05_json_is_compact_and_links_are_absolute(writer):
    for target in (
        API,
        f"{API}/tree/main?recursive=true&expand=true",
        f"{API}/refs",
        "/api/datasets?full=true",
    ):
        body = writer.get(target).body
        assert json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode() == body
    entry = writer.get(f"{API}/tree/main").body
    assert b'"type":"file"' in entry
    assert b'"type":"directory"' in entry
    assert entry.count(b'"path":"') == len(json.loads(entry))
    for target in (
        f"{API}/tree/main?limit=1",
        "/api/datasets?limit=1",
        f"{API}/tree/main?limit=1&expand=true",
    ):
        assert len(writer.get(target).json) == 1
        https = writer.get(target, X_Forwarded_Proto="https", Host="hub.lan:8443")
        assert https.headers["Link"].startswith("<https://hub.lan:8443/api/")


def test_06_trees_list_folders_with_their_last_commit(writer):
    writer.commit(file("a/b/c.txt", b"1"), title="first")
    writer.commit(file("a/d.txt", b"1"), title="second")
    told = writer.get("/api/datasets/org/new/tree/main?recursive=true&expand=true").json
    last = {each["path"]: (each["type"], each["lastCommit"]["title"]) for each in told}
    assert last == {
        ".gitattributes": ("file", "initial commit"),
        "a": ("directory", "second"),
        "a/b": ("directory", "first"),
        "a/b/c.txt": ("file", "first"),
        "a/d.txt": ("file", "second"),
    }
    assert all(
        each["path"] in last for each in writer.get("/api/datasets/org/new/tree/main/a?recursive=1").json
    )


def test_07_paths_are_asked_for_by_form_and_by_json(wire):
    wanted = {"paths": ["notes.txt", "data", TRICKY, "none"], "expand": "true"}
    form = wire.ask("POST", f"{API}/paths-info/main", urlencode(wanted, doseq=True).encode(),
                    Content_Type="application/x-www-form-urlencoded")  # fmt: skip
    told = wire.ask("POST", f"{API}/paths-info/main", json.dumps({**wanted, "expand": True}).encode(),
                    Content_Type="application/json")  # fmt: skip
    assert form.json == told.json
    assert [each["path"] for each in form.json] == ["notes.txt", "data", TRICKY]


def test_08_ranges(wire):
    size = len(FILES[BIG])
    for header, status, expected in [
        ("bytes=0-0", 206, FILES[BIG][:1]),
        (f"bytes={size - 1}-", 206, FILES[BIG][-1:]),
        ("bytes=-8", 206, FILES[BIG][-8:]),
        (f"bytes=-{size * 9}", 206, FILES[BIG]),
        (f"bytes=5-{size * 9}", 206, FILES[BIG][5:]),
        (f"bytes={size}-", 416, None),
        ("bytes=-0", 416, None),
    ]:
        answer = wire.get(f"{BASE}/main/{BIG}", Range=header)
        assert answer.status == status, header
        if expected is None:
            assert answer.headers["Content-Range"] == f"bytes */{size}"
        else:
            assert answer.body == expected
    assert wire.get(f"{BASE}/main/empty.txt").headers["Content-Length"] == "0"
    assert wire.get(f"{BASE}/main/empty.txt", Range="bytes=0-").headers["Content-Range"] == "bytes */0"


@pytest.fixture
def api(writer, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    return HfApi(endpoint=writer.endpoint, token="hf_any")


def test_09_a_second_push_makes_no_commit(writer, api, tmp_path):
    large = os.urandom(100_000)
    write(tmp_path / "source", {"a.txt": b"a", "b.parquet": large, "empty.txt": b""})
    options = {"repo_id": "org/new", "folder_path": str(tmp_path / "source"), "repo_type": "dataset"}
    first = api.upload_folder(**options)
    asked = {
        "files": [
            {"path": path, "size": 1, "sample": ""} for path in ("a.txt", "b.parquet", "empty.txt", "c")
        ]
    }
    told = writer.post("/api/datasets/org/new/preupload/main", asked).json["files"]
    oids = [blob_id(b"a"), hashlib.sha256(large).hexdigest(), blob_id(b""), None]
    assert [each["oid"] for each in told] == oids
    assert all("shouldIgnore" in each for each in told)
    assert api.upload_folder(**options).oid == first.oid
    assert len(writer.get("/api/datasets/org/new/commits/main").json) == 2


def test_10_parquet_is_lfs_whatever_is_set(writer, api):
    attributes = file(".gitattributes", b"*.none filter=lfs diff=lfs merge=lfs -text\n")
    assert writer.commit(attributes).status == 200
    asked = {
        "files": [{"path": "x.parquet", "size": 5, "sample": "YQ=="}],
        "gitAttributes": "*.parquet -filter",
    }
    for body in (asked, {"files": asked["files"]}):
        told = writer.post("/api/datasets/org/new/preupload/main", body).json["files"]
        assert [each["uploadMode"] for each in told] == ["lfs"]
    # By xet, as hf_xet is installed and nothing is set.
    content = b"PAR1" + os.urandom(50_000)
    api.upload_file(path_or_fileobj=content, path_in_repo="x.parquet", repo_id="org/new", repo_type="dataset")
    assert writer.get("/datasets/org/new/resolve/main/x.parquet").body == content
    told = {each["path"]: each for each in writer.get("/api/datasets/org/new/tree/main").json}
    assert told["x.parquet"]["lfs"]["oid"] == hashlib.sha256(content).hexdigest()
    assert all("xetHash" not in each for each in told.values())


def test_11_what_is_there_already(writer, api):
    url = f"{writer.endpoint}/datasets/org/new"
    answer = writer.create()
    assert (answer.status, answer.json["url"]) == (409, url)
    assert api.create_repo("org/new", repo_type="dataset", exist_ok=True) == url
    for _ in range(2):
        api.create_branch("org/new", branch="b", repo_type="dataset", exist_ok=True)
        api.create_tag("org/new", tag="t", repo_type="dataset", exist_ok=True)
    api.delete_repo("org/none", repo_type="dataset", missing_ok=True)
    head = writer.get("/api/datasets/org/new").json["sha"]
    assert writer.commit(file("a", b"a"), parent=head[:8]).status == 200
    for parent in (head, head[:8], "0" * 40):
        assert writer.commit(file("b", b"b"), parent=parent).status == 412


def test_12_yaml_and_special_revisions(writer):
    for content, status in [
        ("---\nlicense: mit\n---\n", 200),
        ("---\na: [\n---\n", 400),
        ("", 200),
        (7, 400),
    ]:
        answer = writer.post("/api/validate-yaml", {"content": content, "repoType": "dataset"})
        assert answer.status == status
        assert answer.headers["Content-Type"].startswith("application/json")
        assert isinstance(answer.json, dict)
    sha = writer.get(API).json["sha"]
    for rev in ("HEAD", "main", sha, sha[:7]):
        assert writer.get(f"{API}/revision/{rev}").json["sha"] == sha
        assert writer.get(f"{BASE}/{rev}/notes.txt").headers["X-Repo-Commit"] == sha
    converted = writer.get(f"{API}/revision/refs%2Fconvert%2Fparquet").json["sha"]
    assert writer.get(f"{API}/revision/~parquet").json["sha"] == converted != sha


def test_13_commits_are_told_with_absolute_addresses(writer):
    answer = writer.commit(file("a", b"a"), title="Title\n\nfirst\nsecond").json
    repo, _, oid = answer["commitUrl"].partition("/commit/")
    assert (repo, oid) == (f"{writer.endpoint}/datasets/org/new", answer["commitOid"])
    assert (answer["success"], answer["hookOutput"]) == (True, "")
    newest = writer.get("/api/datasets/org/new/commits/main?expand[]=formatted").json[0]
    assert (newest["title"], newest["message"]) == ("Title", "first\nsecond")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", newest["date"])


def test_14_paths_that_lead_out_and_contents_that_are_others(writer, folder, tmp_path):
    before = sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if "tmp" not in path.parts
    )
    for path in (
        "../x",
        "/x",
        "a/../x",
        ".git/config",
        "a/.git/x",
        "a\\..\\x",
        "a\0",
        "a//b",
        ".",
        "..",
        ".GIT/x",
    ):
        assert writer.commit(file(path, b"x")).status == 400, path
        for key in ("deletedFile", "deletedFolder", "lfsFile"):
            assert writer.commit((key, {"path": path, "algo": "sha256", "oid": "0" * 64})).status == 400
    for path in ("..%2Fx", "%2e%2e/%2e%2e/secret.txt", "%2Fetc%2Fpasswd", ".git%2Fconfig", "..%5Cx", "a%00"):
        assert writer.get(f"/datasets/org/new/resolve/main/{path}").status in (400, 404), path
        assert writer.get(f"/api/datasets/org/new/tree/main/{path}").status in (400, 404), path
        assert writer.get(f"/github/{path}").status in (400, 404), path
    told = writer.get("/api/datasets/org/new/xet-write-token/main").json
    cas, bearer = urlsplit(told["casUrl"]).path, {"Authorization": f"Bearer {told['accessToken']}"}
    for hash in ("..%2F..%2Fx", "0" * 63, "g" * 64, "%2e%2e"):
        assert writer.ask("POST", f"{cas}/v1/xorbs/default/{hash}", b"x", **bearer).status in (400, 404)
    for oid in ("../x", "0" * 63, "G" * 64, 7, None):
        asked = {"operation": "upload", "objects": [{"oid": oid, "size": 1}]}
        assert writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).status == 400
    asked = {"operation": "upload", "objects": [{"oid": hashlib.sha256(b"right").hexdigest(), "size": 5}]}
    batch = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json
    href = urlsplit(batch["objects"][0]["actions"]["upload"]["href"]).path
    assert [writer.ask("PUT", href, body).status for body in (b"wrong", b"righ", b"right!", b"right")] == [
        400, 400, 413, 200,
    ]  # fmt: skip
    after = sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if "tmp" not in path.parts
    )
    assert {path for path in set(after) - set(before) if ".gristmill" not in path} <= {"hub/.gristmill"}


def test_15_ten_commits_at_once_and_sixteen_readers(writer):
    big = os.urandom(2_000_000)
    oid = writer.send_lfs(big)
    assert writer.commit(("lfsFile", {"path": "big.bin", "algo": "sha256", "oid": oid})).status == 200
    stop, wrong, statuses = threading.Event(), [], []

    def read(seed):
        at = seed * 100_000
        while not stop.is_set():
            answer = writer.get("/datasets/org/new/resolve/main/big.bin", Range=f"bytes={at}-{at + 150_000}")
            if answer.body != big[at : at + 150_001]:
                wrong.append(at)

    def push(number):
        content = os.urandom(50_000)
        written = ("lfsFile", {"path": f"{number}.bin", "algo": "sha256", "oid": writer.send_lfs(content)})
        statuses.append(writer.commit(written, title=f"{number}").status)

    readers = [threading.Thread(target=read, args=(n,)) for n in range(16)]
    pushers = [threading.Thread(target=push, args=(n,)) for n in range(10)]
    for thread in readers + pushers:
        thread.start()
    for thread in pushers:
        thread.join(100)
    stop.set()
    for thread in readers:
        thread.join(30)
    assert (statuses, wrong) == ([200] * 10, [])
    titles = {each["title"] for each in writer.get("/api/datasets/org/new/commits/main").json}
    assert titles >= {f"{number}" for number in range(10)}


def test_16_more_than_one_page_of_everything(writer, folder, monkeypatch):
    names = [f"many/{number:04d}.txt" for number in range(1100)]
    assert writer.commit(*(file(name, name.encode()) for name in names)).status == 200
    base = "/api/datasets/org/new"
    for target, most in [
        ("tree/main?recursive=true", 2),
        ("tree/main/many", 2),
        ("tree/main/many?expand=true", 22),
    ]:
        entries, count = pages(writer, f"{base}/{target}")
        assert [each["path"] for each in entries if each["path"] in names] == names
        assert count == most
    asked = urlencode({"paths": names, "expand": "False"}, doseq=True).encode()
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    assert len(writer.ask("POST", f"{base}/paths-info/main", asked, **form).json) == 1100
    assert len(writer.get(f"{base}?blobs=true").json["siblings"]) == 1101
    for number in range(1100):
        (folder / f"spaces/org/s{number:04d}").mkdir(parents=True)
    entries, count = pages(writer, "/api/spaces")
    assert (len(entries), count) == (1100, 2)
    for number in range(60):
        writer.commit(file("n.txt", b"%d" % number), title=f"{number}")
    entries, count = pages(writer, f"{base}/commits/main")
    assert (len(entries), count) == (62, 2)
