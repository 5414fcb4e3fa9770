"""What Gristmill pushes, `datasets` loads and pushes to, and the other way round; the same card comes of both."""

import json
import os
import subprocess

import pytest

from gristmill import Dataset, DatasetDict, config, load_dataset
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.hub.card import parse_card
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread

REFERENCE = os.environ.get("GRISTMILL_REFERENCE_PYTHON")
pytestmark = [
    pytest.mark.skipif(not REFERENCE, reason="GRISTMILL_REFERENCE_PYTHON names no interpreter with datasets"),
    pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning"),
]

SCRIPT = """
import json
import datasets

datasets.disable_progress_bars()
V = datasets.Value
features = datasets.Features({
    "id": V("int32"), "label": datasets.ClassLabel(names=["no", "yes"]), "words": datasets.List(V("string")),
    "nested": {"x": V("float64"), "when": V("timestamp[s]")},
})
back = {
    name: {split: part.to_list() for split, part in datasets.load_dataset("org/ours", name).items()}
    for name in ("default", "en")
}
same = datasets.load_dataset("org/ours", split="train").features == features
rows = datasets.Dataset.from_list(back["default"]["train"], features=features)
rows.push_to_hub("org/ours", split="more", token="hf_any")
rows.push_to_hub("org/ours", "theirs", num_shards=2, token="hf_any")
datasets.DatasetDict({"train": rows, "test": rows.select(range(3))}).push_to_hub("org/theirs", token="hf_any")
print(json.dumps([back, same], default=str))
"""


def rows():
    features = Features(
        {
            "id": Value("int32"),
            "label": ClassLabel(names=["no", "yes"]),
            "words": List(Value("string")),
            "nested": {"x": Value("float64"), "when": Value("timestamp[s]")},
        }
    )
    return Dataset.from_list(
        [
            {"id": n, "label": n % 2, "words": ["a"] * (n % 3), "nested": {"x": n / 2, "when": None}}
            for n in range(10)
        ],
        features=features,
    )


def test_both_ways(tmp_path):
    caches = {name: tmp_path / name for name in ("HF_HUB_CACHE", "HF_DATASETS_CACHE")}
    with (
        serve_in_thread(tmp_path, allow_write=True) as endpoint,
        config.override(HF_ENDPOINT=endpoint, HF_HUB_OFFLINE=False, **caches),
    ):
        rows().push_to_hub("org/ours", num_shards=3)
        rows().to_iterable_dataset().push_to_hub("org/ours", "en")
        environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "theirs")}
        environment["HF_HUB_DISABLE_XET"] = "1"
        environment.pop("HF_HUB_OFFLINE", None)
        assert REFERENCE is not None
        done = subprocess.run(
            [REFERENCE, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        back, same = json.loads(done.stdout.splitlines()[-1])
        assert back == {"default": {"train": rows().to_list()}, "en": {"train": rows().to_list()}}
        assert same
        assert {name: part.num_rows for name, part in load_dataset("org/ours").items()} == {
            "train": 10,
            "more": 10,
        }
        assert load_dataset("org/ours", "theirs", split="train").to_list() == rows().to_list()
        DatasetDict({"train": rows(), "test": rows().select(range(3))}).push_to_hub("org/mine")
        cards = [
            parse_card(HubClient(endpoint).pin(repo).read_bytes("README.md").decode()).metadata
            for repo in ("org/mine", "org/theirs")
        ]
        for card in cards:
            # Compressed by different settings, and with other bytes counted.
            for key in ("download_size", "dataset_size"):
                assert card["dataset_info"].pop(key) > 0
            for split in card["dataset_info"]["splits"]:
                split.pop("num_bytes")
        assert cards[0] == cards[1]
