"""Commits over the wire: what is refused, who wins when many write at once, and what a killed server leaves."""

import hashlib
import http.client
import json
import multiprocessing
import os
import signal
import threading
from functools import partial
from urllib.parse import urlsplit

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.changes import begin_history, commit
from gristmill.hub.server.history import History
from gristmill.hub.server.intake import Intake
from gristmill.hub.server.operations import AddStored, Header
from gristmill.hub.server.repos import Hub
from tests.hub.server.conftest import FILES, Wire, Writer, file, write

API = "/api/datasets/org/new"


def head(writer, repo="org/new"):
    return writer.get(f"/api/datasets/{repo}").json["sha"]


def paths(writer, repo="org/new"):
    return {item["rfilename"] for item in writer.get(f"/api/datasets/{repo}").json["siblings"]}


BAD_PATHS = [
    "../x",
    "/x",
    "a/../x",
    "a//x",
    "a/./x",
    "",
    ".git/config",
    "a/.GIT/hooks/x",
    ".gristmill/state.json",
    "a\\x",
    "a\0x",
    "a\nx",
    "C:/x",
    "x" * 300,
    "a/" * 600 + "x",
    7,
    None,
]


def test_paths_that_no_commit_may_write_to(writer):
    before = head(writer)
    for path in BAD_PATHS:
        kinds = [
            file(path, b"x") if isinstance(path, str) else ("file", {"path": path, "content": "x"}),
            ("lfsFile", {"path": path, "algo": "sha256", "oid": "0" * 64, "size": 1}),
            ("deletedFile", {"path": path}),
        ]
        for operation in kinds:
            assert writer.commit(file("good.txt", b"good"), operation).status == 400, path
        if isinstance(path, str):
            asked = {"files": [{"path": path, "size": 1, "sample": ""}]}
            assert writer.post(f"{API}/preupload/main", asked).status == 400, path
    assert head(writer) == before
    assert paths(writer) == {".gitattributes"}


BAD_BODIES = [
    b"",
    b"{",
    b"[]",
    b'{"key":"file","value":{"path":"a","content":"x"}}',
    b'{"key":"header","value":{"summary":""}}',
    b'{"key":"header","value":{"summary":"x","parentCommit":"nope"}}',
    b'{"key":"header","value":7}',
    b'{"key":"header","value":{"summary":"x"}}\n{"key":"header","value":{"summary":"x"}}',
    b'{"key":"header","value":{"summary":"x"}}\n{"key":"nothing","value":{}}',
    b'{"key":"header","value":{"summary":"x"}}\n{"key":"file","value":{"path":"a","content":"?","encoding":"base64"}}',
    b'{"key":"header","value":{"summary":"x"}}\n{"key":"file","value":{"path":"a","content":"x","encoding":"rot13"}}',
    b'{"key":"header","value":{"summary":"x"}}\n{"key":"lfsFile","value":{"path":"a","oid":"../../x"}}',
    b'{"key":"header","value":{"summary":"x"}}\n' + b"[" * 100_000,
]


def test_bodies_that_are_no_commit(writer):
    before = head(writer)
    for body in BAD_BODIES:
        assert writer.ask("POST", f"{API}/commit/main", body).status == 400, body[:100]
    assert head(writer) == before


def test_a_path_is_not_both_file_and_folder(writer):
    assert writer.commit(file("a", b"x"), file("a/b", b"x")).status == 400
    assert writer.commit(file("a", b"x")).status == 200
    assert writer.commit(file("a/b", b"x")).status == 400
    assert writer.commit(("deletedFile", {"path": "a"}), file("a/b", b"x")).status == 200
    assert paths(writer) == {".gitattributes", "a/b"}


