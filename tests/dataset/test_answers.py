"""What functions of `map` and `filter` may take and give back, in every format, and what no cache can know again."""

import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gristmill import Dataset, DatasetDict
from gristmill.dataset import filtering
from gristmill.errors import InvalidArgumentError

pl = pytest.importorskip("polars", reason="polars is not installed")
ROWS = list(range(6))


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": ROWS, "s": list("abcdef")})


OF_BATCHES = {
    "dict of lists": lambda a: {"k": [2 * x for x in a]},
    "dict of arrays": lambda a: {"k": np.array(a) * 2},
    "dict of series": lambda a: {"k": pl.Series(a) * 2},
    "dict of pandas series": lambda a: {"k": pd.Series(a) * 2},
    "dict of Arrow arrays": lambda a: {"k": pc.multiply(pa.array(a), 2)},
    "pandas": lambda a: pd.DataFrame({"k": a}) * 2,
    "polars": lambda a: pl.DataFrame({"k": a}) * 2,
    "arrow": lambda a: pa.table({"k": [2 * x for x in a]}),
    "record batch": lambda a: pa.RecordBatch.from_pydict({"k": [2 * x for x in a]}),
}


@pytest.mark.parametrize("answer", OF_BATCHES.values(), ids=OF_BATCHES)
def test_answers_for_batches(ds, answer):
    # A table is the whole answer; a dict says which columns are other ones.
    rest = {"a": ROWS, "s": list("abcdef")} if isinstance(answer([1]), dict) else {}
    made = ds.map(lambda batch: answer(list(batch["a"])), batched=True, batch_size=4)
    assert made.to_dict() == {**rest, "k": [2 * x for x in ROWS]}
    alone = ds.map(
        lambda batch: answer(list(batch["a"]) * 2), batched=True, batch_size=4, remove_columns=["a", "s"]
    )
    assert alone["k"][:] == [0, 2, 4, 6, 0, 2, 4, 6, 8, 10, 8, 10]


OF_ROWS = {
    "dict": lambda a: {"k": 2 * a},
    "numpy": lambda a: {"k": np.int64(2 * a)},
    "pandas": lambda a: pd.DataFrame({"k": [2 * a]}),
    "polars": lambda a: pl.DataFrame({"k": [2 * a]}),
    "arrow": lambda a: pa.table({"k": [2 * a]}),
}


@pytest.mark.parametrize("answer", OF_ROWS.values(), ids=OF_ROWS)
def test_answers_for_rows(ds, answer):
    rest = {"a": ROWS, "s": list("abcdef")} if isinstance(answer(1), dict) else {}
    made = ds.map(lambda row: answer(row["a"]))
    assert made.to_dict() == {**rest, "k": [2 * x for x in ROWS]}


CHANGES = {
    "pandas": lambda frame: frame.assign(k=frame["a"] * 2),
    "polars": lambda frame: frame.with_columns(k=pl.col("a") * 2),
    "arrow": lambda table: table.append_column("k", pc.multiply(table["a"], 2)),
    "numpy": lambda arrays: {"k": arrays["a"] * 2},
}
LARGE = {
    "pandas": lambda frame: frame["a"] > 2,
    "polars": lambda frame: frame["a"] > 2,
    "arrow": lambda table: pc.greater(table["a"], 2),
    "numpy": lambda arrays: arrays["a"] > 2,
}


def test_workers_take_and_give_frames(ds):
    made = ds.with_format("polars").map(CHANGES["polars"], batched=True, batch_size=2, num_proc=2)
    assert made.with_format(None).to_dict() == {"a": ROWS, "s": list("abcdef"), "k": [2 * x for x in ROWS]}


@pytest.mark.parametrize("name", CHANGES)
def test_functions_take_what_the_format_gives(ds, name):
    formatted = ds.with_format(name)
    for options in ({"batched": True, "batch_size": 4}, {"batched": False}):
        made = formatted.map(CHANGES[name], **options)
        assert made.format["type"] == name
        assert made.with_format(None)["k"][:] == [2 * x for x in ROWS]
    assert formatted.filter(LARGE[name], batched=True).with_format(None)["a"][:] == [3, 4, 5]


def test_everything_a_function_can_be_told(ds):
    def told(batch, indices, rank, mark):
        return {"k": [f"{a}{index}{rank in (0, 1)}{mark}" for a, index in zip(batch, indices, strict=True)]}

    for num_proc, inside in ((None, False), (2, True)):
        made = ds.map(
            told,
            batched=True,
            batch_size=2,
            with_indices=True,
            with_rank=True,
            input_columns="a",
            fn_kwargs={"mark": "!"},
            num_proc=num_proc,
        )
        assert made["k"][:] == [f"{a}{a}{inside}!" for a in ROWS]

    def chosen(a, s, index, rank, at):
        return (rank is None) and a == index == at and s == "c"

    kept = ds.filter(chosen, input_columns=["a", "s"], with_indices=True, with_rank=True, fn_kwargs={"at": 2})
    assert kept["a"][:] == [2]
    whole = ds.filter(
        lambda batch, indices: [len(indices) == 6 and i < 2 for i in indices],
        batched=True,
        batch_size=None,
        with_indices=True,
    )
    assert whole["a"][:] == [0, 1]


