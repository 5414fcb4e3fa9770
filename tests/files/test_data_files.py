from pathlib import PurePosixPath
from typing import Any

import pytest

from gristmill.errors import CardError, ConfigNotFoundError, DataFilesNotFoundError, InvalidArgumentError
from gristmill.files.data_files import (
    DataConfig,
    choose_config,
    default_config,
    parse_data_files,
    resolve_configs,
)

PATHS = [
    ".gitattributes",
    "README.md",
    "en/train-0.csv",
    "en/train-1.csv",
    "en/test.csv",
    "fr/train.csv",
    "notes.json",
]
CARD: list[dict[str, Any]] = [
    {
        "config_name": "en",
        "data_files": [{"split": "train", "path": "en/train-*"}, {"split": "dev", "path": ["en/test.csv"]}],
    },
    {"config_name": "fr", "data_dir": "fr", "sep": "\t", "default": True},
]


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("a", {"train": ["a"]}),
        (["a", "b"], {"train": ["a", "b"]}),
        (PurePosixPath("x/a"), {"train": ["x/a"]}),
        ({"train": "a", "test": ["b", "c"]}, {"train": ["a"], "test": ["b", "c"]}),
        ([{"split": "test", "path": "a"}], {"test": ["a"]}),
        ([{"split": "train", "path": ["a"]}, {"split": "x.y", "path": "b"}], {"train": ["a"], "x.y": ["b"]}),
    ],
)
def test_forms_of_data_files(given, parsed):
    assert parse_data_files(given) == parsed


@pytest.mark.parametrize(
    "given",
    [[], {}, "", {"train": []}, {"train": 3}, {"a/b": "x"}, [{"split": "train"}], [{"split": "a", "path": "x"}, "y"],
     [{"split": "a", "path": "x"}, {"split": "a", "path": "y"}], [1]],
)  # fmt: skip
def test_forms_that_are_refused(given):
    with pytest.raises(InvalidArgumentError, match="data_files"):
        parse_data_files(given)


def test_configs_of_the_card():
    en, fr = resolve_configs(PATHS, CARD)
    assert en == DataConfig(
        "en", {"train": ("en/train-0.csv", "en/train-1.csv"), "dev": ("en/test.csv",)}, False, {}
    )
    assert fr == DataConfig("fr", {"train": ("fr/train.csv",)}, True, {"sep": "\t"})
    assert resolve_configs(PATHS, CARD, only="fr") == [fr]


def test_a_broken_config_does_not_stop_another():
    card = [*CARD, {"config_name": "de", "data_files": "de/*"}]
    assert [config.name for config in resolve_configs(PATHS, card, only="en")] == ["en"]
    with pytest.raises(DataFilesNotFoundError, match=r'config "de".*pattern "de/\*"'):
        resolve_configs(PATHS, card)


def test_the_user_wins_over_the_card():
    assert resolve_configs(PATHS, CARD, data_files={"x": "en/test.csv"})[0].splits == {"x": ("en/test.csv",)}
    assert resolve_configs(PATHS, CARD, data_dir="en")[0].splits == {
        "train": ("en/train-0.csv", "en/train-1.csv"),
        "test": ("en/test.csv",),
    }
    assert resolve_configs(PATHS, CARD, data_dir="en/", data_files="test*")[0].splits == {
        "train": ("en/test.csv",)
    }


def test_without_a_card_only_data_files_of_the_main_format_count():
    [config] = resolve_configs(PATHS)
    assert config.name == "default"
    assert config.default
    assert config.splits == {
        "train": ("en/train-0.csv", "en/train-1.csv", "fr/train.csv"),
        "test": ("en/test.csv",),
    }
    assert resolve_configs(["README.md", "a.png", "x.py"]) == []


def test_what_matches_nothing_is_named_with_near_names():
    with pytest.raises(DataFilesNotFoundError, match=r'path "en/tset.csv".*Did you mean "en/test.csv"'):
        resolve_configs(PATHS, data_files="en/tset.csv")
    with pytest.raises(DataFilesNotFoundError, match=r'no folder "ne".*en'):
        resolve_configs(PATHS, data_dir="ne")


def test_files_named_outright_stay_as_they_are_named():
    splits = resolve_configs(PATHS, data_files=["fr/train.csv", "fr/train.csv", "*/train*", "README.md"])[
        0
    ].splits
    assert splits["train"] == (
        "fr/train.csv",
        "fr/train.csv",
        "en/train-0.csv",
        "en/train-1.csv",
        "README.md",
    )


@pytest.mark.parametrize(
    "card",
    [["x"], [{"config_name": "a"}, {"config_name": "a"}], [{"config_name": "a", "data_files": 3}],
     [{"config_name": "a", "default": True}, {"config_name": "b", "default": True}]],
)  # fmt: skip
def test_cards_that_are_refused(card):
    with pytest.raises(CardError):
        resolve_configs(PATHS, card)


def test_choosing_a_config():
    configs = [DataConfig("en", {}), DataConfig("fr", {})]
    assert choose_config(configs, "fr").name == "fr"
    with pytest.raises(ConfigNotFoundError, match=r"several configs.*en, fr"):
        choose_config(configs, None)
    with pytest.raises(ConfigNotFoundError, match='no config "de"'):
        choose_config(configs, "de")
    with pytest.raises(ConfigNotFoundError, match='no config "de"'):
        resolve_configs(PATHS, CARD, only="de")
    assert default_config([{"config_name": "a"}, {"config_name": "default"}]) == "default"
    assert default_config([{"config_name": "a"}, {"config_name": "b"}]) is None


def test_thousands_of_configs_are_quick():
    import time

    card = [{"config_name": f"c{i}", "data_files": f"data/c{i}/*"} for i in range(2000)]
    paths = [f"data/c{i}/{j}.parquet" for i in range(2000) for j in range(10)]
    started = time.monotonic()
    assert len(resolve_configs(paths, card)) == 2000
    assert time.monotonic() - started < 5
