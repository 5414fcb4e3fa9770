"""Rows as a `tf.data.Dataset`."""

import os
import sys

import numpy as np
import pytest

from gristmill import Dataset
from gristmill.errors import (
    InvalidArgumentError,
    MissingDependencyError,
    TransformError,
    TransformOutputError,
    WorkerDiedError,
)
from tests.frameworks import framework


@pytest.fixture
def tf():
    return framework("tensorflow")


@pytest.fixture
def ds():
    return Dataset.from_dict(
        {
            "i": list(range(10)),
            "f": [i / 2 for i in range(10)],
            "b": [i % 2 == 0 for i in range(10)],
            "s": [f"t{i}" for i in range(10)],
            "l": [[i, i + 1] for i in range(10)],
            "r": [list(range(i % 4)) for i in range(10)],
            "label": [i % 3 for i in range(10)],
        }
    )


def plain(element):
    if isinstance(element, dict):
        return {name: plain(value) for name, value in element.items()}
    if isinstance(element, tuple):
        return tuple(map(plain, element))
    if hasattr(element, "numpy") and isinstance(element.numpy(), bytes):
        return element.numpy()
    if hasattr(element, "row_lengths"):
        return element.to_list()
    return element.numpy().tolist()


def test_not_installed(monkeypatch, ds):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingDependencyError, match=r"gristmill\[tensorflow\]"):
        ds.to_tf_dataset(batch_size=2)


