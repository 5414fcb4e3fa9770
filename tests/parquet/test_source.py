"""Files on servers: only the ranges needed are fetched and counted; what is no range is refused."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config
from gristmill.errors import EntryNotFoundError, InvalidArgumentError, OfflineError, RangeIgnoredError
from gristmill.hub.client import HubClient
from gristmill.parquet import check, compare_schemas, inspect, read_leaf
from tests.hub.faulty import COMMIT, FaultyHub, status

ROWS = 40_000


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("remote") / "a.parquet"
    texts = [f"{number * 7919 % 100_003:06}" * 4 for number in range(ROWS)]
    table = pa.table({"n": range(ROWS), "text": texts, "tags": [[1], None] * (ROWS // 2)})
    pq.write_table(table, path, row_group_size=ROWS // 8, use_dictionary=False, write_page_index=True)
    return path.read_bytes()


@pytest.fixture
def hub(content, tmp_path):
    with (
        FaultyHub({"data/a.parquet": content}) as server,
        config.override(HF_ENDPOINT=server.url, HF_HUB_CACHE=tmp_path / "hub", HF_HUB_OFFLINE=False),
    ):
        yield server


@pytest.mark.parametrize("form", ["hf://datasets/org/data/data/a.parquet", "{url}/data/a.parquet"])
def test_the_footer_suffices(hub, content, form):
    info = inspect(form.format(url=hub.url))
    assert (info.rows, len(info.row_groups), info.size) == (ROWS, 8, len(content))
    assert len(content) > 5 * info.fetched
    assert info.fetched == 1 << 16
    assert all(
        column.pages is not None and column.pages.source == "footer" for column in info.row_groups[0].columns
    )


def test_pages_are_counted_if_asked_for(hub, tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    far, near = inspect("hf://datasets/org/data/data/a.parquet", pages=True), inspect(tmp_path / "a.parquet")
    assert far.row_groups == near.row_groups
    pages = far.row_groups[0].columns[0].pages
    assert pages is not None
    assert pages.source == "pages"
    assert far.name == f"hf://datasets/org/data@{COMMIT}/data/a.parquet"
    HubClient().pin("org/data").download("data/a.parquet")
    assert (
        inspect("hf://datasets/org/data/data/a.parquet").name == far.name
    )  # in the cache, at the same commit


def test_rows_are_read_from_the_groups_that_hold_them(hub, content):
    batches = list(read_leaf("hf://datasets/org/data/data/a.parquet", "n", (ROWS - 3, None)))
    assert [value for batch in batches for value in batch.values.to_pylist()] == [
        ROWS - 3,
        ROWS - 2,
        ROWS - 1,
    ]
    assert [row for batch in batches for row in batch.rows.tolist()] == [ROWS - 3, ROWS - 2, ROWS - 1]
    asked = [seen.headers["range"] for seen in hub.requests("resolve")]
    spans = [tuple(map(int, text.removeprefix("bytes=").split("-"))) for text in asked]
    assert sum(last - first + 1 for first, last in spans) < len(content) / 4


def test_a_whole_remote_file_is_checked(hub, content):
    report = check(f"{hub.url}/data/a.parquet")
    assert (report.rows, report.row_groups, report.remarks) == (ROWS, 8, [])
    assert report.fetched >= len(content)


def test_a_server_without_ranges_is_refused(hub):
    hub.script("a.parquet", *[status(200, b"PAR1" * 100)] * 5)
    with pytest.raises(RangeIgnoredError):
        inspect(f"{hub.url}/data/a.parquet")


def test_names_that_lead_nowhere(hub):
    with pytest.raises(EntryNotFoundError):
        inspect(f"{hub.url}/data/b.parquet")
    with pytest.raises(EntryNotFoundError, match=r"data/a\.parquet"):
        inspect("hf://datasets/org/data/data/b.parquet")
    with pytest.raises(InvalidArgumentError):
        inspect("hf://org")
    with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError):
        inspect(f"{hub.url}/data/a.parquet")


def test_schemas_of_a_remote_and_a_local_file(hub, tmp_path):
    path = tmp_path / "b.parquet"
    table = pa.table({"text": ["a"], "n": pa.array([1], pa.int32()), "extra": [1.5]})
    pq.write_table(table.cast(table.schema.set(0, pa.field("text", pa.string(), nullable=False))), path)
    found = compare_schemas(f"{hub.url}/data/a.parquet", path)
    assert [(one.column, one.what, one.first, one.second) for one in found] == [
        ("n", "type", "INT64", "INT32"),
        ("text", "repetition", "OPTIONAL", "REQUIRED"),
        ("tags", "missing", "group", None),
        ("extra", "missing", None, "DOUBLE"),
        ("", "order", "n, text", "text, n"),
    ]
    assert compare_schemas(path, path) == []
