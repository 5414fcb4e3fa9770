import os
import re
import signal
import subprocess
import sys
import time

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gristmill import config, list_cache, load_dataset, remove_from_cache
from gristmill.errors import EntryNotFoundError
from gristmill.hub.server import serve_in_thread
from gristmill.partial.intervals import total
from tests.hub.faulty import REPO, FaultyHub, status

GROUPS, ROWS = 40, 400
RNG = np.random.default_rng(7)


def table_of(number):
    rows = GROUPS * ROWS
    return pa.table(
        {
            "n": np.arange(rows) + number * rows,
            **{f"c{i:02}": RNG.integers(0, 1 << 62, rows) for i in range(14)},
            "text": pa.array([f"row {i} of {number}" for i in range(rows)]),
        }
    )


def parquet(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=ROWS, compression="none", use_dictionary=False)
    return sink.getvalue().to_pybytes()


TABLES = [table_of(number) for number in range(2)]
WHOLE = pa.concat_tables(TABLES)


def same(data, table):
    return data.data.table.replace_schema_metadata(None).equals(table)


@pytest.fixture(scope="module")
def contents():
    return [parquet(table) for table in TABLES]


@pytest.fixture
def hub(contents):
    files = {f"data/train-{number}.parquet": content for number, content in enumerate(contents)}
    with FaultyHub({"README.md": b"", "data/test.parquet": contents[0], **files}) as faulty:
        yield faulty


@pytest.fixture(autouse=True)
def place(hub, tmp_path):
    with config.override(
        HF_ENDPOINT=hub.url,
        HF_HUB_CACHE=tmp_path / "hub",
        HF_DATASETS_CACHE=tmp_path / "datasets",
        DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
    ):
        yield


def spans(hub, text=".parquet"):
    """The bytes that requests for files asked for; None for all of one."""
    found = []
    for seen in hub.requests(text):
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", seen.headers.get("range", ""))
        found.append(match and (int(match[1] or 0), int(match[2]) + 1))
    return found


def needed(contents, columns, groups):
    """Bytes of the footers, or of what is fetched to find them, and of column chunks."""
    size = 0
    for content in contents:
        metadata = pq.read_metadata(pa.BufferReader(content))
        size += max(1 << 16, 8 + int.from_bytes(content[-8:-4], "little"))
        for group in groups:
            of_group = metadata.row_group(group)
            for number in range(of_group.num_columns):
                column = of_group.column(number)
                size += column.total_compressed_size if column.path_in_schema in columns else 0
    return size


def test_only_the_columns_asked_for_come_over(hub, contents):
    data = load_dataset(REPO, split="train", columns=["text", "n"])
    assert same(data, WHOLE.select(["text", "n"]))
    asked = spans(hub, "train-")
    assert None not in asked
    assert total(asked) <= 1.05 * needed(contents, ["text", "n"], range(GROUPS))
    place = data.origins().slice(GROUPS * ROWS + 5, 1).to_pylist()[0]
    assert (place["file"], place["row_index"]) == ("data/train-1.parquet", 5)


def test_only_row_groups_that_can_match_come_over(hub, contents):
    last = GROUPS * ROWS - 1
    filters = [("n", ">=", last - 500)]
    data = load_dataset(REPO, split="train", columns=["c03"], filters=filters)
    # The first file has two such row groups, the second is wanted whole, of these columns.
    kept = WHOLE.filter(pc.field("n") >= last - 500).select(["c03"])
    assert same(data, kept)
    asked = spans(hub, "train-")
    wanted = needed(contents[:1], ["c03", "n"], [38, 39]) + needed(contents[1:], ["c03", "n"], range(GROUPS))
    assert total(asked) <= 1.05 * wanted


def test_rows_are_those_of_whole_files(hub, tmp_path):
    filters = [[("n", "<", 700)], [("text", "==", "row 9000 of 1")]]
    parts = load_dataset(REPO, split="train", columns=["text", "c01"], filters=filters)
    with config.override(HF_HUB_CACHE=tmp_path / "hub2", HF_DATASETS_CACHE=tmp_path / "datasets2"):
        files = load_dataset(REPO, split="train")
        assert None in spans(hub, "train-")
        whole = load_dataset(REPO, split="train", columns=["text", "c01"], filters=filters)
    assert parts.data.table.equals(whole.data.table)
    assert parts.num_rows == 701
    assert files.num_rows == 2 * GROUPS * ROWS


def test_nothing_is_asked_for_where_it_is_prepared(hub):
    first = load_dataset(REPO, split="train", columns=["c00"])
    before = len(hub.requests("train-"))
    assert load_dataset(REPO, split="train", columns=["c00"]).data.table.equals(first.data.table)
    assert len(hub.requests("train-")) == before
    with config.override(HF_HUB_OFFLINE=True):
        assert load_dataset(REPO, split="train", columns=["c00"]).data.table.equals(first.data.table)


def test_another_column_costs_that_column_alone(hub, contents):
    load_dataset(REPO, split="test", columns=["c00"])
    before = total(spans(hub, "test"))
    load_dataset(REPO, split="test", columns=["c00", "c01"])
    chunks = needed(contents[:1], ["c01"], range(GROUPS)) - needed(contents[:1], [], [])
    assert total(spans(hub, "test")) - before <= 1.05 * chunks


@pytest.mark.parametrize("columns", [["n", *(f"c{i:02}" for i in range(14))], None])
def test_files_of_which_nearly_all_is_wanted_come_whole(hub, columns):
    load_dataset(REPO, split="test", columns=columns)
    assert None in spans(hub, "test")


