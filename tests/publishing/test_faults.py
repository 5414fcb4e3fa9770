"""Uploads that break off, servers that fail, and processes that are killed: nothing is lost, nothing sent twice."""

import hashlib
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from gristmill import Dataset, config, load_dataset
from gristmill.errors import (
    AccessError,
    HubConnectionError,
    HubResponseError,
    IncompleteBodyError,
    RateLimitedError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub import write_errors
from gristmill.hub.answers import Target
from gristmill.hub.writing import BranchWriter
from tests.processes import Forks
from tests.publishing.conftest import REPO
from tests.publishing.proxy import answer, drop, lose

pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")

OBJECTS, COMMIT = "/objects/batch", "/commit/"


def numbers(count=1000, start=0):
    return Dataset.from_dict({"id": list(range(start, start + count))})


def puts(proxy):
    return proxy.requests("PUT")


def test_what_is_there_is_not_sent_again(proxy, repo):
    first = numbers().push_to_hub(REPO, num_shards=3)
    assert len(puts(proxy)) == 3
    second = numbers().push_to_hub(REPO, num_shards=3)
    assert (second.oid, len(puts(proxy)), len(proxy.requests("POST", COMMIT))) == (first.oid, 3, 1)
    # Another name for the same content is a line in a commit.
    numbers().push_to_hub(REPO, "copy", num_shards=3)
    assert len(puts(proxy)) == 3
    assert load_dataset(REPO, "copy")["train"].num_rows == 1000


@pytest.mark.parametrize(
    ("method", "text", "fault"),
    [
        ("GET", "/revision/", drop),
        ("POST", "/repos/create", lose),
        ("POST", OBJECTS, answer(503)),
        ("POST", OBJECTS, lose),
        ("PUT", "/", answer(500)),
        ("PUT", "/", answer(429)),
        ("PUT", "/", drop),
        ("PUT", "/", lose),
        ("POST", COMMIT, answer(503)),
        ("POST", COMMIT, answer(409)),
        ("POST", COMMIT, drop),
        ("POST", COMMIT, lose),
    ],
)
def test_one_request_fails(proxy, repo, method, text, fault):
    proxy.script(method, text, fault)
    numbers(20).push_to_hub(REPO, num_shards=2)
    assert repo.files() == ["README.md", *(f"data/train-0000{n}-of-00002.parquet" for n in range(2))]
    commits = HfApi(endpoint=repo.endpoint, token=False).list_repo_commits(REPO, repo_type="dataset")
    assert [commit.title for commit in commits] == ["Upload dataset", "initial commit"]


def test_pieces_that_the_hub_does_not_take_go_as_whole_files(proxy, repo, monkeypatch):
    pytest.importorskip("hf_xet")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", None)
    proxy.script("POST", "/v1/", *[answer(400)] * 20)
    numbers(777).push_to_hub(REPO, num_shards=2)
    assert proxy.requests("POST", "/v1/")
    assert len(puts(proxy)) == 2
    assert load_dataset(REPO)["train"].num_rows == 777


def test_somebody_else_commits_in_between(proxy, repo):
    numbers(1).push_to_hub(REPO, "en")

    def meanwhile(seen):
        with config.override(HF_ENDPOINT=repo.endpoint):
            numbers(2).push_to_hub(REPO, "fr")

    proxy.script("POST", COMMIT, meanwhile)
    numbers(3).push_to_hub(REPO, "de")
    assert [load_dataset(REPO, name)["train"].num_rows for name in ("en", "fr", "de")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (500, OBJECTS, HubResponseError),
        (429, OBJECTS, RateLimitedError),
        (409, COMMIT, HubResponseError),
        (403, COMMIT, AccessError),
    ],
)
def test_a_request_fails_for_ever(proxy, repo, status, text, error):
    before = numbers(5).push_to_hub(REPO)
    proxy.script("POST", text, *[answer(status)] * 100)
    with pytest.raises(error) as caught:
        numbers(6).push_to_hub(REPO)
    assert caught.value.status == status
    assert repo.pin().commit == before.oid


def test_no_answer_for_ever(proxy, repo):
    numbers(5).push_to_hub(REPO)
    proxy.script("PUT", "/", *[drop] * 100)
    with pytest.raises(HubConnectionError, match=r"upload data/train-00000\.parquet.*run it again"):
        numbers(6).push_to_hub(REPO)
    assert load_dataset(REPO)["train"].num_rows == 5


def test_a_pull_request_whose_answer_is_lost_is_not_made_twice(proxy, repo):
    numbers(5).push_to_hub(REPO)
    proxy.script("POST", COMMIT, lose)
    with pytest.raises(HubConnectionError):
        numbers(6).push_to_hub(REPO, create_pr=True)
    assert len(proxy.requests("POST", COMMIT)) == 2


def test_an_upload_that_arrives_damaged_is_refused(server, repo, tmp_path, monkeypatch):
    numbers(5).push_to_hub(REPO)
    file = tmp_path / "new.parquet"
    file.write_bytes(b"PAR1 new")
    monkeypatch.setattr("huggingface_hub.lfs.UploadInfo.from_path", _wrong_hash)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(HubResponseError, match=r"upload new\.parquet"):
        BranchWriter(REPO).upload({"new.parquet": file})


