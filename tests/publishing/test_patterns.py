"""Pushes under faults drawn at random: each ends whole or leaves what was there, and never anything between."""

import os
import random

import pytest

from gristmill import Dataset, load_dataset
from gristmill.errors import HubError
from tests.publishing.conftest import REPO
from tests.publishing.proxy import answer, drop, lose

pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")
PATTERNS = int(os.environ.get("GRISTMILL_FAULT_PATTERNS", "6"))
FAULTS = [answer(429), answer(500), answer(502), answer(409), answer(412), drop, lose, drop]
STEPS = [("GET", "/"), ("POST", "/preupload"), ("POST", "/objects/batch"), ("PUT", "/"), ("POST", "/commit/")]


def rows(seed, count):
    return Dataset.from_dict({"id": list(range(seed, seed + count))})


def test_random_patterns(proxy, repo):
    rows(0, 10).push_to_hub(REPO)
    there, count = 0, 10
    ended = {"whole": 0, "refused": 0}
    for seed in range(1, PATTERNS + 1):
        draw = random.Random(seed)
        for method, text in STEPS:
            pattern = [
                draw.choice(FAULTS) if draw.random() < 0.4 else None for _ in range(draw.randint(0, 12))
            ]
            proxy.script(method, text, *[fault or (lambda seen: None) for fault in pattern])
        wanted = draw.randint(1, 50)
        before = repo.pin().commit
        try:
            info = rows(seed, wanted).push_to_hub(REPO, num_shards=draw.randint(1, 4))
        except HubError:
            ended["refused"] += 1
        else:
            ended["whole"] += 1
            assert info.oid == repo.pin().commit
        proxy.scripts.clear()
        # A commit whose answer was lost for good counts: all of it is there.
        if repo.pin().commit != before:
            there, count = seed, wanted
        # The server itself is asked, past the proxy.
        shown = load_dataset(REPO, split="train", revision=repo.pin().commit)
        assert shown["id"][:] == list(range(there, there + count)), seed
    assert ended["whole"]