def test_an_lfs_file_must_be_there(writer):
    content = b"large" * 1000
    missing = ("lfsFile", {"path": "a.bin", "algo": "sha256", "oid": "0" * 64, "size": 5})
    assert writer.commit(missing).status == 400
    oid = writer.send_lfs(content)
    wrong = ("lfsFile", {"path": "a.bin", "algo": "sha256", "oid": oid, "size": 5})
    assert writer.commit(wrong).status == 400
    assert writer.commit(("lfsFile", {"path": "a.bin", "algo": "sha256", "oid": oid})).status == 200
    answer = writer.get("/datasets/org/new/resolve/main/a.bin", Range="bytes=5-9")
    assert (answer.status, answer.body) == (206, b"large")
    # Another repository has its own contents: an id alone opens nothing.
    writer.create("org/other")
    assert writer.commit(("lfsFile", {"path": "a.bin", "oid": oid}), repo="org/other").status == 400


def test_lfs_contents_are_checked(writer, folder):
    asked = {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 4}]}
    answer = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json
    href = urlsplit(answer["objects"][0]["actions"]["upload"]["href"]).path
    assert writer.ask("PUT", href, b"evil").status == 400
    assert writer.ask("PUT", href, b"longer than it may be").status == 413
    assert writer.ask("PUT", href[:-1] + "_", b"evil").status == 401
    verify = urlsplit(answer["objects"][0]["actions"]["verify"]["href"]).path
    assert writer.post(verify, asked["objects"][0]).status == 404
    for name, status in [("sha_256", 200), ("sha256", 200), ("md5", 400)]:  # the first is of huggingface.js
        named = {**asked, "hash_algo": name}
        assert writer.post("/datasets/org/new.git/info/lfs/objects/batch", named).status == status
    bad = {"operation": "upload", "objects": [{"oid": "../../etc", "size": 4}]}
    assert writer.post("/datasets/org/new.git/info/lfs/objects/batch", bad).status == 400
    assert leftovers(folder) == []


def leftovers(folder):
    return [
        *folder.glob("*/*/*/.gristmill/tmp/.*"),
        *folder.glob("*/*/.new*"),
        *folder.glob(".gristmill/tmp/*"),
    ]


def test_uploads_that_break_off_leave_nothing(writer, folder):
    before = head(writer)
    asked = {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 10_000_000}]}
    answer = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json
    href = urlsplit(answer["objects"][0]["actions"]["upload"]["href"]).path
    for method, target in [("PUT", href), ("POST", f"{API}/commit/main")]:
        connection = http.client.HTTPConnection(writer.address[0], writer.address[1], timeout=20)
        connection.putrequest(method, target)
        connection.putheader("Content-Length", "10000000")
        connection.endheaders(b'{"key":"header","value":{"summary":"x"}}\n' + bytes(3_000_000))
        connection.close()
    assert writer.commit(file("a.txt", b"a"), parent=before).status == 200
    for _ in range(200):
        if not leftovers(folder):
            break
        threading.Event().wait(0.02)
    assert leftovers(folder) == []
    assert not list(folder.glob("datasets/org/new/.gristmill/objects/00/*"))


def test_many_writers_at_once(writer):
    outcomes: list[tuple[int, int]] = []

    def work(number):
        while True:
            parent = head(writer) if number % 2 else None
            answer = writer.commit(file(f"{number}.txt", b"%d" % number), parent=parent, title=f"{number}")
            outcomes.append((number, answer.status))
            if answer.status == 200:
                return
            assert answer.status in (409, 412)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(number for number, status in outcomes if status == 200) == list(range(12))
    assert paths(writer) == {".gitattributes", *(f"{number}.txt" for number in range(12))}
    titles = [item["title"] for item in writer.get(f"{API}/commits/main").json]
    assert sorted(titles[:-1], key=int) == [str(number) for number in range(12)]


def test_two_servers_of_one_folder(writer, folder):
    with serve_in_thread(folder, allow_write=True) as second:
        writers = [writer, Writer(second)]
        statuses = [writers[n % 2].commit(file(f"{n}.txt", b"x")).status for n in range(6)]
        assert statuses == [200] * 6
        for each in writers:
            assert paths(each) == {".gitattributes", *(f"{number}.txt" for number in range(6))}
        answers = [each.create("org/both").status for each in writers]
        assert answers == [200, 409]


