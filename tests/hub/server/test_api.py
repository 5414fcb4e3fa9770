"""Listing and metadata, as the protocol describes them, over the wire."""

import json
import re
import shutil
import time
from urllib.parse import quote, urlencode

import pytest

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.hub.server import create_app, serve_in_thread
from gristmill.hub.server.hashing import blob_id
from tests.hub.server.conftest import FILES, TRICKY, Wire, write

API = "/api/datasets/org/tiny"
COMMIT = re.compile(r"[0-9a-f]{40}")


def paths(answer):
    return [item["path"] for item in answer.json]


def test_info(wire):
    answer = wire.get(API)
    told = answer.json
    assert (told["id"], told["author"], told["private"], told["gated"]) == ("org/tiny", "org", False, False)
    assert COMMIT.fullmatch(told["sha"])
    assert told["cardData"] == {"license": "mit", "language": ["en"], "tags": ["tiny"], "date": "2024-01-02"}
    assert told["tags"] == ["language:en", "license:mit", "tiny"]
    assert {item["rfilename"] for item in told["siblings"]} == set(FILES)
    assert "size" not in told["siblings"][0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["lastModified"])
    assert b'", "' not in answer.body
    assert b'": ' not in answer.body
    assert wire.get(f"{API}/revision/{told['sha']}").json == told
    assert wire.get(f"{API}/revision/refs%2Fheads%2Fmain").json["sha"] == told["sha"]
    assert wire.get("/api/models/org/model").json["modelId"] == "org/model"


def test_info_with_sizes_and_with_chosen_keys(wire):
    siblings = {item["rfilename"]: item for item in wire.get(f"{API}?blobs=True").json["siblings"]}
    assert siblings["notes.txt"] == {"rfilename": "notes.txt", "size": 10, "blobId": blob_id(b"0123456789")}
    lfs = siblings["data/test-00000-of-00001.parquet"]
    assert (lfs["size"], lfs["lfs"]["size"], lfs["lfs"]["pointerSize"]) == (8, 8, 126)
    assert set(wire.get(f"{API}?expand=private&expand=gated").json) == {"_id", "id", "private", "gated"}
    assert set(wire.get(f"{API}/revision/HEAD?expand=sha").json) == {"_id", "id", "sha"}


def test_tree(wire):
    top = wire.get(f"{API}/tree/main")
    assert paths(top) == ["README.md", "data", "docs", "empty.txt", "notes.txt"]
    assert top.body.startswith(b'[{"type":"file","oid":"')
    assert all("lastCommit" not in item for item in top.json)
    everything = wire.get(f"{API}/tree/main?recursive=True").json
    assert {item["path"] for item in everything if item["type"] == "file"} == set(FILES)
    assert {item["path"] for item in everything if item["type"] == "directory"} == {
        "data",
        "docs",
        "docs/deep",
    }
    assert {item["path"]: item["size"] for item in everything if item["type"] == "file"} == {
        path: len(content) for path, content in FILES.items()
    }
    for target in ("docs/deep", "docs%2Fdeep", "docs/deep/"):
        assert paths(wire.get(f"{API}/tree/main/{target}")) == [TRICKY]
    assert paths(wire.get(f"{API}/tree/main/{quote(TRICKY, safe='')}")) == [TRICKY]
    missing = wire.get(f"{API}/tree/main/dat")
    assert (missing.status, missing.code) == (404, "EntryNotFound")
    assert wire.get(f"{API}/tree/nope").code == "RevisionNotFound"


def test_tree_with_last_commits(wire):
    sha = wire.get(API).json["sha"]
    for item in wire.get(f"{API}/tree/main?recursive=1&expand=1").json:
        assert item["lastCommit"]["id"] == sha
        assert item["lastCommit"]["date"].endswith("Z")


def test_an_empty_repository(wire, folder):
    (folder / "datasets/org/void").mkdir()
    assert wire.get("/api/datasets/org/void/tree/main").json == []
    assert wire.get("/api/datasets/org/void").json["siblings"] == []


def all_pages(wire, target):
    pages = []
    while target:
        answer = wire.get(target)
        assert answer.status == 200
        pages.append(answer.json)
        link = re.fullmatch(r'<(http://[^<>;,]+)>; rel="next"', answer.headers.get("Link", "none"))
        assert (link is None) == ("Link" not in answer.headers)
        target = link[1].removeprefix(wire.endpoint) if link else ""
    return pages


