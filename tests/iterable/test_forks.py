"""Streams of files that are far away, in processes that are forked or started in the middle of one."""

import multiprocessing
import re
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config, load_dataset
from tests.hub.faulty import REPO, FaultyHub

FILES, GROUPS, ROWS = 6, 3, 400
TOTAL = FILES * GROUPS * ROWS


def shard(number):
    sink = pa.BufferOutputStream()
    first = number * GROUPS * ROWS
    table = pa.table(
        {
            "n": np.arange(first, first + GROUPS * ROWS),
            "x": np.random.default_rng(number).random(GROUPS * ROWS),
        }
    )
    pq.write_table(table, sink, row_group_size=ROWS)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def hub(tmp_path):
    files = {f"data/train-{number:02}.parquet": shard(number) for number in range(FILES)}
    files["text/a.jsonl"] = b"".join(b'{"n": %d, "t": "%s"}\n' % (i, b"x" * 200) for i in range(20_000))
    with (
        FaultyHub({"README.md": b"", **files}) as faulty,
        config.override(
            HF_ENDPOINT=faulty.url,
            HF_HUB_CACHE=tmp_path / "hub",
            HF_DATASETS_CACHE=tmp_path / "datasets",
            DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
        ),
    ):
        yield faulty


def numbers(rows):
    return [row["n"] for row in rows]


def go_on(walk: Any, data: Any, parent_is_done: Any, answers: Any) -> None:
    """In a child: goes on with a reading if it was inherited, and reads anew."""
    parent_is_done.recv()
    answers.send((None if walk is None else numbers(walk), numbers(data)))


def ended(context, walk, data, meanwhile):
    """Gives what a child of a context read; it is killed if it hangs."""
    told, tell = context.Pipe(duplex=False)
    get, answers = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # newer Pythons warn of forking with threads, which is what is tried here
        child = context.Process(target=go_on, args=(walk, data, told, answers), daemon=True)
        child.start()
    try:
        meanwhile()
        tell.send(None)
        assert get.poll(60), "the child hangs"
        found = get.recv()
        child.join(30)
        assert child.exitcode == 0
        return found
    finally:
        child.kill()
        child.join()


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not fork")
@pytest.mark.parametrize("taken", [1, ROWS + 5, GROUPS * ROWS + 5])
@pytest.mark.parametrize("source", ["parquet", "json"])
def test_a_fork_in_the_middle(hub, source, taken):
    options: dict[str, Any] = {} if source == "parquet" else {"data_files": "text/a.jsonl"}
    data = load_dataset(REPO, split="train", streaming=True, **options)
    whole = list(range(TOTAL if source == "parquet" else 20_000))
    hub.latency = 0.04  # threads that read ahead wait for answers when the child is made
    walk = iter(data)
    seen = [next(walk)["n"] for _ in range(taken)]
    rest: list[int] = []
    context = multiprocessing.get_context("fork")
    inherited, anew = ended(context, walk, data, lambda: rest.extend(numbers(walk)))
    assert seen + rest == whole
    assert seen + inherited == whole
    assert anew == whole


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_started_in_the_middle(hub, method, monkeypatch):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no such processes")
    for name in ("HF_ENDPOINT", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "DOWNLOADED_DATASETS_PATH"):
        monkeypatch.setenv(name, str(getattr(config, name)))
    data = load_dataset(REPO, split="train", streaming=True)
    walk = iter(data)
    seen = [next(walk)["n"] for _ in range(ROWS + 5)]
    rest: list[int] = []
    context = multiprocessing.get_context(method)
    _, anew = ended(context, None, data, lambda: rest.extend(numbers(walk)))
    assert seen + rest == anew == list(range(TOTAL))
    # A server that another test started is none of ours.
    assert not [one for one in threading.enumerate() if re.match("gristmill-(?!hub-server)", one.name)]