def test_plain_folders_that_are_linked_and_changed(folder, repo):
    large = os.urandom(2_000_000)
    write(repo, {"large.bin": large})
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        before = head(writer, "org/tiny")
        made = writer.commit(file("a.txt", b"a"), repo="org/tiny")
        assert made.status == 200
        [linked] = [p for p in repo.glob(".gristmill/objects/*/*") if p.stat().st_nlink == 2]
        assert linked.read_bytes() == large
        target = f"/datasets/org/tiny/resolve/{before}/large.bin"
        assert writer.get(target).body == large
        # A replaced file is another file; one that is written over is noticed, never served as what it was.
        (repo / "notes.txt").write_bytes(b"later")
        assert writer.get(f"/datasets/org/tiny/resolve/{before}/notes.txt").body == FILES["notes.txt"]
        with (repo / "large.bin").open("r+b") as stream:
            stream.write(b"written over")
        answer = writer.get(target)
        assert answer.status == 500
        assert "changed on the server's disk" in answer.json["error"]
        # Whoever has the content can send it again, and it is whole again.
        oid = writer.send_lfs(large, "org/tiny")
        again = ("lfsFile", {"path": "again.bin", "algo": "sha256", "oid": oid, "size": len(large)})
        assert writer.commit(again, repo="org/tiny").status == 200
        for place in (target, "/datasets/org/tiny/resolve/main/again.bin"):
            assert writer.get(place).body == large
        assert (repo / "large.bin").read_bytes() != large


def test_a_first_commit_that_was_killed(folder, repo):
    large = os.urandom(2_000_000)
    write(repo, {"large.bin": large, "same.bin": large})
    plain = Hub(folder, anyone_writes=True).find("datasets", "org/tiny")
    assert plain is not None
    entry = plain.head().entries["large.bin"]
    assert entry.sha256 is not None
    with Intake(History(repo)) as intake:
        assert intake.link(repo / "large.bin", entry.sha256)
        intake.finish()
    # Between that and the next try, one of the two is written over: its second name must not stand for the other.
    with (repo / "large.bin").open("r+b") as stream:
        stream.write(b"written over")
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        assert writer.commit(file("a.txt", b"a"), repo="org/tiny").status == 200
        for name in ("large.bin", "same.bin"):
            answer = writer.get(f"/datasets/org/tiny/resolve/main/{name}")
            assert answer.body == (repo / name).read_bytes()


def test_a_deleted_repository_stays_deleted(folder):
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        for round in range(5):
            assert writer.create("org/brief").status == 200
            asked = {"operation": "upload", "objects": [{"oid": hashlib.sha256(b"x").hexdigest(), "size": 1}]}
            answer = writer.post("/datasets/org/brief.git/info/lfs/objects/batch", asked).json
            href = urlsplit(answer["objects"][0]["actions"]["upload"]["href"]).path
            told = writer.get("/api/datasets/org/brief/xet-write-token/main").json
            bearer = {"Authorization": f"Bearer {told['accessToken']}"}
            xorb = f"{urlsplit(told['casUrl']).path}/v1/xorbs/default/{'a' * 64}"
            late = [
                partial(writer.commit, file("a", b"a"), repo="org/brief"),
                partial(writer.ask, "PUT", href, b"x"),
                partial(writer.ask, "POST", xorb, b"x", **bearer),
            ]
            threads = [threading.Thread(target=each) for each in late]
            for thread in threads[: round % 3]:
                thread.start()
            gone = {"organization": "org", "name": "brief", "type": "dataset"}
            assert writer.post("/api/repos/delete", gone, "DELETE").status == 200
            for thread in threads[round % 3 :]:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert [each().status for each in late] == [401, 404, 404]
            assert writer.get("/api/datasets/org/brief").code == "RepoNotFound"
            assert not (folder / "datasets/org/brief").exists()


