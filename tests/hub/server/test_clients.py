"""The reference client against a real socket: what it downloads, lists and raises."""

import datetime as dt
import hashlib
import io
from pathlib import Path

import pytest
from huggingface_hub import HfApi, HfFileSystem, hf_hub_download, hf_hub_url, snapshot_download
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import FILES, TRICKY, write

pytestmark = pytest.mark.usefixtures("quiet")
BIG = "data/train-00000-of-00002.parquet"
REPO = "org/tiny"


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """No token and no cache of the person who runs the tests."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)


@pytest.fixture
def api(endpoint):
    return HfApi(endpoint=endpoint, token=False)


@pytest.fixture
def fs(endpoint):
    HfFileSystem.clear_instance_cache()
    made = HfFileSystem(endpoint=endpoint, token=False, skip_instance_cache=True)
    yield made
    HfFileSystem.clear_instance_cache()


def content_of(path):
    return Path(path).read_bytes()


def download(endpoint, tmp_path, name, **more):
    return hf_hub_download(
        REPO, name, repo_type="dataset", endpoint=endpoint, cache_dir=tmp_path / "cache", token=False, **more
    )


@pytest.mark.parametrize("name", FILES)
def test_download_a_file(endpoint, tmp_path, name):
    path = download(endpoint, tmp_path, name)
    assert content_of(path) == FILES[name]


def test_download_through_redirects_and_from_the_parquet_ref(folder, tmp_path):
    with serve_in_thread(folder, redirect_large=100) as endpoint:
        for name, revision in [(BIG, None), ("default/train/0000.parquet", "refs/convert/parquet")]:
            path = download(endpoint, tmp_path, name, revision=revision)
            assert content_of(path) == FILES[BIG]


@pytest.mark.parametrize(
    ("repo", "name", "revision", "error"),
    [
        (REPO, "nothing.txt", None, EntryNotFoundError),
        (REPO, "notes.txt", "nope", RevisionNotFoundError),
        ("org/missing", "notes.txt", None, RepositoryNotFoundError),
    ],
)
def test_download_what_is_not_there(endpoint, tmp_path, repo, name, revision, error):
    with pytest.raises(error):
        hf_hub_download(
            repo,
            name,
            revision=revision,
            repo_type="dataset",
            endpoint=endpoint,
            cache_dir=tmp_path,
            token=False,
        )


def test_absence_is_remembered(endpoint, api, tmp_path):
    with pytest.raises(EntryNotFoundError):
        download(endpoint, tmp_path, "nothing.txt")
    sha = api.dataset_info(REPO).sha
    assert (tmp_path / f"cache/datasets--org--tiny/.no_exist/{sha}/nothing.txt").is_file()


def test_snapshot(endpoint, tmp_path):
    folder = snapshot_download(REPO, repo_type="dataset", endpoint=endpoint, cache_dir=tmp_path, token=False)
    for name, content in FILES.items():
        assert content_of(f"{folder}/{name}") == content


def test_snapshot_of_1100_files(repo, endpoint, api, tmp_path):
    write(repo, {f"many/{number:04d}.txt": b"%d" % number for number in range(1100)})
    listed = list(api.list_repo_tree(REPO, repo_type="dataset", recursive=True))
    assert len(listed) == 1100 + len(FILES) + 4
    expanded = list(api.list_repo_tree(REPO, "many", repo_type="dataset", expand=True))
    assert len(expanded) == 1100
    assert expanded[7].last_commit.oid == api.dataset_info(REPO).sha
    assert (
        len(
            api.get_paths_info(
                REPO, [f"many/{number:04d}.txt" for number in range(1100)], repo_type="dataset"
            )
        )
        == 1100
    )
    assert len(api.list_repo_files(REPO, repo_type="dataset")) == 1100 + len(FILES)


def test_api(api, endpoint):
    info = api.dataset_info(REPO, files_metadata=True)
    sizes = {file.rfilename: file.size for file in info.siblings}
    assert sizes == {name: len(content) for name, content in FILES.items()}
    [big] = [file for file in info.siblings if file.rfilename == BIG]
    assert big.lfs.sha256 == hashlib.sha256(FILES[BIG]).hexdigest()
    assert info.card_data.license == "mit"
    assert isinstance(info.last_modified, dt.datetime)
    refs = api.list_repo_refs(REPO, repo_type="dataset", include_pull_requests=True)
    assert [(ref.name, ref.target_commit) for ref in refs.branches] == [("main", info.sha)]
    assert [ref.ref for ref in refs.converts] == ["refs/convert/parquet"]
    assert [commit.commit_id for commit in api.list_repo_commits(REPO, repo_type="dataset")] == [info.sha]
    assert [found.id for found in api.list_datasets(search="tin")] == [REPO]
    assert [found.id for found in api.list_datasets(author="nobody")] == []
    assert [found.id for found in api.list_models()] == ["org/model"]
    assert api.file_exists(REPO, TRICKY, repo_type="dataset")
    assert not api.file_exists(REPO, "nothing", repo_type="dataset")
    assert not api.file_exists("org/missing", "nothing", repo_type="dataset")
    assert api.repo_exists(REPO, repo_type="dataset")
    assert not api.repo_exists("org/missing", repo_type="dataset")
    assert api.revision_exists(REPO, info.sha, repo_type="dataset")
    assert not api.revision_exists(REPO, "nope", repo_type="dataset")
    assert api.model_info("org/model").sha
    url = hf_hub_url(REPO, "notes.txt", repo_type="dataset", endpoint=endpoint)
    assert api.get_hf_file_metadata(url=url).commit_hash == info.sha
    api.auth_check(REPO, repo_type="dataset")


def test_paths_info(api):
    found = api.get_paths_info(REPO, [BIG, "docs", TRICKY, "nothing"], repo_type="dataset", expand=True)
    assert [item.path for item in found] == [BIG, "docs", TRICKY]
    assert found[0].lfs.size == found[0].size == len(FILES[BIG])


def test_writing_is_refused_with_words(api):
    with pytest.raises(HfHubHTTPError, match="read-only"):
        api.create_repo("org/new", repo_type="dataset")
    with pytest.raises((HfHubHTTPError, BadRequestError), match="read-only"):
        api.upload_file(path_or_fileobj=io.BytesIO(b"x"), path_in_repo="x", repo_id=REPO, repo_type="dataset")


def test_gated_and_private(folder, tmp_path):
    write(
        folder,
        {
            "access.json": b'{"org/tiny": {"gated": "manual", "tokens": {"hf_a": true, "hf_b": false}}, "org/p": {"private": true, "tokens": {"hf_a": true}}}'
        },
    )
    write(folder / "datasets/org/p", {"a.txt": b"a"})
    with serve_in_thread(folder) as endpoint:
        options = {"repo_type": "dataset", "endpoint": endpoint, "cache_dir": tmp_path / "cache"}
        for token in (False, "hf_b"):
            with pytest.raises(GatedRepoError):
                hf_hub_download(REPO, "notes.txt", token=token, **options)
            with pytest.raises(RepositoryNotFoundError):
                hf_hub_download("org/p", "a.txt", token=token, **options)
        with pytest.raises(HfHubHTTPError, match="Invalid"):
            hf_hub_download(REPO, "notes.txt", token="hf_unknown", **options)
        for repo, name in [(REPO, "notes.txt"), ("org/p", "a.txt")]:
            assert content_of(hf_hub_download(repo, name, token="hf_a", **options))


def test_file_system(fs):
    root = f"datasets/{REPO}"
    assert sorted(fs.ls(root, detail=False)) == sorted(
        f"{root}/{name}" for name in {n.split("/")[0] for n in FILES}
    )
    assert sorted(fs.glob(f"{root}/**/*.parquet")) == sorted(
        f"{root}/{name}" for name in FILES if name.endswith(".parquet")
    )
    assert fs.info(f"{root}/{BIG}")["size"] == len(FILES[BIG])
    assert fs.isdir(f"{root}/docs")
    assert not fs.exists(f"{root}/nothing")
    assert isinstance(fs.modified(f"{root}/{BIG}"), dt.datetime)
    assert fs.cat_file(f"{root}/{TRICKY}") == b"tricky"
    assert fs.cat_file(f"{root}@refs/convert/parquet/default/test/0000.parquet") == b"PAR1test"


def test_random_reads(fs):
    content = FILES[BIG]
    with fs.open(f"datasets/{REPO}/{BIG}", "rb", block_size=1000) as file:
        for start in (0, 100_000, 5, len(content) - 10, 64_000, 1):
            file.seek(start)
            assert file.read(3000) == content[start : start + 3000]
    assert fs.cat_ranges([f"datasets/{REPO}/{BIG}"] * 2, [0, 50], [4, 60]) == [content[:4], content[50:60]]