def test_all_columns_in_batches(tf, ds):
    made = ds.to_tf_dataset(batch_size=4)
    batches = [plain(batch) for batch in made]
    assert [batch["i"] for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[0]["b"] == [1, 0, 1, 0]
    assert batches[0]["s"] == [b"t0", b"t1", b"t2", b"t3"]
    assert batches[2]["l"] == [[8, 9], [9, 10]]
    assert batches[0]["r"] == [[], [0], [0, 1], [0, 1, 2]]
    spec = made.element_spec
    assert (spec["i"].dtype, spec["f"].dtype, spec["s"].dtype) == (tf.int64, tf.float32, tf.string)
    assert spec["l"].shape.as_list() == [None, 2]
    assert len(made) == 3


def test_inputs_and_labels(ds, tf):
    first = next(iter(ds.to_tf_dataset(batch_size=2, columns="f", label_cols="label")))
    assert plain(first) == ([0.0, 0.5], [0, 1])
    first = next(iter(ds.to_tf_dataset(batch_size=2, columns=["f", "i"], label_cols=["label", "b"])))
    assert plain(first) == ({"f": [0.0, 0.5], "i": [0, 1]}, {"label": [0, 1], "b": [1, 0]})
    assert plain(next(iter(ds.to_tf_dataset(batch_size=2, columns=["i"])))) == [0, 1]


def test_single_rows_and_a_last_batch_left_out(ds, tf):
    made = ds.to_tf_dataset(columns=["i", "r", "s"])
    assert [plain(row)["i"] for row in made] == list(range(10))
    assert plain(list(made)[3]) == {"i": 3, "r": [0, 1, 2], "s": b"t3"}
    made = ds.to_tf_dataset(batch_size=4, columns="l", drop_remainder=True, prefetch=False)
    assert made.element_spec.shape.as_list() == [4, 2]
    assert len(list(made)) == len(made) == 2


def test_shuffled_anew_each_epoch_and_by_the_seed(ds, tf):
    def epochs():
        tf.random.set_seed(7)
        made = ds.to_tf_dataset(batch_size=3, columns="i", shuffle=True)
        return [[row for batch in made for row in plain(batch)] for _ in range(3)]

    first = epochs()
    assert all(sorted(rows) == list(range(10)) for rows in first)
    assert first[0] != first[1] != first[2]
    assert epochs() == first


def pad(rows, to=0):
    width = max([to, *(len(row["r"]) for row in rows)])
    padded = np.zeros((len(rows), width), np.int32)
    for position, row in enumerate(rows):
        padded[position, : len(row["r"])] = row["r"]
    return {
        "padded": padded,
        "labels": [row["label"] for row in rows],
        "process": np.full(len(rows), os.getpid()),
    }


@pytest.mark.parametrize("workers", [0, 2])
def test_a_collate_function_may_rename_columns(ds, tf, workers):
    made = ds.to_tf_dataset(
        batch_size=4,
        columns=["padded", "process"],
        label_cols="label",
        collate_fn=pad,
        collate_fn_args={"to": 5},
        num_workers=workers,
    )
    found = [plain(batch) for batch in made]
    assert [labels for _, labels in found] == [[0, 1, 2, 0], [1, 2, 0, 1], [2, 0]]
    assert found[0][0]["padded"][3] == [0, 1, 2, 0, 0]
    assert made.element_spec[0]["padded"].shape.as_list() == [None, 5]
    processes = {process for inputs, _ in found for process in inputs["process"]}
    assert (os.getpid() in processes) == (workers == 0)


def test_a_collate_function_that_gives_tensors_and_single_rows(ds, tf):
    made = ds.to_tf_dataset(
        columns="x", collate_fn=lambda rows: {"x": tf.constant([row["i"] * 2.0 for row in rows])}
    )
    assert [plain(row) for row in made] == [i * 2.0 for i in range(10)]


def test_a_transform_is_applied(ds, tf):
    made = ds.with_transform(lambda batch: {"x": [i + 0.5 for i in batch["i"]]}).to_tf_dataset(batch_size=10)
    assert plain(next(iter(made))) == {"x": [i + 0.5 for i in range(10)]}


def boom(rows):
    if any(row["i"] == 7 for row in rows):
        raise ZeroDivisionError("seven")
    return {"i": [row["i"] for row in rows]}


def die(rows):
    if len(rows) > 2:
        os._exit(1)
    return {"i": [row["i"] for row in rows]}


def test_collate_functions_that_fail(ds, tf):
    with pytest.raises(TransformError, match=r"boom.*ZeroDivisionError: seven"):
        ds.to_tf_dataset(batch_size=4, columns="i", collate_fn=boom)
    with pytest.raises(TransformOutputError, match="dict of arrays"):
        ds.to_tf_dataset(batch_size=4, columns="i", collate_fn=len)
    made = ds.to_tf_dataset(batch_size=5, columns="i", collate_fn=die, num_workers=1)
    with pytest.raises(tf.errors.OpError, match=WorkerDiedError.__name__):
        list(made)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_cols": "label"}, "needs columns="),
        ({"columns": ["i", "i"]}, "each column once"),
        ({"columns": "x"}, 'no column "x"'),
        ({"columns": "i", "label_cols": "x"}, 'no column "x"'),
        ({"columns": 3}, "column"),
        ({"batch_size": 0}, "batch_size"),
        ({"num_workers": -1}, "num_workers"),
        ({"batch_size": None, "num_workers": 1}, "needs batch_size="),
        ({"collate_fn": 3}, "collate_fn"),
    ],
)
def test_odd_arguments(ds, tf, options, words):
    with pytest.raises(InvalidArgumentError, match=words):
        ds.to_tf_dataset(**{"batch_size": 2, **options})


@pytest.mark.parametrize(
    "values", [[{"a": 1}], [["a", None]], ["a", None], [[[1], [2, 3]]], [None, [1]]], ids=str
)
def test_columns_that_are_no_tensors(tf, values):
    with pytest.raises(InvalidArgumentError, match='"x"'):
        list(Dataset.from_dict({"x": values}).to_tf_dataset(batch_size=2))


def test_what_shows_in_late_batches_only(tf):
    late = Dataset.from_dict({"x": [[1, 2]] * 999 + [[1]] + [[1, 2]] * 1000})
    with pytest.raises(tf.errors.OpError, match="differ in length in some batches only"):
        list(late.to_tf_dataset(batch_size=100, num_test_batches=2))
    late = Dataset.from_dict({"x": [1] * 999 + [None] + [1] * 1000})
    with pytest.raises(tf.errors.OpError, match="None among whole numbers"):
        list(late.to_tf_dataset(batch_size=100, num_test_batches=2))


def test_no_rows(tf):
    with pytest.raises(InvalidArgumentError, match="no rows"):
        Dataset.from_dict({"x": []}).to_tf_dataset(batch_size=1)
