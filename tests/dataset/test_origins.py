"""Every row says where it came from, whatever has been done: a column that carries the same is the witness."""

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gristmill import concatenate_datasets, interleave_datasets, load_dataset
from gristmill.dataset import Dataset

NUMBERS = st.integers(0, 10_000)
STEPS = [
    "select", "shuffle", "sort", "filter", "skip", "shard", "repeat", "split", "concatenate", "interleave", "map", "map_batched",
    "add_column", "rename", "flatten_indices", "save", "pickle", "cast", "unknown",
]  # fmt: skip


def expected(ds):
    return [
        (None, None) if file is None else (file, row) for file, row in zip(ds["file"], ds["row"], strict=True)
    ]


def told(ds):
    return [(o["file"], o["row_index"]) for o in ds.origins().to_pylist()]


def step(ds, other, name, x, folder):
    n = len(ds)
    random = np.random.default_rng(x)
    if name == "select":
        return ds.select(random.integers(0, n, x % 9).tolist() if n else [])
    if name == "shuffle":
        return ds.shuffle(seed=x)
    if name == "sort":
        return ds.sort(["key", "row"], reverse=[bool(x % 2), bool(x % 3)])
    if name == "filter":
        return ds.filter(lambda row: row["key"] % (x % 3 + 2) > 0)
    if name == "skip":
        return ds.skip(x % 4)
    if name == "shard":
        return ds.shard(x % 3 + 1, 0, contiguous=bool(x % 2))
    if name == "repeat":
        return ds.repeat(x % 3) if n < 50 else ds
    if name == "split":
        return ds.train_test_split(test_size=1, seed=x)["train"] if n > 1 else ds
    if name == "concatenate":
        return concatenate_datasets([ds, other.shuffle(seed=x).take(3)])
    if name == "interleave":
        weights = [0.5, 0.5] if x % 2 else None
        return interleave_datasets([ds, other], probabilities=weights, seed=x) if n else ds
    if name == "map":
        return ds.map(lambda row: {"key": row["key"] * 3 % 7})
    if name == "map_batched":
        return ds.map(lambda b: {"key": [k + 1 for k in b["key"]]}, batched=True, batch_size=3)
    if name == "add_column":
        return ds.add_column("more", list(range(n))).remove_columns("more")
    if name == "rename":
        return ds.rename_column("key", "other").rename_column("other", "key")
    if name == "flatten_indices":
        return ds.flatten_indices()
    if name == "save":
        target = folder / f"saved-{random.integers(2**60)}"
        ds.save_to_disk(target, num_shards=x % 2 + 1)
        return Dataset.load_from_disk(target)
    if name == "pickle":
        return pickle.loads(pickle.dumps(ds))
    if name == "cast":
        kind = "int32" if ds.features["key"].dtype == "int64" else "int64"
        return ds.cast_column("key", type(ds.features["key"])(kind))
    # A row that comes from no file is of no known origin.
    made = Dataset(pa.table({"file": pa.nulls(1, pa.string()), "row": [x], "key": [1]}))
    return concatenate_datasets([ds, made.cast(ds.features)])


@example([("map", 0), ("concatenate", 0), ("pickle", 0)])
@example([("repeat", 134), ("concatenate", 0)])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(STEPS), NUMBERS), max_size=7))
def test_rows_know_where_they_came_from(tmp_path_factory, chain):
    folder = tmp_path_factory.mktemp("origins")
    files = []
    for name, rows in (("one", 7), ("two", 1), ("three", 5)):
        path = folder / f"{name}.csv"
        lines = [f"{path},{row},{row * 7 % 5}" for row in range(rows)]
        path.write_text("\n".join(["file,row,key", *lines]) + "\n")
        files.append(str(path))
    load = lambda paths: load_dataset("csv", data_files=paths, split="train", cache_dir=str(folder / "cache"))  # noqa: E731
    ds, other = load(files[:2]), load(files[2:])
    for name, x in chain:
        ds = step(ds, other, name, x, folder)
        assert told(ds) == expected(ds), name
    assert told(ds) == expected(ds)


def test_rows_made_of_several_have_no_origin(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    ds = load_dataset("csv", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert told(ds.batch(2)) == [(None, None)]
    assert told(ds.map(lambda b: {"a": [1]}, batched=True)) == [(None, None)]
