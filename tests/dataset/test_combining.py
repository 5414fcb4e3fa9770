"""Datasets put together equal the lists of their rows put together."""

import pickle
import random
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.combine import concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset, DatasetDict
from gristmill.dataset.interleaving import interleaved_rows
from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError
from gristmill.features import ClassLabel, Features, Json, LargeList, List, Value
from gristmill.info import DatasetInfo
from gristmill.table.origins import Origins


def rows_of(*datasets):
    names = dict.fromkeys(name for ds in datasets for name in ds.column_names)
    return [{name: row.get(name) for name in names} for ds in datasets for row in ds.to_list()]


def test_one_after_another():
    a, b = Dataset.from_dict({"x": [1, 2], "y": ["a", "b"]}), Dataset.from_dict({"z": [True], "x": [3]})
    both = concatenate_datasets([a, b])
    assert both.column_names == ["x", "y", "z"]
    assert both.to_list() == rows_of(a, b)
    assert both.features == {"x": Value("int64"), "y": Value("string"), "z": Value("bool")}


@pytest.mark.parametrize(
    ("first", "second", "feature"),
    [
        ([None], ["x"], Value("string")),
        ([1], [1.5], Value("float64")),
        ([{"a": None}], [{"a": "x", "b": 1}], {"a": Value("string"), "b": Value("int64")}),
        ([[]], [["x"]], List(Value("string"))),
        ([[{"a": 1}]], [[{"b": None}]], List({"a": Value("int64"), "b": Value("null")})),
    ],
)
def test_types_widen_either_way(first, second, feature):
    one, other = Dataset.from_dict({"c": first}), Dataset.from_dict({"c": second})
    for pair in ([one, other], [other, one]):
        both = concatenate_datasets(pair)
        assert both.features["c"] == feature
        assert len(both) == 2


def test_large_and_small_forms():
    small = Dataset.from_dict({"c": [[1]]}, features=Features({"c": List(Value("int32"))}))
    large = Dataset.from_dict({"c": [[2]]}, features=Features({"c": LargeList(Value("int64"))}))
    both = concatenate_datasets([small, large])
    assert both.features == {"c": LargeList(Value("int64"))}
    assert both["c"][:] == [[1], [2]]


def test_class_labels():
    label = ClassLabel(names=["a", "b"])
    named = Dataset.from_dict({"c": [0, 1]}, features=Features({"c": label}))
    assert concatenate_datasets([Dataset.from_dict({"c": [None]}), named]).features == {"c": label}
    assert concatenate_datasets([named, named])["c"][:] == [0, 1, 0, 1]
    for other in (Dataset.from_dict({"c": [1]}), named.cast_column("c", ClassLabel(names=["b", "a"]))):
        with pytest.raises(SchemaConflictError, match=r'column "c".*dataset 1'):
            concatenate_datasets([named, other])


def test_types_that_nothing_holds():
    with pytest.raises(SchemaConflictError, match='column "c"'):
        concatenate_datasets([Dataset.from_dict({"c": [1]}), Dataset.from_dict({"c": ["x"]})])
    big = Dataset.from_dict({"c": [2**53 + 1]})
    with pytest.raises(CastError, match='column "c"'):
        concatenate_datasets([big, Dataset.from_dict({"c": [1.5]})])


def test_what_is_no_list_of_datasets():
    ds = Dataset.from_dict({"a": [1]})
    functions: list[Any] = [concatenate_datasets, interleave_datasets]
    for function in functions:
        with pytest.raises(ValueError, match="empty"):
            function([])
        with pytest.raises(ValueError, match="is int"):
            function([ds, 1])
        with pytest.raises(ValueError, match=r'dataset\["t"\]'):
            function([DatasetDict({"t": ds})])
    with pytest.raises(ValueError, match="axis"):
        concatenate_datasets([ds], axis=2)


