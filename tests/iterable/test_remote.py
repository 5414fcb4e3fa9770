"""Streams of files that are far away: what is fetched, when, and what is left behind."""

import gc
import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any, cast

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gristmill import Dataset, config, load_dataset
from gristmill.errors import FileFormatError, HubError, HubResponseError
from gristmill.files import retry
from gristmill.partial.intervals import total
from tests.hub.faulty import REPO, FaultyHub, Reply, drop, hang_up, short

GROUPS, ROWS = 12, 500
RNG = np.random.default_rng(11)
TABLE = pa.table(
    {
        "n": np.arange(GROUPS * ROWS),
        **{f"c{i:02}": RNG.integers(0, 1 << 62, GROUPS * ROWS) for i in range(30)},
        "text": pa.array([f"row {i}" for i in range(GROUPS * ROWS)]),
    }
)
LINES = 60_000
WORDS = [f"line {i} {'x' * (i % 40)}" for i in range(LINES)]


def parquet(table=TABLE, rows=ROWS):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=rows, compression="none", use_dictionary=False)
    return sink.getvalue().to_pybytes()


def arrow(form):
    sink = pa.BufferOutputStream()
    table = pa.table({"i": np.arange(LINES), "t": WORDS})
    with form(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=5000)
    return sink.getvalue().to_pybytes()


CSV = "i,t\n" + "".join(f"{i},{word}\n" for i, word in enumerate(WORDS))
JSON = "".join(json.dumps({"i": i, "t": word}) + "\n" for i, word in enumerate(WORDS))
TEXTS = {
    "a.csv": CSV.encode(),
    "a.jsonl": JSON.encode(),
    "a.txt": "".join(f"{word}\n" for word in WORDS).encode(),
    "a.arrow": arrow(pa.ipc.new_file),
    "b.arrow": arrow(pa.ipc.new_stream),
    "a.csv.gz": gzip.compress(CSV.encode(), 1),
    "a.json": json.dumps([{"i": i, "t": word} for i, word in enumerate(WORDS)]).encode(),
}


@pytest.fixture(scope="module")
def content():
    return parquet()


@pytest.fixture
def hub(content, tmp_path, monkeypatch):
    monkeypatch.setattr(retry.RetryPolicy, "delay", lambda self, attempt, retry_after=None: 0.0)
    with (
        FaultyHub({"README.md": b"", "data/train.parquet": content}) as faulty,
        config.override(
            HF_ENDPOINT=faulty.url,
            HF_HUB_CACHE=tmp_path / "hub",
            HF_DATASETS_CACHE=tmp_path / "datasets",
            DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
        ),
    ):
        yield faulty


def spans(hub, text):
    found = []
    for seen in hub.requests(text):
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", seen.headers.get("range", ""))
        assert match, f"all of {seen.path} was asked for"
        found.append((int(match[1]), int(match[2]) + 1) if match[1] else (-int(match[2]), 0))
    return found


def chunks(content, columns, groups):
    metadata = pq.read_metadata(pa.BufferReader(content))
    return sum(
        column.total_compressed_size
        for group in groups
        for column in map(metadata.row_group(group).column, range(metadata.num_columns))
        if column.path_in_schema in columns
    )


def nothing_left(folder):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        names = [thread.name for thread in threading.enumerate()]
        # A server that another test started is none of ours.
        threads = [name for name in names if name.startswith("gristmill") and name != "gristmill-hub-server"]
        folders = list((folder / "datasets/partial").glob("gristmill-*"))
        if not threads and not folders:
            return True
        time.sleep(0.01)
    return False


def stream(**options):
    return load_dataset(REPO, split="train", streaming=True, **options)


def test_only_the_columns_asked_for_come_over(hub, content, tmp_path):
    data = stream(columns=["text", "n"])
    rows = list(data)
    assert rows == TABLE.select(["text", "n"]).to_pylist()
    footer = max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
    assert total(spans(hub, "train")) <= 1.05 * chunks(content, ["text", "n"], range(GROUPS)) + footer
    assert nothing_left(tmp_path)


def test_a_look_at_a_few_rows_costs_a_row_group(hub, content, tmp_path):
    with config.override(GRISTMILL_READ_AHEAD=0):
        assert [row["n"] for row in itertools.islice(stream(), 3)] == [0, 1, 2]
    footer = max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
    assert total(spans(hub, "train")) <= 1.05 * chunks(content, TABLE.column_names, [0]) + footer
    assert nothing_left(tmp_path)


