import itertools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config
from gristmill.errors import (
    ColumnNotFoundError,
    EntryNotFoundError,
    FileFormatError,
    FileMissingError,
    GristmillError,
    HubResponseError,
    InvalidArgumentError,
    RangeIgnoredError,
    RowIndexError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.partial import RemoteParquet
from gristmill.partial.intervals import missing, total
from tests.hub.faulty import REPO, FaultyHub, Reply, drop, hang_up, redirect, short, status

GROUPS, ROWS = 50, 200
RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "n": np.arange(GROUPS * ROWS),
        **{f"c{i:02}": RNG.integers(0, 1 << 62, GROUPS * ROWS) for i in range(18)},
        "talk": pa.array([[{"role": "user", "text": str(i)}] for i in range(GROUPS * ROWS)]),
    }
)


@pytest.fixture(scope="module")
def content():
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=ROWS, compression="none", use_dictionary=False)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def hub(content):
    with FaultyHub({"README.md": b"", "data/big.parquet": content}) as faulty:
        yield faulty


@pytest.fixture
def sleeps():
    return []


@pytest.fixture
def client(hub, sleeps, tmp_path):
    with config.override(
        HF_DATASETS_CACHE=tmp_path / "datasets", DOWNLOADED_DATASETS_PATH=tmp_path / "downloads"
    ):
        made = HubClient(
            hub.url,
            token=False,
            cache_dir=tmp_path / "hub",
            policy=RetryPolicy(sleep=sleeps.append),
            offline=False,
        )
        yield made
        made.session.close()


@pytest.fixture
def remote(client):
    return RemoteParquet(REPO, "data/big.parquet", client=client)


def asked(hub):
    """The ranges asked for of the big file, as half-open intervals; a suffix by its negative length."""
    found = []
    for seen in hub.requests("big.parquet"):
        header = next(v for k, v in seen.headers.items() if k.lower() == "range")
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", header)
        assert match
        first, last = match.groups()
        found.append((int(first), int(last) + 1) if first else (-int(last), 0))
    return found


def fetched(hub):
    return sum(end - start for start, end in asked(hub))


def test_opening_costs_the_footer(hub, remote, content):
    assert len(asked(hub)) <= 2
    footer = int.from_bytes(content[-8:-4], "little")
    assert fetched(hub) == remote.bytes_fetched == max(1 << 16, footer + 8)
    assert (remote.num_rows, remote.num_row_groups) == (GROUPS * ROWS, GROUPS)
    assert remote.schema.names == TABLE.column_names
    assert remote.path.stat().st_size == len(content)
    assert remote.path.stat().st_blocks * 512 < len(content) / 2
    assert repr(remote).startswith("RemoteParquet('http")


def test_one_request_where_the_footer_is_short(client, hub):
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE.select(["n"]), sink)
    hub.files["data/big.parquet"] = sink.getvalue().to_pybytes()
    assert RemoteParquet(REPO, "data/big.parquet", client=client).num_rows == GROUPS * ROWS
    assert len(asked(hub)) == 1


@pytest.mark.parametrize(
    ("groups", "columns"),
    [(None, ["c07"]), (17, None), ([3, 4, 40], ["n", "talk"]), ([0, 49], ["c00", "c01"])],
)
def test_bytes_fetched_are_the_bytes_needed(hub, remote, groups, columns):
    before = fetched(hub)
    needed = total(remote.ranges(groups, columns))
    path = remote.ensure(groups, columns)
    assert needed <= fetched(hub) - before <= needed * 1.05
    with pq.ParquetFile(path) as file:
        chosen = range(GROUPS) if groups is None else [groups] if isinstance(groups, int) else groups
        for group in chosen:
            assert file.read_row_group(group, columns=columns).equals(
                TABLE.slice(group * ROWS, ROWS).select(columns or TABLE.column_names)
            )
    # All of it is here now: nothing more is asked for.
    after = len(asked(hub))
    remote.ensure(groups, columns)
    assert len(asked(hub)) == after


