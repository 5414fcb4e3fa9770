"""Files outside repositories: kept by URL, asked about again by ETag, GitHub's from a mirror first."""

import hashlib
import json

import pytest

from gristmill import config
from gristmill.errors import (
    EntryNotFoundError,
    HubConnectionError,
    InvalidArgumentError,
    OfflineError,
    UnsafePathError,
)
from gristmill.hub.client import HubClient
from gristmill.hub.github import mirror_urls
from tests.hub.conftest import tree_of
from tests.hub.faulty import Reply, drop, status


@pytest.fixture
def url(hub):
    hub.files["plain.csv"] = b"a,b\n1,2\n"
    return f"{hub.url}/plain.csv"


def test_kept_under_the_hash_of_the_url_and_revalidated(client, hub, url, tmp_path):
    local = client.download_url(url)
    assert local == tmp_path / "downloads" / hashlib.sha256(url.encode()).hexdigest()
    assert local.read_bytes() == b"a,b\n1,2\n"
    record = json.loads(local.with_name(local.name + ".json").read_text())
    assert record == {"url": url, "etag": f'"{hashlib.sha256(local.read_bytes()).hexdigest()}"'}
    assert client.download_url(url) == local
    assert [seen.headers.get("if-none-match") for seen in hub.seen] == [None, record["etag"]]
    hub.files["plain.csv"] = b"new"
    assert client.download_url(url).read_bytes() == b"new"
    assert tree_of(tmp_path / "downloads") == {local.name, f"{local.name}.json"}


def test_without_an_etag_it_is_fetched_again(client, hub, url):
    for body in (b"one", b"two"):
        hub.script("plain", lambda truth, seen, body=body: Reply(200, body))
        assert client.download_url(url).read_bytes() == body


def test_a_record_without_content_or_content_without_a_record(client, hub, url):
    local = client.download_url(url)
    local.unlink()
    assert client.download_url(url).read_bytes() == b"a,b\n1,2\n"
    local.with_name(f"{local.name}.json").write_text("{")
    local.write_text("of unknown origin")
    assert client.download_url(url).read_bytes() == b"a,b\n1,2\n"


def test_offline_and_unreachable(client, hub, url, warnings_said):
    client.download_url(url)
    hub.seen.clear()
    assert HubClient(hub.url, offline=True).download_url(url).read_bytes() == b"a,b\n1,2\n"
    assert hub.seen == []
    with pytest.raises(OfflineError, match="never downloaded"):
        HubClient(hub.url, offline=True).download_url(f"{url}?x")
    hub.stop()
    assert client.download_url(url).read_bytes() == b"a,b\n1,2\n"
    assert len(warnings_said()) == 1
    with pytest.raises(HubConnectionError):
        client.download_url(f"{url}?x")


def test_faults(client, hub, url, sleeps, tmp_path):
    hub.script("plain", status(429, Retry_After="3"), drop(2))
    assert client.download_url(url).read_bytes() == b"a,b\n1,2\n"
    assert sleeps == [3.0, 1.0]
    with pytest.raises(EntryNotFoundError, match="nothing here"):
        client.download_url(f"{hub.url}/nowhere")
    with pytest.raises(InvalidArgumentError):
        client.download_url("file:///etc/passwd")


def test_a_broken_refresh_leaves_the_old_content(client, hub, url, sleeps):
    local = client.download_url(url)
    hub.files["plain.csv"] = b"something newer"
    hub.script("plain", *[drop(2)] * 4)
    assert client.download_url(url) == local
    assert local.read_bytes() == b"a,b\n1,2\n"


def test_github_from_the_hub_s_own_mirror(client, hub):
    commit = "a" * 40
    hub.files[f"github/owner/repo/{commit}/data/a b.csv"] = b"mirrored"
    assert client.github_file("owner/repo", commit, "data/a b.csv").read_bytes() == b"mirrored"
    assert hub.seen[-1].path == f"/github/owner/repo/{commit}/data/a%20b.csv"
    hub.seen.clear()
    assert client.github_file("owner/repo", commit, "data/a b.csv").read_bytes() == b"mirrored"
    assert hub.seen == [], "a commit never changes"
    assert HubClient(hub.url, offline=True).github_file("owner/repo", commit, "data/a b.csv").is_file()
    with pytest.raises(OfflineError):
        HubClient(hub.url, offline=True).github_file("owner/repo", commit, "other")


def test_github_goes_on_to_the_next_place_only_when_the_first_has_nothing(client, hub, monkeypatch):
    monkeypatch.setattr("gristmill.hub.github.GITHUB_RAW", f"{hub.url}/raw")
    hub.files["raw/owner/repo/main/x.csv"] = b"from GitHub"
    assert client.github_file("owner/repo", "main", "x.csv").read_bytes() == b"from GitHub"
    hub.script("/github/", *[status(500)] * 4)
    with pytest.raises(OSError, match="server failed"):
        client.github_file("owner/repo", "main", "x.csv")


def test_github_base_of_one_s_own(client, hub):
    hub.files["base/owner/repo/main/x.csv"] = b"configured"
    with config.override(GRISTMILL_GITHUB_RAW=f"{hub.url}/base"):
        assert client.github_file("owner/repo", "main", "x.csv").read_bytes() == b"configured"


def test_github_names():
    hub = config.DEFAULT_HF_ENDPOINT
    assert mirror_urls(hub, "o/r", "feat/x", "p") == ["https://raw.githubusercontent.com/o/r/feat/x/p"]
    assert mirror_urls("http://h", "o/r", "v1", "p")[0] == "http://h/github/o/r/v1/p"
    for repo in ["o", "o/r/x", "../r", "o/..", "o r/x"]:
        with pytest.raises(InvalidArgumentError):
            mirror_urls(hub, repo, "main", "p")
    with pytest.raises(UnsafePathError):
        mirror_urls(hub, "o/r", "main", "../p")
