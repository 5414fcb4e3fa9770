"""Random trees of nodes: each resumes exactly, shares its rows, and gives what plain Python gives."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset
from gristmill.iterable import IterableDataset
from tests.iterable.proving import prove_resume, prove_sharding, rows_of

# A long run is asked for: GRISTMILL_TREES=2000 ./dev test tests/iterable
EXAMPLES = int(os.environ.get("GRISTMILL_TREES", "30"))
SHARED = EXAMPLES if "GRISTMILL_TREES" in os.environ else EXAMPLES // 2
pytestmark = pytest.mark.timeout(max(180, 2 * EXAMPLES))


def numbers(parts, size):
    for part in parts:
        for n in range(part * size, part * size + size):
            yield {"a": n}


def double(row):
    return {"b": row["a"] * 2}


def keyed(row):
    # Objects, of which a batch makes no Arrow columns; where keys differ, a batch has None for what a row lacks.
    return {"k": row["a"] % 3, "o": [row["a"]] * (row["a"] % 2)}


def plus(batch):
    return {"a": [n + 1 for n in batch["a"]]}


def even(row):
    return row["a"] % 2 == 0


def small(batch):
    return [n % 5 < 3 for n in batch["a"]]


def numpy_map(stream):
    return stream.with_format("numpy").map(lambda b: {"a": b["a"] + 1}, batched=True, batch_size=3)


STEPS = {
    "map": lambda s, n: s.map(double),
    "keys": lambda s, n: s.map(keyed),
    "batched": lambda s, n: s.map(plus, batched=True, batch_size=n + 1),
    "numpy": lambda s, n: numpy_map(s),
    "filter": lambda s, n: s.filter(even),
    "filter batched": lambda s, n: s.filter(small, batched=True, batch_size=n + 1),
    "shuffle": lambda s, n: s.shuffle(seed=n, buffer_size=n + 1, max_buffer_input_shards=n % 3 + 1),
    "skip": lambda s, n: s.skip(n),
    "take": lambda s, n: s.take(n * 3),
    "repeat": lambda s, n: s.repeat(n % 3),
    "select": lambda s, n: s.select_columns(["a"]),
    "shard": lambda s, n: s.shard(s.num_shards, n % s.num_shards) if s.num_shards else s,
    "reshard": lambda s, n: s.reshard(),
    # Machines that take turns at rows need the same number of workers each: `prove_sharding` shows that.
    "node": lambda s, n: s._split_by_node(n % 2, 2, "auto") if s.num_shards % 2 == 0 else s,
    "one format": lambda s, n: s.with_format(None),
}


def source(kind, size, shards):
    if kind == "table":
        rows = Dataset.from_dict({"a": list(range(size * shards))})
        return rows.to_iterable_dataset(num_shards=max(1, min(shards, len(rows))))
    return IterableDataset.from_generator(numbers, gen_kwargs={"parts": list(range(shards)), "size": size})


steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 6)), max_size=4)


@st.composite
def trees(draw):
    """Draws a function that makes the same tree again and again."""
    kinds = draw(
        st.lists(
            st.tuples(st.sampled_from(["table", "generator"]), st.integers(0, 5), st.integers(1, 4), steps),
            min_size=1,
            max_size=3,
        )
    )
    how = draw(st.sampled_from(["concatenate", "each once", "drawn"]))
    after = draw(steps)

    def grown(stream, several):
        for name, number in several:
            stream = STEPS[name](stream, number)
        return stream

    def make():
        streams = [
            grown(source(kind, size, shards), several).with_format(None).select_columns(["a"])
            for kind, size, shards, several in kinds
        ]
        if len(streams) == 1:
            joined = streams[0]
        elif how == "concatenate":
            joined = concatenate_datasets(streams)
        else:
            chances = [1 / len(streams)] * len(streams) if how == "drawn" else None
            joined = interleave_datasets(
                streams, chances, seed=5, stopping_strategy="all_exhausted_without_replacement"
            )
        return grown(joined, after)

    return make


@settings(max_examples=EXAMPLES)
@given(trees(), st.data())
def test_resume(make, data):
    rows = len(rows_of(make()))
    prove_resume(make, stops=sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=3))}))


@settings(max_examples=SHARED)
@given(trees())
def test_sharing(make):
    prove_sharding(make)


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 30), st.integers(1, 4), steps)
def test_rows_are_those_of_plain_python(rows, shards, several):
    stream = Dataset.from_dict({"a": list(range(rows))}).to_iterable_dataset(max(1, min(shards, rows)))
    plain = [{"a": n} for n in range(rows)]
    for name, n in several:
        if name in ("shard", "node", "reshard", "shuffle", "numpy"):
            continue
        stream = STEPS[name](stream, n)
        plain = {
            "map": lambda p, _: [{**r, **double(r)} for r in p],
            "keys": lambda p, _: [{**r, **keyed(r)} for r in p],
            "batched": lambda p, _: [{**r, "a": r["a"] + 1} for r in p],
            "filter": lambda p, _: [r for r in p if even(r)],
            "filter batched": lambda p, _: [r for r in p if r["a"] % 5 < 3],
            "skip": lambda p, n: p[n:],
            "take": lambda p, n: p[: n * 3],
            "repeat": lambda p, n: p * (n % 3),
            "select": lambda p, _: [{"a": r["a"]} for r in p],
            "one format": lambda p, _: p,
        }[name](plain, n)
    assert rows_of(stream) == plain
    if stream.features is not None and plain:
        assert stream.column_names == list(plain[0])


@pytest.mark.parametrize(
    "strategy", ["first_exhausted", "all_exhausted", "all_exhausted_without_replacement"]
)
@settings(max_examples=EXAMPLES // 2)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    weights=st.none() | st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_interleaving_one_by_one(strategy, lengths, weights):
    """Against the rule written down plainly, one draw after another."""
    if weights is not None:
        weights = weights[: len(lengths)]
        weights = [w / sum(weights) for w in weights] if sum(weights) else None
    streams = [
        IterableDataset.from_dict({"a": [100 * i + n for n in range(length)]})
        for i, length in enumerate(lengths)
    ]
    mixed = interleave_datasets(streams, weights, seed=1, stopping_strategy=strategy)
    assert [row["a"] for row in mixed] == plainly(lengths, weights, strategy)


def plainly(lengths, weights, strategy):
    draws = np.random.default_rng(1)
    chances = weights or [1] * len(lengths)
    found: list[int] = []
    at, done, turn = [0] * len(lengths), [c == 0 for c in chances], 0
    drawn = iter(draws.choice(len(lengths), size=1000, p=weights) if weights else ())
    while True:
        if strategy == "first_exhausted":
            if any(c and at[i] >= lengths[i] for i, c in enumerate(chances)):
                return found
        elif all(done):
            return found
        i = int(next(drawn)) if weights else turn % len(lengths)
        turn += 1
        if at[i] >= lengths[i]:
            done[i] = True
            continue
        found.append(100 * i + at[i])
        at[i] += 1
        if at[i] == lengths[i]:
            done[i] = True
            if strategy == "all_exhausted":
                at[i] = 0
