"""Without a Hub: whatever is in the caches is used, and what is missing is named, with all that was tried."""

import io
import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config, get_dataset_config_names
from gristmill.errors import (
    DatasetGenerationError,
    DatasetUnreachableError,
    OfflineError,
    SplitsVerificationError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub import client
from gristmill.hub.client import HubClient
from gristmill.load import load_dataset
from tests.hub.faulty import COMMIT, REPO, etag_of


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


CARD = b"""---
configs:
- {config_name: en, default: true, data_files: [{split: train, path: en/train-*}, {split: test, path: en/test-*}]}
- {config_name: fr, data_files: fr/*}
---
"""
FILES = {
    "README.md": CARD,
    "en/train-00000-of-00002.parquet": parquet(a=[1, 2]),
    "en/train-00001-of-00002.parquet": parquet(a=[3]),
    "en/test-00000-of-00001.parquet": parquet(a=[4]),
    "fr/train-00000-of-00001.parquet": parquet(b=["x"]),
}


@pytest.fixture
def away(monkeypatch):
    """Takes the Hub away: by the variables that say so, or by letting nobody answer."""
    monkeypatch.setattr(client, "HubClient", partial(HubClient, policy=RetryPolicy(sleep=lambda _: None)))

    def go(how):
        config.HF_ENDPOINT = "http://127.0.0.1:9"
        config.HF_HUB_OFFLINE = how == "HF_HUB_OFFLINE"
        config.HF_DATASETS_OFFLINE = how == "HF_DATASETS_OFFLINE"

    yield go
    config.HF_DATASETS_OFFLINE = False


WAYS = pytest.mark.parametrize("how", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "unreachable"])


def repo_folder():
    return Path(config.HF_HUB_CACHE) / "datasets--org--data"


def as_others_do(files, commit=COMMIT, refs=("main",), links=True):
    """Fills the cache as huggingface_hub does, without the list of files that only some versions of it keep."""
    folder = repo_folder()
    for path, content in files.items():
        blob, name = folder / "blobs" / etag_of(path, content), folder / "snapshots" / commit / path
        blob.parent.mkdir(parents=True, exist_ok=True)
        name.parent.mkdir(parents=True, exist_ok=True)
        if links:
            blob.write_bytes(content)
            name.symlink_to(blob)
        else:
            name.write_bytes(content)
    for ref in refs:
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / ref).write_text(commit)


@WAYS
@pytest.mark.parametrize("links", [True, False])
def test_a_cache_that_another_client_filled(away, how, links):
    as_others_do(FILES, links=links)
    away("HF_HUB_OFFLINE" if how == "unreachable" else how)
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2, 3]
    assert load_dataset(REPO, "fr")["train"]["b"][:] == ["x"]
    assert load_dataset(REPO, split="test", revision=COMMIT)["a"][:] == [4]
    assert get_dataset_config_names(REPO) == ["en", "fr"]


def test_a_cache_that_another_client_filled_and_a_hub_that_does_not_answer(away):
    as_others_do(FILES)
    away("unreachable")
    with pytest.raises(DatasetUnreachableError) as caught:
        load_dataset(REPO)
    assert "HF_HUB_OFFLINE=1" in str(
        caught.value
    )  # what is here is enough, once it is said that it has to be


def test_a_part_that_is_missing_is_not_passed_over(away):
    as_others_do({name: content for name, content in FILES.items() if "train-00001" not in name})
    away("HF_HUB_OFFLINE")
    with pytest.raises(DatasetUnreachableError, match=r"en/train-00001-of-00002\.parquet"):
        load_dataset(REPO, split="train")
    assert load_dataset(REPO, split="test")["a"][:] == [4]
    with pytest.raises(OfflineError, match=r"en/train-00001-of-00002\.parquet"):
        list(load_dataset(REPO, split="train", streaming=True))


@WAYS
def test_only_some_files_of_a_known_commit(online, away, how):
    online(dict(FILES))
    load_dataset(REPO, split="test")
    away(how)
    assert load_dataset(REPO, split="test")["a"][:] == [4]
    with pytest.raises(DatasetUnreachableError) as caught:
        load_dataset(REPO, split="train")
    text = str(caught.value)
    assert "en/train-0000" in text
    assert f'test of config "en" at revision "main", commit {COMMIT[:12]}' in text


