"""Pushes under faults drawn at random: each ends whole or leaves what was there, and never anything between."""

import random

import pytest

from gristmill import Dataset, config, load_dataset
from gristmill.errors import HubError
from tests.faults import FaultProxy, Tally, patterns
from tests.publishing.conftest import REPO
from tests.publishing.proxy import answer, drop, lose

pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")
FAULTS = [answer(429), answer(500), answer(502), answer(409), answer(412), drop, lose, drop]
STEPS = [("GET", "/"), ("POST", "/preupload"), ("POST", "/objects/batch"), ("PUT", "/"), ("POST", "/commit/")]


def rows(seed, count):
    return Dataset.from_dict({"id": list(range(seed, seed + count))})


class Pushed:
    """What is in the repository, as one who reads past the faults sees it."""

    def __init__(self, repo):
        self.repo = repo
        self.wanted = (0, 10)
        self.commit = rows(0, 10).push_to_hub(REPO).oid

    def push(self, seed, draw):
        """Pushes once; says how it ended, and asserts that all or nothing of it is there."""
        wanted = (seed, draw.randint(1, 50))
        ended = "refused"
        try:
            info = rows(*wanted).push_to_hub(REPO, num_shards=draw.randint(1, 4))
        except HubError:
            pass
        else:
            ended = "whole"
            assert info.oid == self.repo.pin().commit, seed
        return ended, wanted

    def check(self, seed, ended, wanted):
        # The server itself is asked, past the proxy.
        now = self.repo.pin()
        # A commit whose answer was lost for good counts: all of it is there.
        if now.commit != self.commit:
            self.commit, self.wanted = now.commit, wanted
        assert ended == "refused" or self.wanted == wanted, seed
        start, count = self.wanted
        shown = load_dataset(REPO, split="train", revision=self.commit)
        assert shown["id"][:] == list(range(start, start + count)), seed
        assert "dataset_info:" in self.repo.card(), seed
        assert self.repo.card().endswith("---\n"), seed


def test_random_failures_of_each_step(proxy, repo):
    pushed = Pushed(repo)
    ended = set()
    for seed in patterns():
        draw = random.Random(seed)
        for method, text in STEPS:
            pattern = [
                draw.choice(FAULTS) if draw.random() < 0.4 else None for _ in range(draw.randint(0, 12))
            ]
            proxy.script(method, text, *[fault or (lambda seen: None) for fault in pattern])
        how, wanted = pushed.push(seed, draw)
        ended.add(how)
        proxy.scripts.clear()
        pushed.check(seed, how, wanted)
    assert "whole" in ended


@pytest.mark.usefixtures("server")
def test_random_patterns(server, repo, no_waiting):
    with FaultProxy(server, 0.5) as proxy:
        pushed = Pushed(repo)
        tally = Tally(proxy, patterns())
        for seed in tally.seeds:
            draw = random.Random(seed)
            proxy.begin(seed, draw.choice([0.1, 0.25, 0.4]))
            with config.override(HF_ENDPOINT=proxy.url, GRISTMILL_TIMEOUT=0.25):
                how, wanted = pushed.push(seed, draw)
            tally.ended[how] += 1
            proxy.end()
            pushed.check(seed, how, wanted)
        tally.check()