def test_small_files_come_whole(hub):
    hub.files["data/test.parquet"] = parquet(TABLES[0].slice(0, 50))
    assert load_dataset(REPO, split="test", columns=["n"]).num_rows == 50
    assert spans(hub, "test") == [None]


def test_what_is_here_whole_is_read_where_it_is(hub):
    load_dataset(REPO, split="test")
    before = len(hub.requests("test"))
    assert load_dataset(REPO, split="test", columns=["text"])[3] == {"text": "row 3 of 0"}
    assert len(hub.requests("test")) == before


def test_all_checks_needs_whole_files(hub):
    load_dataset(REPO, split="test", columns=["n"], verification_mode="all_checks")
    assert spans(hub, "test") == [None]


def test_sizes_are_on_record_and_hashes_are_not(hub, contents):
    info = load_dataset(REPO, split="test", columns=["n"]).info
    assert info.download_checksums == {"data/test.parquet": {"num_bytes": len(contents[0]), "checksum": None}}


def test_a_url(hub, contents):
    hub.files["plain/a.parquet"] = contents[0]
    url = f"{hub.url}/plain/a.parquet"
    data = load_dataset("parquet", data_files=url, split="train", columns=["text"])
    assert same(data, TABLES[0].select(["text"]))
    asked = spans(hub, "plain/")
    assert None not in asked
    assert total(asked) <= 1.05 * needed(contents[:1], ["text"], range(GROUPS))
    with config.override(HF_HUB_OFFLINE=True):
        again = load_dataset("parquet", data_files=url, split="train", columns=["text"])
    assert again.data.table.equals(data.data.table)
    hub.files["plain/a.parquet"] = contents[1]
    changed = load_dataset("parquet", data_files=url, split="train", columns=["text"])
    assert changed[0] == {"text": "row 0 of 1"}


def test_a_server_that_sends_no_parts(hub, contents):
    def whole(truth, seen):
        headers = {k: v for k, v in truth.headers.items() if k != "Content-Range"}
        return type(truth)(200, contents[0], headers)

    hub.files["plain/a.parquet"] = contents[0]
    hub.script("plain/", *[whole] * 9)
    data = load_dataset("parquet", data_files=f"{hub.url}/plain/a.parquet", split="train", columns=["text"])
    assert data.num_rows == GROUPS * ROWS


def test_a_hub_url(hub, contents):
    url = f"hf://datasets/{REPO}/data/test.parquet"
    data = load_dataset("parquet", data_files=url, split="train", columns=["c13"])
    assert same(data, TABLES[0].select(["c13"]))
    assert total(spans(hub, "test")) <= 1.05 * needed(contents[:1], ["c13"], range(GROUPS))


def test_another_file_system(contents):
    system = fsspec.filesystem("memory")
    system.pipe("/parts/a.parquet", contents[0])
    try:
        data = load_dataset(
            "parquet", data_files="memory://parts/a.parquet", split="train", filters=[("n", "<", 9)]
        )
        assert same(data, TABLES[0].slice(0, 9))
    finally:
        system.rm("/parts", recursive=True)


def test_a_load_that_breaks_off_goes_on(hub, contents):
    hub.script("train-1", lambda truth, seen: truth, *[status(404)] * 99)
    with pytest.raises(EntryNotFoundError):
        load_dataset(REPO, split="train", columns=["c02"], num_proc=1)
    hub.scripts.clear()
    before = total(spans(hub, "train-0"))
    assert load_dataset(REPO, split="train", columns=["c02"]).num_rows == 2 * GROUPS * ROWS
    # What came of the first file before is not asked for again.
    assert total(spans(hub, "train-0")) == before


WORKER = """
import sys
from gristmill import load_dataset
print("go", flush=True)
load_dataset("org/data", split="train", columns=["c01", "text"])
"""


def test_killed_and_run_again(contents, tmp_path):
    folder = tmp_path / "served"
    (folder / "datasets/org/data/data").mkdir(parents=True)
    for number, content in enumerate(contents):
        (folder / f"datasets/org/data/data/train-{number}.parquet").write_bytes(content)
    with serve_in_thread(folder) as endpoint:
        settings = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": ""}
        for wait in (0.05, 0.15, 0.3):
            worker = subprocess.Popen(
                [sys.executable, "-c", WORKER], env={**os.environ, **settings}, stdout=subprocess.PIPE
            )
            assert worker.stdout
            worker.stdout.readline()
            time.sleep(wait)
            worker.send_signal(signal.SIGKILL)
            worker.stdout.close()
            worker.wait()
        with config.override(
            HF_ENDPOINT=endpoint,
            HF_HUB_CACHE=tmp_path / "home/hub",
            HF_DATASETS_CACHE=tmp_path / "home/datasets",
        ):
            data = load_dataset("org/data", split="train", columns=["c01", "text"])
    assert same(data, WHOLE.select(["c01", "text"]))


def test_parts_are_listed_in_the_cache_and_can_go(hub, tmp_path):
    load_dataset(REPO, split="test", columns=["n"])
    [entry] = [entry for entry in list_cache() if entry.detail == "in part"]
    assert entry.kind == "download"
    assert entry.name.endswith("data/test.parquet")
    assert entry.size < len(hub.files["data/test.parquet"])
    remove_from_cache([entry])
    assert not entry.paths[0].exists()
    assert load_dataset(REPO, split="test", columns=["n"], download_mode="reuse_cache_if_exists").num_rows
