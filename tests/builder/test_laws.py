"""Whatever the rows, batches, shards and workers' shares: what is prepared is what was yielded, and so is the stream."""

import tempfile

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Features, List, Value
from gristmill.builder.writing import share
from tests.builder.own import Tables, builder_of, known

FEATURES = Features({"n": Value("int64"), "t": Value("string"), "l": List(Value("int32"))})
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "t": st.none() | text,
            "l": st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=3),
        }
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(rows, st.integers(1, 5), st.integers(1, 400), st.booleans())
def test_rows_come_back(given_rows, batch, shard, declared):
    kind = builder_of(given_rows, FEATURES if declared else None)
    with tempfile.TemporaryDirectory() as cache:
        builder = kind(cache_dir=cache, writer_batch_size=batch)
        builder.download_and_prepare(max_shard_size=shard)
        data = builder.as_dataset("train")
        assert list(data) == given_rows
        assert known(builder).splits["train"].num_examples == len(given_rows)
        assert sum(known(builder).splits["train"].shard_lengths or [len(given_rows)]) == len(given_rows)
        if declared:
            assert data.features == FEATURES
        assert list(builder.as_streaming_dataset("train")) == given_rows


@settings(max_examples=20)
@given(
    st.lists(st.lists(st.none() | st.integers(0, 9) | st.floats(0, 1), max_size=4), min_size=1, max_size=6)
)
def test_tables_widen_to_hold_all(columns):
    tables = [pa.table({"a": pa.array(column)}) for column in columns]

    class Given(Tables):
        def _generate_tables(self, numbers, pid):
            yield from enumerate(tables)

    with tempfile.TemporaryDirectory() as cache:
        builder = Given(cache_dir=cache, hash="fixed")
        builder.download_and_prepare()
        assert builder.as_dataset("train")["a"][:] == [value for column in columns for value in column]


@given(st.lists(st.integers(), max_size=30), st.integers(0, 8))
def test_shares_are_all_there_in_order(items, workers):
    shares = share({"items": items, "fixed": (1, 2)}, workers)
    assert [item for one in shares for item in one["items"]] == items
    assert all(one["fixed"] == (1, 2) for one in shares)
    assert 1 <= len(shares) <= max(1, workers)
    sizes = [len(one["items"]) for one in shares]
    assert max(sizes) - min(sizes) <= 1