def _wrong_hash(path):
    from huggingface_hub.lfs import UploadInfo

    content = Path(path).read_bytes()
    return UploadInfo(size=len(content), sample=content[:512], sha256=hashlib.sha256(b"other").digest())


def test_files_that_are_to_be_ignored_are_pushed_all_the_same(server, repo):
    api = HfApi(endpoint=server, token=False)
    api.create_repo(REPO, repo_type="dataset")
    api.upload_file(
        path_or_fileobj=b"*.parquet\n", path_in_repo=".gitignore", repo_id=REPO, repo_type="dataset"
    )
    numbers(5).push_to_hub(REPO)
    assert "data/train-00000-of-00001.parquet" in repo.files()


def test_a_commit_that_does_not_hold_what_was_sent(server, tmp_path):
    numbers(5).push_to_hub(REPO)
    file = tmp_path / "new.parquet"
    file.write_bytes(b"PAR1 new")
    writer = BranchWriter(REPO)
    uploaded = writer.upload({"data/train-00000-of-00001.parquet": file})
    with pytest.raises(IncompleteBodyError, match="does not hold data/train"):
        writer.check(writer.head().commit, uploaded)
    head = writer.head()
    writer.check(head.commit, [], {"README.md": head.read("README.md")}, ["nothing"])
    with pytest.raises(IncompleteBodyError, match=r"does not hold README\.md"):
        writer.check(head.commit, [], {"README.md": head.read("README.md") + b" "})
    with pytest.raises(IncompleteBodyError, match=r"does not hold data/train"):
        writer.check(head.commit, [], {}, ["data/train-00000-of-00001.parquet"])


class _Answer:
    url = "http://hub/x?signature=secret"

    def __init__(self, status, **headers):
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class _Refused(Exception):
    def __init__(self, status, message="", **headers):
        super().__init__(message)
        self.response = _Answer(status, x_error_message=message, **headers)


@pytest.mark.parametrize(
    ("cause", "kind", "said"),
    [
        (_Refused(403, "Storage quota exceeded"), AccessError, "no room left"),
        (_Refused(402, "payment required"), AccessError, "no room left"),
        (_Refused(403, "Access to this resource is disabled."), AccessError, "disabled"),
        (_Refused(403), AccessError, "role write"),
        (
            _Refused(401, "Invalid credentials in Authorization header"),
            AccessError,
            "does not know your token",
        ),
        (_Refused(400, "bad path"), HubResponseError, "the server says 'bad path'"),
        (RuntimeError("odd"), HubResponseError, "Could not push: 'odd'"),
    ],
)
def test_what_refusals_become(cause, kind, said):
    remote = write_errors.Remote(Target("http://hub", "dataset", REPO, "main"), RetryPolicy(1))

    def fail():
        raise cause

    with pytest.raises(kind, match=said) as caught:
        remote.call("push", fail)
    assert "secret" not in str(caught.value)


def test_errors_of_ours_and_bugs_go_through():
    remote = write_errors.Remote(Target("http://hub", "dataset", REPO, "main"), RetryPolicy(1))

    def fail():
        raise KeyError("bug")

    with pytest.raises(KeyError):
        remote.call("push", fail)


def test_answers_without_what_they_should_hold(proxy, repo):
    numbers(5).push_to_hub(REPO)

    def nonsense(seen):
        return 200

    proxy.script("POST", "/preupload", *[nonsense] * 100)
    with pytest.raises(HubResponseError, match="commit to org/new"):
        numbers(6).push_to_hub(REPO)
    assert load_dataset(REPO)["train"].num_rows == 5


def test_a_client_that_stumbles_over_an_answer():
    from huggingface_hub._commit_api import _validate_preupload_info

    remote = write_errors.Remote(Target("http://hub", "dataset", REPO, "main"), RetryPolicy(1))
    given: Any
    for given in (5, {"files": 5}):
        with pytest.raises(HubResponseError, match="push"):
            remote.call("push", partial(_validate_preupload_info, given))


PROGRAM = """
    import huggingface_hub.constants
    import huggingface_hub.hf_api, huggingface_hub.lfs
    import gristmill
    from gristmill import config
    import gristmill.publishing
    huggingface_hub.constants.HF_HUB_DISABLE_XET = True
    def run(endpoint):
        config.HF_ENDPOINT, config.HF_HUB_OFFLINE = endpoint, False
        rows = gristmill.Dataset.from_dict({"id": list(range(6000))})
        rows.push_to_hub("org/new", num_shards=6)
"""


def test_killed_in_the_middle_and_run_again(proxy, repo):
    numbers(5).push_to_hub(REPO)
    before = repo.pin().commit
    stopped = threading.Event()

    def wait(seen):
        stopped.wait(30)
        return "drop"

    with Forks(PROGRAM) as forks:
        for killed in range(3):
            # One more file arrives, and the process is killed while it sends the next.
            stopped.clear()
            proxy.script("PUT", "/", lambda seen: None, wait)
            job = forks.start(proxy.url)
            assert proxy.wait_for("PUT", "/", 1 + 2 * (killed + 1))
            assert forks.kill(job) == -9
            stopped.set()
            assert repo.pin().commit == before
    numbers(6000).push_to_hub(REPO, num_shards=6)
    assert len(puts(proxy)) == 1 + 2 * 3 + 3
    assert load_dataset(REPO, split="train")["id"][:] == list(range(6000))