def test_a_thousand_scattered_rows(hub, remote):
    rows = np.random.default_rng(1).integers(0, GROUPS * ROWS, 1000)
    before = fetched(hub)
    got = remote.take(rows, ["c03", "n"])
    assert got.equals(TABLE.select(["c03", "n"]).take(rows))
    needed = total(remote.ranges(np.unique(rows // ROWS).tolist(), ["c03", "n"]))
    assert needed <= fetched(hub) - before <= needed * 1.05


def test_near_chunks_are_one_request(hub, remote):
    before = len(asked(hub))
    remote.ensure(5)
    assert len(asked(hub)) == before + 1


def test_filters_keep_row_groups_away(hub, remote):
    before = fetched(hub)
    got = remote.read(["c05"], filters=[("n", ">=", 4321), ("n", "<", 4325)])
    assert got["c05"].to_pylist() == TABLE["c05"][4321:4325].to_pylist()
    needed = total(remote.ranges(21, ["c05", "n"]))
    assert fetched(hub) - before <= needed * 1.05
    assert remote.read(["n"], filters=[("n", "<", 0)]).num_rows == 0
    assert remote.read(filters=[("n", "<", 0)]).schema.names == TABLE.column_names


def test_batches_go_on_from_a_position(hub, remote):
    batches = list(remote.iter_batches(["n"]))
    assert [v for _, b in batches for v in b["n"].to_pylist()] == list(range(GROUPS * ROWS))
    position = batches[30][0]
    rest = [v for _, b in remote.iter_batches(["n"], start=position) for v in b["n"].to_pylist()]
    assert rest == list(range(position.row, GROUPS * ROWS))


def test_another_run_goes_on_without_asking(hub, client, remote):
    remote.ensure(7, ["c01"])
    before = len(asked(hub))
    again = RemoteParquet(REPO, "data/big.parquet", client=client)
    again.ensure(7, ["c01"])
    assert len(asked(hub)) == before
    assert again.bytes_fetched == 0
    assert again.bytes_here == remote.bytes_here
    again.ensure([6, 7], ["c01"])
    assert len(asked(hub)) == before + 1


def test_a_file_that_is_here_whole_is_used_where_it_is(hub, client):
    local = client.pin(REPO).download("data/big.parquet")
    before = len(hub.requests("big.parquet"))
    remote = RemoteParquet(REPO, "data/big.parquet", client=client)
    assert remote.path == local
    assert remote.read(["n"]).num_rows == GROUPS * ROWS
    assert (len(hub.requests("big.parquet")), remote.bytes_fetched) == (before, 0)


@pytest.mark.parametrize("fault", [drop(10), hang_up, short(5), status(503), status(429, Retry_After="1")])
def test_faults_that_pass(hub, client, remote, fault):
    hub.script("big.parquet", fault, fault, fault)
    remote.ensure(9, ["c09"])
    assert (
        pq.ParquetFile(remote.path)
        .read_row_group(9, ["c09"])
        .equals(TABLE.slice(9 * ROWS, ROWS).select(["c09"]))
    )


def whole(truth, seen):
    return Reply(200, b"x" * 1000, {})


def other_place(truth, seen):
    headers = {
        **truth.headers,
        "Content-Range": re.sub(r"bytes (\d)", r"bytes 1\1", truth.headers["Content-Range"]),
    }
    return Reply(206, truth.body, headers)


@pytest.mark.parametrize(
    "fault", [whole, other_place, status(404), status(403), status(416), redirect("ftp://x/y")]
)
def test_answers_that_are_refused(hub, remote, fault):
    here = remote.bytes_here
    hub.script("big.parquet", *[fault] * 8)
    with pytest.raises(GristmillError):
        remote.ensure(9, ["c09"])
    assert remote.bytes_here == here
    hub.scripts.clear()
    remote.ensure(9, ["c09"])
    assert remote.bytes_here > here


def test_bytes_that_are_not_what_the_server_says_are_fetched_again(hub, remote):
    import base64
    import hashlib

    def damaged(truth, seen):
        digest = base64.b64encode(hashlib.sha256(truth.body).digest()).decode()
        headers = {**truth.headers, "Content-Digest": f"sha-256=:{digest}:"}
        return Reply(206, bytes([truth.body[0] ^ 1]) + truth.body[1:], headers)

    hub.script("big.parquet", damaged, damaged)
    remote.ensure(9, ["c09"])
    assert (
        pq.ParquetFile(remote.path)
        .read_row_group(9, ["c09"])
        .equals(TABLE.slice(9 * ROWS, ROWS).select(["c09"]))
    )


def url_of(hub):
    return f"{hub.url}/plain/big.parquet"


@pytest.fixture
def plain(hub, client, content):
    """The same file outside of any repository, where only an ETag tells versions apart."""
    hub.files["plain/big.parquet"] = content
    return RemoteParquet(url_of(hub), client=client)


def test_a_plain_url(hub, plain):
    assert plain.take([5, -1], ["n"])["n"].to_pylist() == [5, GROUPS * ROWS - 1]


def test_a_changed_file_never_mixes(hub, client, plain, content):
    plain.ensure(0, ["n"])
    sink = pa.BufferOutputStream()
    changed = TABLE.set_column(0, "n", pa.array(np.arange(GROUPS * ROWS) + 1))
    pq.write_table(changed, sink, row_group_size=ROWS, compression="none", use_dictionary=False)
    hub.files["plain/big.parquet"] = sink.getvalue().to_pybytes()
    assert len(hub.files["plain/big.parquet"]) == len(content)
    with pytest.raises((HubResponseError, RangeIgnoredError)):
        plain.ensure(1, ["n"])
    again = RemoteParquet(url_of(hub), client=client)
    assert again.path != plain.path
    assert again.take([0, 300], ["n"])["n"].to_pylist() == [1, 301]


def test_a_server_without_versions_is_refused(hub, client, content):
    def anonymous(truth, seen):
        kept = {k: v for k, v in truth.headers.items() if k.lower() not in ("etag", "last-modified")}
        return Reply(truth.status, truth.body, kept)

    hub.files["plain/big.parquet"] = content
    hub.script("plain/", *[anonymous] * 9)
    with pytest.raises(HubResponseError, match="neither ETag nor Last-Modified"):
        RemoteParquet(url_of(hub), client=client)


def test_any_file_system(content, tmp_path):
    system = fsspec.filesystem("memory")
    system.pipe("/partial-test/big.parquet", content)
    try:
        remote = RemoteParquet("memory://partial-test/big.parquet", cache_dir=tmp_path)
        assert remote.take([7777], ["talk"])["talk"].to_pylist() == [[{"role": "user", "text": "7777"}]]
        assert remote.bytes_here < len(content) / 10
        system.pipe("/partial-test/big.parquet", content[:-9])  # the next read would find other bytes
        with pytest.raises(GristmillError):
            remote.ensure()
    finally:
        system.rm("/partial-test", recursive=True)
    with pytest.raises(FileMissingError):
        RemoteParquet("memory://partial-test/big.parquet", cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "bytes"),
        (b"PAR1PAR1", "has 8 bytes"),
        (b"x" * 100, "ends with b'xxxx'"),
        (b"PAR1" + b"x" * 100 + (999).to_bytes(4, "little") + b"PAR1", "footer has 999 bytes"),
        (b"PAR1" + b"x" * 100 + (50).to_bytes(4, "little") + b"PARE", "encrypted"),
        (b"PAR1" + b"\xff" * 100 + (50).to_bytes(4, "little") + b"PAR1", "Parquet"),
    ],
)
def test_what_is_no_parquet_file(hub, client, data, words):
    hub.files["data/big.parquet"] = data
    with pytest.raises((FileFormatError, HubResponseError, RangeIgnoredError), match=words):
        RemoteParquet(REPO, "data/big.parquet", client=client)


def test_what_is_not_there(hub, client, remote, tmp_path):
    with pytest.raises(EntryNotFoundError, match=r"big\.parquet"):
        RemoteParquet(REPO, "data/bog.parquet", client=client)
    with pytest.raises(FileMissingError):
        RemoteParquet(str(tmp_path / "none.parquet"))
    with pytest.raises(InvalidArgumentError, match="hf://datasets/"):
        RemoteParquet("hf://models/x", client=client)
    with pytest.raises(ColumnNotFoundError, match='no column "c99"'):
        remote.ensure(0, ["c99"])
    for group in (-1, GROUPS):
        with pytest.raises(RowIndexError, match="they go from 0 to 49"):
            remote.ensure(group)
    with pytest.raises(RowIndexError):
        remote.take([GROUPS * ROWS])
    assert remote.take([], ["n"]).num_rows == 0


def test_fields_inside_by_their_path(hub, remote):
    assert total(remote.ranges(0, ["talk"])) == total(
        remote.ranges(0, ["talk.list.element.role", "talk.list.element.text"])
    )


def test_threads_that_want_the_same_fetch_it_once(hub, remote):
    before = fetched(hub)
    needed = total(remote.ranges(range(10), None))
    threads = [threading.Thread(target=remote.ensure, args=(range(10),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetched(hub) - before <= needed * 1.05
    assert pq.ParquetFile(remote.path).read_row_groups(range(10)).equals(TABLE.slice(0, 10 * ROWS))


def test_it_travels_to_other_processes(remote):
    copy = pickle.loads(pickle.dumps(remote))
    assert copy.take([4000], ["n"])["n"].to_pylist() == [4000]


WORKER = """
import sys, time
from gristmill import config
from gristmill.partial import RemoteParquet
from gristmill.hub.client import HubClient
url, hub, cache, seed = sys.argv[1:]
import random
random.seed(int(seed))
client = HubClient(hub, token=False, cache_dir=cache + "/hub", offline=False)
remote = RemoteParquet(url, client=client, cache_dir=cache)
groups = list(range(remote.num_row_groups))
random.shuffle(groups)
print("open", flush=True)
for group in groups:
    remote.ensure(group)
    print(group, flush=True)
    time.sleep(0.02)  # a busy machine may be late to kill
"""


def test_killed_at_any_moment_what_is_on_record_is_there(tmp_path, content):
    folder = tmp_path / "served"
    (folder / "datasets/org/data").mkdir(parents=True)
    (folder / "datasets/org/data/big.parquet").write_bytes(content)
    kills = 0
    with serve_in_thread(folder) as endpoint:
        for attempt in itertools.count():
            workers = [
                subprocess.Popen(
                    [
                        sys.executable,
                        "-c",
                        WORKER,
                        "hf://datasets/org/data/big.parquet",
                        endpoint,
                        str(tmp_path),
                        f"{attempt}{i}",
                    ],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                for i in range(2)
            ]
            for worker in workers:
                assert worker.stdout
                worker.stdout.readline()
            time.sleep(0.003 * (attempt % 7))
            for worker in workers:
                if worker.poll() is None:
                    worker.send_signal(signal.SIGKILL)
                    kills += 1
                if worker.stdout:
                    worker.stdout.close()
                worker.wait()
            client = HubClient(endpoint, token=False, cache_dir=tmp_path / "hub", offline=False)
            remote = RemoteParquet("hf://datasets/org/data/big.parquet", client=client, cache_dir=tmp_path)
            assert remote._mirror
            here = remote._mirror.here()
            data = remote.path.read_bytes()
            assert all(data[start:end] == content[start:end] for start, end in here)
            client.session.close()
            if not missing(remote.ranges(), here) or attempt >= 4:
                break
        assert kills >= 2
        client = HubClient(endpoint, token=False, cache_dir=tmp_path / "hub", offline=False)
        remote = RemoteParquet("hf://datasets/org/data/big.parquet", client=client, cache_dir=tmp_path)
        assert remote.read().equals(TABLE)
        client.session.close()
    assert sorted(p.name for p in remote.path.parent.iterdir()) == [
        "data.parquet",
        "data.ranges",
        "source.json",
    ]


def test_a_mirror_whose_file_is_gone_starts_over(client, remote):
    remote.ensure(0)
    os.truncate(remote.path, 100)
    again = RemoteParquet(REPO, "data/big.parquet", client=client)
    assert again.take([3], ["n"])["n"].to_pylist() == [3]