def test_pages(wire, repo):
    many = {f"many/{number % 7}/file, {number:04d};.txt": b"%d" % number for number in range(1100)}
    write(repo, many)
    for query, size in [("", 1000), ("&expand=true", 50), ("&limit=333", 333), ("&limit=99999", 1000)]:
        pages = all_pages(wire, f"{API}/tree/main/many?recursive=true{query}")
        assert {len(page) for page in pages[:-1]} == {size}
        listed = [item["path"] for page in pages for item in page]
        assert listed == sorted({*many, *(f"many/{number}" for number in range(7))})
    pages = all_pages(wire, f"{API}/tree/main/many%2F3?limit=10")
    assert [item["path"] for page in pages for item in page] == sorted(
        name for name in many if name.startswith("many/3/")
    )
    assert len(wire.get(API).json["siblings"]) == 1100 + len(FILES)
    body = json.dumps({"paths": list(many)[:1000]}).encode()
    assert len(wire.ask("POST", f"{API}/paths-info/main", body, Content_Type="application/json").json) == 1000


def test_bad_pages(wire):
    for query in ("limit=0", "limit=-1", "limit=x", "cursor=%C3%BC", "cursor=abc"):
        assert wire.get(f"{API}/tree/main?{query}").status == 400


def test_next_pages_are_where_the_client_came_from(wire, folder):
    def link(**headers):
        return wire.get(f"{API}/tree/main?limit=1&recursive=true", **headers).headers["Link"]

    assert link(Host="hub.lan:8080").startswith(
        f"<http://hub.lan:8080{API}/tree/main?limit=1&recursive=true&cursor="
    )
    assert link(X_Forwarded_Proto="https", X_Forwarded_Host="hub.example").startswith(
        "<https://hub.example/api/"
    )
    assert wire.get(f"{API}/tree/main?limit=1", Host="a>b;c").status == 400
    with serve_in_thread(folder, public_url="https://hub.example/") as endpoint:
        assert (
            Wire(endpoint)
            .get(f"{API}/tree/main?limit=1")
            .headers["Link"]
            .startswith("<https://hub.example/api/")
        )


def test_paths_info(wire):
    wanted = ["notes.txt", "docs", "nothing", TRICKY, "notes.txt", "../x"]
    form = urlencode({"paths": wanted, "expand": "False"}, doseq=True).encode()
    answer = wire.ask(
        "POST", f"{API}/paths-info/main", form, Content_Type="application/x-www-form-urlencoded"
    )
    assert paths(answer) == ["notes.txt", "docs", TRICKY]
    as_json = json.dumps({"paths": wanted, "expand": True}).encode()
    answer = wire.ask("POST", f"{API}/paths-info/main", as_json, Content_Type="application/json")
    assert paths(answer) == ["notes.txt", "docs", TRICKY]
    assert all("lastCommit" in item for item in answer.json)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"paths": 1}', b'{"paths": [1]}', b"\xff", b"[" * 100_000])
def test_bad_bodies(wire, body):
    answer = wire.ask("POST", f"{API}/paths-info/main", body, Content_Type="application/json")
    assert answer.status == 400
    assert answer.json["error"]


def test_a_body_without_end_is_refused(wire):
    answer = wire.ask("POST", f"{API}/paths-info/main", b"x" * 17_000_000, Content_Type="application/json")
    assert answer.status == 413


def test_refs_and_commits(wire):
    sha = wire.get(API).json["sha"]
    refs = wire.get(f"{API}/refs?include_prs=1").json
    assert refs["branches"] == [{"name": "main", "ref": "refs/heads/main", "targetCommit": sha}]
    [convert] = refs["converts"]
    assert (convert["name"], convert["ref"]) == ("parquet", "refs/convert/parquet")
    assert COMMIT.fullmatch(convert["targetCommit"])
    assert convert["targetCommit"] != sha
    assert (refs["tags"], refs["pullRequests"]) == ([], [])
    [commit] = wire.get(f"{API}/commits/main?expand[]=formatted").json
    assert commit["id"] == sha
    assert set(commit) == {"id", "title", "message", "date", "authors", "formatted"}


