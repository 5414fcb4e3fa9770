"""A dataset behaves as the list of its rows, whatever is done to it in whatever order."""

import pickle
import random
import tempfile

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.combine import concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset
from gristmill.features import Value
from gristmill.table.arrow_file import ArrowFileWriter

scalars = st.one_of(st.none(), st.integers(-(2**40), 2**40))
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "i": scalars,
            "s": st.one_of(st.none(), st.text(max_size=5)),
            "n": st.lists(st.integers(0, 9), max_size=3),
            "d": st.fixed_dictionaries(
                {"x": st.integers(0, 3), "y": st.one_of(st.none(), st.text(max_size=2))}
            ),
        }
    ),
    max_size=30,
)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("shuffle"), st.integers(0, 5)),
        st.tuples(st.just("filter"), st.integers(2, 4)),
        st.tuples(st.just("select"), st.integers(0, 10**6)),
        st.tuples(st.just("slice"), st.integers(0, 10)),
        st.tuples(st.just("shard"), st.integers(1, 3)),
        st.tuples(st.just("map_new"), st.integers(1, 3)),
        st.tuples(st.just("map_change"), st.integers(1, 3)),
        st.tuples(st.just("map_some"), st.integers(2, 3)),
        st.tuples(st.just("map_batched_double"), st.integers(1, 7)),
        st.tuples(st.just("rename"), st.integers(0, 0)),
        st.tuples(st.just("flatten"), st.integers(0, 0)),
        st.tuples(st.just("pickle"), st.integers(0, 0)),
        st.tuples(st.just("sort"), st.integers(0, 1)),
        st.tuples(st.just("concat"), st.integers(0, 3)),
        st.tuples(st.just("interleave"), st.integers(1, 3)),
        st.tuples(st.just("repeat"), st.integers(0, 2)),
        st.tuples(st.just("add"), st.integers(0, 9)),
        st.tuples(st.just("cast"), st.integers(0, 0)),
        st.tuples(st.just("same"), st.integers(0, 0)),
        st.tuples(st.just("save"), st.integers(1, 3)),
    ),
    max_size=6,
)


def number(row):
    return 0 if row["i"] is None else row["i"]


def apply(ds, rows, step, k):
    if step == "shuffle":
        order = np.random.default_rng(k).permutation(len(rows)).tolist()
        return ds.shuffle(seed=k), [rows[j] for j in order]
    if step == "filter":
        return ds.filter(lambda row: number(row) % k == 0), [r for r in rows if number(r) % k == 0]
    if step == "select":
        chosen = random.Random(k).choices(range(len(rows)), k=k % 9) if rows else []
        return ds.select(chosen), [rows[j] for j in chosen]
    if step == "slice":
        return ds.skip(k).take(7), rows[k:][:7]
    if step == "shard":
        return ds.shard(k, k - 1, contiguous=False), rows[k - 1 :: k]
    if step == "map_new":
        return ds.map(lambda row: {"new": number(row) + k}), [{**r, "new": number(r) + k} for r in rows]
    if step == "map_change":
        return ds.map(lambda row: {"s": f"{row['s']}{k}"}), [{**r, "s": f"{r['s']}{k}"} for r in rows]
    if step == "map_some":

        def some(row):
            if number(row) % k == 0:
                row["s"] = "changed"
            return row

        return ds.map(some), [{**r, "s": "changed"} if number(r) % k == 0 else r for r in rows]
    if step == "map_batched_double":

        def double(batch):
            return {name: [*values, *values] for name, values in batch.items()}

        out = []
        for j in range(0, len(rows), k):
            out += [*rows[j : j + k], *rows[j : j + k]]
        return ds.map(double, batched=True, batch_size=k), out
    if step == "rename":
        return ds.rename_column("n", "m").rename_column("m", "n"), rows
    if step == "flatten":
        return ds.flatten_indices(), rows
    return together(ds, rows, step, k) if step in TOGETHER else (pickle.loads(pickle.dumps(ds)), rows)


TOGETHER = {"sort", "concat", "interleave", "repeat", "add", "cast", "same", "save"}


