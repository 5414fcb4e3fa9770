"""Pull requests and discussions as the reference client calls them."""

import json
import threading
from typing import Any

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.history import Stored
from gristmill.hub.server.merging import diff_text, merge
from tests.hub.server.conftest import Writer, file

REPO = "ann/x"
DATASET: dict[str, Any] = {"repo_type": "dataset"}
TOKENS = {
    "hf_ann": {"user": "ann", "write": ["ann/*"]},
    "hf_bob": {"user": "bob", "write": ["ann/x"]},
    "hf_eve": {"user": "eve", "read": ["ann/*"]},
}


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    (tmp_path / "hub").mkdir()
    (tmp_path / "tokens.json").write_text(json.dumps(TOKENS))
    with serve_in_thread(tmp_path / "hub", tokens=tmp_path / "tokens.json") as endpoint:
        yield endpoint


@pytest.fixture
def ann(endpoint):
    api = HfApi(endpoint=endpoint, token="hf_ann")
    api.create_repo(REPO, **DATASET)
    add(api, **{"a.txt": b"one\n", "b.txt": b"two\n"})
    return api


@pytest.fixture
def bob(endpoint):
    return HfApi(endpoint=endpoint, token="hf_bob")


def add(api, **files):
    more = {key[1:]: files.pop(key) for key in list(files) if key.startswith("_")}
    bodies = [file(path, content) for path, content in files.items() if content is not None]
    bodies += [("deletedFile", {"path": path}) for path, content in files.items() if content is None]
    answer = Writer(api.endpoint).commit(*bodies, repo=REPO, Authorization=f"Bearer {api.token}", **more)
    assert answer.status == 200, answer.body
    return answer.json["commitOid"]


def content(api, path, revision="main"):
    answer = Writer(api.endpoint).get(f"/datasets/{REPO}/resolve/{revision}/{path}")
    return answer.body if answer.status == 200 else answer.code


def details(api, num):
    return api.get_discussion_details(REPO, num, **DATASET)


def test_from_a_draft_to_the_merge(ann, bob):
    opened = bob.create_pull_request(REPO, title="  Better\n words ", description="Why not", **DATASET)
    assert (opened.num, opened.title, opened.status, opened.author) == (1, "Better words", "draft", "bob")
    assert (opened.git_reference, opened.target_branch) == ("refs/pr/1", "refs/heads/main")
    assert [event.content for event in opened.events] == ["Why not"]
    with pytest.raises(HfHubHTTPError, match="draft"):
        ann.merge_pull_request(REPO, 1, **DATASET)
    assert ann.change_discussion_status(REPO, 1, new_status="open", **DATASET).new_status == "open"
    with pytest.raises(HfHubHTTPError, match="nothing yet"):
        ann.merge_pull_request(REPO, 1, **DATASET)
    add(bob, _revision="refs/pr/1", _title="First", **{"a.txt": b"ONE\n", "d/new.txt": b"new"})
    add(bob, _revision="refs/pr/1", _title="Second", **{"b.txt": None})
    # The branch goes on with other files meanwhile.
    add(ann, **{"c.txt": b"three\n"})
    told = details(ann, 1)
    assert told.conflicting_files == []
    assert "-one\n+ONE\n" in told.diff
    assert [event.summary for event in told.events if event.type == "commit"] == ["First", "Second"]
    ann.merge_pull_request(REPO, 1, comment="Thanks", **DATASET)
    told = details(ann, 1)
    head = ann.dataset_info(REPO).sha
    assert (told.status, told.merge_commit_oid) == ("merged", head)
    assert [event.type for event in told.events][-2:] == ["comment", "status-change"]
    assert told.events[-1].new_status == "merged"
    assert content(ann, "a.txt") == b"ONE\n"
    assert content(ann, "b.txt") == "EntryNotFound"
    assert (content(ann, "c.txt"), content(ann, "d/new.txt")) == (b"three\n", b"new")
    [newest, *_] = ann.list_repo_commits(REPO, **DATASET)
    assert (newest.commit_id, newest.title, newest.message) == (head, "Better words (#1)", "Thanks")
    # It is over: no second merge, no more commits, but what was proposed can still be read.
    for again in (
        lambda: ann.merge_pull_request(REPO, 1, **DATASET),
        lambda: ann.change_discussion_status(REPO, 1, new_status="open", **DATASET),
    ):
        with pytest.raises(HfHubHTTPError, match="merged"):
            again()
    answer = Writer(ann.endpoint).commit(
        file("x", b"x"), repo=REPO, revision="refs/pr/1", Authorization="Bearer hf_bob"
    )
    assert answer.status == 403
    assert content(ann, "a.txt", "refs%2Fpr%2F1") == b"ONE\n"


