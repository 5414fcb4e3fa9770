"""Nothing outside the repositories comes out, whatever the path says."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.hub.server import serve_in_thread, walk
from tests.hub.server.conftest import FILES, Wire, write

BASE = b"/datasets/org/tiny/resolve/main/"


@pytest.mark.parametrize(
    "target",
    [
        BASE + b"../../../../../secret.txt",
        BASE + b"..%2f..%2f..%2f..%2fsecret.txt",
        BASE + b"%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        BASE + b"%252e%252e/secret.txt",
        BASE + b"data/../notes.txt",
        BASE + b"./notes.txt",
        BASE + b"/notes.txt",
        BASE + b"%2fetc%2fpasswd",
        BASE + b"//etc/passwd",
        BASE + b"..%5c..%5csecret.txt",
        BASE + b"C:%5cwindows",
        BASE + b"notes.txt%00.png",
        BASE + b"%ff%fe",
        BASE,
        b"/datasets/../../secret.txt/resolve/main/x",
        b"/datasets/%2e%2e/%2e%2e/resolve/main/secret.txt",
        b"/datasets/org/..%2f..%2f..%2f..%2fsecret.txt/resolve/main/x",
        b"/api/datasets/org/tiny/tree/main/..%2f..",
        b"/api/datasets/../../tree/main",
        b"/github/../../secret.txt",
        b"/github/owner/repo/v1/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        b"/github/owner/repo/v1//etc/passwd",
        b"/revisions.json",
        b"/github/../access.json",
        b"*",
        b"x",
        b"/" + b"a" * 9000,
    ],
)
def test_refused(wire, target):
    for method in (b"GET", b"HEAD"):
        status, body = wire.raw(target, method)
        assert status in (400, 401, 404)
        assert b"secret" not in body.replace(b"secret.txt", b"")
        assert b"root:" not in body


PIECES = [
    "..",
    ".",
    "%2e%2e",
    "%2E.",
    "%2f",
    "/",
    "//",
    "\\",
    "%5c",
    "%00",
    "secret.txt",
    "org",
    "tiny",
    "datasets",
    "~",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["/", "/datasets/", "/github/", BASE.decode(), "/api/datasets/org/tiny/tree/main/"]),
    st.lists(st.sampled_from(PIECES), max_size=14),
)
def test_no_mixture_of_dots_and_slashes_leads_out(wire, start, pieces):
    status, body = wire.raw((start + "".join(pieces)).encode())
    assert status < 500
    assert body != b"secret"


def test_links(wire, repo, folder):
    write(folder, {"access.json": b'{"org/other": {"private": true, "tokens": {"hf_x": true}}}'})
    (repo / "inside.txt").symlink_to("data/../notes.txt")
    (repo / "linked").symlink_to("docs")
    (repo / "out.txt").symlink_to("../../../../secret.txt")
    (repo / "out").symlink_to(folder.parent)
    (repo / "tokens.json").symlink_to("../../../access.json")
    (repo / "loop").symlink_to(".")
    (repo / "dangling").symlink_to("nowhere")
    os.mkfifo(repo / "pipe")
    (folder / "datasets/org/escape").symlink_to(folder.parent)
    (folder / "github/owner/repo/v1/out.txt").symlink_to(folder.parent / "secret.txt")
    names = {item["path"] for item in wire.get("/api/datasets/org/tiny/tree/main?recursive=true").json}
    assert {"inside.txt", "linked", "linked/deep"} <= names
    assert not names & {"out.txt", "out", "tokens.json", "loop", "dangling", "pipe"}
    assert wire.get("/datasets/org/tiny/resolve/main/inside.txt").body == b"0123456789"
    for path in ("out.txt", "out/secret.txt", "tokens.json", "dangling", "pipe"):
        assert wire.get(f"/datasets/org/tiny/resolve/main/{path}").code == "EntryNotFound"
    assert wire.get("/datasets/org/escape/resolve/main/secret.txt").code == "RepoNotFound"
    assert wire.get("/github/owner/repo/v1/out.txt").status == 404


def test_tool_folders_and_unfinished_files_are_not_listed(wire, repo):
    before = wire.get("/api/datasets/org/tiny").json["sha"]
    write(
        repo,
        {
            ".git/config": b"x",
            ".cache/huggingface/download/a.lock": b"",
            "data/.train.parquet.1-00000000-00000000.incomplete": b"half",
        },
    )
    assert wire.get("/api/datasets/org/tiny").json["sha"] == before
    for path in (".git/config", ".cache/huggingface/download/a.lock"):
        assert wire.get(f"/datasets/org/tiny/resolve/main/{path}").code == "EntryNotFound"


def test_pages_escape_names(wire, repo):
    write(repo, {"<script>alert(1)<script>.txt": b"<script>"})
    page = wire.get("/datasets/org/tiny")
    assert page.status == 200
    assert b"<script>" not in page.body
    assert b"&lt;script&gt;alert(1)&lt;" in page.body
    front = wire.get("/")
    assert b'<a href="/datasets/org/tiny">org/tiny</a>' in front.body
    assert b'<a href="/org/model">org/model</a>' in front.body
    assert b"<script>" not in wire.get("/", Host='"><script>').body
    file = wire.get("/datasets/org/tiny/resolve/main/%3Cscript%3Ealert(1)%3Cscript%3E.txt")
    assert file.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert file.headers["Content-Type"].startswith("text/plain")


def test_links_in_circles_and_links_behind_links(wire, repo):
    (repo / "self").symlink_to("self")
    (repo / "through.txt").symlink_to("notes.txt/deeper")
    for number in range(40):
        (repo / f"d{number}").mkdir()
        for name in ("left", "right"):
            (repo / f"d{number}/{name}").symlink_to(f"../d{number + 1}")
    write(repo, {"d1/file.txt": b"x"})
    tree = wire.get("/api/datasets/org/tiny/tree/main?recursive=true").json
    names = {item["path"] for item in tree}
    assert {"notes.txt", "d1/file.txt", "d0/left/file.txt", "d0/right/file.txt"} <= names
    assert not {"self", "through.txt"} & names


@pytest.fixture
def deep_file(repo):
    """A file in 1,200 folders, taken away again level by level: shutil.rmtree, which pytest uses, calls itself."""
    folders = [repo / "/".join(["d"] * depth) for depth in range(1, 1201)]
    for folder in folders:
        folder.mkdir()
    (folders[-1] / "file.txt").write_bytes(b"x")
    yield "/".join(["d"] * 1200) + "/file.txt"
    (folders[-1] / "file.txt").unlink()
    for folder in reversed(folders):
        folder.rmdir()


def test_a_folder_deeper_than_calls_can_be_nested_hides_nothing(wire, repo, deep_file):
    write(repo, {"notes.txt": b"n"})
    assert [item["id"] for item in wire.get("/api/datasets").json] == ["org/tiny"]
    answer = wire.get(f"/datasets/org/tiny/resolve/main/{deep_file}")
    assert (answer.status, answer.body) == (200, b"x")


def test_a_repository_that_can_not_be_read_does_not_hide_the_others(wire, folder, monkeypatch):
    write(folder / "datasets/org/broken", {"a.txt": b"a"})
    real = walk.walk

    def refuse(place, *rest):
        if place.name == "broken":
            raise PermissionError(13, "Permission denied")
        return real(place, *rest)

    monkeypatch.setattr("gristmill.hub.server.plain.walk", refuse)
    assert [item["id"] for item in wire.get("/api/datasets").json] == ["org/tiny"]
    assert wire.get("/api/datasets/org/broken").status == 500


def test_links_that_lead_out_are_followed_if_the_operator_wants_it(folder, repo, caplog):
    outside = folder.parent / "elsewhere"
    write(outside, {"rows.csv": b"a\n1\n", "deep/more.csv": b"a\n2\n", ".git/config": b"x"})
    write(folder, {"access.json": b'{"org/other": {"private": true, "tokens": {"hf_x": true}}}'})
    write(folder / "datasets/org/private/.gristmill", {"objects/ab/abc": b"kept"})
    (repo / "out").symlink_to(outside)
    (repo / "rows.csv").symlink_to(outside / "rows.csv")
    (repo / "above").symlink_to(folder.parent)
    (repo / "top").symlink_to("/")
    (repo / "settings.json").symlink_to(folder / "access.json")
    (repo / "all").symlink_to(folder / "datasets")
    (repo / "kept").symlink_to(folder / "datasets/org/private/.gristmill/objects")
    (outside / "back").symlink_to(folder / "access.json")
    (folder / "datasets/org/linked").symlink_to(outside)
    (folder / "github/owner/repo/v1/out.csv").symlink_to(outside / "rows.csv")
    (folder / "buckets/org").mkdir(parents=True)
    (folder / "buckets/org/b").symlink_to(outside)
    followed = {"out/rows.csv", "out/deep/more.csv", "rows.csv"}
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        for _ in range(2):
            names = {item["rfilename"] for item in wire.get("/api/datasets/org/tiny").json["siblings"]}
            assert names == set(FILES)
        told = [each.getMessage() for each in caplog.records if "is left out: the link" in each.getMessage()]
        assert len([each for each in told if each.startswith(f"{repo / 'out'} ")]) == 1
        assert all(each.endswith("is served with --follow-links.") for each in told)
        assert wire.get("/api/datasets/org/linked").code == "RepoNotFound"
    caplog.clear()
    with serve_in_thread(folder, follow_links=True) as endpoint:
        wire = Wire(endpoint)
        names = {item["rfilename"] for item in wire.get("/api/datasets/org/tiny").json["siblings"]}
        assert names == {*FILES, *followed}
        assert wire.get("/datasets/org/tiny/resolve/main/out/deep/more.csv").body == b"a\n2\n"
        for path in ("out/back", "above/secret.txt", "top/etc/hostname", "settings.json", "kept/ab/abc"):
            assert wire.get(f"/datasets/org/tiny/resolve/main/{path}").code == "EntryNotFound"
        assert wire.get("/datasets/org/linked/resolve/main/rows.csv").body == b"a\n1\n"
        assert wire.get("/github/owner/repo/v1/out.csv").body == b"a\n1\n"
        assert wire.get("/buckets/org/b/resolve/rows.csv").status == 401
        assert "is left out: the link" in caplog.text
        assert "--follow-links" not in caplog.text