def test_a_function_that_can_not_be_hashed_is_named_once(ds, caplog):
    class Guarded:
        def __call__(self, row):
            return {"k": row["a"]}

        def __reduce_ex__(self, protocol):
            raise TypeError("it is bound to this process")

    root = logging.getLogger("gristmill")
    root.addHandler(caplog.handler)
    try:
        guarded = Guarded()
        made = [ds.map(guarded), ds.map(guarded), ds.map(Guarded())]
    finally:
        root.removeHandler(caplog.handler)
    assert [one["k"][:] for one in made] == [ROWS] * 3
    assert len({one._fingerprint for one in made}) == 3
    [said] = [record.getMessage() for record in caplog.records if "can't be hashed" in record.getMessage()]
    assert "Guarded can't be hashed (it is bound to this process)" in said
    assert "can't be found again by a later run" in said
    with pytest.raises(InvalidArgumentError, match="can't be sent to worker processes"):
        ds.map(guarded, num_proc=2)


def test_fingerprints_and_generators_of_ones_own(ds):
    parts = ds.train_test_split(
        shuffle=False, test_size=2, train_new_fingerprint="for-train", test_new_fingerprint="for-test"
    )
    assert {name: part._fingerprint for name, part in parts.items()} == {
        "train": "for-train",
        "test": "for-test",
    }
    assert parts["test"]["a"][:] == [4, 5]
    for make in (
        lambda: ds.map(lambda row: {"k": 1}, new_fingerprint="mine"),
        lambda: ds.filter(lambda row: True, new_fingerprint="mine"),
        lambda: ds.select([1], new_fingerprint="mine"),
        lambda: ds.select([1, 0]).flatten_indices(new_fingerprint="mine", disable_nullable=True),
    ):
        assert make()._fingerprint == "mine"
    splits = DatasetDict({"x": ds, "y": ds})
    orders = splits.shuffle(generators={"x": np.random.default_rng(1), "y": np.random.default_rng(2)})
    for name, seed in (("x", 1), ("y", 2)):
        assert orders[name]["a"][:] == ds.shuffle(generator=np.random.default_rng(seed))["a"][:]
    assert orders["x"]["a"][:] != orders["y"]["a"][:]


def test_stratified_parts_have_the_shares_of_the_whole():
    labels = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    ds = Dataset.from_dict({"i": range(100), "y": labels}).class_encode_column("y")
    for options in ({"test_size": 0.2}, {"test_size": 20}, {"train_size": 80}, {"train_size": 0.8}):
        parts = ds.train_test_split(stratify_by_column="y", seed=5, **options)
        counted = {name: np.bincount(part["y"][:]).tolist() for name, part in parts.items()}
        assert counted == {"train": [48, 24, 8], "test": [12, 6, 2]}
        assert sorted(parts["train"]["i"][:] + parts["test"]["i"][:]) == list(range(100))
        assert all(labels[i] == "abc"[y] for part in parts.values() for i, y in zip(part["i"], part["y"], strict=True))  # fmt: skip


def test_rows_of_a_mapped_file_are_copied_only_where_they_must_be(tmp_path):
    Dataset.from_dict({"i": range(1000), "s": [str(i) for i in range(1000)]}).save_to_disk(tmp_path / "d")
    ds = Dataset.load_from_disk(tmp_path / "d")
    buffer = ds.data.column("i").chunk(0).buffers()[1]

    def is_in_file(address):
        return buffer.address <= address < buffer.address + buffer.size

    table = ds.with_format("arrow")[10:20]
    assert is_in_file(table["i"].chunk(0).buffers()[1].address)
    assert is_in_file(ds.with_format("arrow")["i"][:].chunk(0).buffers()[1].address)
    frame = ds.with_format("polars")[:]
    assert is_in_file(frame["i"].to_arrow().buffers()[1].address)
    # An array belongs to the caller, who may write to it; the file may not change.
    array = ds.with_format("numpy")[10:20]["i"]
    array += 1
    assert array.tolist() == list(range(11, 21))
    assert ds[10:20]["i"] == list(range(10, 20))


@pytest.mark.parametrize("batched", [False, True])
def test_a_filter_finds_rows_many_blocks_at_once(batched, monkeypatch):
    monkeypatch.setattr(filtering, "_BLOCKS_AT_ONCE", 2)
    ds = Dataset.from_dict({"i": list(range(5000))}).select(range(100, 4900))

    def odd(row):
        return [value % 3 == 1 for value in row["i"]] if batched else row["i"] % 3 == 1

    assert ds.filter(odd, batched=batched, batch_size=700)["i"] == [i for i in range(100, 4900) if i % 3 == 1]
