"""Pushing to buckets of a real server, and loading from them."""

import json

import pytest
from huggingface_hub import HfApi

from gristmill import Dataset, DatasetDict, config, get_dataset_config_names, load_dataset
from gristmill.errors import (
    AccessError,
    DatasetNotFoundError,
    InvalidArgumentError,
    OfflineError,
    UnsafePathError,
)
from gristmill.hub.server import serve_in_thread

NAME = "buckets/ann/data"


def numbers(rows=10, start=0):
    return Dataset.from_dict({"n": list(range(start, start + rows)), "t": [f"row {n}" for n in range(rows)]})


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    (tmp_path / "hub").mkdir()
    tokens = {
        "hf_ann": {"user": "ann", "write": ["buckets/ann/*"]},
        "hf_bob": {"user": "bob", "write": ["bob/*"]},
    }
    (tmp_path / "tokens.json").write_text(json.dumps(tokens))
    with (
        serve_in_thread(tmp_path / "hub", tokens=tmp_path / "tokens.json") as url,
        config.override(
            HF_ENDPOINT=url,
            HF_HUB_OFFLINE=False,
            HF_DATASETS_CACHE=tmp_path / "cache",
            DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
        ),
    ):
        yield url


def paths(endpoint, id="ann/data"):
    found = HfApi(endpoint=endpoint, token="hf_ann").list_bucket_tree(id, recursive=True)
    return [each.path for each in found]


def loaded(name=NAME, *args, **more):
    return load_dataset(name, *args, split=more.pop("split", "train"), **more)["n"][:]


def test_push_and_load(endpoint):
    info = numbers().push_to_hub(NAME, token="hf_ann", num_shards=2)
    assert (info.repo_url.repo_type, info.repo_url.repo_id) == ("bucket", "ann/data")
    assert paths(endpoint) == [
        "README.md",
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
    ]
    assert loaded() == list(range(10))
    # Again, with other rows in other files: the old ones go, another config and split stay.
    numbers(3, 70).push_to_hub(NAME, split="test", token="hf_ann")
    numbers(4, 90).push_to_hub(NAME, "other", token="hf_ann")
    again = numbers(5, 50).push_to_hub(NAME, token="hf_ann")
    assert again.oid != info.oid
    assert paths(endpoint) == [
        "README.md",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001.parquet",
        "other/train-00000-of-00001.parquet",
    ]
    assert loaded() == list(range(50, 55))
    assert loaded(split="test") == [70, 71, 72]
    assert sorted(get_dataset_config_names(NAME)) == ["default", "other"]
    assert loaded(NAME, "other") == [90, 91, 92, 93]


def test_same_sizes_are_not_the_same_content(endpoint):
    numbers(5, 10).push_to_hub(NAME, token="hf_ann")
    numbers(5, 20).push_to_hub(NAME, token="hf_ann")
    assert loaded() == [20, 21, 22, 23, 24]


def test_me_is_whoever_asks(endpoint):
    info = numbers().push_to_hub("buckets/me/data", token="hf_ann")
    assert info.repo_url.repo_id == "ann/data"
    numbers().push_to_hub("buckets/me/data/again", token="hf_ann")
    assert "again/data/train-00000-of-00001.parquet" in paths(endpoint)
    assert loaded("buckets/me/data", token="hf_ann") == loaded(NAME) == numbers()["n"][:]
    with pytest.raises(DatasetNotFoundError, match="me/data"):
        loaded("buckets/me/data", token="hf_bob")


def test_a_folder_of_a_bucket(endpoint):
    whole = DatasetDict(train=numbers(), test=numbers(2))
    whole.push_to_hub(f"{NAME}/runs/one", token="hf_ann")
    numbers(3).to_iterable_dataset().push_to_hub(f"{NAME}/runs/two", token="hf_ann", data_dir="rows")
    assert paths(endpoint) == [
        "runs/one/README.md",
        "runs/one/data/test-00000-of-00001.parquet",
        "runs/one/data/train-00000-of-00001.parquet",
        "runs/two/README.md",
        "runs/two/rows/train-00000-of-00001.parquet",
    ]
    assert {split: len(rows) for split, rows in load_dataset(f"{NAME}/runs/one").items()} == {
        "train": 10,
        "test": 2,
    }
    assert loaded(f"{NAME}/runs/two") == [0, 1, 2]


def test_rights(endpoint):
    numbers().push_to_hub(NAME, token="hf_ann", private=True)
    assert HfApi(endpoint=endpoint, token="hf_ann").bucket_info("ann/data").private
    assert loaded(token="hf_ann") == list(range(10))
    with pytest.raises(DatasetNotFoundError):
        load_dataset(NAME, token="hf_bob")
    for token in (None, "hf_bob"):
        with pytest.raises(AccessError):
            numbers().push_to_hub(NAME, token=token)
    assert loaded(token="hf_ann") == list(range(10))


def test_what_a_bucket_has_not_got(endpoint):
    for more in ({"revision": "main"}, {"create_pr": True}):
        with pytest.raises(InvalidArgumentError, match="no commits"):
            numbers().push_to_hub(NAME, token="hf_ann", **more)
    for name in ("buckets/ann", "buckets/", "buckets/an n/x"):
        with pytest.raises(InvalidArgumentError, match="buckets/namespace/name"):
            numbers().push_to_hub(name, token="hf_ann")
    with pytest.raises(UnsafePathError):
        numbers().push_to_hub(f"{NAME}/../x", token="hf_ann")
    with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError):
        numbers().push_to_hub(NAME)
