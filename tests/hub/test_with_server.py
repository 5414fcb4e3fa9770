"""The client over Gristmill's own server and the demo Hub that ships in the package, beside huggingface_hub."""

import shutil
from pathlib import Path

import pytest
from huggingface_hub import HfApi, hf_hub_download, snapshot_download

import gristmill
from gristmill import config
from gristmill.errors import EntryNotFoundError, RepoNotFoundError, RevisionNotFoundError
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.hub.transfer import new_hash
from tests.hub.conftest import tree_of

DEMO = Path(gristmill.__file__).parent / "demo" / "hub"
REPOS = sorted(path.relative_to(DEMO / "datasets").as_posix() for path in (DEMO / "datasets").glob("*/*"))


@pytest.fixture(scope="module")
def endpoint():
    with serve_in_thread(DEMO) as url:
        yield url


@pytest.fixture
def client(endpoint, tmp_path):
    with config.override(DOWNLOADED_DATASETS_PATH=tmp_path / "downloads"):
        made = HubClient(endpoint, token=False, cache_dir=tmp_path / "hub", offline=False)
        yield made
        made.session.close()


@pytest.mark.parametrize("repo_id", REPOS)
def test_whole_repositories(client, endpoint, repo_id, tmp_path):
    repo = client.pin(repo_id)
    files = repo.files()
    local = repo.download_many([file.path for file in files])
    for file, path in zip(files, local, strict=True):
        assert path.read_bytes() == (DEMO / "datasets" / repo_id / file.path).read_bytes()
        state = new_hash(file)
        state.update(path.read_bytes())
        assert state.hexdigest() == file.etag
    card = HfApi(endpoint, token=False).dataset_info(repo_id).card_data
    assert card is not None
    assert repo.card_data["license"] == card["license"]
    theirs = snapshot_download(
        repo_id, repo_type="dataset", cache_dir=tmp_path / "theirs", endpoint=endpoint, token=False
    )
    ours = client.cache_dir / f"datasets--{repo_id.replace('/', '--')}"
    assert Path(theirs).name == repo.commit
    # The same blobs, links, refs and listing; what differs is only ours.
    mine = {name for name in tree_of(ours) if not name.startswith("gristmill/")}
    assert mine == tree_of(Path(theirs).parent.parent)


def test_models(client):
    repo = client.pin("openai-community/gpt2", repo_type="model")
    assert repo.download("tokenizer.json").stat().st_size > 0
    assert repo.download("tokenizer.json").is_relative_to(client.cache_dir / "models--openai-community--gpt2")


def test_github_mirror(client):
    got = client.github_file("PolyAI-LDN/task-specific-datasets", "master", "banking_data/categories.json")
    source = DEMO / "github/PolyAI-LDN/task-specific-datasets/master/banking_data/categories.json"
    assert got.read_bytes() == source.read_bytes()


def test_parquet_listing_and_ranges(client):
    (url,) = client.parquet_urls("nyu-mll/glue", "mnli", "train")
    head = client.get_range(url, 0, 4)
    assert head == b"PAR1"
    assert client.download_url(url).read_bytes()[-4:] == b"PAR1"
    source = DEMO / "datasets/nyu-mll/glue/mnli/train-00000-of-00001.parquet"
    direct = client.resolve_url("nyu-mll/glue", "main", "mnli/train-00000-of-00001.parquet")
    assert client.get_range(direct, 1000, 77) == source.read_bytes()[1000:1077]
    with pytest.raises(OSError, match="no-such"):
        client.parquet_urls("nyu-mll/glue", "no-such", "train")


def test_refusals_of_a_real_server(client):
    with pytest.raises(RepoNotFoundError):
        client.pin("no/such")
    with pytest.raises(RevisionNotFoundError):
        client.pin("nyu-mll/glue", "v9")
    with pytest.raises(EntryNotFoundError, match="Did you mean"):
        client.pin("nyu-mll/glue").download("mnli/train-00000-of-00002.parquet")


def test_resumed_over_a_real_server(client):
    repo = client.pin("nyu-mll/glue")
    file = next(file for file in repo.files() if file.path.startswith("mnli/train"))
    source = (DEMO / "datasets/nyu-mll/glue" / file.path).read_bytes()
    part = repo.cache.part(file.etag)
    part.parent.mkdir(parents=True)
    part.write_bytes(source[:1234])
    assert repo.download(file.path).read_bytes() == source
    assert not part.exists()


def test_a_changed_folder_is_a_new_commit_beside_the_old(tmp_path):
    folder = tmp_path / "served/datasets/org/name"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("one")
    (folder / "b.txt").write_text("same")
    with serve_in_thread(tmp_path / "served") as url:
        client = HubClient(url, token=False, cache_dir=tmp_path / "hub", offline=False)
        first = client.pin("org/name")
        assert first.read_bytes("a.txt") == b"one"
        (folder / "a.txt").write_text("changed")
        second = client.pin("org/name")
        assert second.commit != first.commit
        assert second.read_bytes("a.txt") == b"changed"
        assert client.pin("org/name", first.commit).read_bytes("a.txt") == b"one"
        client.session.close()
    offline = HubClient(url, cache_dir=tmp_path / "hub", offline=True)
    assert offline.pin("org/name").read_bytes("a.txt") == b"changed"


def test_huggingface_hub_goes_on_with_our_cache(client, endpoint):
    local = client.pin("google/boolq").download("README.md")
    theirs = hf_hub_download(
        "google/boolq",
        "README.md",
        repo_type="dataset",
        cache_dir=client.cache_dir,
        endpoint=endpoint,
        token=False,
    )
    assert str(local) == theirs


def test_redirects_of_large_files(tmp_path):
    shutil.copytree(DEMO / "datasets/google", tmp_path / "served/datasets/google")
    with serve_in_thread(tmp_path / "served", redirect_large=1000) as url:
        client = HubClient(url, token=False, cache_dir=tmp_path / "hub", offline=False)
        repo = client.pin("google/boolq")
        for path in repo.download_many([file.path for file in repo.files()]):
            relative = path.relative_to(repo.cache.snapshot(repo.commit, "x").parent)
            assert path.read_bytes() == (DEMO / "datasets/google/boolq" / relative).read_bytes()
        client.session.close()
