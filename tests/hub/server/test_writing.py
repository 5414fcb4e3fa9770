"""The reference client writes to a real socket: repositories, commits, branches, and what it is refused."""

import hashlib
import io
import os
from pathlib import Path

import pytest
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
    hf_hub_download,
)
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import FILES, write

pytestmark = [
    pytest.mark.usefixtures("quiet"),
    pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning"),  # the reference client's own
]
REPO = "org/new"


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """No token, no cache, and no xet of the person who runs the tests."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.delenv("HF_TOKEN", raising=False)


@pytest.fixture
def server(folder):
    with serve_in_thread(folder, allow_write=True) as endpoint:
        yield endpoint


@pytest.fixture
def api(server):
    return HfApi(endpoint=server, token="hf_any")


@pytest.fixture
def made(api):
    api.create_repo(REPO, repo_type="dataset")
    return api


def content(api, path, tmp_path, revision=None, repo=REPO):
    file = hf_hub_download(
        repo,
        path,
        repo_type="dataset",
        revision=revision,
        endpoint=api.endpoint,
        token="hf_any",
        cache_dir=tmp_path / "cache",
    )
    return Path(file).read_bytes()


def add(api, message="add", repo=REPO, revision=None, parent=None, delete=(), **files):
    added = [CommitOperationAdd(name, data) for name, data in files.items()]
    operations = [*added, *(CommitOperationDelete(name) for name in delete)]
    return api.create_commit(
        repo,
        operations,
        commit_message=message,
        repo_type="dataset",
        revision=revision,
        parent_commit=parent,
    )


def test_create_and_upload(api, tmp_path):
    url = api.create_repo(REPO, repo_type="dataset")
    assert url == f"{api.endpoint}/datasets/{REPO}"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(REPO, repo_type="dataset")
    assert api.create_repo(REPO, repo_type="dataset", exist_ok=True) == url
    big = os.urandom(3_000_000)
    done = api.upload_file(
        path_or_fileobj=io.BytesIO(big),
        path_in_repo="data/big.parquet",
        repo_id=REPO,
        repo_type="dataset",
        commit_message="Add it\n\nwith words",
    )
    assert done.oid == api.dataset_info(REPO).sha
    assert content(api, "data/big.parquet", tmp_path) == big
    [info] = api.get_paths_info(REPO, ["data/big.parquet"], repo_type="dataset", expand=True)
    assert info.lfs.sha256 == hashlib.sha256(big).hexdigest()
    assert info.last_commit.oid == done.oid
    assert info.last_commit.title == "Add it"
    history = api.list_repo_commits(REPO, repo_type="dataset")
    assert [(c.title, c.message) for c in history] == [("Add it", "with words"), ("initial commit", "")]
    assert api.list_repo_files(REPO, repo_type="dataset") == [".gitattributes", "data/big.parquet"]


def test_plain_folders_are_written_to_and_stay_readable(api, repo, tmp_path):
    before = api.dataset_info("org/tiny").sha
    old = (repo / "notes.txt").read_bytes()
    done = add(api, repo="org/tiny", parent=before, delete=["empty.txt"], **{"notes.txt": b"new"})
    assert content(api, "notes.txt", tmp_path, repo="org/tiny") == b"new"
    assert content(api, "notes.txt", tmp_path, before, repo="org/tiny") == old
    assert {path: (repo / path).read_bytes() for path in FILES} == FILES
    history = [commit.commit_id for commit in api.list_repo_commits("org/tiny", repo_type="dataset")]
    assert history == [done.oid, before]
    assert set(api.list_repo_files("org/tiny", repo_type="dataset")) == set(FILES) - {"empty.txt"}
    for path, data in FILES.items():
        assert content(api, path, tmp_path, before, repo="org/tiny") == data
    assert (
        content(api, "default/test/0000.parquet", tmp_path, "refs/convert/parquet", "org/tiny") == b"PAR1test"
    )


def test_branches_and_tags(made, tmp_path):
    first = made.dataset_info(REPO).sha
    made.create_branch(REPO, branch="feat/x", repo_type="dataset")
    made.create_tag(REPO, tag="v1", repo_type="dataset", tag_message="one")
    with pytest.raises(HfHubHTTPError, match="409"):
        made.create_branch(REPO, branch="feat/x", repo_type="dataset")
    made.create_branch(REPO, branch="feat/x", repo_type="dataset", exist_ok=True)
    made.create_tag(REPO, tag="v1", repo_type="dataset", exist_ok=True)
    with pytest.raises(RevisionNotFoundError):
        made.create_branch(REPO, branch="other", revision="nope", repo_type="dataset")
    on_branch = add(made, revision="feat/x", **{"a.txt": b"on the branch"})
    refs = made.list_repo_refs(REPO, repo_type="dataset")
    assert {ref.ref: ref.target_commit for ref in [*refs.branches, *refs.tags]} == {
        "refs/heads/main": first,
        "refs/heads/feat/x": on_branch.oid,
        "refs/tags/v1": first,
    }
    assert content(made, "a.txt", tmp_path, "feat/x") == b"on the branch"
    assert content(made, "a.txt", tmp_path, on_branch.oid[:9]) == b"on the branch"
    assert not made.file_exists(REPO, "a.txt", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        add(made, revision="v1", **{"a.txt": b"tags stay where they are"})
    made.delete_branch(REPO, branch="feat/x", repo_type="dataset")
    made.delete_tag(REPO, tag="v1", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        made.delete_tag(REPO, tag="v1", repo_type="dataset")
    with pytest.raises(HfHubHTTPError, match="403"):
        made.delete_branch(REPO, branch="main", repo_type="dataset")
    assert content(made, "a.txt", tmp_path, on_branch.oid) == b"on the branch"


def test_copies_and_deletes(made, tmp_path):
    big = os.urandom(100_000)
    add(made, **{"d/big.bin": big, "d/small.txt": b"small", "e/x.txt": b"x"})
    operations = [
        CommitOperationCopy("d/big.bin", "copy/big.bin"),
        CommitOperationDelete("d/small.txt"),
        CommitOperationDelete("e/"),
    ]
    made.create_commit(REPO, operations, commit_message="copy", repo_type="dataset")
    assert made.list_repo_files(REPO, repo_type="dataset") == [".gitattributes", "copy/big.bin", "d/big.bin"]
    assert content(made, "copy/big.bin", tmp_path) == big
    made.delete_folder("d", REPO, repo_type="dataset")
    made.delete_file("copy/big.bin", REPO, repo_type="dataset")
    assert made.list_repo_files(REPO, repo_type="dataset") == [".gitattributes"]
    with pytest.raises(EntryNotFoundError, match="doesn't exist"):
        made.delete_file("copy/big.bin", REPO, repo_type="dataset")


def test_a_stale_parent_is_refused(made):
    first = made.dataset_info(REPO).sha
    add(made, parent=first, **{"a.txt": b"1"})
    with pytest.raises(HfHubHTTPError, match="412"):
        add(made, parent=first, **{"a.txt": b"2"})
    # Nothing to do makes no commit, and what is there already is not sent again.
    head = made.dataset_info(REPO).sha
    assert add(made, **{"a.txt": b"1"}).oid == head


def test_pull_requests(made, tmp_path):
    head = made.dataset_info(REPO).sha
    done = made.upload_file(
        path_or_fileobj=b"proposed",
        path_in_repo="a.txt",
        repo_id=REPO,
        repo_type="dataset",
        create_pr=True,
        commit_message="Propose",
    )
    assert (done.pr_num, done.pr_revision) == (1, "refs/pr/1")
    assert made.dataset_info(REPO).sha == head
    more = add(made, revision="refs/pr/1", **{"b.txt": b"more"})
    refs = made.list_repo_refs(REPO, repo_type="dataset", include_pull_requests=True)
    assert [(ref.ref, ref.target_commit) for ref in refs.pull_requests] == [("refs/pr/1", more.oid)]
    assert content(made, "a.txt", tmp_path, "refs/pr/1") == b"proposed"
    opened = made.create_pull_request(REPO, title="By hand", repo_type="dataset")
    assert opened.num == 2
    told = made.get_discussion_details(REPO, 1, repo_type="dataset")
    assert (told.title, told.status, told.is_pull_request) == ("Propose", "open", True)
    assert [each.num for each in made.get_repo_discussions(REPO, repo_type="dataset")] == [2, 1]


def test_squash_move_settings_delete(made, tmp_path):
    add(made, **{"a.txt": b"1"})
    made.create_tag(REPO, tag="v1", repo_type="dataset")
    tagged = add(made, **{"a.txt": b"2"}).oid
    made.super_squash_history(REPO, repo_type="dataset", commit_message="All of it")
    history = made.list_repo_commits(REPO, repo_type="dataset")
    assert [commit.title for commit in history] == ["All of it"]
    assert content(made, "a.txt", tmp_path) == content(made, "a.txt", tmp_path, tagged) == b"2"
    assert content(made, "a.txt", tmp_path, "v1") == b"1"
    made.update_repo_settings(REPO, repo_type="dataset", private=True, gated="manual")
    info = made.dataset_info(REPO)
    assert (info.private, info.gated) == (True, "manual")
    made.move_repo(REPO, "team/renamed", repo_type="dataset")
    assert made.dataset_info("team/renamed").sha == info.sha
    assert made.dataset_info(REPO).id == "team/renamed"
    assert content(made, "a.txt", tmp_path) == b"2"
    with pytest.raises(HfHubHTTPError, match="409"):
        made.move_repo("team/renamed", "org/tiny", repo_type="dataset")
    made.delete_repo("team/renamed", repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        made.dataset_info("team/renamed")
    with pytest.raises(RepositoryNotFoundError):
        made.delete_repo("team/renamed", repo_type="dataset")
    made.delete_repo("team/renamed", repo_type="dataset", missing_ok=True)


def test_upload_folder_twice(made, tmp_path):
    source = tmp_path / "source"
    write(source, {"README.md": b"---\nlicense: mit\n---\n", "x/a.bin": bytes(1000), "x/skip.tmp": b"no"})
    write(source, {".gitignore": b"*.tmp\n", **{f"many/{n:03d}.txt": b"%d" % n for n in range(120)}})
    done = made.upload_folder(repo_id=REPO, folder_path=source, repo_type="dataset")
    listed = made.list_repo_files(REPO, repo_type="dataset")
    assert len(listed) == 124
    assert "x/skip.tmp" not in listed
    assert made.dataset_info(REPO).card_data.license == "mit"
    again = made.upload_folder(repo_id=REPO, folder_path=source, repo_type="dataset")
    assert again.oid == done.oid


def test_a_broken_card_is_refused(made):
    with pytest.raises(ValueError, match="README"):
        add(made, **{"README.md": b"---\na: [\n---\n"})


def test_history_in_pages(made, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.repo_api._PAGE_COMMITS", 3)
    titles = [f"commit {number}" for number in range(6)]
    for title in titles:
        add(made, title, **{"a.txt": title.encode()})
    listed = [commit.title for commit in made.list_repo_commits(REPO, repo_type="dataset")]
    assert listed == [*reversed(titles), "initial commit"]


def test_models_too(api, tmp_path):
    api.create_repo("org/weights")
    api.upload_file(
        path_or_fileobj=io.BytesIO(b"w" * 1000), path_in_repo="m.safetensors", repo_id="org/weights"
    )
    path = hf_hub_download(
        "org/weights", "m.safetensors", endpoint=api.endpoint, token="hf_any", cache_dir=tmp_path
    )
    assert Path(path).read_bytes() == b"w" * 1000


def test_whoami_and_auth_check(api):
    assert api.whoami()["name"] == "anyone"
    api.auth_check("org/tiny", repo_type="dataset", write=True)


def test_a_repository_that_begins_with_files(writer):
    files = [
        {"path": "README.md", "content": "IyBU", "encoding": "base64"},
        {"path": "d/a.txt", "content": "a"},
    ]
    assert writer.create("org/begun", files=files).status == 200
    assert writer.get("/datasets/org/begun/resolve/main/README.md").body == b"# T"
    assert writer.get("/datasets/org/begun/resolve/main/d/a.txt").body == b"a"
    assert len(writer.get("/api/datasets/org/begun/commits/main").json) == 1
    wrong = [3, [3], [{"path": "../x", "content": ""}], [{"path": "x"}], [{"path": "x", "content": 3}]]
    wrong += [[{"path": "x", "content": "?", "encoding": "base64"}], [files[1], {"path": "d", "content": ""}]]
    for given in wrong:
        assert writer.create("org/other", files=given).status == 400
    assert writer.get("/api/datasets/org/other").status == 401