def test_names_of_branches_and_repositories(writer):
    for name in ("refs/x", "a..b", "a b", "-a", "a.lock", "HEAD", "0" * 40, "@{1}"):
        answer = writer.post(f"{API}/branch/{name.replace('/', '%2F').replace(' ', '%20')}")
        assert answer.status == 400, name
    for name in ("a--b", "../x", "x.git", ".x", "x" * 100, "a b"):
        assert writer.create(f"org/{name}").status == 400, name
    answer = writer.create()
    assert answer.status == 409
    assert answer.json["url"] == f"{writer.endpoint}/datasets/org/new"
    assert writer.get("/api/datasets/org/x.git").status in (400, 401, 404)


def test_links_are_those_of_the_proxy(writer):
    proxied = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "hub.example"}
    answer = writer.commit(file("a.txt", b"a"), query="?create_pr=1", **proxied)
    assert answer.json["commitUrl"].startswith("https://hub.example/datasets/org/new/commit/")
    assert answer.json["pullRequestUrl"] == "https://hub.example/datasets/org/new/discussions/1"
    asked = {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 4}]}
    told = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked, **proxied).json
    assert told["objects"][0]["actions"]["upload"]["href"].startswith("https://hub.example/")
    token = writer.get(f"{API}/xet-write-token/main", **proxied)
    assert token.json["casUrl"].startswith("https://hub.example/")
    assert b'": ' not in token.body + answer.body


def test_preupload(writer):
    assert writer.commit(file("a.txt", b"a"), file(".gitignore", b"*.tmp\n")).status == 200
    files = [
        {"path": "a.txt", "size": 1, "sample": "YQ=="},
        {"path": "x.parquet", "size": 10, "sample": ""},
        {"path": "empty.parquet", "size": 0, "sample": ""},
        {"path": "big.txt", "size": 11 * 1024 * 1024, "sample": "YQ=="},
        {"path": "odd", "size": 3, "sample": "AAEC"},
        {"path": "x.tmp", "size": 3, "sample": "YQ=="},
        {"path": "ü.txt", "size": 2, "sample": "w7w="},
    ]
    told = writer.post(f"{API}/preupload/main", {"files": files, "gitAttributes": "*.none filter=lfs"}).json
    modes = {item["path"]: item["uploadMode"] for item in told["files"]}
    assert modes == {
        "a.txt": "regular",
        "x.parquet": "lfs",
        "empty.parquet": "regular",
        "big.txt": "lfs",
        "odd": "lfs",
        "x.tmp": "regular",
        "ü.txt": "regular",
    }
    assert [item["path"] for item in told["files"] if item["shouldIgnore"]] == ["x.tmp"]
    assert told["files"][0]["oid"] == "2e65efe2a145dda7ee51d1741299f848e5bf752e"
    assert writer.post(f"{API}/preupload/nope", {"files": []}).code == "RevisionNotFound"


def _commit_until_killed(root):
    hub = Hub(root, anyone_writes=True)
    plain = hub.find("datasets", "org/tiny")
    assert plain is not None
    repo = begin_history(hub, plain)
    number = 0
    while True:
        number += 1
        content = b"%d" % number
        added = AddStored("n.txt", None, len(content), repo.kept.add(content))
        commit(repo, "main", Header(str(number), "", None), [added], "me", create_pr=False)


