"""The cache is one with huggingface_hub: what either writes, the other reads."""

from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache

from gristmill.errors import EntryNotFoundError, OfflineError, UnsafePathError
from gristmill.hub.cache import RepoCache
from gristmill.hub.client import HubClient
from gristmill.hub.tree import RepoFile
from tests.hub.conftest import FILES, README, tree_of
from tests.hub.faulty import COMMIT, REPO, etag_of

NAME = "data/train-0.parquet"


def test_huggingface_hub_finds_what_gristmill_downloaded(client):
    client.pin(REPO).download_many(list(FILES))
    for revision in ("main", COMMIT):
        for path, content in FILES.items():
            where = {"repo_type": "dataset", "cache_dir": client.cache_dir, "revision": revision}
            found = try_to_load_from_cache(REPO, path, **where)
            assert isinstance(found, str)
            assert Path(found).read_bytes() == content
            assert hf_hub_download(REPO, path, local_files_only=True, **where) == found
    folder = snapshot_download(REPO, repo_type="dataset", cache_dir=client.cache_dir, local_files_only=True)
    assert tree_of(client.cache_dir.joinpath(folder)) == set(FILES)
    scanned = scan_cache_dir(client.cache_dir)
    assert not scanned.warnings
    (repo,) = scanned.repos
    assert (repo.repo_id, repo.repo_type, repo.nb_files) == (REPO, "dataset", len(FILES))
    assert {ref for revision in repo.revisions for ref in revision.refs} == {"main"}


def test_gristmill_finds_what_huggingface_hub_downloaded(hub, offline, warnings_said):
    where = {"repo_type": "dataset", "cache_dir": offline.cache_dir, "endpoint": hub.url, "token": False}
    theirs = hf_hub_download(REPO, NAME, **where)
    repo = offline.pin(REPO)
    assert repo.commit == COMMIT
    assert str(repo.download(NAME)) == theirs
    assert {file.path for file in repo.files()} == {NAME}
    assert "going by the 1 that are" in warnings_said()[0]
    with pytest.raises(OfflineError):
        repo.download("README.md")
    snapshot_download(REPO, **where)
    whole = offline.pin(REPO)
    assert {file.path: file.size for file in whole.files()} == {path: len(c) for path, c in FILES.items()}
    assert whole.read_bytes("README.md") == README
    assert whole.card_data == {"license": "mit"}
    assert len(warnings_said()) == 1


def test_nothing_is_fetched_twice_between_the_two(client, hub):
    where = {"repo_type": "dataset", "cache_dir": client.cache_dir, "endpoint": hub.url, "token": False}
    hf_hub_download(REPO, NAME, **where)
    before = len(hub.requests("/resolve/"))
    client.pin(REPO).download(NAME)
    assert len(hub.requests("/resolve/")) == before


def test_our_listing_is_theirs(client):
    tree = client.pin(REPO).files()
    from huggingface_hub._tree_cache import read_tree_cache

    cache = RepoCache(client.cache_dir, "dataset", REPO)
    theirs = read_tree_cache(str(cache.folder), COMMIT)
    assert theirs is not None, huggingface_hub.__version__
    assert cache.read_tree(COMMIT) == tree


def test_layout(client):
    client.pin(REPO).download("notes/deep/a.txt")
    etag = etag_of("notes/deep/a.txt", b"text")
    folder = client.cache_dir / "datasets--org--data"
    link = folder / f"snapshots/{COMMIT}/notes/deep/a.txt"
    assert str(link.readlink()) == f"../../../../blobs/{etag}"
    assert (folder / "blobs" / etag).read_bytes() == b"text"
    assert (folder / "refs/main").read_bytes() == COMMIT.encode()
    assert (
        (client.cache_dir / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )


def test_models_are_kept_apart(client, hub):
    assert RepoCache(client.cache_dir, "model", "gpt2").folder.name == "models--gpt2"


def test_copies_where_there_are_no_links(client, monkeypatch):
    def refuse(*args: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("pathlib.Path.symlink_to", refuse)
    local = client.pin(REPO).download(NAME)
    assert not local.is_symlink()
    assert local.read_bytes() == FILES[NAME]


def test_known_absence_is_not_a_cache_miss(offline):
    folder = offline.cache_dir / "datasets--org--data"
    (folder / f"snapshots/{COMMIT}").mkdir(parents=True)
    (folder / f".no_exist/{COMMIT}").mkdir(parents=True)
    (folder / f".no_exist/{COMMIT}/absent.txt").touch()
    repo = offline.pin(REPO, COMMIT)
    with pytest.raises(EntryNotFoundError):
        repo.download("absent.txt")
    with pytest.raises(OfflineError):
        repo.download("unknown.txt")
    with pytest.raises(OfflineError, match="list of its files"):
        repo.files()


def test_refs_that_are_no_commits_are_not_believed(tmp_path):
    cache = RepoCache(tmp_path, "dataset", REPO)
    cache.write_ref("refs/pr/1", COMMIT)
    assert cache.read_ref("refs/pr/1") == COMMIT
    assert (cache.folder / "refs/refs/pr/1").is_file()
    (cache.folder / "refs/odd").write_bytes(b"\xff../../x")
    assert cache.read_ref("odd") is None
    assert cache.read_ref("nowhere") is None
    assert cache.read_ref(COMMIT) is None


def test_no_name_leaves_the_cache(tmp_path):
    cache = RepoCache(tmp_path, "dataset", REPO)
    with pytest.raises(UnsafePathError):
        cache.snapshot(COMMIT, "../../x")
    with pytest.raises(UnsafePathError):
        cache.link(COMMIT, RepoFile("../x", 0, "0" * 40))


def test_a_client_is_offline_without_a_token(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_x")
    client = HubClient("http://127.0.0.1:9", cache_dir=tmp_path, offline=True)
    with pytest.raises(OfflineError):
        client.pin(REPO)
