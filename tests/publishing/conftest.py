import itertools
from pathlib import Path

import pytest

from gristmill import config
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from tests.publishing.proxy import Proxy

REPO = "org/new"


@pytest.fixture
def plain(monkeypatch, tmp_path):
    """No token, no bars and no xet of the person who runs the tests."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "served"
    made.mkdir()
    return made


@pytest.fixture
def served(folder):
    with serve_in_thread(folder, allow_write=True) as endpoint:
        yield endpoint


@pytest.fixture
def caches(tmp_path):
    names = {"HF_HUB_CACHE": "hub", "HF_DATASETS_CACHE": "datasets", "DOWNLOADED_DATASETS_PATH": "downloads"}
    return {name: tmp_path / folder for name, folder in names.items()}


@pytest.fixture
def server(plain, served, caches):
    with config.override(HF_ENDPOINT=served, HF_HUB_OFFLINE=False, HF_DATASETS_OFFLINE=False, **caches):
        yield served


@pytest.fixture
def no_waiting(monkeypatch):
    """huggingface_hub waits whole seconds between its own attempts, and so do we between ours."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(RetryPolicy, "delay", lambda self, attempt, retry_after=None: 0.0)


@pytest.fixture
def proxy(server, caches, no_waiting):
    with Proxy(server) as made, config.override(HF_ENDPOINT=made.url):
        yield made


class Repo:
    """What is in a repository now, read afresh."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        self.endpoint = endpoint
        self.folder = folder
        self.numbers = itertools.count()

    def pin(self, revision="main", repo=REPO):
        client = HubClient(
            self.endpoint, token=False, cache_dir=self.folder / str(next(self.numbers)), offline=False
        )
        return client.pin(repo, revision)

    def files(self, revision="main", repo=REPO):
        return [file.path for file in self.pin(revision, repo).files() if file.path != ".gitattributes"]

    def card(self, revision="main", repo=REPO):
        return self.pin(revision, repo).read_bytes("README.md").decode()


@pytest.fixture
def repo(server, tmp_path):
    return Repo(server, tmp_path / "looked")