def test_what_others_changed_too_is_a_conflict(ann, bob):
    add(bob, _query="?create_pr=1", **{"a.txt": b"bob's\n", "b.txt": b"bob's\n"})
    add(ann, **{"a.txt": b"ann's\n", "b.txt": b"bob's\n"})
    assert details(ann, 1).conflicting_files == ["a.txt"]
    before = ann.dataset_info(REPO).sha
    with pytest.raises(HfHubHTTPError) as caught:
        ann.merge_pull_request(REPO, 1, **DATASET)
    assert caught.value.response.status_code == 409
    assert caught.value.response.json()["filesWithConflicts"] == ["a.txt"]
    assert (ann.dataset_info(REPO).sha, details(ann, 1).status) == (before, "open")
    # Out of the way, it can be merged; a stale parent is refused as everywhere.
    add(ann, **{"a.txt": b"one\n"})
    stale = Writer(ann.endpoint).commit(
        file("x", b"x"), repo=REPO, revision="refs/pr/1", parent=before, Authorization="Bearer hf_bob"
    )
    assert stale.status == 412
    ann.merge_pull_request(REPO, 1, **DATASET)
    assert content(ann, "a.txt") == b"bob's\n"


def test_a_folder_in_the_way_is_a_conflict(ann, bob):
    add(bob, _query="?create_pr=1", **{"new/x.txt": b"x"})
    add(ann, new=b"a file")
    assert details(ann, 1).conflicting_files == ["new/x.txt"]
    with pytest.raises(HfHubHTTPError, match="409"):
        ann.merge_pull_request(REPO, 1, **DATASET)


def test_what_is_there_already_merges_without_a_commit(ann, bob):
    add(bob, _query="?create_pr=1", **{"a.txt": b"same\n"})
    head = add(ann, **{"a.txt": b"same\n"})
    ann.merge_pull_request(REPO, 1, **DATASET)
    assert (details(ann, 1).merge_commit_oid, ann.dataset_info(REPO).sha) == (head, head)


def test_a_discussion(ann, bob, endpoint):
    opened = bob.create_discussion(REPO, title="Where from?", description="I wonder", **DATASET)
    assert (opened.num, opened.status, opened.is_pull_request, opened.diff) == (1, "open", False, None)
    said = ann.comment_discussion(REPO, 1, comment="From here", **DATASET)
    assert (said.author, said.content, said.edited) == ("ann", "From here", False)
    edited = ann.edit_discussion_comment(REPO, 1, said.id, new_content="From there", **DATASET)
    assert (edited.id, edited.content, edited.edited, edited.number_of_edits) == (
        said.id,
        "From there",
        True,
        1,
    )
    with pytest.raises(HfHubHTTPError, match="403"):
        bob.edit_discussion_comment(REPO, 1, said.id, new_content="No", **DATASET)
    first = opened.events[0].id
    assert bob.edit_discussion_comment(REPO, 1, first, new_content="I know", **DATASET).content == "I know"
    with pytest.warns(UserWarning, match="irreversible"):
        hidden = bob.hide_discussion_comment(REPO, 1, said.id, **DATASET)
    assert (hidden.hidden, hidden.content) == (True, "")
    assert b"there" not in Writer(endpoint).get(f"/api/datasets/{REPO}/discussions/1").body
    renamed = bob.rename_discussion(REPO, 1, new_title="Where to?", **DATASET)
    assert (renamed.old_title, renamed.new_title) == ("Where from?", "Where to?")
    closed = ann.change_discussion_status(REPO, 1, new_status="closed", comment="Done", **DATASET)
    assert closed.new_status == "closed"
    told = details(ann, 1)
    kinds = [event.type for event in told.events]
    assert kinds == ["comment", "comment", "title-change", "comment", "status-change"]
    assert (told.title, told.status, told.events[0].content, told.events[3].content) == (
        "Where to?", "closed", "I know", "Done",
    )  # fmt: skip
    with pytest.raises(HfHubHTTPError, match="no pull request"):
        ann.merge_pull_request(REPO, 1, **DATASET)
    with pytest.raises(RevisionNotFoundError):
        details(ann, 2)
    refs = ann.list_repo_refs(REPO, include_pull_requests=True, **DATASET)
    assert refs.pull_requests == []


