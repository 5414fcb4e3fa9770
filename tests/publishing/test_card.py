"""The card after any row of pushes says exactly what was pushed, and what its author wrote stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import CardError
from gristmill.features import Features, Value
from gristmill.hub.card import parse_card
from gristmill.info import DatasetInfosDict
from gristmill.publishing.card import Pushed, config_patterns, merge_card, pin_card
from gristmill.publishing.replaced import older_patterns, replaced_files
from gristmill.splits import SplitInfo

CARD = "---\n# mine\nlicense: mit  # yes\ntags: [ a,  b ]\n---\n# Title\n"
NAMES = st.sampled_from(["default", "en", "fr.x"])
SPLITS = st.dictionaries(st.sampled_from(["train", "test", "a.b"]), st.integers(0, 9), min_size=1)


def pushed(config, splits, whole, replaced=None):
    return Pushed(
        config,
        "data" if config == "default" else config,
        [SplitInfo(name, rows * 8, rows) for name, rows in splits.items()],
        Features({"id": Value("int64")}),
        {name: rows * 5 for name, rows in splits.items()},
        replaced or {},
        whole,
        False,
    )


@settings(max_examples=40)
@given(st.lists(st.tuples(NAMES, SPLITS, st.booleans()), min_size=1, max_size=5))
def test_any_row_of_pushes(pushes):
    text = CARD
    model: dict[str, dict[str, int]] = {}
    for config, splits, whole in pushes:
        before = model.get(config, {})
        gone = {name: before[name] * 5 for name in splits if name in before}
        text = merge_card(text, pushed(config, splits, whole, gone), {})
        model[config] = {**({} if whole else before), **splits}
    assert text.startswith("---\n# mine\nlicense: mit  # yes\ntags: [ a,  b ]\n")
    assert text.endswith("---\n# Title\n")
    folders = {config: "data" if config == "default" else config for config in model}
    assert config_patterns(text) == {
        config: {split: [f"{folders[config]}/{split}-*"] for split in splits}
        for config, splits in model.items()
    }
    infos = DatasetInfosDict.from_dataset_card_data(parse_card(text).metadata)
    for config, splits in model.items():
        found = infos[config]
        assert found.splits is not None
        assert {name: split.num_examples for name, split in found.splits.items()} == splits
        assert found.dataset_size == 8 * sum(splits.values())
        assert found.download_size == 5 * sum(splits.values())


def test_options_of_other_readers_go():
    card = "---\nconfigs:\n- config_name: en\n  data_dir: old\n  data_files: {test: '*.csv'}\n  sep: ;\n  default: true\n---\n"
    text = merge_card(card, pushed("en", {"train": 1}, whole=False), {})
    assert parse_card(text).configs == [
        {
            "config_name": "en",
            "data_files": [{"split": "test", "path": "old/*.csv"}, {"split": "train", "path": "en/train-*"}],
            "default": True,
        }
    ]


def test_a_card_of_another_form():
    with pytest.raises(CardError, match=r"README\.md: .*dataset_info.*push again"):
        merge_card("---\ndataset_info: 3\n---\n", pushed("en", {"train": 1}, whole=False), {})


def test_files_named_one_by_one():
    text = merge_card(CARD, pushed("en", {"train": 1}, whole=True), {})
    pinned = pin_card(text, "en", {"train": ["en/train-0.parquet", "en/train-1.parquet"]})
    assert pinned is not None
    assert config_patterns(pinned) == {"en": {"train": ["en/train-0.parquet", "en/train-1.parquet"]}}
    assert pin_card(text, None, {"train": ["x"]}) is None
    assert pin_card(text, "en", {}) is None


def test_what_is_replaced():
    paths = [
        "README.md",
        "data/notes.md",
        "data/sub/train-00000-of-00001.parquet",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001-0a1b.parquet",
        "data/train-x.csv",
        "old/train-00000-of-00001.parquet",
        "shared/test-00000-of-00001.parquet",
    ]
    before = {"train": ["data/train-*", "old/train-*"], "test": ["data/test-*", "shared/test-*"]}
    others = [["shared/*"]]
    assert replaced_files(paths, "data", ["train"], before, others, whole=False) == [
        "data/train-00000-of-00001-0a1b.parquet",
        "data/train-x.csv",
        "old/train-00000-of-00001.parquet",
    ]
    assert replaced_files(paths, "data", ["train"], before, others, whole=True)[3:] == [
        "data/test-00000-of-00001.parquet"
    ]
    assert older_patterns(paths) == {"test": ["data/test-*"], "train": ["data/train-*"]}