def test_side_by_side():
    a = Dataset.from_dict({"x": [1, 2, 3]}).shuffle(seed=1)
    b = Dataset.from_dict({"y": ["a", "b", "c"]}).select([2, 1, 0])
    both = concatenate_datasets([a, b], axis=1)
    assert both.to_list() == [{**one, **other} for one, other in zip(a, b, strict=True)]
    assert both.features == {"x": Value("int64"), "y": Value("string")}
    assert both.select([2])[0] == {**a[2], **b[2]}
    empty = concatenate_datasets([a.select([]), b.select([])], axis=1)
    assert (empty.column_names, len(empty)) == (["x", "y"], 0)
    with pytest.raises(ValueError, match="3, 0"):
        concatenate_datasets([a, b.select([])], axis=1)
    with pytest.raises(ValueError, match="twice: x"):
        concatenate_datasets([a, a], axis=1)


def test_what_is_known():
    a = Dataset.from_dict({"x": [1]}, info=DatasetInfo(description="one"), split="train")
    b = Dataset.from_dict({"x": [2]}, info=DatasetInfo(description="two"))
    assert concatenate_datasets([a, b]).description == "one\n\ntwo"
    given_info = DatasetInfo(description="mine")
    named = concatenate_datasets([a, b], info=given_info, split="all")
    assert (named.description, named.split) == ("mine", "all")
    assert given_info.features is None
    assert concatenate_datasets([a.with_format("numpy"), b]).format["type"] is None
    assert concatenate_datasets([a.with_format("numpy"), b.with_format("numpy")]).format["type"] == "numpy"


def test_fingerprints():
    a, b = Dataset.from_dict({"x": [1]}), Dataset.from_dict({"x": [2]})
    assert concatenate_datasets([a, b])._fingerprint == concatenate_datasets([a, b])._fingerprint
    seen = {
        concatenate_datasets([a, b])._fingerprint,
        concatenate_datasets([b, a])._fingerprint,
        interleave_datasets([a, b])._fingerprint,
        a._fingerprint,
    }
    assert len(seen) == 4


def test_hundred_files_stay_where_they_are(tmp_path):
    for number in range(100):
        Dataset.from_dict({"x": range(number, number + 3)}).save_to_disk(tmp_path / str(number))
    several = [Dataset.load_from_disk(tmp_path / str(number)) for number in range(100)]
    start = time.perf_counter()
    both = concatenate_datasets(several)
    assert time.perf_counter() - start < 1
    assert both["x"][:] == [value for number in range(100) for value in range(number, number + 3)]
    assert len(both.cache_files) == 100
    assert len(pickle.dumps(both)) < 40_000
    assert pickle.loads(pickle.dumps(both)).to_list() == both.to_list()
    part = concatenate_datasets([several[0].select([2, 0]), several[1].skip(1)])
    assert part["x"][:] == pickle.loads(pickle.dumps(part))["x"][:] == [2, 0, 2, 3]
    sliced = concatenate_datasets([several[0].skip(1), several[1].skip(2)])
    assert sliced["x"][:] == pickle.loads(pickle.dumps(sliced))["x"][:] == [1, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([1, -1])), min_size=1, max_size=6
    )
)
def test_cuts_of_one_dataset_put_together_again(cuts):
    """What follows each other in the same rows becomes one range of them; in any other order nothing changes."""
    table = pa.table({"x": list(range(10)), "y": list("abcdefghij")})
    whole = Dataset._from_parts(table, origins=Origins.single("s", None, "f", 10, 100))
    cut = [range(min(a, b), max(a, b))[::step] for a, b, step in cuts]
    joined = concatenate_datasets([whole.select(rows) for rows in cut])
    numbers = [row for rows in cut for row in rows]
    assert joined.to_dict() == {"x": numbers, "y": ["abcdefghij"[i] for i in numbers]}
    origins = joined.origins().column("row_index").to_pylist()
    assert origins == [100 + i for i in numbers]


