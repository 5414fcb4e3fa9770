"""Whether what was loaded is what is said of it."""

import json
import os

import pytest

from gristmill import config
from gristmill.errors import (
    ExpectedMoreSplitsError,
    NonMatchingChecksumError,
    NonMatchingSplitsSizesError,
    UnexpectedSplitsError,
)
from gristmill.features import Features, Value
from gristmill.load import load_dataset
from tests.hub.faulty import COMMIT

INFO = "---\ndataset_info:\n  features: [{{name: a, dtype: int32}}]\n  splits:\n{}---\n"


def card(**rows):
    return INFO.format(
        "".join(f"  - {{name: {name}, num_bytes: 1, num_examples: {n}}}\n" for name, n in rows.items())
    )


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.csv").write_text("a\n1\n2\n")
    (data / "test.csv").write_text("a\n3\n")
    return data


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        ({"train": 5, "test": 1}, NonMatchingSplitsSizesError, "train has 2 rows, not 5"),
        ({"train": 2}, UnexpectedSplitsError, "test"),
        ({"train": 2, "test": 1, "dev": 9}, ExpectedMoreSplitsError, "dev"),
    ],
)
def test_splits_are_compared_with_the_card(folder, rows, error, match):
    (folder / "README.md").write_text(card(**rows))
    for mode in (None, "basic_checks", "all_checks"):
        with pytest.raises(error, match=match):
            load_dataset(str(folder), verification_mode=mode)
    assert load_dataset(str(folder), verification_mode="no_checks")["train"].num_rows == 2
    with pytest.raises(error):  # also when it is found in the cache
        load_dataset(str(folder))
    assert load_dataset(str(folder), data_files="train.csv", split="train").num_rows == 2


def test_only_the_splits_asked_for_are_counted(folder):
    (folder / "README.md").write_text(card(train=2, test=77))
    train = load_dataset(str(folder), split="train[:1]")
    assert train.num_rows == 1
    assert train.features == Features({"a": Value("int32")})
    with pytest.raises(NonMatchingSplitsSizesError, match="test has 1 rows, not 77"):
        load_dataset(str(folder), split="test")
    with pytest.raises(NonMatchingSplitsSizesError):
        load_dataset(str(folder), split="all")


def test_rows_left_out_by_the_reader_are_not_missed(folder):
    (folder / "README.md").write_text(card(train=2, test=1))
    assert load_dataset(str(folder), split="train").num_rows == 2
    assert load_dataset(str(folder), split="train", skiprows=[1]).num_rows == 1


@pytest.mark.parametrize(
    "odd",
    ["splits: 3", "splits: [3]", "splits: [{name: 3, num_examples: 9}]", "features: 3",
     "splits: [{name: train, num_examples: x}]", "splits: {train: {num_examples: -1}}",
     "features: [{name: a, dtype: nosuch}]", "features: [{dtype: int8}]", "features: {a: {b: {c: d}}}"],
)  # fmt: skip
def test_what_can_not_be_used_is_left_out(folder, odd):
    (folder / "README.md").write_text(f"---\ndataset_info: {{{odd}}}\n---\n")
    assert load_dataset(str(folder))["train"].features == Features({"a": Value("int64")})


def test_columns_and_splits_of_old_info_files(folder):
    infos = {
        "default": {
            "features": {"a": {"dtype": "int16", "_type": "Value"}},
            "splits": {
                "train": {"name": "train", "num_examples": 7},
                "test": {"name": "test", "num_examples": 1},
            },
        }
    }
    (folder / "dataset_infos.json").write_text(json.dumps(infos))
    with pytest.raises(NonMatchingSplitsSizesError, match="train has 2 rows, not 7"):
        load_dataset(str(folder))
    loaded = load_dataset(str(folder), verification_mode="no_checks", split="train")
    assert loaded.features == Features({"a": Value("int16")})
    for odd in ("[", "[]", '{"default": 3}', '{"default": {"features": 3, "splits": 4}}'):
        (folder / "dataset_infos.json").write_text(odd)
        assert load_dataset(str(folder), split="train").features == Features({"a": Value("int64")})


def test_files_are_hashed_when_asked(online):
    hub = online({"train.csv": b"a\n1\n2\n"})
    load_dataset("org/data", verification_mode="all_checks")
    [blob] = [path for path in config.HF_HUB_CACHE.rglob("blobs/*") if path.read_bytes() == b"a\n1\n2\n"]
    os.chmod(blob, 0o644)  # noqa: PTH101  # of the file itself
    blob.write_bytes(b"a\n1\n9\n")
    load_dataset("org/data")
    for more in ({"verification_mode": "all_checks"}, {"save_infos": True}):
        with pytest.raises(NonMatchingChecksumError, match=r"train\.csv"):
            load_dataset("org/data", **more)
    hub.seen.clear()
    again = load_dataset("org/data", download_mode="force_redownload", split="train")
    assert again["a"][:] == [1, 2]
    assert [seen.path for seen in hub.requests("/resolve/")] == [
        f"/datasets/org/data/resolve/{COMMIT}/train.csv"
    ]
    load_dataset("org/data", verification_mode="all_checks")


def test_what_each_download_mode_makes_anew(online):
    hub = online({"train.csv": b"a\n1\n"})

    def stamp(**options):
        hub.seen.clear()
        loaded = load_dataset("org/data", split="train", **options)
        [info] = config.HF_DATASETS_CACHE.rglob("dataset_info.json")
        assert loaded["a"][:] == [1]
        return info.stat().st_mtime_ns, len(hub.requests("/resolve/"))

    first, fetched = stamp()
    assert fetched == 1
    assert stamp(download_mode="reuse_dataset_if_exists") == (first, 0)
    second, fetched = stamp(download_mode="reuse_cache_if_exists")
    assert (second != first, fetched) == (True, 0)
    third, fetched = stamp(download_mode="force_redownload")
    assert (third != second, fetched) == (True, 1)
    with config.override(HF_HUB_OFFLINE=True):  # what can't be fetched again is kept
        assert stamp(download_mode="force_redownload")[1] == 0
