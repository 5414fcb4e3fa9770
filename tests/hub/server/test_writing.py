"""The reference client writes to a real socket: repositories, commits, branches, and what it is refused."""

import hashlib
import io
import os

import pytest
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
    hf_hub_download,
)
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from gristmill.hub.server import serve_in_thread

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
    with open(file, "rb") as stream:
        return stream.read()


def add(api, message="add", repo=REPO, revision=None, parent=None, delete=(), **files):
    operations = [CommitOperationAdd(name, data) for name, data in files.items()]
    operations += [CommitOperationDelete(name) for name in delete]
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
