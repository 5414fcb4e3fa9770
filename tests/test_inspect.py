"""What a dataset consists of, without loading it."""

from typing import Any

import pytest

from gristmill import config
from gristmill.errors import (
    ConfigNotFoundError,
    DataFilesNotFoundError,
    DatasetNotFoundError,
    DatasetUnreachableError,
    InvalidArgumentError,
    SplitsNotFoundError,
)
from gristmill.features import Features, Value
from gristmill.inspect import (
    get_dataset_config_info,
    get_dataset_config_names,
    get_dataset_default_config_name,
    get_dataset_infos,
    get_dataset_split_names,
)
from gristmill.load import load_dataset
from tests.load.conftest import hub_of, online, own_caches, said  # noqa: F401  # fixtures

CARD = """---
configs:
- config_name: en
  data_files: {learn: en-a.csv, check: en-b.csv}
- config_name: fr
  data_files: fr/*.csv
- config_name: far
  data_files: {here: fr/a.csv, there: "https://example.org/x.csv"}
- config_name: none
  data_files: nowhere/*.csv
dataset_info:
- config_name: fr
  features: [{name: a, dtype: int32}]
  splits: [{name: train, num_bytes: 8, num_examples: 1}]
  download_size: 4
  dataset_size: 8
---
"""
FILES = {"README.md": CARD.encode(), "en-a.csv": b"a\n1\n", "en-b.csv": b"a\n2\n", "fr/a.csv": b"a\n3\n"}


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        path = tmp_path / "poems" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "poems"


def test_configs(folder):
    assert get_dataset_config_names(str(folder)) == ["en", "fr", "far", "none"]
    assert get_dataset_config_names(folder) == ["en", "fr", "far", "none"]
    assert get_dataset_default_config_name(str(folder)) is None
    (folder / "README.md").write_text(
        CARD.replace("name: fr\n  data", "name: fr\n  default: true\n  data", 1)
    )
    assert get_dataset_default_config_name(str(folder)) == "fr"
    assert get_dataset_split_names(str(folder)) == ["train"]
    (folder / "README.md").unlink()
    assert (
        get_dataset_config_names(str(folder)) == [get_dataset_default_config_name(str(folder))] == ["default"]
    )


def test_splits(folder):
    assert get_dataset_split_names(str(folder), "en") == ["learn", "check"]
    assert get_dataset_split_names(str(folder), "fr") == ["train"]
    assert get_dataset_split_names(str(folder), "far") == ["here", "there"]  # and nobody was asked
    assert get_dataset_split_names(str(folder), data_files={"x": "en-a.csv", "y": "fr/a.csv"}) == ["x", "y"]
    assert get_dataset_split_names("csv", data_files=[str(folder / "en-a.csv")]) == ["train"]
    assert get_dataset_split_names(str(folder / "en-a.csv")) == ["train"]
    assert get_dataset_split_names(str(folder), data_dir="fr") == ["train"]


def test_what_is_said_of_a_config(folder):
    info: Any = get_dataset_config_info(str(folder), "fr")
    assert info.features == Features({"a": Value("int32")})
    assert (info.config_name, info.dataset_name) == ("fr", "poems")
    assert (info.download_size, info.dataset_size) == (4, 8)
    assert info.splits["train"].num_examples == 1
    english: Any = get_dataset_config_info(str(folder), "en")
    assert (english.features, english.builder_name, english.config_name) == (None, "csv", "en")
    assert english.splits["learn"].dataset_name == "poems"


def test_all_configs_at_once(folder):
    (folder / "nowhere").mkdir()
    (folder / "nowhere/a.csv").write_text("a\n1\n")
    infos = get_dataset_infos(str(folder))
    assert {name: list(info.splits or ()) for name, info in infos.items()} == {
        "en": ["learn", "check"], "fr": ["train"], "far": ["here", "there"], "none": ["train"],
    }  # fmt: skip


def test_what_is_not_there(folder, tmp_path):
    with pytest.raises(SplitsNotFoundError, match="nowhere"):
        get_dataset_split_names(str(folder), "none")
    for name, match in ((None, "several configs"), ("de", 'no config "de"')):
        with pytest.raises(ConfigNotFoundError, match=match):
            get_dataset_split_names(str(folder), name)
    (tmp_path / "empty").mkdir()
    assert get_dataset_config_names(str(tmp_path / "empty")) == ["default"]
    with pytest.raises(DataFilesNotFoundError, match="it is empty"):
        get_dataset_infos(str(tmp_path / "empty"))
    with pytest.raises(DatasetNotFoundError):
        get_dataset_config_names("nope")
    with pytest.raises(InvalidArgumentError, match='Did you mean "config_name"'):
        get_dataset_split_names(str(folder), confg_name="en")
    with pytest.raises(InvalidArgumentError, match="path"):
        get_dataset_config_names(3)  # type: ignore[arg-type]


def test_on_the_hub_no_data_file_is_fetched(online, tmp_path):  # noqa: F811
    hub = online(FILES)
    assert get_dataset_config_names("org/data", token="hf_mine") == ["en", "fr", "far", "none"]
    assert {seen.headers.get("authorization") for seen in hub.seen} == {"Bearer hf_mine"}
    assert get_dataset_split_names("org/data", "en") == ["learn", "check"]
    info: Any = get_dataset_config_info("org/data", "fr")
    assert info.splits["train"].num_examples == 1
    assert {seen.path.rpartition("/")[2] for seen in hub.requests("/resolve/")} == {"README.md"}
    load_dataset("org/data", "en", split="learn")
    hub.stop()
    config.HF_HUB_OFFLINE = True
    assert get_dataset_config_names("org/data") == ["en", "fr", "far", "none"]


def test_offline_by_what_was_prepared(online, tmp_path):  # noqa: F811
    online(FILES)
    load_dataset("org/data", "en", split="learn")
    load_dataset("org/data", "fr")
    config.HF_HUB_OFFLINE = True
    config.HF_HUB_CACHE = tmp_path / "another"
    assert sorted(get_dataset_config_names("org/data")) == ["en", "fr"]
    assert get_dataset_default_config_name("org/data") is None
    assert get_dataset_split_names("org/data", "en") == ["learn", "check"]
    for name in (None, "de"):
        with pytest.raises(ConfigNotFoundError):
            get_dataset_split_names("org/data", name)
    with pytest.raises(DatasetUnreachableError, match="could not be asked"):
        get_dataset_split_names("org/other")
