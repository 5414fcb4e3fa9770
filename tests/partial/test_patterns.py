"""Partial reads under faults drawn at random: what is on record is true, and what is read is right."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config
from gristmill.errors import HubError
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.partial import RemoteParquet
from tests.faults import FaultProxy, Tally, patterns

GROUPS, ROWS = 20, 300
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "n": np.arange(GROUPS * ROWS),
        **{f"c{i}": RNG.integers(0, 1 << 62, GROUPS * ROWS) for i in range(8)},
        "talk": pa.array([[{"role": "user", "text": str(i)}] for i in range(GROUPS * ROWS)]),
    }
)
REPO, PATH = "org/data", "data/big.parquet"


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "served/datasets" / REPO / PATH
    made.parent.mkdir(parents=True)
    pq.write_table(TABLE, made, row_group_size=ROWS, compression="none", use_dictionary=False)
    return made


@pytest.fixture
def proxy(file):
    with serve_in_thread(file.parents[4]) as endpoint, FaultProxy(endpoint, 0.3) as made:
        yield made


def reader(proxy, folder, by_url, timeout):
    policy = RetryPolicy(sleep=lambda seconds: None)
    with config.override(GRISTMILL_TIMEOUT=timeout):
        client = HubClient(proxy.url, token=False, cache_dir=folder / "hub", offline=False, policy=policy)
        client.session._connections()  # which have the limit of now
    name = f"{proxy.url}/datasets/{REPO}/resolve/main/{PATH}" if by_url else f"hf://datasets/{REPO}/{PATH}"
    return client, lambda: RemoteParquet(name, client=client, cache_dir=folder)


def read_some(remote, draw):
    columns = draw.sample(TABLE.column_names, draw.randint(1, 3))
    if draw.random() < 0.5:
        rows = [draw.randrange(GROUPS * ROWS) for _ in range(draw.randint(1, 40))]
        assert remote.take(rows, columns).equals(TABLE.select(columns).take(rows))
    else:
        group = draw.randrange(GROUPS)
        remote.ensure(group, columns)
        with pq.ParquetFile(remote.path) as opened:
            got = opened.read_row_group(group, columns).select(columns)
        assert got.equals(TABLE.slice(group * ROWS, ROWS).select(columns))


def test_random_patterns(proxy, file, tmp_path):
    tally = Tally(proxy, patterns())
    content = file.read_bytes()
    for seed in tally.seeds:
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        by_url = seed % 2 == 0
        client, make = reader(proxy, folder, by_url, 0.15)
        proxy.begin(seed, draw.choice([0.1, 0.3, 0.5]))
        remote = None
        try:
            remote = make()
            for _ in range(8):
                read_some(remote, draw)
            tally.ended["whole"] += 1
        except HubError:
            tally.ended["refused"] += 1
        proxy.end()
        client.session.close()
        if remote is not None:
            assert remote._mirror
            data = remote.path.read_bytes()
            assert all(data[start:end] == content[start:end] for start, end in remote._mirror.here()), seed
        client, make = reader(proxy, folder, by_url, 60)
        assert make().read().equals(TABLE), seed
        client.session.close()
    tally.check()
