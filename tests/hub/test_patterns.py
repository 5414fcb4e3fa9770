"""Downloads under faults drawn at random: what ends well is right, and what broke off is gone on with."""

import random

import pytest

from gristmill import config
from gristmill.errors import HubError
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.fetch import fetch_files
from gristmill.hub.server import serve_in_thread
from tests.faults import FaultProxy, Tally, patterns

REPO = "org/data"
DRAW = random.Random(1)
FILES = {
    "README.md": b"---\nlicense: mit\n---\n# Some rows\n",
    "data/train-00000-of-00002.parquet": DRAW.randbytes(300_000),
    "data/train-00001-of-00002.parquet": DRAW.randbytes(70_000),
    "data/one.parquet": b"1",
    "empty.txt": b"",
    "notes/deep/a.txt": b"text\n" * 1000,
}


@pytest.fixture
def proxy(tmp_path):
    for path, content in FILES.items():
        file = tmp_path / "served/datasets" / REPO / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    with serve_in_thread(tmp_path / "served") as endpoint, FaultProxy(endpoint, 0.3) as made:
        yield made


def download(proxy, folder, *, timeout):
    policy = RetryPolicy(sleep=lambda seconds: None)
    with config.override(GRISTMILL_TIMEOUT=timeout, DOWNLOADED_DATASETS_PATH=folder / "downloads"):
        client = HubClient(proxy.url, token=False, cache_dir=folder / "hub", offline=False, policy=policy)
        try:
            fetched = fetch_files(REPO, client=client)
        finally:
            client.session.close()
    assert {file.path: file.local.read_bytes() for file in fetched.files} == FILES
    return fetched


def named(folder):
    """What has a name that says it is whole."""
    found = {}
    for path in folder.glob("hub/datasets--*/snapshots/*/**/*"):
        if path.is_file():
            found[path.relative_to(folder).as_posix().split("/", 4)[4]] = path.read_bytes()
    return found


def test_random_patterns(proxy, tmp_path):
    tally = Tally(proxy, patterns())
    for seed in tally.seeds:
        folder = tmp_path / str(seed)
        proxy.begin(seed, random.Random(seed).choice([0.1, 0.3, 0.5]))
        try:
            download(proxy, folder, timeout=0.15)
            tally.ended["whole"] += 1
        except HubError:
            tally.ended["refused"] += 1
        proxy.end()
        there = named(folder)
        assert {path: FILES.get(path) for path in there} == there, seed
        download(proxy, folder, timeout=60)
    tally.check()


def test_one_plain_file_by_its_url(proxy, tmp_path):
    tally = Tally(proxy, patterns())
    path = "data/train-00001-of-00002.parquet"
    for seed in tally.seeds:
        folder = tmp_path / f"url{seed}"
        policy = RetryPolicy(sleep=lambda seconds: None)
        proxy.begin(seed, 0.5)
        with config.override(GRISTMILL_TIMEOUT=0.15, DOWNLOADED_DATASETS_PATH=folder):
            client = HubClient(proxy.url, token=False, cache_dir=folder, offline=False, policy=policy)
            try:
                got = client.download_url(f"{proxy.url}/datasets/{REPO}/resolve/main/{path}")
                assert got.read_bytes() == FILES[path], seed
                tally.ended["whole"] += 1
            except HubError:
                tally.ended["refused"] += 1
            finally:
                client.session.close()
        proxy.end()
    assert tally.ended["whole"]