def test_lists(ann, bob):
    for number in range(55):
        ann.create_discussion(REPO, title=f"d{number}", **DATASET)
    bob.create_pull_request(REPO, title="pull", **DATASET)
    ann.change_discussion_status(REPO, 3, new_status="closed", **DATASET)

    def listed(**more):
        return [each.num for each in ann.get_repo_discussions(REPO, **DATASET, **more)]

    assert listed() == list(range(56, 0, -1))
    assert listed(discussion_type="pull_request") == listed(author="bob") == [56]
    assert listed(discussion_status="closed") == [3]
    assert len(listed(discussion_status="open", discussion_type="discussion")) == 54
    assert listed(author="nobody") == []


def test_rights_and_bad_requests(ann, endpoint):
    eve = HfApi(endpoint=endpoint, token="hf_eve")
    with pytest.raises(HfHubHTTPError, match="403"):
        eve.create_discussion(REPO, title="x", **DATASET)
    ann.create_discussion(REPO, title="x", **DATASET)
    assert [each.num for each in eve.get_repo_discussions(REPO, **DATASET)] == [1]
    writer, bearer = Writer(endpoint), {"Authorization": "Bearer hf_ann"}
    base = f"/api/datasets/{REPO}/discussions"
    for path, body, status in [
        ("", {"title": "", "description": "x"}, 400),
        ("", {"title": "x" * 301}, 400),
        ("", {"title": 7}, 400),
        ("/1/comment", {}, 400),
        ("/1/comment", {"comment": "x" * 70_000}, 400),
        ("/1/status", {"status": "merged"}, 400),
        ("/1/status", {"status": "open"}, 400),
        ("/1/comment/nope/edit", {"content": "x"}, 404),
        ("/9/comment", {"comment": "x"}, 404),
        ("/x/merge", {}, 404),
        ("/1/nothing", {}, 404),
    ]:
        assert writer.post(base + path, body, **bearer).status == status, path
    assert writer.get(f"{base}?p=x").status == 400


def test_many_speak_and_merge_at_once(ann, bob, endpoint):
    for number in range(4):
        add(bob, _query="?create_pr=1", **{f"n{number}.txt": b"x"})
    writer = Writer(endpoint)
    seen = []

    def ask(path, body):
        answer = writer.post(f"/api/datasets/{REPO}/discussions/{path}", body, Authorization="Bearer hf_ann")
        seen.append(answer.status)

    threads = [threading.Thread(target=ask, args=(f"{n}/merge", {})) for n in (1, 2, 3, 4, 1)]
    threads += [threading.Thread(target=ask, args=("2/comment", {"comment": str(n)})) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == [200] * 10 + [400]
    assert {f"n{number}.txt" for number in range(4)} <= set(ann.list_repo_files(REPO, **DATASET))
    assert sorted(e.content for e in details(ann, 2).events if e.type == "comment") == ["", *"012345"]


STORED = st.sampled_from("abc").map(lambda text: Stored(1, text * 40, None, "c"))
TREES = st.dictionaries(st.sampled_from(["x", "y", "z"]), STORED)


@settings(max_examples=200)
@given(TREES, TREES, TREES)
def test_merging_is_by_file(base, ours, theirs):
    files, conflicts = merge(base, ours, theirs)
    for path in ("x", "y", "z"):
        before, left, right = base.get(path), ours.get(path), theirs.get(path)
        clash = before != left != right != before
        assert (path in conflicts) == clash
        if not conflicts:
            wanted = left if right == before else right
            got = files.get(path)
            assert (got and got.object) == (wanted and wanted.object)


def test_a_diff_of_every_kind_of_file():
    texts = {"a" * 40: b"1\n2", "b" * 40: b"1\n3\n", "c" * 40: b"\0", "d" * 40: b"\xff"}
    before = {
        "t": Stored(3, "a" * 40, None),
        "gone": Stored(1, "b" * 40, None),
        "big": Stored(10**6, "e" * 40, None),
    }
    after = {
        "t": Stored(4, "b" * 40, None),
        "bin": Stored(1, "c" * 40, None),
        "odd": Stored(1, "d" * 40, None),
        "lfs": Stored(5, "f" * 40, "9" * 64),
        "big": Stored(10**6, "9" * 40, None),
    }
    told = diff_text(before, after, texts.__getitem__)
    assert "--- a/t\n+++ b/t\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+3\n" in told
    assert "--- a/gone\n+++ /dev/null\n" in told
    assert "+oid sha256:" + "9" * 64 in told
    for line in (
        "Binary files /dev/null and b/bin differ",
        "Binary files /dev/null and b/odd differ",
        "Binary files a/big and b/big differ",
    ):
        assert line in told
