"""Names on a Hub: pinned first, only what is wanted is fetched, and what was prepared serves when the Hub is away."""

import io
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill import config
from gristmill.errors import (
    AccessError,
    DataFilesNotFoundError,
    DatasetNotFoundError,
    DatasetScriptError,
    DatasetUnreachableError,
    GatedRepoError,
    RevisionNotFoundError,
)
from gristmill.features import ClassLabel
from gristmill.files.retry import RetryPolicy
from gristmill.hub import client
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.load import load_dataset
from tests.hub.faulty import COMMIT, status

DEMO = Path(gristmill.__file__).parent / "demo/hub"


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.fixture
def files():
    return {
        "README.md": b"---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files:\n  - {split: train, path: data/train-*}\n  - {split: test, path: data/test-*}\n---\n",
        "data/train-0.parquet": parquet(a=[1, 2]),
        "data/train-1.parquet": parquet(a=[3]),
        "data/test-0.parquet": parquet(a=[4]),
    }


def test_only_the_files_of_the_split_are_fetched(online, files):
    hub = online(files)
    train = load_dataset("org/data", split="train")
    assert train["a"][:] == [1, 2, 3]
    assert {seen.path.rpartition("/")[2] for seen in hub.requests("/resolve/")} == {
        "README.md", "train-0.parquet", "train-1.parquet",
    }  # fmt: skip
    assert all(f"/resolve/{COMMIT}/" in seen.path for seen in hub.requests("/resolve/"))
    assert train.origins().to_pylist()[2] == {
        "source": "org/data", "revision": COMMIT, "file": "data/train-1.parquet", "row_index": 0,
    }  # fmt: skip
    assert train.info.license == "mit"
    assert "org___data/default/0.0.0" in train.cache_files[0]["filename"]


def test_requests_of_a_second_load(online, files):
    hub = online(files)
    load_dataset("org/data")
    hub.seen.clear()
    load_dataset("org/data")
    assert len(hub.seen) == 1  # what does "main" stand for now?
    hub.seen.clear()
    load_dataset("org/data", revision=COMMIT)
    assert hub.seen == []  # a commit never changes


def test_a_second_load_is_quick(online, files):
    import time

    online(files)
    load = partial(load_dataset, "org/data", revision=COMMIT)
    load()
    times = []
    for _ in range(5):
        started = time.perf_counter()
        load()
        times.append(time.perf_counter() - started)
    assert min(times) < 0.2


def test_offline_by_what_the_hub_cache_knows(online, files, said):
    hub = online(files)
    load_dataset("org/data", split="train")
    hub.stop()
    config.HF_HUB_OFFLINE = True
    assert load_dataset("org/data", split="train")["a"][:] == [1, 2, 3]
    with config.override(HF_HUB_OFFLINE=False, HF_DATASETS_OFFLINE=True):
        assert load_dataset("org/data", split="train")["a"][:] == [1, 2, 3]
    assert load_dataset("org/data", split="train", revision=COMMIT)["a"][:] == [1, 2, 3]


def test_offline_by_what_was_prepared(online, files, said, tmp_path):
    hub = online(files)
    load_dataset("org/data", split="train")
    hub.stop()
    config.HF_HUB_OFFLINE = True
    config.HF_HUB_CACHE = tmp_path / "another"
    assert load_dataset("org/data", split="train[1:]")["a"][:] == [2, 3]
    [line] = said
    assert COMMIT in line
    assert load_dataset("org/data", split="train").origins().to_pylist()[0]["revision"] == COMMIT
    with pytest.raises(DatasetUnreachableError, match="could not be asked"):
        load_dataset("org/data", split="test")
    with pytest.raises(DatasetUnreachableError):
        load_dataset("org/data", split="train", revision="v2")
    with pytest.raises(DatasetUnreachableError):
        load_dataset("org/data", "another", split="train")


