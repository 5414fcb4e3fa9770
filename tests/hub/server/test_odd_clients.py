"""Texts that can't be written down, numbers that are none, names that are too long; damage to one repository; what moved."""

import json

import pytest

from gristmill.errors import HubResponseError, UnsafePathError
from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.json_text import parse_json
from gristmill.hub.server.upstream import Facts, Upstream
from tests.hub.server.conftest import Writer, file, write

HALF = "x\ud800y"
TOKENS = {
    "hf_ann": {"user": "ann", "write": ["ann/*"]},
    "hf_bob": {"user": "bob", "write": ["bob/*"]},
    "hf_eve": {"user": "eve", "read": ["ann/*"]},
}
WHY = r"surrogates|number|codec|Expecting"
ANN = {"Authorization": "Bearer hf_ann"}


@pytest.fixture
def hub(tmp_path):
    write(tmp_path, {"tokens.json": json.dumps(TOKENS).encode()})
    (tmp_path / "hub").mkdir()
    with serve_in_thread(tmp_path / "hub", tokens=tmp_path / "tokens.json") as endpoint:
        yield Writer(endpoint)


@pytest.mark.parametrize(
    "text",
    ['"\\ud800"', '{"\\uDC00": 1}', '["\\ud83d\\ud83d"]', "NaN", "[-Infinity]", "1e999", "-1e999", "{", ""],
)
def test_what_can_not_be_told_again_is_no_json(text):
    with pytest.raises(ValueError, match=WHY):
        parse_json(text.encode())


def test_what_other_encodings_hide_is_no_json():
    for data in (b'"\xed\xa0\x80"', '"a"'.encode("utf-16"), '"\ud800"'.encode("utf-32", "surrogatepass")):
        with pytest.raises(ValueError, match=WHY):
            parse_json(data)
    # Written with two escapes, or after a backslash of its own, it is a text as any other.
    assert parse_json(b'["\\ud83d\\ude00", "\\\\ud800", 1e300]') == ["\U0001f600", "\\ud800", 1e300]


def test_halves_of_characters_are_refused_and_change_nothing(writer):
    base = "/api/datasets/org/new"
    assert writer.post(f"{base}/discussions", {"title": "t", "description": "d"}).status == 200
    before = writer.get(f"{base}/commits/main").json
    assert writer.commit(file("a", b"a"), title=HALF).status == 400
    assert writer.commit(file("a", b"a"), title=HALF, query="?create_pr=1").status == 400
    for target, body in [
        ("/discussions", {"title": HALF}),
        ("/discussions", {"title": "t", "description": HALF}),
        ("/discussions/1/comment", {"comment": HALF}),
        ("/discussions/1/title", {"title": HALF}),
        ("/discussions/1/status", {"status": "closed", "comment": HALF}),
        ("/tag/main", {"tag": HALF}),
        ("/super-squash/main", {"message": HALF}),
        ("/paths-info/main", {"paths": [HALF]}),
    ]:
        answer = writer.post(base + target, body, Content_Type="application/json")
        assert answer.status == 400, target
    begun = [{"path": "a", "content": HALF}]
    assert writer.create("org/begun", files=begun).status == 400
    assert writer.get("/api/datasets/org/begun").status == 401
    assert writer.get(f"{base}/commits/main").json == before
    [told] = writer.get(f"{base}/discussions").json["discussions"]
    assert (told["title"], told["status"]) == ("t", "open")


def test_a_part_without_a_number(writer):
    asked = {
        "operation": "upload",
        "transfers": ["multipart"],
        "objects": [{"oid": "a" * 64, "size": 1 << 29}],
    }
    answer = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked)
    href = answer.json["objects"][0]["actions"]["upload"]["href"].removeprefix(writer.endpoint)
    for number in ("1e999", "NaN", '"x"'):
        body = f'{{"parts": [{{"partNumber": {number}, "etag": "x"}}]}}'.encode()
        assert writer.ask("POST", href, body).status == 400


def test_limits_with_zeros_before_them(writer):
    writer.commit(file("a.txt", b"a"))
    for target in ("tree/main", "commits/main"):
        answer = writer.get(f"/api/datasets/org/new/{target}?limit={'0' * 30}1")
        assert len(answer.json) == 1
    assert len(writer.get(f"/api/datasets?limit={'0' * 30}1").json) == 1


def test_names_that_no_file_can_have_are_not_there(writer):
    assert writer.post("/api/buckets/org/b").status == 200
    for name in ("n" * 300, "a/" + "n" * 300, "d/" * 400 + "n"):
        answer = writer.get(f"/buckets/org/b/resolve/{name}")
        assert (answer.status, answer.code) == (404, "EntryNotFound")
        assert writer.post("/api/buckets/org/b/paths-info", {"paths": [name]}).json == []


@pytest.mark.parametrize("content", [b"{}", b"garbage", b'{"version":1,"heads":{"main":"zz"}}', b"\xff"])
def test_one_that_is_damaged_hides_no_other(folder, writer, content):
    assert writer.create("org/whole").status == 200
    for id in ("org/b", "org/damaged"):
        assert writer.post(f"/api/buckets/{id}").status == 200
    (folder / "datasets/org/new/.gristmill/state.json").write_bytes(content)
    (folder / "buckets/org/damaged/.gristmill/bucket.json").write_bytes(content)
    for query in ("", "?full=true"):
        assert [each["id"] for each in writer.get(f"/api/datasets{query}").json] == ["org/tiny", "org/whole"]
    front = writer.get("/")
    assert front.status == 200
    assert b"org/whole" in front.body
    assert b"org/damaged" not in front.body
    assert [each["id"] for each in writer.get("/api/buckets/org").json] == ["org/b"]
    assert writer.get("/api/datasets/org/new").status == 500