def together(ds, rows, step, k):
    if step == "sort":
        there = [row for row in rows if row["i"] is not None]
        there.sort(key=lambda row: row["i"], reverse=bool(k))
        return ds.sort("i", reverse=bool(k)), there + [row for row in rows if row["i"] is None]
    if step == "concat":
        return concatenate_datasets([ds, ds.take(k), ds.skip(k)]), rows + rows[:k] + rows[k:]
    if step == "interleave":
        turns = [row for pair in zip(rows, rows[k:], strict=False) for row in pair]
        return interleave_datasets([ds, ds.skip(k)]), turns
    if step == "repeat":
        return ds.repeat(k), rows * k
    if step == "add":
        row = {**dict.fromkeys(ds.column_names), "i": k, "n": [k], "d": {"x": k, "y": None}}
        return ds.add_item(row), [*rows, row]
    if step == "cast":
        wide = ds.cast_column("i", Value("decimal128(20, 0)")).cast_column("i", Value("int64"))
        return wide.cast_column("s", Value("large_string")), rows
    if step == "same":
        return ds.map(lambda row: {**row}), rows
    with tempfile.TemporaryDirectory() as folder:
        ds.save_to_disk(f"{folder}/saved", num_shards=k)
        # The files stay readable as long as they are mapped.
        return Dataset.load_from_disk(f"{folder}/saved"), rows


def build(rows, chunks, folder):
    table = Dataset.from_list(rows).data.table
    if not rows:
        return Dataset.from_dict({"i": [], "s": [], "n": [], "d": []})
    size = max(1, len(rows) // chunks)
    pieces = pa.concat_tables([table.slice(j, size) for j in range(0, len(rows), size)])
    if folder is None:
        return Dataset(pieces)
    path = folder / f"{random.random()}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, pieces.schema) as stream:
        stream.write_table(pieces)
    return Dataset.from_file(str(path))


def check(ds, rows):
    assert len(ds) == len(rows)
    assert list(ds) == rows
    assert ds.to_list() == rows
    assert [ds[j] for j in range(len(rows))] == rows
    assert [ds[j] for j in range(-1, -len(rows) - 1, -1)] == rows[::-1]
    assert ds["s"][:] == [r["s"] for r in rows]
    assert ds["d"]["x"] == [r["d"]["x"] for r in rows]
    assert ds[::-2]["i"] == [r["i"] for r in rows[::-2]]
    back = [v for batch in ds.iter(3) for v in batch["n"]]
    assert back == [r["n"] for r in rows]


@settings(max_examples=60, deadline=None)
@given(rows_strategy.filter(bool), st.integers(1, 4), steps)
def test_chains_in_memory(rows, chunks, chain):
    ds = build(rows, chunks, None)
    for step, k in chain:
        ds, rows = apply(ds, rows, step, k)
    check(ds, rows)


@settings(max_examples=25, deadline=None)
@given(rows_strategy.filter(bool), st.integers(1, 4), steps)
def test_chains_on_disk(tmp_path_factory, rows, chunks, chain):
    ds = build(rows, chunks, tmp_path_factory.mktemp("chain"))
    for step, k in chain:
        ds, rows = apply(ds, rows, step, k)
    check(ds, rows)


@settings(max_examples=20, deadline=None)
@given(steps)
def test_chains_from_nothing(chain):
    ds = build([], 1, None)
    rows: list = []
    for step, k in chain:
        if step not in ("map_new", "add", "cast"):
            ds, rows = apply(ds, rows, step, k)
    assert len(ds) == 0
    assert list(ds) == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 39), max_size=60), st.integers(1, 40))
def test_batches_gathered_are_the_rows_asked_for(indices, chunk):
    table = pa.table(
        {"a": [f"text {i}" for i in range(40)], "b": range(40), "c": [[i] * (i % 3) for i in range(40)]}
    )
    ds = Dataset(pa.concat_tables([table.slice(j, chunk) for j in range(0, 40, chunk)]))
    got = ds[indices]
    assert got == {
        "a": [f"text {i}" for i in indices],
        "b": indices,
        "c": [[i] * (i % 3) for i in indices],
    }
    assert ds.__getitems__(indices) == [{"a": f"text {i}", "b": i, "c": [i] * (i % 3)} for i in indices]


def test_columns_of_different_chunks_beside_each_other(tmp_path):
    path = tmp_path / "a.arrow"
    with ArrowFileWriter(path, pa.schema({"a": pa.int64()})) as writer:
        writer.write_table(pa.table({"a": range(100)}))
    ds = Dataset.from_file(str(path)).shuffle(seed=1).map(lambda row: {"b": row["a"] * 2})
    ds = ds.filter(lambda row: row["b"] % 3 == 0).map(lambda row: {"c": row["a"] + row["b"]}).shuffle(seed=2)
    assert all(row["b"] == 2 * row["a"] and row["c"] == 3 * row["a"] for row in ds)
    assert sorted(ds["a"][:]) == list(range(0, 100, 3))
    assert ds.data.num_rows == len(ds)
