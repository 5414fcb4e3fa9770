import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gristmill import config
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from tests.corpus.demo_reader import DEMO


@pytest.fixture(scope="session")
def demo_endpoint() -> Iterator[str]:
    with serve_in_thread(DEMO) as endpoint:
        yield endpoint


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[[str], HubClient]]:
    """Makes clients with an empty cache of their own that do not wait between attempts."""
    made = []

    def client(endpoint: str) -> HubClient:
        one = HubClient(
            endpoint, token=False, cache_dir=tmp_path / "cache", policy=RetryPolicy(sleep=lambda _: None)
        )
        made.append(one)
        return one

    with config.override(DOWNLOADED_DATASETS_PATH=tmp_path / "downloads"):
        yield client
    for one in made:
        one.session.close()


@pytest.fixture
def demo_client(demo_endpoint: str, connect: Callable[[str], HubClient]) -> HubClient:
    return connect(demo_endpoint)


@pytest.fixture
def small_hub(tmp_path: Path) -> Path:
    """A Hub to change: BoolQ, the synthetic set and the benchmark."""
    hub = tmp_path / "hub"
    for repo in ("google/boolq", "n4ze3m/typed-decisions-synth", "LocalLLaMA/typed-decisions"):
        shutil.copytree(DEMO / "datasets" / repo, hub / "datasets" / repo)
    return hub
