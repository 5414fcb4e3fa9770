import pytest

from gristmill import config
from gristmill.errors import (
    HubResponseError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
    UnsafePathError,
)
from gristmill.hub.buckets import Bucket, parse_bucket_path, version_of
from gristmill.hub.client import HubClient
from tests.hub.buckets import BUCKET, BucketHub

FILES = {"logs/a.csv": b"x\n1\n", "logs/b/c.csv": b"x\n2\n", "logs2/d.csv": b"x\n3\n", "e f.csv": b"x\n4\n"}


@pytest.fixture
def hub():
    with BucketHub(dict(FILES)) as hub:
        yield hub


@pytest.fixture
def bucket(hub, tmp_path):
    with config.override(DOWNLOADED_DATASETS_PATH=tmp_path / "downloads", HF_HUB_OFFLINE=False):
        client = HubClient(hub.url, token=False, cache_dir=tmp_path / "hub")
        yield Bucket(client, BUCKET)
        client.session.close()


def test_files_of_a_bucket_and_of_a_folder(bucket):
    assert [file.path for file in bucket.files()] == ["e f.csv", "logs/a.csv", "logs/b/c.csv", "logs2/d.csv"]
    logs = Bucket(bucket.client, BUCKET, "logs")
    assert [file.path for file in logs.files()] == ["logs/a.csv", "logs/b/c.csv"]
    assert logs.name == "buckets/me/data/logs"


def test_files_are_fetched(bucket, hub):
    for file in bucket.files():
        assert bucket.download(file).read_bytes() == FILES[file.path]
    [first, *_] = bucket.files()
    hub.files["e f.csv"] = b"longer than it was listed"
    with pytest.raises(HubResponseError, match="when the bucket was listed"):
        bucket.download(first)


def test_a_version_stands_for_the_content(bucket, hub):
    before = version_of(bucket.files())
    assert version_of(bucket.files()) == before
    hub.files["logs/a.csv"] = b"x\n11\n"
    assert version_of(bucket.files()) != before


def test_what_is_not_there(bucket):
    with pytest.raises(RepoNotFoundError, match="no bucket me/other"):
        Bucket(bucket.client, "me/other").files()


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"type": "file", "path": "../x.csv", "size": 1}, UnsafePathError),
        ({"type": "file", "path": "/etc/x.csv", "size": 1}, UnsafePathError),
        ({"type": "file", "path": "x.csv", "size": -1}, HubResponseError),
        ({"type": "file", "path": "x.csv", "size": "1"}, HubResponseError),
        ({"type": "file", "size": 1}, HubResponseError),
        ({"type": "link"}, HubResponseError),
        (3, HubResponseError),
    ],
)
def test_odd_entries(bucket, hub, entry, error):
    hub.entries = [entry]
    with pytest.raises(error):
        bucket.files()


def test_offline(hub, tmp_path):
    client = HubClient(hub.url, cache_dir=tmp_path, offline=True)
    with pytest.raises(OfflineError):
        Bucket(client, BUCKET).files()
    assert hub.seen == []


def test_names():
    assert parse_bucket_path("/me/data/a/b/") == ("me/data", "a/b")
    for odd in ("me", "", "me/", "me//x", "../data", "me/da ta"):
        with pytest.raises(InvalidArgumentError):
            parse_bucket_path(odd)
    for odd in ("me/data/../x", "me/data/a//b", "me/data/a\\b"):
        with pytest.raises(UnsafePathError):
            parse_bucket_path(odd)
