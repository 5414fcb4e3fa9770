import pytest

from gristmill import config
from gristmill.load import finding
from tests.hub.conftest import warnings_said  # noqa: F401  # a fixture
from tests.hub.faulty import FaultyHub


@pytest.fixture(autouse=True)
def own_caches(tmp_path):
    """Each test has caches of its own, and no Hub but the one it starts."""
    with config.override(
        HF_HUB_CACHE=tmp_path / "home/hub",
        HF_DATASETS_CACHE=tmp_path / "home/datasets",
        DOWNLOADED_DATASETS_PATH=tmp_path / "home/downloads",
        EXTRACTED_DATASETS_PATH=tmp_path / "home/downloads/extracted",
        HF_ENDPOINT="http://127.0.0.1:9",
        HF_HUB_OFFLINE=True,
    ):
        yield


@pytest.fixture
def said(monkeypatch):
    """What the user is told while a name is looked up."""
    lines: list[str] = []
    monkeypatch.setattr(finding._log, "warning", lambda text, *args: lines.append(text % args))
    return lines


@pytest.fixture
def hub_of():
    """Starts a Hub with the files of one dataset, ``org/data``."""
    hubs = []

    def start(files):
        hub = FaultyHub(files)
        hub.__enter__()
        hubs.append(hub)
        return hub

    yield start
    for hub in hubs:
        hub.stop()


@pytest.fixture
def online(hub_of):
    """Starts a Hub and makes it the one that is asked."""

    def start(files):
        hub = hub_of(files)
        config.HF_ENDPOINT = hub.url
        config.HF_HUB_OFFLINE = False
        return hub

    return start