def test_pieces_in_their_order_are_the_whole_again():
    ds = Dataset.from_dict({"x": list(range(100))})
    joined = concatenate_datasets([ds.shard(10, i, contiguous=True) for i in range(10)])
    [part] = joined._view.parts
    assert part.table is ds._view.parts[0].table
    assert part.selection == range(100)


def test_cuts_of_one_dataset_with_features_of_their_own():
    ds = Dataset.from_dict({"a": [0, 1, 0, 1], "b": ["w", "x", "y", "z"]})
    first, second = ds.select(range(2)), ds.select(range(2, 4))
    labels = second.cast_column("a", ClassLabel(names=["no", "yes"]))
    with pytest.raises(SchemaConflictError):
        concatenate_datasets([first, labels])
    other_order = second.select_columns(["b", "a"])
    joined = concatenate_datasets([first, other_order, first.remove_columns("b")])
    assert joined.column_names == ["a", "b"]
    assert joined.to_dict() == {"a": [0, 1, 0, 1, 0, 1], "b": ["w", "x", "y", "z", None, None]}
    again = concatenate_datasets([first, second])
    again.features["a"].dtype = "int8"
    assert first.features["a"].dtype == again.features["a"].dtype == "int64"


def test_origins_are_carried():
    table = pa.table({"a": [1, 2]})
    known = Dataset._from_parts(table, origins=Origins.single("org/name", "abc", "a.csv", 2))
    unknown = Dataset.from_dict({"a": [3]})
    assert concatenate_datasets([known, known.select([1])]).origins()["row_index"].to_pylist() == [0, 1, 1]
    mixed = concatenate_datasets([unknown, known])
    assert mixed.origins().to_pylist()[0] == dict.fromkeys(("source", "revision", "file", "row_index"))
    assert mixed.origins().to_pylist()[2]["row_index"] == 1
    assert mixed._view.origins is not None
    assert Origins.from_json(mixed._view.origins[0].to_json()) == mixed._view.origins[0]
    turns = interleave_datasets([known, unknown])
    assert turns.origins()["file"].to_pylist() == ["a.csv", None]
    assert known.sort("a", reverse=True).origins()["row_index"].to_pylist() == [1, 0]
    assert known.repeat(2).origins()["row_index"].to_pylist() == [0, 1, 0, 1]
    assert known.add_item({"a": 9}).origins()["row_index"].to_pylist() == [0, 1, None]