def test_filters_keep_row_groups_away(hub, content):
    rows = list(stream(columns=["c01"], filters=[("n", ">=", 5 * ROWS), ("n", "<", 5 * ROWS + 3)]))
    assert rows == TABLE.slice(5 * ROWS, 3).select(["c01"]).to_pylist()
    footer = max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
    assert total(spans(hub, "train")) <= 1.05 * chunks(content, ["c01", "n"], [5]) + footer


def test_it_goes_on_at_the_row_group(hub, content):
    data = stream(columns=["n"])
    walk = iter(data)
    seen = [next(walk)["n"] for _ in range(9 * ROWS + 7)]
    state = data.state_dict()
    walk.close()
    before = len(spans(hub, "train"))
    again = stream(columns=["n"])
    again.load_state_dict(state)
    assert seen + [row["n"] for row in again] == list(range(GROUPS * ROWS))
    footer = max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
    assert total(spans(hub, "train")[before:]) <= 1.05 * chunks(content, ["n"], range(8, GROUPS)) + footer


def test_parts_of_one_file_fetch_their_own_row_groups(hub, content):
    data = stream(columns=["c05"]).reshard()
    assert data.num_shards == GROUPS
    before = len(spans(hub, "train"))
    part = data.shard(num_shards=GROUPS, index=3)
    assert list(part) == TABLE.slice(3 * ROWS, ROWS).select(["c05"]).to_pylist()
    footer = max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
    assert total(spans(hub, "train")[before:]) <= 1.05 * chunks(content, ["c05"], [3]) + footer


def footer_of(content):
    return max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))