@WAYS
def test_only_a_reference(away, how):
    as_others_do({}, refs=["main"])
    away(how)
    with pytest.raises(DatasetUnreachableError) as caught:
        load_dataset(REPO)
    tried = [line.partition(":")[0].strip(" -") for line in str(caught.value).splitlines() if " - " in line]
    assert tried == ["a format", "a folder or file", "the Hub at http", "prepared before"]


@WAYS
def test_another_config_than_was_prepared(online, away, how, tmp_path, warnings_said):
    online(dict(FILES))
    load_dataset(REPO)
    away(how)
    with pytest.raises(DatasetUnreachableError, match=r"(?s)fr/train-.*there is train, test of config"):
        load_dataset(REPO, "fr")
    config.HF_HUB_CACHE = tmp_path / "gone"
    with pytest.raises(
        DatasetUnreachableError, match=r'nothing that was asked for like this .* of config "en"'
    ):
        load_dataset(REPO, "fr")
    with pytest.raises(DatasetUnreachableError, match="nothing that was asked for like this"):
        load_dataset(REPO, revision="v2")
    with pytest.raises(DatasetUnreachableError, match="nothing of that name in"):
        load_dataset("org/date")
    assert load_dataset(REPO, split="train+test")["a"][:] == [1, 2, 3, 4]
    assert sum("using what was prepared at commit" in line for line in warnings_said()) == 1


def damage(path, cut=0):
    blob = (repo_folder() / "snapshots" / COMMIT / path).resolve()
    content = blob.read_bytes()
    blob.write_bytes(content[: len(content) - cut] if cut else bytes(len(content)))


@WAYS
def test_a_damaged_download_without_a_hub(online, away, how, warnings_said):
    online(dict(FILES))
    load_dataset(REPO)
    shutil.rmtree(config.HF_DATASETS_CACHE)
    damage("en/train-00001-of-00002.parquet")
    away(how)
    with pytest.raises(DatasetUnreachableError, match=r"en/train-00001-of-00002\.parquet"):
        load_dataset(REPO, split="train")
    assert "en/train-00001-of-00002.parquet was damaged since it was downloaded" in " ".join(warnings_said())
    assert load_dataset(REPO, split="test")["a"][:] == [4]
    damage("en/test-00000-of-00001.parquet", cut=3)
    shutil.rmtree(config.HF_DATASETS_CACHE)
    with pytest.raises(DatasetUnreachableError, match=r"en/test-00000-of-00001\.parquet"):
        load_dataset(REPO, split="test")


@pytest.mark.parametrize("cut", [0, 3])
def test_a_damaged_download_is_fetched_again(online, warnings_said, cut):
    hub = online(dict(FILES))
    load_dataset(REPO)
    shutil.rmtree(config.HF_DATASETS_CACHE)
    damage("en/train-00001-of-00002.parquet", cut)
    hub.seen.clear()
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2, 3]
    assert [seen.path.rpartition("/")[2] for seen in hub.requests("/resolve/")] == [
        "train-00001-of-00002.parquet"
    ]
    assert ["en/train-00001-of-00002.parquet" in line for line in warnings_said()] == [True] * (cut == 0)


def test_a_file_that_is_what_the_hub_has_is_not_fetched_again(online):
    hub = online({**FILES, "en/train-00001-of-00002.parquet": b"no parquet at all"})
    with pytest.raises(DatasetGenerationError, match=r"en/train-00001-of-00002\.parquet"):
        load_dataset(REPO, split="train")
    assert len(hub.requests("train-00001")) == 1


def test_a_damaged_list_of_files_is_asked_for_again_or_done_without(online, away):
    online(dict(FILES))
    load_dataset(REPO)
    shutil.rmtree(config.HF_DATASETS_CACHE)
    [tree] = (repo_folder() / "trees").iterdir()
    tree.write_text("{")
    away("HF_HUB_OFFLINE")
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2, 3]


def test_rows_that_the_card_counts_tell_of_a_missing_file(away):
    card = CARD.replace(
        b"---\nconfigs",
        b"---\ndataset_info: {config_name: en, splits: [{name: train, num_examples: 9}, {name: test, num_examples: 1}]}\nconfigs",
    )
    as_others_do({**FILES, "README.md": card})
    away("HF_HUB_OFFLINE")
    with pytest.raises(SplitsVerificationError, match="9"):
        load_dataset(REPO)
