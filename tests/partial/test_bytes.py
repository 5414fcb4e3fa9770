"""No more bytes come over than are needed, wherever a file is: counted where they are sent."""

import json

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.partial import RemoteParquet
from gristmill.partial.intervals import total

GROUPS, ROWS = 50, 400
RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "n": np.arange(GROUPS * ROWS),
        **{f"c{i:02}": RNG.integers(0, 1 << 62, GROUPS * ROWS) for i in range(19)},
    }
)
SCATTERED = RNG.integers(0, GROUPS * ROWS, 1000)


def one_column(remote):
    remote.ensure(None, ["c07"])
    return remote.ranges(None, ["c07"])


def one_group(remote):
    remote.ensure(17)
    return remote.ranges(17)


def scattered_rows(remote):
    assert remote.take(SCATTERED, ["c03"]).equals(TABLE.select(["c03"]).take(SCATTERED))
    return remote.ranges(np.unique(SCATTERED // ROWS).tolist(), ["c03"])


class Counted:
    """Gives how many bytes of the file went out."""

    def __init__(self, log):
        self.log = log
        self.read = 0

    def __call__(self):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return self.read + sum(line["bytes"] for line in lines if "/resolve/" in line["path"])


@pytest.fixture
def counted(tmp_path, monkeypatch):
    made = Counted(tmp_path / "log")
    cat_file = type(fsspec.filesystem("memory")).cat_file

    def counting(self, *args, **kwargs):
        data = cat_file(self, *args, **kwargs)
        made.read += len(data)
        return data

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "cat_file", counting)
    return made


@pytest.fixture
def names(tmp_path, counted):
    file = tmp_path / "hub/datasets/org/data/big.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(TABLE, file, row_group_size=ROWS)
    store = fsspec.filesystem("memory")
    store.pipe("/bytes/big.parquet", file.read_bytes())
    with (
        serve_in_thread(tmp_path / "hub", log=counted.log) as endpoint,
        config.override(HF_ENDPOINT=endpoint, HF_HUB_OFFLINE=False),
    ):
        yield {
            "hub": "hf://datasets/org/data/big.parquet",
            "http": f"{endpoint}/datasets/org/data/resolve/main/big.parquet",
            "store": "memory://bytes/big.parquet",
        }
    store.rm("/bytes/big.parquet")


@pytest.mark.parametrize("work", [one_column, one_group, scattered_rows])
@pytest.mark.parametrize("kind", ["hub", "http", "store"])
def test_what_is_sent_is_what_is_needed(names, counted, tmp_path, kind, work):
    client = HubClient(token=False, cache_dir=tmp_path / "cache")
    remote = RemoteParquet(names[kind], client=client, cache_dir=tmp_path / "mirrors")
    before = counted()
    needed = total(work(remote))
    client.session.close()
    assert needed <= counted() - before <= needed * 1.05