@pytest.mark.parametrize("skipped", [0, 5, 4 * ROWS, 7 * ROWS + 3])
@pytest.mark.parametrize(
    "chain", [lambda ds: ds, lambda ds: ds.select_columns(["n", "text"]).shuffle(seed=1, buffer_size=1)]
)
def test_taking_rows_fetches_their_row_groups(hub, content, skipped, chain):
    data = chain(stream()).skip(skipped).take(ROWS)
    before = len(spans(hub, "train"))
    rows = list(data)
    assert [row["n"] for row in rows] == list(range(skipped, skipped + ROWS))
    groups = range(skipped // ROWS, (skipped + ROWS - 1) // ROWS + 1)
    needed = chunks(content, list(rows[0]), groups)
    assert total(spans(hub, "train")[before:]) <= 1.05 * needed + footer_of(content)
    assert len(spans(hub, "train")[before:]) <= 1 + len(groups) * (1 if len(rows[0]) > 2 else 2)
    # A reading goes on inside, too.
    walk = iter(data)
    seen = [next(walk) for _ in range(3)]
    state = data.state_dict()
    again = chain(stream()).skip(skipped).take(ROWS)
    again.load_state_dict(state)
    assert seen + list(again) == rows


def test_a_first_row_costs_its_row_group_and_few_requests(hub, content):
    walk = iter(stream())
    assert next(walk)["n"] == 0
    time.sleep(0.05)  # nothing else is asked for in the background
    found = spans(hub, "train")
    walk.close()
    assert total(found) <= 1.05 * chunks(content, TABLE.column_names, [0]) + footer_of(content)
    assert len(found) == 2


def test_columns_chosen_later_are_the_only_ones_fetched(hub, content):
    rows = list(stream().select_columns(["text"]))
    assert rows == TABLE.select(["text"]).to_pylist()
    assert total(spans(hub, "train")) <= 1.05 * chunks(content, ["text"], range(GROUPS)) + footer_of(content)


def test_filters_that_are_expressions_fetch_what_they_look_at(hub, content):
    wanted = pc.field("n").isin([7, 1007]) | (pc.field("text") == "row 8")
    rows = list(stream(columns=["c01"], filters=wanted))
    assert rows == TABLE.take([7, 8, 1007]).select(["c01"]).to_pylist()
    needed = chunks(content, ["c01", "n", "text"], range(GROUPS))
    assert total(spans(hub, "train")) <= 1.05 * needed + footer_of(content)


def test_skipping_shards_fetches_their_ends(shards):
    data = stream().skip(6 * ROWS + 10).take(5)
    assert [row["n"] for row in data] == list(range(6 * ROWS + 10, 6 * ROWS + 15))
    assert [row["n"] for row in stream().skip(9 * ROWS + 499)] == [10 * ROWS - 1]
    assert list(stream().skip(10 * ROWS)) == []
    assert [row["n"] for row in stream().skip(3).take(2 * ROWS)] == list(range(3, 2 * ROWS + 3))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_a_few_rows_of_text_cost_its_beginning(hub, name):
    head = b"i,t\n" if name == "a.csv" else b""
    hub.files[f"plain/{name}"] = head + TEXTS[name].removeprefix(head) * 20
    format = {"csv": "csv", "txt": "text"}.get(name.rpartition(".")[2], "json")
    data = load_dataset(format, data_files=f"{hub.url}/plain/{name}", split="train", streaming=True)
    assert len(list(data.skip(2).take(5))) == 5
    assert total(span for span in spans(hub, "plain/") if span[0] >= 0) <= 3 << 20


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ahead", [0, 64_000_000])
def test_other_formats_come_by_ranges(hub, name, ahead, tmp_path):
    hub.files[f"plain/{name}"] = TEXTS[name]
    url = f"{hub.url}/plain/{name}"
    format = {"csv": "csv", "gz": "csv", "txt": "text", "arrow": "arrow"}.get(name.rpartition(".")[2], "json")
    with config.override(GRISTMILL_READ_AHEAD=ahead):
        rows = list(load_dataset(format, data_files=url, split="train", streaming=True))
    if format == "text":
        assert [row["text"] for row in rows] == WORDS
    else:
        assert rows == [{"i": i, "t": word} for i, word in enumerate(WORDS)]
    # The beginning is looked at more than once; nothing is kept.
    assert total(set(spans(hub, "plain/")) - {(-65536, 0)}) <= len(TEXTS[name]) * 1.5 + (1 << 20)
    assert nothing_left(tmp_path)
    assert not list(tmp_path.glob("downloads/*[0-9a-f]"))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.arrow"])
def test_texts_go_on_at_the_byte(hub, name):
    hub.files[f"plain/{name}"] = TEXTS[name] * (1 if name == "a.arrow" else 4)
    url = f"{hub.url}/plain/{name}"
    format = {"csv": "csv", "txt": "text", "arrow": "arrow"}.get(name.rpartition(".")[2], "json")

    def make():
        options: dict[str, Any] = {"chunksize": 1 << 18} if format in ("json", "text") else {}
        return load_dataset(format, data_files=url, split="train", streaming=True, **options)

    whole = list(make())
    data = make()
    walk = iter(data)
    at = len(whole) * 3 // 4
    seen = list(itertools.islice(walk, at))
    state = data.state_dict()
    walk.close()
    again = make()
    again.load_state_dict(state)
    before = len(hub.seen)
    assert seen + list(again) == whole
    fresh = spans_of(hub.seen[before:])
    assert any(start > len(hub.files[f"plain/{name}"]) // 2 for start, _ in fresh)
    assert total(fresh) < 0.75 * len(hub.files[f"plain/{name}"])


def spans_of(requests):
    found = []
    for seen in requests:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", seen.headers.get("range", ""))
        if match:
            found.append((int(match[1]), int(match[2]) + 1))
    return found


def test_a_dropped_connection_goes_on_at_the_byte_where_it_was(hub):
    hub.files["plain/a.txt"] = TEXTS["a.txt"]
    drops = [drop(100_000), hang_up, short(0), drop(80_000), hang_up, drop(70_000)]
    hub.script("plain/", lambda truth, seen: truth, *drops)
    with config.override(GRISTMILL_READ_AHEAD=0):
        rows = list(load_dataset("text", data_files=f"{hub.url}/plain/a.txt", split="train", streaming=True))
    assert [row["text"] for row in rows] == WORDS
    starts = [start for start, _ in spans_of(hub.requests("plain/"))]
    assert starts[:4] == [0, 100_000, 100_000, 100_000]
    assert starts[4] == 180_000


def test_the_last_error_names_url_attempts_and_cause(hub):
    hub.files["plain/a.txt"] = TEXTS["a.txt"]
    hub.script("plain/", lambda truth, seen: truth, *[hang_up] * 50)
    data = load_dataset("text", data_files=f"{hub.url}/plain/a.txt", split="train", streaming=True)
    with pytest.raises(HubError, match=r"plain/a\.txt.*4 attempts were made to go on at byte 0") as caught:
        next(iter(data))
    assert caught.value.__cause__ is not None


def test_a_changed_file_never_mixes(hub):
    hub.files["plain/a.csv"] = TEXTS["a.csv"] * 8
    data = load_dataset("csv", data_files=f"{hub.url}/plain/a.csv", split="train", streaming=True)
    with config.override(GRISTMILL_READ_AHEAD=0):
        walk = iter(data)
        next(walk)
        hub.files["plain/a.csv"] = b"y" + hub.files["plain/a.csv"][1:]
        with pytest.raises(HubResponseError):
            list(walk)


def test_types_widen_where_a_block_needs_it(hub):
    rows = [*({"a": i, "b": None} for i in range(20_000)), {"a": 1.5, "b": "x"}, {"a": "text", "c": [1]}]
    hub.files["plain/m.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    hub.files["plain/m.csv"] = (
        "a,b\n" + "".join(f"{i},\n" for i in range(500_000))[:3_000_000].rpartition("\n")[0] + "\nx,y\n"
    ).encode()
    found = list(
        load_dataset(
            "json", data_files=f"{hub.url}/plain/m.jsonl", split="train", streaming=True, chunksize=1 << 16
        )
    )
    assert found[0] == {"a": 0, "b": None}
    assert found[-1]["a"] == "text"
    assert found[-1]["c"] == [1]
    last = None
    for last in load_dataset("csv", data_files=f"{hub.url}/plain/m.csv", split="train", streaming=True):  # noqa: B007
        pass
    assert last == {"a": "x", "b": "y"}


def test_xml_documents_come_by_ranges(hub, tmp_path):
    text = "<a>" + "".join(f"<b>{word}</b>\n" for word in WORDS) + "</a>"
    hub.files["plain/a.xml"] = text.encode()
    hub.script("plain/a.xml", lambda truth, seen: truth, lambda truth, seen: truth, drop(90_000))
    url = f"{hub.url}/plain/a.xml"
    assert [row["xml"] for row in load_dataset("xml", data_files=url, split="train", streaming=True)] == [
        text
    ]
    assert spans(hub, "plain/")
    assert not list(tmp_path.glob("downloads/*[0-9a-f]"))
    records = load_dataset("xml", data_files=url, split="train", streaming=True, record="b")
    assert sum(1 for _ in records) == LINES


@pytest.mark.parametrize("chat", [False, True])
def test_docs_come_by_their_index(hub, chat, tmp_path):
    values = [[{"role": "user", "content": word}, {"role": "assistant", "content": "ok"}] for word in WORDS]
    rows = pa.table({"messages": values} if chat else {"text": WORDS})
    Dataset(rows).to_docs(tmp_path / "a.docs")
    hub.files["plain/a.docs"] = content = (tmp_path / "a.docs").read_bytes()
    url = f"{hub.url}/plain/a.docs"
    data = load_dataset("docs", data_files=url, split="train", streaming=True)
    walk: Any = iter(data)
    first = next(walk)
    assert first == rows.slice(0, 1).to_pylist()[0]
    assert total(spans_of(hub.seen)) < len(content)
    seen = [first, *itertools.islice(walk, 40_000)]
    state = data.state_dict()
    walk.close()
    hub.seen.clear()
    again = load_dataset("docs", data_files=url, split="train", streaming=True)
    again.load_state_dict(state)
    assert seen + list(again) == rows.to_pylist()
    assert total(spans_of(hub.seen)) < 0.6 * len(content)
    del walk, again, data
    gc.collect()
    assert nothing_left(tmp_path)


def test_any_file_system():
    system = fsspec.filesystem("memory")
    system.pipe("/streams/a.csv", TEXTS["a.csv"])
    try:
        data = load_dataset("csv", data_files="memory://streams/a.csv", split="train", streaming=True)
        assert [row["t"] for row in data] == WORDS
    finally:
        system.rm("/streams", recursive=True)


@pytest.fixture
def shards(hub):
    del hub.files["data/train.parquet"]
    for number in range(10):
        part = TABLE.slice(number * ROWS, ROWS)
        hub.files[f"data/train-{number:02}.parquet"] = parquet(part)
    return hub


def asked_shards(hub):
    return {int(found[1]) for seen in hub.seen if (found := re.search(r"train-(\d\d)", seen.path))}


def test_shards_that_come_next_are_begun(shards, tmp_path):
    for ahead, expected in ((0, {0, 1}), (64_000_000, set(range(9)))):
        with config.override(GRISTMILL_READ_AHEAD=ahead):
            walk: Any = iter(stream(columns=["n"]))
            seen = [next(walk)["n"] for _ in range(ROWS + 5)]
            deadline = time.monotonic() + 5
            while asked_shards(shards) != expected and time.monotonic() < deadline:
                time.sleep(0.01)
            assert asked_shards(shards) == expected
            assert seen + [row["n"] for row in walk] == list(range(10 * ROWS))
        shards.seen.clear()
    assert nothing_left(tmp_path)


def test_what_was_read_to_its_end_is_not_fetched_to_go_on(shards):
    shards.files["data/train-00.parquet"] = parquet(TABLE.slice(0, 2 * ROWS))  # two row groups
    data: Any = stream()
    walk = iter(data)
    states = []
    for _ in range(3 * ROWS):
        next(walk)
        states.append(data.state_dict())
    cast("Any", walk).close()
    for taken, shard in ((2 * ROWS, 1), (2 * ROWS - 1, 0), (3 * ROWS, 2)):
        again: Any = stream(columns=["n"])
        again.load_state_dict(states[taken - 1])
        shards.seen.clear()
        with config.override(GRISTMILL_READ_AHEAD=0):
            first = next(iter(again))["n"]
        expected = [*range(2 * ROWS), *range(ROWS, 10 * ROWS)]
        assert first == expected[taken]
        assert asked_shards(shards) == {shard}


def test_a_row_group_that_was_read_is_not_fetched_to_go_on(hub, content):
    data: Any = stream(columns=["n"])
    walk = iter(data)
    for _ in range(5 * ROWS):
        next(walk)
    state = data.state_dict()
    cast("Any", walk).close()
    again: Any = stream(columns=["n"])
    again.load_state_dict(state)
    hub.seen.clear()
    with config.override(GRISTMILL_READ_AHEAD=0):
        assert [row["n"] for row in itertools.islice(again, 3)] == [5 * ROWS, 5 * ROWS + 1, 5 * ROWS + 2]
    assert total([s for s in spans(hub, "train") if s[1] <= len(content) - (64 << 10)]) == chunks(
        content, {"n"}, [5]
    )


def test_shards_that_are_read_whole_come_in_a_request_each(shards):
    assert [row["n"] for row in stream()] == list(range(10 * ROWS))
    for number in range(1, 10):
        assert len(shards.requests(f"train-{number:02}")) == 1
    shards.seen.clear()
    assert [row["n"] for row in stream(columns=["n"])] == list(range(10 * ROWS))
    sizes = [len(content) for name, content in shards.files.items() if name.startswith("data/")]
    assert total(spans(shards, "train-")) < 2 * sum(sizes)


def test_closing_stops_it(shards, tmp_path):
    shards.latency = 0.05
    walk: Any = iter(stream())
    for _ in range(ROWS + 5):
        next(walk)
    walk.close()
    del walk
    gc.collect()
    assert nothing_left(tmp_path)
    before = len(shards.seen)
    time.sleep(0.1)
    assert len(shards.seen) == before


def test_an_error_comes_in_its_place(shards):
    shards.files["data/train-04.parquet"] = b"PAR1" + bytes(90) + b"PAR1"
    seen: list[int] = []
    with pytest.raises(FileFormatError, match="train-04") as caught:
        seen.extend(row["n"] for row in stream(columns=["n"]))
    assert seen == list(range(4 * ROWS))
    assert "train-04" in str(caught.value)


def test_reading_ahead_is_bounded(hub):
    big = b"".join(b"%d\n" % i for i in range(3_000_000))
    hub.files["plain/big.txt"] = big
    with config.override(GRISTMILL_READ_AHEAD=2_000_000):
        walk = iter(
            load_dataset("text", data_files=f"{hub.url}/plain/big.txt", split="train", streaming=True)
        )
        next(walk)
        time.sleep(0.2)
        asked = total(spans_of(hub.requests("plain/")))
        assert asked < 5_000_000
        cast("Any", walk).close()


LEAVING = """
import sys, time
from gristmill import load_dataset
data = load_dataset("org/data", split="train", streaming=True)
walk = iter(data)
for _ in range(int(sys.argv[1])):
    next(walk)
print("leaving", flush=True)
"""


@pytest.mark.parametrize("rows", [1, ROWS + 1])
def test_a_process_ends_while_a_server_is_silent(shards, rows, tmp_path):
    silent = threading.Event()

    def wait(truth: Reply, seen: object) -> Reply:
        silent.wait(20)
        return truth

    for number in range(2, 10):
        shards.script(f"train-{number:02}", *[wait] * 20)
    settings = {"HF_ENDPOINT": shards.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": ""}
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", LEAVING, str(rows)],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=15,
            check=False,
        )
    finally:
        silent.set()
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
    assert time.monotonic() - started < 12
    assert not list((tmp_path / "home/datasets/partial").glob("gristmill-*"))