def test_add_item():
    label = ClassLabel(names=["no", "yes"])
    ds = Dataset.from_dict({"a": [1], "c": [0]}, features=Features({"a": Value("int8"), "c": label}))
    longer = ds.add_item({"a": 2, "c": "yes"}).add_item({"c": 1, "new": [1.5]}).add_item({})
    assert longer.to_list() == [
        {"a": 1, "c": 0, "new": None},
        {"a": 2, "c": 1, "new": None},
        {"a": None, "c": 1, "new": [1.5]},
        {"a": None, "c": None, "new": None},
    ]
    assert longer.features == {"a": Value("int8"), "c": label, "new": List(Value("float64"))}
    assert len(ds) == 1
    assert Dataset.from_dict({}).add_item({"a": "x"}).to_list() == [{"a": "x"}]
    assert Dataset.from_dict({"a": [None]}).add_item({"a": "x"}).to_list() == [{"a": None}, {"a": "x"}]
    assert Dataset.from_dict({"a": [[]]}).add_item({"a": [1]}).to_list() == [{"a": []}, {"a": [1]}]
    for item in ({"a": 300}, {"a": "s"}, {"c": "maybe"}, {"new": [1, "x"]}):
        with pytest.raises(ValueError, match='column "'):
            ds.add_item(item)
    with pytest.raises(InvalidArgumentError):
        ds.add_item([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(("times", "rows"), [(0, []), (-1, []), (1, [1, 2]), (3, [1, 2] * 3)])
def test_repeat(times, rows):
    ds = Dataset.from_dict({"a": [1, 2]})
    assert ds.repeat(times)["a"][:] == rows
    assert ds.repeat(times) is not ds


def test_repeating_many_rows_makes_no_row_numbers():
    ds = Dataset.from_dict({"a": range(600_000)}).repeat(3)
    assert (len(ds), ds[1_200_001]["a"], ds._indices) == (1_800_000, 1, None)


PAIR = [Dataset.from_dict({"i": [0, 1, 2]}), Dataset.from_dict({"i": range(10, 14)})]
THREE = [*PAIR, Dataset.from_dict({"i": range(20, 26)})]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 10, 20, 1, 11, 21, 2, 12, 22]),
        (
            {"stopping_strategy": "all_exhausted"},
            [0, 10, 20, 1, 11, 21, 2, 12, 22, 0, 13, 23, 1, 10, 24, 2, 11, 25],
        ),
        (
            {"stopping_strategy": "all_exhausted_without_replacement"},
            [0, 10, 20, 1, 11, 21, 2, 12, 22, 13, 23, 24, 25],
        ),
        ({"probabilities": [0.2, 0.3, 0.5], "seed": 42}, [20, 10, 21, 22, 0, 23, 24, 25]),
        (
            {"probabilities": [0.2, 0.3, 0.5], "seed": 42, "stopping_strategy": "all_exhausted"},
            [20, 10, 21, 22, 0, 23, 24, 25, 1, 11, 12, 20, 21, 22, 13, 10, 23, 2],
        ),
        (
            {
                "probabilities": [0.2, 0.3, 0.5],
                "seed": 42,
                "stopping_strategy": "all_exhausted_without_replacement",
            },
            [20, 10, 21, 22, 0, 23, 24, 25, 1, 11, 12, 13, 2],
        ),
        ({"probabilities": [0.0, 0.5, 0.5], "seed": 42}, [20, 10, 21, 22, 11, 23, 24, 25]),
    ],
)
def test_in_turns_as_datasets_does_it(options, expected):
    assert interleave_datasets(THREE, **options)["i"][:] == expected


def test_turns_of_odd_lists():
    empty = PAIR[0].select([])
    assert interleave_datasets([PAIR[0]])["i"][:] == [0, 1, 2]
    assert len(interleave_datasets([PAIR[0], empty])) == 0
    for strategy in ("all_exhausted", "all_exhausted_without_replacement"):
        assert interleave_datasets([PAIR[0], empty], stopping_strategy=strategy)["i"][:] == [0, 1, 2]
    never = interleave_datasets(
        PAIR, probabilities=[1.0, 0.0], stopping_strategy="all_exhausted_without_replacement"
    )
    assert never["i"][:] == [0, 1, 2]
    for probabilities in ([0.5], [0.5, 0.6], [1.5, -0.5]):
        with pytest.raises(ValueError, match="probabilities"):
            interleave_datasets(PAIR, probabilities=probabilities)
    with pytest.raises(ValueError, match="no rows"):
        interleave_datasets([PAIR[0], empty], probabilities=[0.5, 0.5])
    with pytest.raises(ValueError, match="stopping_strategy"):
        interleave_datasets(PAIR, stopping_strategy="never")
    mixed = interleave_datasets([Dataset.from_dict({"a": [1]}), Dataset.from_dict({"b": [1.5]})])
    assert mixed.to_list() == [{"a": 1, "b": None}, {"a": None, "b": 1.5}]