def test_killed_at_any_moment_the_old_head_or_the_new_one_is_there(folder):
    context = multiprocessing.get_context("fork")
    for round in range(4):
        process = context.Process(target=_commit_until_killed, args=(folder,))
        process.start()
        process.join(0.05 + 0.057 * round)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with serve_in_thread(folder, allow_write=True) as endpoint:
            writer = Writer(endpoint)
            entries = writer.get("/api/datasets/org/tiny/tree/main?recursive=true").json
            for entry in entries:
                if entry["type"] == "file":
                    content = writer.get(f"/datasets/org/tiny/resolve/main/{Wire.quoted(entry['path'])}")
                    assert len(content.body) == entry["size"]
            history = writer.get("/api/datasets/org/tiny/commits/main?limit=1000").json
            numbers = [int(item["title"]) for item in history if item["title"].isdigit()]
            if numbers:
                assert writer.get("/datasets/org/tiny/resolve/main/n.txt").body == b"%d" % numbers[0]
            assert set(FILES) <= paths(writer, "org/tiny")
            assert writer.commit(file("after.txt", b"%d" % round), repo="org/tiny").status == 200


SCOPES = {
    "hf_ann": {"user": "ann", "write": ["ann/*", "models/team/*"], "read": ["org/*"]},
    "hf_bob": {"user": "bob"},
    "hf_all": {"user": "root", "write": ["*"]},
}


def test_tokens_and_scopes(folder):
    (folder / "tokens.json").write_text(json.dumps(SCOPES))
    # Where tokens are known, they say who may write, whatever the switch says.
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        ann, bob = ({"Authorization": f"Bearer hf_{name}"} for name in ("ann", "bob"))
        body = {"organization": None, "name": "mine", "type": "dataset", "private": True}
        assert writer.post("/api/repos/create", body).status == 401
        assert writer.post("/api/repos/create", body, **bob).status == 403
        assert writer.post("/api/repos/create", body, **ann).json["name"] == "ann/mine"
        team = {"organization": "team", "name": "x"}
        assert writer.post("/api/repos/create", {**team, "type": "dataset"}, **ann).status == 403
        assert writer.post("/api/repos/create", {**team, "type": "model"}, **ann).status == 200
        unknown = {"Authorization": "Bearer hf_unknown"}
        assert "Invalid credentials" in writer.get("/api/datasets", **unknown).json["error"]
        for headers, status in [({}, 401), (bob, 404)]:
            assert writer.get("/api/datasets/ann/mine", **headers).status == status
            assert writer.commit(file("a", b"a"), repo="ann/mine", **headers).status == status
            assert writer.get("/api/datasets/ann/mine/xet-write-token/main", **headers).status == status
            assert writer.commit(file("a", b"a"), repo="org/tiny", **headers).status in (401, 403)
        assert writer.commit(file("a", b"a"), repo="ann/mine", **ann).status == 200
        assert writer.commit(file("a", b"a"), repo="org/tiny", **ann).status == 403
        everything = {"Authorization": "Bearer hf_all"}
        assert writer.commit(file("a", b"a"), repo="org/tiny", **everything).status == 200
        [last] = writer.get("/api/datasets/ann/mine/commits/main?limit=1", **ann).json
        assert last["authors"][0]["user"] == "ann"
        assert [item["id"] for item in writer.get("/api/datasets", **bob).json] == ["org/tiny"]
        who = writer.get("/api/whoami-v2", **ann).json
        assert (who["name"], [org["name"] for org in who["orgs"]]) == ("ann", ["team"])
        move = {"fromRepo": "ann/mine", "toRepo": "org/taken", "type": "dataset"}
        assert writer.post("/api/repos/move", move, **ann).status == 403


def test_a_reader_sees_whole_files_while_others_write(writer):
    big = os.urandom(300_000)
    assert writer.commit(file("big.dat", big), file("n.txt", b"0")).status == 200
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            answer = writer.get("/datasets/org/new/resolve/main/big.dat", Range="bytes=1000-200000")
            if answer.body != big[1000:200001]:
                wrong.append(answer.status)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for number in range(15):
        assert writer.commit(file("n.txt", b"%d" % number), file(f"f{number}", b"x")).status == 200
    stop.set()
    for reader in readers:
        reader.join(30)
    assert wrong == []
