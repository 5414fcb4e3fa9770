import json
from typing import Any

import pytest

from gristmill.errors import CardError, FileFormatError
from gristmill.features import Features, Value
from gristmill.hub.card import parse_card
from gristmill.info import DatasetInfo, DatasetInfosDict, MetadataConfigs
from gristmill.splits import SplitDict, SplitInfo


@pytest.fixture
def info():
    splits = SplitDict({"train": SplitInfo("train", 3, 5)})
    return DatasetInfo(features=Features({"a": Value("int64")}), splits=splits, download_size=3)


SAID = {
    "download_size": 3,
    "features": [{"name": "a", "dtype": "int64"}],
    "splits": [{"name": "train", "num_bytes": 3, "num_examples": 5}],
}


def test_to_a_card_and_back(info):
    card: dict[str, Any] = {"license": "mit"}
    DatasetInfosDict({"default": info}).to_dataset_card_data(card)
    assert card == {"license": "mit", "dataset_info": SAID}
    DatasetInfosDict({"en": info}).to_dataset_card_data(card)
    assert card["dataset_info"] == [{"config_name": "default", **SAID}, {"config_name": "en", **SAID}]
    again = DatasetInfosDict.from_dataset_card_data(card)
    assert list(again) == ["default", "en"]
    assert again["en"].features == info.features
    assert (again["en"].config_name, again["en"].splits["train"].num_examples) == ("en", 5)  # type: ignore[index]
    untouched = {"license": "mit"}
    DatasetInfosDict().to_dataset_card_data(untouched)
    assert untouched == {"license": "mit"}


def test_with_the_cards_of_huggingface_hub(info):
    from huggingface_hub import DatasetCardData

    data = DatasetCardData(license="mit")
    DatasetInfosDict({"en": info}).to_dataset_card_data(data)
    MetadataConfigs({"en": {"data_files": "en.csv"}}).to_dataset_card_data(data)
    assert data.to_dict() == {
        "license": "mit",
        "dataset_info": {"config_name": "en", **SAID},
        "configs": [{"config_name": "en", "data_files": "en.csv"}],
    }
    assert DatasetInfosDict.from_dataset_card_data(data)["en"].download_size == 3
    assert MetadataConfigs.from_dataset_card_data(data) == {"en": {"data_files": "en.csv"}}


def test_folders(info, tmp_path):
    assert DatasetInfosDict.from_directory(tmp_path) == {}
    (tmp_path / "README.md").write_text("---\nlicense: mit\nconfigs: [{config_name: é}]\n---\n# Poèmes\n")
    DatasetInfosDict({"en": info}).write_to_directory(tmp_path)
    DatasetInfosDict({"fr": info}).write_to_directory(str(tmp_path))
    card = parse_card((tmp_path / "README.md").read_text())
    assert (card.licenses, card.body, card.configs) == (["mit"], "# Poèmes\n", [{"config_name": "é"}])
    assert list(DatasetInfosDict.from_directory(tmp_path)) == ["en", "fr"]
    DatasetInfosDict({"de": info}).write_to_directory(tmp_path, overwrite=True)
    assert list(DatasetInfosDict.from_directory(tmp_path)) == ["de"]


def test_old_files(info, tmp_path):
    old = tmp_path / "dataset_infos.json"
    old.write_text(json.dumps({"en": {"features": {"a": {"dtype": "int8", "_type": "Value"}}}}))
    assert DatasetInfosDict.from_directory(tmp_path)["en"].features == Features({"a": Value("int8")})
    DatasetInfosDict({"fr": info}).write_to_directory(tmp_path)
    assert sorted(json.loads(old.read_text())) == ["en", "fr"]
    (tmp_path / "README.md").unlink()
    for odd in ("[", "3", '{"en": 3}'):
        old.write_text(odd)
        with pytest.raises(FileFormatError, match="does not describe datasets"):
            DatasetInfosDict.from_directory(tmp_path)


@pytest.mark.parametrize("odd", [3, "x", [3], [{"features": 3}], {"splits": [3]}])
def test_odd_infos(odd):
    with pytest.raises(CardError):
        DatasetInfosDict.from_dataset_card_data({"dataset_info": odd})


def test_configs_of_a_card():
    said = [
        {"config_name": "en", "data_files": [{"split": "train", "path": "a*"}]},
        {"config_name": "fr", "default": True},
    ]
    configs = MetadataConfigs.from_dataset_card_data({"configs": said})
    assert (list(configs), configs.get_default_config_name()) == (["en", "fr"], "fr")
    card = {"configs": [{"config_name": "aa"}]}
    configs.to_dataset_card_data(card)
    assert card["configs"] == [{"config_name": "aa"}, *said]
    assert MetadataConfigs.from_dataset_card_data({}).get_default_config_name() is None


@pytest.mark.parametrize(
    "odd",
    [
        3,
        [3],
        [{"data_files": 3}],
        [{"data_files": [{"split": "x"}]}],
        [{"config_name": "a"}, {"config_name": "a"}],
    ],
)
def test_odd_configs(odd):
    with pytest.raises(CardError):
        MetadataConfigs.from_dataset_card_data({"configs": odd})