def test_changes_of_gated_files_are_shown_to_members_only(hub):
    assert hub.post("/api/repos/create", {"name": "ann/g", "type": "dataset"}, **ANN).status == 200
    hub.commit(file("s.txt", b"secret one\n"), repo="ann/g", **ANN)
    assert hub.commit(file("s.txt", b"secret two\n"), repo="ann/g", query="?create_pr=1", **ANN).status == 200
    assert hub.post("/api/datasets/ann/g/settings", {"gated": "manual"}, "PUT", **ANN).status == 200
    page = "/api/datasets/ann/g/discussions/1"
    for headers, status in [({}, 401), ({"Authorization": "Bearer hf_bob"}, 403)]:
        answer = hub.get(f"{page}?diff=1", **headers)
        assert (answer.status, answer.code) == (status, "GatedRepo")
        assert b"secret" not in answer.body
        assert "diff" not in hub.get(page, **headers).json
    for member in ("hf_ann", "hf_eve"):
        told = hub.get(f"{page}?diff=1", Authorization=f"Bearer {member}").json
        assert "+secret two" in told["diff"]


@pytest.mark.parametrize("type", ["dataset", "bucket"])
def test_where_something_private_went_is_not_told(hub, type):
    if type == "bucket":
        assert hub.post("/api/buckets/ann/old", {"private": True}, **ANN).status == 200
    else:
        assert (
            hub.post(
                "/api/repos/create", {"name": "ann/old", "type": "dataset", "private": True}, **ANN
            ).status
            == 200
        )
    asked = {"fromRepo": "ann/old", "toRepo": "ann/hidden-name", "type": type}
    assert hub.post("/api/repos/move", asked, **ANN).status == 200
    targets = [f"/api/{type}s/ann/{{}}", f"/{type}s/ann/{{}}/resolve/{'main/' * (type != 'bucket')}x.txt"]
    for target in targets:
        for headers in ({}, {"Authorization": "Bearer hf_bob"}):
            answers = [hub.get(target.format(name), **headers) for name in ("old", "never-there")]
            assert [(a.status, a.body, a.code) for a in answers] == [
                (answers[1].status, answers[1].body, "RepoNotFound")
            ] * 2
            assert "hidden-name" not in str(answers[0].headers)
        for member in ("hf_ann", "hf_eve"):
            answer = hub.get(target.format("old"), Authorization=f"Bearer {member}")
            assert (answer.status, answer.headers["Location"]) == (
                307,
                hub.endpoint + target.format("hidden-name"),
            )


def test_the_message_of_a_commit_elsewhere_may_be_odd(monkeypatch):
    there = Upstream("http://127.0.0.1:9")
    told = [{"id": "a" * 40, "title": HALF, "message": HALF, "authors": [{"user": HALF}], "date": "never"}]
    monkeypatch.setattr(there.session, "get_json", lambda url, **_: (told, {}))
    about = there.about("datasets", "org/x", Facts("a" * 40, 1.0, False, False))
    assert (about.title, about.message, about.author) == ("x?y",) * 3
    there.close()


def test_a_discussion_keeps_its_order_when_the_clock_goes_back(writer, monkeypatch):
    base = "/api/datasets/org/new/discussions"
    assert writer.post(base, {"title": "t", "description": "d"}).status == 200
    clock = iter(range(2_000_000_000, 0, -1_000))
    monkeypatch.setattr("gristmill.hub.server.changes.now", lambda: float(next(clock)))
    said = [writer.post(f"{base}/1/comment", {"comment": text}).json["newMessage"] for text in "ab"]
    closed = writer.post(f"{base}/1/status", {"status": "closed", "comment": "c"}).json["newStatus"]
    renamed = writer.post(f"{base}/1/title", {"title": "u"}).json["newTitle"]
    events = writer.get(f"{base}/1").json["events"]
    told = [each["data"].get("latest", {}).get("raw") or each["type"] for each in events]
    assert told == ["d", "a", "b", "c", "status-change", "title-change"]
    assert [events[1], events[2], events[4], events[5]] == [*said, closed, renamed]


def test_folders_that_would_fill_the_memory_are_refused(writer, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.operations._LONGEST_FOLDERS", 400_000)
    chains = [file("/".join([str(number), *"b" * 500, "x"]), b"") for number in range(4)]
    before = writer.get("/api/datasets/org/new").json["sha"]
    refused = writer.commit(*chains)
    assert (refused.status, "nest them less" in refused.json["error"]) == (413, True)
    assert writer.get("/api/datasets/org/new").json["sha"] == before
    assert writer.commit(chains[0]).status == 200
    listed = writer.get("/api/datasets/org/new/tree/main?recursive=true").json
    assert len(listed) == 1 + 501 + 1


def test_listings_elsewhere_that_can_not_be_kept(monkeypatch):
    there = Upstream("http://127.0.0.1:9")
    monkeypatch.setattr("gristmill.hub.server.operations._LONGEST_FOLDERS", 50_000)

    def listed(*paths):
        told = [{"type": "file", "path": path, "size": 1, "oid": "b" * 40} for path in paths]
        monkeypatch.setattr(there.session, "get_json", lambda url, **_: (told, {}))
        return [each.path for each in there.files_at("datasets", "org/x", "a" * 40)]

    assert listed("b", "a/b/c") == ["a/b/c", "b"]
    with pytest.raises(UnsafePathError, match="both a file and a folder"):
        listed("a/b", "a/b/c")
    with pytest.raises(UnsafePathError, match="nest them less"):
        listed("/".join("d" * 500))
    with pytest.raises(HubResponseError, match="odd entry"):
        listed("/".join("d" * 1_000_000))
    there.close()