def test_a_hub_that_does_not_answer(said, online, files, monkeypatch, tmp_path):
    hub = online(files)
    load_dataset("org/data", split="train")
    hub.stop()
    impatient = partial(HubClient, policy=RetryPolicy(sleep=lambda _: None))
    monkeypatch.setattr(client, "HubClient", impatient)
    config.HF_HUB_CACHE = tmp_path / "another"
    with pytest.raises(ConnectionError) as caught:
        load_dataset("org/other")
    assert isinstance(caught.value, DatasetNotFoundError)
    assert hub.url in str(caught.value)
    assert load_dataset("org/data", split="train")["a"][:] == [1, 2, 3]
    assert len(said) == 1


def test_names_that_are_not_there(online, files):
    hub = online(files)
    load_dataset("org/data", split="train")
    with pytest.raises(DatasetNotFoundError, match=r"Did you mean org/data\?") as caught:
        load_dataset("org/date")
    assert hub.url in str(caught.value)
    for kind in (RevisionNotFoundError, DatasetNotFoundError):
        with pytest.raises(kind):
            load_dataset("org/data", revision="v9")
    with pytest.raises(DataFilesNotFoundError, match="org/data at c0ffee"):
        load_dataset("org/data", data_files="data/dev-*")


def test_a_file_that_was_prepared_is_not_suggested_by_its_bare_name(online, files, tmp_path):
    online(files)
    (tmp_path / "poems.csv").write_text("a\n1\n")
    load_dataset(str(tmp_path / "poems.csv"))
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("poem")
    assert "Did you mean" not in str(caught.value)


def test_refusals_say_what_to_do(online, files):
    hub = online(files)
    hub.script("/revision/", status(401, X_Error_Code="GatedRepo", X_Error_Message="Access is restricted"))
    with pytest.raises(AccessError, match="HF_TOKEN"):
        load_dataset("org/data")
    hub.script("/revision/", status(403, X_Error_Code="GatedRepo", X_Error_Message="ask"))
    with pytest.raises(GatedRepoError, match=f"{hub.url}/datasets/org/data") as caught:
        load_dataset("org/data")
    assert isinstance(caught.value, DatasetNotFoundError)
    assert (caught.value.status, caught.value.__cause__) == (403, None)


def test_a_token_is_sent(online, files):
    hub = online(files)
    load_dataset("org/data", split="train", token="hf_mine")
    assert {seen.headers.get("authorization") for seen in hub.seen} == {"Bearer hf_mine"}


def test_a_repository_with_a_script(online, files):
    online({**files, "data.py": b"raise SystemExit"})
    with pytest.raises(DatasetScriptError, match=r"org/data holds the dataset script data\.py"):
        load_dataset("org/data")


def test_the_same_files_at_a_new_commit_are_not_prepared_again(online, files):
    online(files)
    first = load_dataset("org/data", split="train")
    again = load_dataset("org/data", split="train", revision=COMMIT)
    assert first.cache_files == again.cache_files


def test_files_named_by_hub_urls(online, files):
    online(files)
    for url in (f"hf://datasets/org/data@{COMMIT}/data/train-*", "hf://datasets/org/data/data/train-*"):
        ds = load_dataset("parquet", data_files=url, split="train")
        assert ds["a"][:] == [1, 2, 3]
        assert ds.origins().to_pylist()[0]["file"] == f"hf://datasets/org/data@{COMMIT}/data/train-0.parquet"


@pytest.fixture(scope="module")
def demo():
    with serve_in_thread(DEMO) as endpoint:
        yield endpoint


def test_the_demo_hub(demo):
    config.HF_ENDPOINT = demo
    config.HF_HUB_OFFLINE = False
    mnli = load_dataset("nyu-mll/glue", "mnli", split="validation_matched")
    assert mnli.features["label"] == ClassLabel(names=["entailment", "neutral", "contradiction"])
    client = HubClient(demo, token=False)
    commit = client.pin("nyu-mll/glue").commit
    client.session.close()
    assert mnli.origins().to_pylist()[0] == {
        "source": "nyu-mll/glue", "revision": commit,
        "file": "mnli/validation_matched-00000-of-00001.parquet", "row_index": 0,
    }  # fmt: skip
    here = load_dataset(str(DEMO / "datasets/nyu-mll/glue"), "mnli", split="validation_matched")
    assert here[:] == mnli[:]
    with pytest.raises(DatasetScriptError):
        load_dataset("PolyAI/banking77")
