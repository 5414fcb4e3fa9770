from pathlib import Path

import pytest

from gristmill import config
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from tests.hub.faulty import FaultyHub

README = b"---\nlicense: mit\n---\n# Data\n"
FILES = {
    "README.md": README,
    "data/train-0.parquet": bytes(range(256)) * 1000,
    "data/train 1 & \u00fc#%.parquet": b"second" * 9999,
    "empty.txt": b"",
    "notes/deep/a.txt": b"text",
}


@pytest.fixture
def hub(tmp_path):
    with FaultyHub(dict(FILES)) as faulty, config.override(DOWNLOADED_DATASETS_PATH=tmp_path / "downloads"):
        yield faulty


@pytest.fixture
def sleeps():
    return []


@pytest.fixture
def client(hub, sleeps, tmp_path):
    with config.override(DOWNLOADED_DATASETS_PATH=tmp_path / "downloads", HF_ENDPOINT=hub.url):
        made = HubClient(
            token=False, cache_dir=tmp_path / "hub", policy=RetryPolicy(sleep=sleeps.append), offline=False
        )
        yield made
        made.session.close()


@pytest.fixture
def offline(client):
    return HubClient(client.endpoint, cache_dir=client.cache_dir, offline=True)


@pytest.fixture
def warnings_said(caplog, monkeypatch):
    """The log lines a user would see; the library's logger does not propagate by itself."""
    import logging

    monkeypatch.setattr(logging.getLogger("gristmill"), "propagate", True)
    return lambda: [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def tree_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