def test_the_parquet_ref(wire):
    expected = [
        "default",
        "default/test",
        "default/test/0000.parquet",
        "default/train",
        "default/train/0000.parquet",
        "default/train/0001.parquet",
    ]
    sha = wire.get(f"{API}/revision/refs%2Fconvert%2Fparquet").json["sha"]
    for revision in ("refs%2Fconvert%2Fparquet", "refs/convert/parquet", "~parquet", sha, sha[:8]):
        assert sorted(paths(wire.get(f"{API}/tree/{revision}?recursive=true"))) == expected
        answer = wire.get(f"/datasets/org/tiny/resolve/{revision}/default/train/0001.parquet")
        assert (answer.body, answer.headers["X-Repo-Commit"]) == (b"PAR1second", sha)
    assert wire.get("/datasets/org/tiny/resolve/~parquet/notes.txt").code == "EntryNotFound"
    assert wire.get("/api/models/org/model/tree/~parquet").code == "RevisionNotFound"


def test_the_parquet_listing(wire):
    base = f"{wire.endpoint}{API}/parquet"
    train = [f"{base}/default/train/0.parquet", f"{base}/default/train/1.parquet"]
    whole = {"default": {"train": train, "test": [f"{base}/default/test/0.parquet"]}}
    assert wire.get(f"{API}/parquet").json == whole
    assert wire.get(f"{API}/parquet/default").json == whole["default"]
    assert wire.get(f"{API}/parquet/default/train").json == train
    first = wire.get(f"{API}/parquet/default/train/1.parquet")
    assert (first.status, first.headers["Location"]) == (
        302,
        "/datasets/org/tiny/resolve/refs%2Fconvert%2Fparquet/default/train/0001.parquet",
    )
    assert wire.get(first.headers["Location"]).body == b"PAR1second"
    for missing in (
        "parquet/other",
        "parquet/default/validation",
        "parquet/default/train/2.parquet",
        "parquet/default/train/x",
    ):
        assert wire.get(f"{API}/{missing}").code == "EntryNotFound"


def test_a_split_with_other_files_is_no_parquet_split(folder):
    card = (
        b"---\nconfigs:\n- config_name: mixed\n  data_files:\n  - split: train\n    path: [a.parquet, b.csv]\n"
        b"  - split: test\n    path: a.parquet\n- config_name: broken\n  data_files: nothing-*.parquet\n---\n"
    )
    write(folder / "datasets/org/mixed", {"README.md": card, "a.parquet": b"a", "b.csv": b"b"})
    write(folder / "datasets/org/texts", {"a.txt": b"a"})
    with serve_in_thread(folder, convert_max=0) as endpoint:
        wire = Wire(endpoint)
        listed = wire.get("/api/datasets/org/mixed/parquet").json
        assert {name: list(splits) for name, splits in listed.items()} == {"mixed": ["test"]}
        assert wire.get("/api/datasets/org/texts/parquet").json == {}
        assert wire.get("/api/datasets/org/texts/refs").json["converts"] == []


def test_list_and_search(wire, folder):
    write(folder / "datasets/org/other", {"README.md": b"---\ngated: auto\nlicense: mit\n---\n"})
    write(folder / "datasets/zoo/tiny-animals", {"a.txt": b"a"})
    (folder / "datasets/zoo/not..valid").mkdir()
    (folder / "datasets/zoo/file").write_bytes(b"")

    def ids(query=""):
        return [item["id"] for item in wire.get(f"/api/datasets?{query}").json]

    assert ids() == ["org/other", "org/tiny", "zoo/tiny-animals"]
    assert ids("search=TINY") == ["org/tiny", "zoo/tiny-animals"]
    assert ids("search=tiny&search=zoo") == ["zoo/tiny-animals"]
    assert ids("author=org") == ["org/other", "org/tiny"]
    assert ids("filter=license:mit&filter=tiny") == ["org/tiny"]
    assert ids("gated=true") == ["org/other"]
    assert ids("search=nothing") == []
    assert sorted(ids("sort=lastModified&direction=-1")) == ids()
    assert [[item["id"] for item in page] for page in all_pages(wire, "/api/datasets?limit=2")] == [
        ids()[:2],
        ids()[2:],
    ]
    assert "siblings" not in wire.get("/api/datasets").json[0]
    assert "siblings" in wire.get("/api/datasets?full=true").json[0]
    assert set(wire.get("/api/datasets?expand=gated").json[0]) == {"_id", "id", "gated"}
    assert wire.get("/api/datasets?sort=size").status == 400
    assert [item["id"] for item in wire.get("/api/models").json] == ["org/model"]
    assert wire.get("/api/spaces").json == []


