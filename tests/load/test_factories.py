from typing import Any

import pytest

from gristmill import config
from gristmill.errors import (
    DataFilesNotFoundError,
    DatasetNotFoundError,
    DatasetScriptError,
    DatasetUnreachableError,
    FileMissingError,
    HubError,
    InvalidArgumentError,
)
from gristmill.features import Features, Value
from gristmill.load import load_dataset
from gristmill.load.factories import (
    CachedDatasetModuleFactory,
    HubBucketDatasetModuleFactory,
    HubDatasetModuleFactory,
    HubDatasetModuleFactoryWithParquetExport,
    LocalDatasetModuleFactory,
    PackagedDatasetModuleFactory,
    dataset_module_factory,
)
from tests.hub.buckets import BucketHub
from tests.hub.faulty import COMMIT, says

CARD = """---
configs:
- {config_name: en, data_files: en.csv, sep: ";"}
- {config_name: fr, data_files: {dev: fr.csv}, default: true}
dataset_info: {config_name: en, features: [{name: a, dtype: int8}]}
---
"""
FILES = {"README.md": CARD.encode(), "en.csv": b"a\n1\n", "fr.csv": b"a\n2\n"}


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def configs_of(module):
    return {one.name: one.data_files for one in module.builder_configs_parameters.builder_configs}


def test_a_folder(folder):
    module: Any = LocalDatasetModuleFactory(str(folder)).get_module()
    assert module == dataset_module_factory(str(folder))
    assert module.module_path == "gristmill.packaged_modules.csv.csv"
    assert module.builder_kwargs == {"base_path": str(folder), "dataset_name": folder.name}
    assert configs_of(module) == {"en": {"train": ["en.csv"]}, "fr": {"dev": ["fr.csv"]}}
    parameters: Any = module.builder_configs_parameters
    assert parameters.metadata_configs["en"] == {"data_files": "en.csv", "sep": ";"}
    assert parameters.default_config_name == "fr"
    assert module.dataset_infos["en"].features == Features({"a": Value("int8")})
    own = LocalDatasetModuleFactory(str(folder), data_files={"x": "*.csv"}).get_module()
    assert configs_of(own) == {"default": {"x": [f"{folder}/en.csv", f"{folder}/fr.csv"]}}
    (folder / "README.md").unlink()
    assert configs_of(dataset_module_factory(str(folder))) == {
        "default": {"train": [f"{folder}/en.csv", f"{folder}/fr.csv"]}
    }
    before = dataset_module_factory(str(folder)).hash
    (folder / "fr.csv").write_text("a\n22\n")
    assert dataset_module_factory(str(folder)).hash != before


def test_files_of_a_format(folder):
    module = PackagedDatasetModuleFactory("csv", data_dir=str(folder)).get_module()
    assert module == dataset_module_factory("csv", data_dir=str(folder))
    assert module.builder_kwargs["data_files"] == {"train": [f"{folder}/en.csv", f"{folder}/fr.csv"]}
    single = dataset_module_factory(str(folder / "en.csv"))
    assert (single.module_path, single.builder_kwargs["dataset_name"]) == (
        "gristmill.packaged_modules.csv.csv",
        "en",
    )
    with pytest.raises(InvalidArgumentError, match="format"):
        PackagedDatasetModuleFactory("nosuch", data_files=str(folder / "en.csv")).get_module()


def test_a_repository(online):
    hub = online(FILES)
    module = HubDatasetModuleFactory("org/data", COMMIT).get_module()
    assert module == dataset_module_factory("org/data")
    base = f"hf://datasets/org/data@{COMMIT}"
    assert module.builder_kwargs == {"base_path": base, "repo_id": "org/data", "dataset_name": "data"}
    assert (module.hash, module.builder_configs_parameters.default_config_name) == (COMMIT, "fr")
    own = dataset_module_factory("org/data", data_files="en.csv", token="hf_x")
    assert configs_of(own) == {"default": {"train": [f"{base}/en.csv"]}}
    assert hub.seen[-1].headers["authorization"] == "Bearer hf_x"
    assert not [seen for seen in hub.requests("/resolve/") if seen.path.endswith(".csv")]
    with pytest.raises(DatasetNotFoundError):
        dataset_module_factory("org/other")


def test_the_parquet_of_a_hub(online):
    hub = online({"en/train/0000.parquet": b"", "en/train/0010.parquet": b"", "en/test/0000.parquet": b"",
            "fr/partial-train/0000.parquet": b"", "x.txt": b""})  # fmt: skip
    hub.script("/revision/", says({"id": "org/data", "sha": COMMIT}))
    module = HubDatasetModuleFactoryWithParquetExport("org/data", COMMIT).get_module()
    at = f"hf://datasets/org/data@{COMMIT}"
    assert configs_of(module) == {
        "en": {
            "test": [f"{at}/en/test/0000.parquet"],
            "train": [f"{at}/en/train/0000.parquet", f"{at}/en/train/0010.parquet"],
        },
        "fr": {"train": [f"{at}/fr/partial-train/0000.parquet"]},
    }
    assert (module.module_path, module.hash) == ("gristmill.packaged_modules.parquet.parquet", COMMIT)


def test_no_parquet_of_a_hub(online):
    hub = online({"a.csv": b"a\n1\n"})
    with pytest.raises(DataFilesNotFoundError, match="no Parquet files"):
        HubDatasetModuleFactoryWithParquetExport("org/data", COMMIT).get_module()
    hub.script("/revision/", says({"id": "org/data", "sha": COMMIT}))
    with pytest.raises(DataFilesNotFoundError, match="no Parquet files"):
        HubDatasetModuleFactoryWithParquetExport("org/data", COMMIT).get_module()


def test_a_bucket():
    with (
        BucketHub({"x/train.csv": b"a\n1\n"}) as hub,
        config.override(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE=False),
    ):
        module = HubBucketDatasetModuleFactory("buckets/me/data/x").get_module()
        assert module == dataset_module_factory("buckets/me/data/x")
        assert module.builder_kwargs == {"base_path": "hf://buckets/me/data/x", "dataset_name": "x"}
        assert configs_of(module) == {"default": {"train": ["hf://buckets/me/data/x/train.csv"]}}


def test_what_was_prepared(online, tmp_path):
    online(FILES)
    load_dataset("org/data", "en")
    config.HF_HUB_OFFLINE = True
    config.HF_HUB_CACHE = tmp_path / "another"
    module = dataset_module_factory("org/data")
    assert module == CachedDatasetModuleFactory("org/data").get_module()
    assert configs_of(module) == {"en": None}
    assert module.builder_kwargs["repo_id"] == "org/data"
    with pytest.raises(FileMissingError, match="org/other"):
        CachedDatasetModuleFactory("org/other").get_module()
    with pytest.raises((HubError, DatasetUnreachableError)):
        dataset_module_factory("org/other")


def test_scripts(tmp_path):
    with pytest.raises(DatasetScriptError):
        dataset_module_factory(str(tmp_path / "a.py"))
