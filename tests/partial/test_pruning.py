import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.parquet import possible_groups
from gristmill.partial import RemoteParquet
from gristmill.partial.intervals import total
from gristmill.partial.pruning import groups_by_pages
from tests.hub.faulty import REPO
from tests.partial.test_parquet import client, fetched, hub, sleeps  # noqa: F401  # fixtures

# Each row group has values from both ends, page by page, so that its statistics rule nothing out.
ROWS, GROUPS = 4000, 6
N = np.concatenate(
    [np.r_[np.arange(0, 2000), np.arange(8000, 10000)] + 100_000 * (g % 2) for g in range(GROUPS)]
)
TABLE = pa.table(
    {
        "n": N,
        "m": pa.array([None if v % 7 == 0 else int(v) for v in N[::-1]]),
        "k": N.reshape(GROUPS, ROWS)[:, ::-1].reshape(-1),
        "t": [f"{v:08}" for v in N],
        "x": N / 3,
        "fill": np.random.default_rng(1).integers(0, 1 << 62, len(N)),
    }
)


@pytest.fixture
def content():
    sink = pa.BufferOutputStream()
    pq.write_table(
        TABLE, sink, row_group_size=ROWS, compression="none", use_dictionary=False, write_page_index=True,
        data_page_size=1000, write_batch_size=100,
    )  # fmt: skip
    return sink.getvalue().to_pybytes()


@pytest.fixture
def remote(client):  # noqa: F811
    return RemoteParquet(REPO, "data/big.parquet", client=client)


@pytest.mark.parametrize(
    ("filters", "groups"),
    [
        ([("n", "==", 5000)], []),
        ([("n", ">", 4000), ("n", "<", 6000)], []),
        ([("t", "==", "00005000")], []),
        ([("x", ">", 800.0), ("x", "<", 2000.0)], []),
        ([("n", "==", 105_000)], []),
        ([("n", "==", 108_500)], [1, 3, 5]),
        ([[("n", "==", 5000)], [("n", "==", 1999)]], [0, 2, 4]),
        # The pages that match one condition lie elsewhere than those that match the other.
        ([("n", "<", 100), ("k", "<", 100)], []),
        (pc.field("n") == 5000, []),
        (~(pc.field("n") == 5000), list(range(GROUPS))),
        (pc.field("m").is_null(), list(range(GROUPS))),
    ],
)
def test_row_groups_without_a_page_that_matches_are_not_fetched(hub, remote, filters, groups):  # noqa: F811
    assert possible_groups(remote.source_file(), filters) == groups
    before = fetched(hub)
    found = remote.read(["fill"], filters)
    assert found.equals(
        TABLE.filter(
            filters if isinstance(filters, pc.Expression) else pq.filters_to_expression(filters)
        ).select(["fill"])
    )
    if not groups:
        assert fetched(hub) == before
    else:
        assert fetched(hub) - before <= 1.05 * total(remote.ranges(groups))


FIELD = st.sampled_from(["n", "m"])
CONDITION = st.tuples(FIELD, st.sampled_from(["==", "<", ">", "!=", ">=", "<="]), st.integers(-10, 110_000))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_row_that_matches_is_lost(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "pruning"
    path = folder / "a.parquet"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        pq.write_table(
            TABLE, path, row_group_size=ROWS, write_page_index=True, data_page_size=1000, write_batch_size=100
        )
    terms = data.draw(st.lists(st.lists(CONDITION, min_size=1, max_size=3), min_size=1, max_size=2))
    predicate = pq.filters_to_expression(terms)
    if data.draw(st.booleans()):
        predicate = ~predicate
    file = RemoteParquet(str(path))
    kept = groups_by_pages(file, file.schema, 1000, range(GROUPS), predicate)
    for group in range(GROUPS):
        if group not in kept:
            assert TABLE.slice(group * ROWS, ROWS).filter(predicate).num_rows == 0


def test_damaged_indexes_say_nothing(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=ROWS, write_page_index=True)
    whole = (tmp_path / "a.parquet").read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    spoiled = tmp_path / "b.parquet"
    spoiled.write_bytes(whole[: -footer - 2000] + bytes([255]) * 2000 + whole[-footer:])
    file = RemoteParquet(str(spoiled))
    assert groups_by_pages(file, file.schema, 1000, [0, 1], pc.field("n") == 5000) in ([0, 1], [1], [0], [])