def test_a_broken_card_breaks_nothing(wire, repo):
    for card in (
        b"---\na: [\n---\n",
        b"---\n- a\n---\n",
        b"---\n&a [*a]\n---\n",
        b"\xff\xfe---\n",
        b"---\na: .nan\n---\n",
    ):
        (repo / "README.md").write_bytes(card)
        answer = wire.get(API)
        assert answer.status == 200
        assert "X-HF-Warning" in answer.headers or answer.json.get("cardData") in (None, {"a": None})
        assert wire.get(f"{API}/parquet").json["default"].keys() == {"train", "test"}
    assert [item["id"] for item in wire.get("/api/datasets").json] == ["org/tiny"]


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/api/repos/create"),
        ("DELETE", "/api/repos/delete"),
        ("POST", "/api/validate-yaml"),
        ("POST", f"{API}/preupload/main"),
        ("POST", f"{API}/commit/main"),
        ("PUT", f"{API}/settings"),
        ("POST", f"{API}/branch/new"),
        ("POST", "/datasets/org/tiny.git/info/lfs/objects/batch"),
        ("DELETE", "/datasets/org/tiny/resolve/main/notes.txt"),
    ],
)
def test_nothing_can_be_written(wire, method, target):
    answer = wire.ask(method, target, b"{}")
    assert answer.status == 403
    assert "read-only" in answer.json["error"]


def test_addresses_that_mean_nothing(wire):
    assert wire.get("/api/agent-harnesses").status == 404
    assert wire.get("/favicon.ico").status == 404
    assert wire.get(f"{API}/nothing").status == 404
    assert wire.get("/api/datasets/squad").code == "RepoNotFound"
    assert wire.get("/api/datasets/squad/revision/main").code == "RepoNotFound"
    assert wire.get("/api/buckets/a/b").code == "RepoNotFound"
    assert wire.get("/api/whoami-v2").status == 401
    assert wire.get("/api/datasets-tags-by-type").json == {}


def test_pins_hold_until_something_changes(folder, repo):
    pin = "0123456789" * 4
    (folder / "revisions.json").write_text(json.dumps({"org/tiny": pin, "models/org/model": pin[::-1]}))
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert wire.get(API).json["sha"] == pin
        assert wire.get("/api/models/org/model").json["sha"] == pin[::-1]
        assert wire.get(f"/datasets/org/tiny/resolve/{pin[:7]}/notes.txt").headers["X-Repo-Commit"] == pin
        (repo / "notes.txt").write_bytes(b"changed")
        changed = wire.get(API).json["sha"]
        assert changed != pin
        assert wire.get(f"{API}/revision/{pin}").code == "RevisionNotFound"
        (repo / "notes.txt").write_bytes(FILES["notes.txt"])
        assert wire.get(API).json["sha"] == pin


def test_the_commit_follows_from_the_content_alone(wire, folder, repo):
    shutil.copytree(repo, folder / "datasets/org/copy")
    time.sleep(0.01)
    assert wire.get("/api/datasets/org/copy").json["sha"] == wire.get(API).json["sha"]
    (folder / "datasets/org/copy/notes.txt").rename(folder / "datasets/org/copy/other.txt")
    assert wire.get("/api/datasets/org/copy").json["sha"] != wire.get(API).json["sha"]


def test_a_repository_removed_while_serving(wire, repo):
    assert wire.get(API).status == 200
    shutil.rmtree(repo)
    for target in (API, f"{API}/tree/main", "/datasets/org/tiny/resolve/main/notes.txt"):
        assert wire.get(target).code == "RepoNotFound"


def test_a_file_that_cannot_be_read_is_not_absent(wire, repo, monkeypatch):
    def refuse(found, lfs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gristmill.hub.server.hashing._read", refuse)
    answer = wire.get("/datasets/org/tiny/resolve/main/notes.txt")
    assert (answer.status, answer.code) == (500, None)
    assert answer.json["error"] == "The server could not read README.md of org/tiny: Permission denied."


def test_a_fault_in_the_server_is_an_answer(wire, monkeypatch):
    def fail(self):
        raise RuntimeError("details that stay inside")

    monkeypatch.setattr("gristmill.hub.server.plain.PlainRepo.head", fail)
    answer = wire.get(API)
    assert answer.status == 500
    assert "details" not in answer.json["error"]


def test_folders_and_settings_that_cannot_be_used(tmp_path):
    with pytest.raises(FileMissingError, match="nowhere"):
        create_app(tmp_path / "nowhere")
    for name in ("revisions.json", "access.json"):
        for text in ("{", "[]", '{"org/name": 5}', "\ud800".encode("utf-8", "surrogatepass")):
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
            with pytest.raises(FileFormatError, match=name):
                create_app(tmp_path)
        (tmp_path / name).unlink()
