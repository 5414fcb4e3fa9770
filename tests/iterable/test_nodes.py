"""Every node resumes exactly, and shares its rows evenly."""

import functools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset
from gristmill.features import Features, Value
from gristmill.iterable import IterableDataset
from tests.iterable.proving import prove_resume, prove_sharding, rows_of

ROWS = 23


def table(rows=ROWS, num_shards=5, start=0):
    values = {"a": list(range(start, start + rows)), "t": [f"t{n}" for n in range(start, start + rows)]}
    return Dataset.from_dict(values).to_iterable_dataset(num_shards=num_shards)


def generate(parts, step):
    for part in parts:
        for n in range(part, part + step):
            yield {"a": n, "t": f"t{n}"}


def generated(features=None):
    return IterableDataset.from_generator(
        generate, features, gen_kwargs={"parts": [0, 4, 8, 12, 16], "step": 4}
    )


@functools.cache
def folder(tmp):
    data = pa.table({"a": range(30), "t": [f"t{n}" for n in range(30)]})
    for number in range(3):
        pq.write_table(data.slice(number * 10, 10), tmp / f"p{number}.parquet", row_group_size=4)
    pq.write_table(data, tmp / "one.parquet", row_group_size=7)
    lines = data.to_pylist()
    for number in range(2):
        part = lines[number * 15 : number * 15 + 15]
        (tmp / f"l{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        (tmp / f"c{number}.csv").write_text("a,t\n" + "".join(f"{row['a']},{row['t']}\n" for row in part))
        (tmp / f"x{number}.txt").write_text("".join(row["t"] + "\n" for row in part))
    return tmp


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return folder(tmp_path_factory.mktemp("files"))


def odd_keys(row):
    return {"b": row["a"], **({"c": [row["a"]]} if row["a"] % 3 else {})}


def twice(batch):
    return {"a": [n for n in batch["a"] for _ in (0, 1)]}


def some(batch):
    return {"s": [sum(batch["a"])]}


def add(row, index):
    return {"i": row["a"] - index}


async def later(row):
    return {"b": row["a"] + 1}


NODES = {
    "table": table,
    "empty": lambda: Dataset.from_dict({"a": []}).to_iterable_dataset(),
    "one shard": lambda: table(num_shards=1),
    "chosen rows": lambda: Dataset.from_dict({"a": range(40)}).shuffle(seed=1).to_iterable_dataset(3),
    "generator": generated,
    "generator with features": lambda: generated(Features({"a": Value("int32"), "t": Value("string")})),
    "map": lambda: table().map(lambda row: {"b": row["a"] * 2}),
    "map of rows with other keys": lambda: table().map(odd_keys),
    "map in place": lambda: table().map(lambda row: row.update(a=row["a"] + 1) or row),
    "map with columns": lambda: table().map(lambda a: {"b": a}, input_columns="a", remove_columns=["a"]),
    "map with features": lambda: table().map(
        lambda row: {"b": row["a"]},
        remove_columns=["t"],
        features=Features({"a": Value("int64"), "b": Value("int8")}),
    ),
    "map of coroutines": lambda: table().map(later),
    "map batched": lambda: table().map(lambda batch: {"b": batch["a"]}, batched=True, batch_size=4),
    "map to more rows": lambda: table().map(twice, batched=True, batch_size=3, remove_columns=["t"]),
    "map numpy": lambda: table().with_format("numpy").map(lambda b: {"b": b["a"] + 1}, batched=True),
    "filter": lambda: table().filter(lambda row: row["a"] % 3 == 0),
    "filter batched": lambda: table().filter(
        lambda batch: [n % 2 == 0 for n in batch["a"]], batched=True, batch_size=4
    ),
    "filter arrow": lambda: (
        table().with_format("arrow").filter(lambda t: [v > 5 for v in t["a"].to_pylist()], batched=True)
    ),
    "nothing left": lambda: table().filter(lambda row: False),
    "shuffle": lambda: table().shuffle(seed=3, buffer_size=6),
    "shuffle shards": lambda: table().shuffle(seed=3, buffer_size=1),
    "shuffle one by one": lambda: table().shuffle(seed=3, buffer_size=7, max_buffer_input_shards=1),
    "shuffle all": lambda: generated().shuffle(seed=4, buffer_size=100),
    "shuffle twice": lambda: (
        table().shuffle(seed=3, buffer_size=6).map(odd_keys).shuffle(seed=4, buffer_size=5)
    ),
    "skip": lambda: generated().skip(5),
    "take": lambda: generated().take(11),
    "skip known rows": lambda: table().skip(6),
    "take known rows": lambda: table().take(9),
    "skip more than there is": lambda: generated().skip(100),
    "take nothing": lambda: table().take(0),
    "skip after shuffle": lambda: table().shuffle(seed=1, buffer_size=4).skip(3).take(9),
    "repeat": lambda: table(7, 2).repeat(3),
    "repeat nothing": lambda: table().filter(lambda row: False).repeat(None),
    "repeat not at all": lambda: table().repeat(0),
    "columns": lambda: table().rename_column("a", "b").remove_columns("t"),
    "select": lambda: table().map(odd_keys).select_columns(["b", "a"]),
    "cast": lambda: table().cast(Features({"t": Value("large_string"), "a": Value("float32")})),
    "cast column": lambda: generated().cast_column("a", Value("float64")),
    "resolved": lambda: generated()._resolve_features(),
    "decode": lambda: table().decode(False),
    "reshard": lambda: Dataset.from_dict({"a": range(2500)}).to_iterable_dataset().reshard().skip(2480),
    "concatenate": lambda: concatenate_datasets([table(5, 2), table(4, 1, 100), generated()]),
    "concatenate and align": lambda: concatenate_datasets(
        [table(5, 2), IterableDataset.from_dict({"a": [1.5, 2.5], "z": [1, 2]})]
    ),
    "beside": lambda: concatenate_datasets(
        [table(), generated().rename_columns({"a": "c", "t": "d"})], axis=1
    ),
    "add column": lambda: table().add_column("z", list(range(ROWS))),
    "interleave": lambda: interleave_datasets([table(5, 2), table(9, 3, 100)]),
    "interleave all": lambda: interleave_datasets(
        [table(5, 2), table(9, 3, 100)], stopping_strategy="all_exhausted"
    ),
    "interleave each once": lambda: interleave_datasets(
        [table(5, 2), generated(), table(9, 3, 100)], stopping_strategy="all_exhausted_without_replacement"
    ),
    "interleave drawn": lambda: interleave_datasets(
        [table(5, 2), table(19, 3, 100)],
        probabilities=[0.3, 0.7],
        seed=3,
        stopping_strategy="all_exhausted_without_replacement",
    ),
    "interleave drawn first": lambda: interleave_datasets(
        [table(5, 2), table(19, 3, 100)], probabilities=[0.3, 0.7], seed=3
    ),
    "interleave drawn all": lambda: interleave_datasets(
        [table(3, 2), table(19, 3, 100)],
        probabilities=[0.5, 0.5],
        seed=3,
        stopping_strategy="all_exhausted",
    ),
    "batch": lambda: table().batch(4),
    "batch objects": lambda: table().map(odd_keys).batch(4, drop_last_batch=True),
    "batch by column": lambda: table().map(lambda row: {"k": row["a"] // 3}).batch(by_column="k"),
    "batch by arrow column": lambda: IterableDataset.from_dict({"k": [1, 1, 2, 2, 2, None, None, 3]}).batch(
        by_column="k"
    ),
    "numpy": lambda: table().with_format("numpy"),
    "arrow": lambda: table().with_format("arrow").map(lambda t: t.append_column("b", t["a"]), batched=True),
}

FILES = {
    "parquet": lambda d: IterableDataset.from_parquet(str(d / "p*.parquet")),
    "parquet with filters": lambda d: IterableDataset.from_parquet(
        str(d / "p*.parquet"), columns=["t"], filters=[("a", ">", 12)]
    ),
    "row groups": lambda d: IterableDataset.from_parquet(str(d / "one.parquet")).reshard(),
    "row groups shuffled": lambda d: (
        IterableDataset.from_parquet(str(d / "one.parquet")).reshard().shuffle(seed=2, buffer_size=5)
    ),
    "shuffled and resharded": lambda d: (
        IterableDataset.from_parquet(str(d / "p*.parquet")).shuffle(seed=2, buffer_size=1).reshard()
    ),
    "json": lambda d: IterableDataset.from_json(str(d / "l*.jsonl"), chunksize=64),
    "csv": lambda d: IterableDataset.from_csv(str(d / "c*.csv")),
    "text": lambda d: IterableDataset.from_text(str(d / "x*.txt")),
    "json skip": lambda d: IterableDataset.from_json(str(d / "l*.jsonl")).skip(4),
    "row groups skip": lambda d: (
        IterableDataset.from_parquet(str(d / "one.parquet")).reshard().skip(9).take(13)
    ),
    "parquet skip": lambda d: IterableDataset.from_parquet(str(d / "p*.parquet")).skip(4).take(20),
}

# What the whole stream is when it is shared depends on the sharing: each part is made into batches by itself, or stops
# when one of its own streams is at its end.
OWN_WAY = {
    "interleave": "stops",
    "interleave all": "again",
    "interleave drawn first": "stops",
    "interleave drawn all": "again",
    "batch": "lists",
    "batch objects": "drops",
    "batch by column": "lists",
    "batch by arrow column": "lists",
    "map to more rows": "",
}


@pytest.mark.parametrize("make", NODES.values(), ids=NODES)
def test_resumes_exactly(make):
    prove_resume(make)


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_files_resume_exactly(make, files):
    prove_resume(lambda: make(files))


def unlisted(row):
    names = list(row)
    return [dict(zip(names, values, strict=True)) for values in zip(*row.values(), strict=True)]


@pytest.mark.parametrize("name", [name for name in NODES if OWN_WAY.get(name, "") in ("", "lists")])
def test_shares_rows(name):
    prove_sharding(NODES[name], unlisted if OWN_WAY.get(name) == "lists" else lambda row: [row])


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_files_share_rows(make, files):
    prove_sharding(lambda: make(files))


@pytest.mark.parametrize("name", [name for name, way in OWN_WAY.items() if way == "stops"])
def test_shares_of_what_stops_early_have_nothing_in_common(name):
    stream = NODES[name]()
    parts = [rows_of(stream.shard(stream.num_shards, index)) for index in range(stream.num_shards)]
    seen = [row["a"] for part in parts for row in part]
    assert len(seen) == len(set(seen)) > 0


def test_for_ever():
    prove_resume(lambda: table(5, 2).repeat(None), stops=[0, 1, 4, 5, 6, 13], limit=17)
    prove_resume(
        lambda: interleave_datasets([table(2, 1).repeat(None), table(3, 1, 50).repeat(None)]),
        stops=[0, 1, 5, 10],
        limit=20,
    )


def test_values_are_those_of_the_dataset(files):
    wanted = [{"a": n, "t": f"t{n}"} for n in range(30)]
    for name in ("parquet", "row groups", "json", "csv"):
        assert rows_of(FILES[name](files)) == wanted, name
    assert rows_of(NODES["generator"]()) == wanted[:20]
    assert rows_of(table()) == wanted[:ROWS]
    mixed = rows_of(NODES["shuffle all"]())
    assert mixed != wanted[:20]
    assert sorted(mixed, key=lambda row: row["a"]) == wanted[:20]
    assert np.array_equal([row["a"] for row in NODES["numpy"]()], range(ROWS))


def test_files_that_are_skipped_are_not_read(tmp_path):
    for number in range(4):
        pq.write_table(
            pa.table({"a": range(number * 10, number * 10 + 10)}), tmp_path / f"p{number}.parquet", 4
        )
    stream = IterableDataset.from_parquet(str(tmp_path / "p*.parquet")).skip(17).take(9)
    assert stream.num_shards == 2
    for number in (0, 3):
        (tmp_path / f"p{number}.parquet").unlink()
    assert [row["a"] for row in stream] == list(range(17, 26))
    assert [row["a"] for row in stream.skip(2).take(3)] == [19, 20, 21]
    assert [row["a"] for row in stream.skip(100)] == []