def slow_turns(lengths, probabilities, seed, strategy):
    """The documented meaning, one draw after another."""
    import numpy as np

    def draws():
        generator = np.random.default_rng(seed)
        while True:
            yield int(generator.choice(len(lengths), p=probabilities))

    starts = [sum(lengths[:k]) for k in range(len(lengths))]
    taken, given_once, rows = [0] * len(lengths), [False] * len(lengths), []
    for source in draws():
        if strategy == "all_exhausted_without_replacement" and given_once[source]:
            continue
        rows.append(starts[source] + taken[source])
        taken[source] += 1
        if taken[source] == lengths[source]:
            given_once[source], taken[source] = True, 0
            if strategy == "first_exhausted" or all(given_once):
                return rows
    return rows


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(0, 50),
    st.sampled_from(["first_exhausted", "all_exhausted", "all_exhausted_without_replacement"]),
)
def test_drawing_equals_drawing_one_by_one(sources, seed, strategy):
    lengths, weights = [rows for rows, _ in sources], [weight for _, weight in sources]
    probabilities = [weight / sum(weights) for weight in weights]
    found = interleaved_rows(lengths, probabilities, seed, strategy)
    assert found.tolist() == slow_turns(lengths, probabilities, seed, strategy)


values = st.fixed_dictionaries(
    {
        "i": st.one_of(st.none(), st.integers(-5, 5)),
        "s": st.one_of(st.none(), st.text(max_size=3)),
        "d": st.one_of(st.none(), st.fixed_dictionaries({"x": st.one_of(st.none(), st.integers(0, 3))})),
        "l": st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=2)),
    }
)
lists = st.lists(st.lists(values, max_size=6), min_size=1, max_size=4)
FEATURES = Features(
    {"i": Value("int64"), "s": Value("string"), "d": {"x": Value("int64")}, "l": List(Value("int64"))}
)


@settings(max_examples=60, deadline=None)
@given(lists, st.integers(0, 5), st.booleans(), st.booleans())
def test_concatenating_equals_adding_lists(several, seed, widen, mapped):
    datasets, expected = [], []
    chance = random.Random(seed)
    for rows in several:
        # Without features, a column of None and a struct of None have types of their own.
        ds = Dataset.from_list(rows, features=None if widen and rows else FEATURES)
        if mapped and rows:
            ds = ds.map(lambda row: {"i": row["i"]}).shuffle(seed=seed)
        if chance.random() < 0.5 and rows:
            chosen = chance.choices(range(len(rows)), k=3)
            ds = ds.select(chosen)
        elif chance.random() < 0.5:
            ds = ds.skip(1)
        datasets.append(ds)
        expected += ds.to_list()
    both = concatenate_datasets(datasets)
    names = list(FEATURES)
    assert both.to_list() == [{name: row[name] for name in names} for row in expected]
    assert both.sort("i").to_list() == sorted(
        both.to_list(), key=lambda row: (row["i"] is None, row["i"] or 0)
    )
    assert pickle.loads(pickle.dumps(both)).to_list() == both.to_list()
    assert both.flatten_indices().to_list() == both.to_list()


@pytest.mark.parametrize("seed", ["x", -1, 1.5, [1]])
def test_seeds_are_whole_numbers(seed):
    ds = Dataset.from_dict({"a": [1, 2]})
    kinds: list[Any] = [ds, ds.to_iterable_dataset()]
    for one in kinds:
        with pytest.raises(InvalidArgumentError, match="seed="):
            interleave_datasets([one, one], probabilities=[0.5, 0.5], seed=seed)


def test_a_row_added_below_nulls_keeps_what_is_known_beside_them():
    known = Features({"f": LargeList({"x": List(Json(), length=2), "t": Value("null")})})
    ds = Dataset.from_dict({"f": [[{"x": ["1", None], "t": None}], None]}, features=known)
    nothing_new = ds.add_item({"f": [{"x": ["null", 5], "t": None}]})
    assert nothing_new.features == known
    assert nothing_new[-1] == {"f": [{"x": ["null", 5], "t": None}]}
    found = ds.add_item({"f": [{"x": ["1", {"k": 2}], "t": 7}]})
    assert found.features == {"f": LargeList({"x": List(Json(), length=2), "t": Value("int64")})}
    assert found[-1] == {"f": [{"x": ["1", {"k": 2}], "t": 7}]}
    with pytest.raises(CastError):
        ds.add_item({"f": [{"x": ["1"], "t": 7}]})
    with pytest.raises(CastError):
        ds.add_item({"f": 5})
