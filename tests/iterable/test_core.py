"""What users see: values, errors, formats, epochs, arguments."""

import copy
import functools
import json
import pickle
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from gristmill import IterableDatasetDict, concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset
from gristmill.distributed import split_dataset_by_node
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    FileFormatError,
    InvalidArgumentError,
    SplitNotFoundError,
    TransformError,
    TransformOutputError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.iterable import IterableDataset
from gristmill.iterable.workers import part_of
from tests.frameworks import framework


@pytest.fixture
def stream():
    return IterableDataset.from_dict({"a": [1, 2, 3], "t": ["x", "y", "z"]})


def numbers(parts):
    for part in parts:
        yield {"p": part}


# ---------------------------------------------------------------- values


def test_objects_stay_what_the_function_returned(stream):
    thing = object()
    rows = list(
        stream.map(lambda row: {"o": thing, "n": np.array([row["a"]])}).filter(lambda row: row["a"] > 1)
    )
    assert rows[0]["o"] is thing
    assert rows[0]["n"].tolist() == [2]
    batched = list(
        stream.map(lambda b: {"m": np.arange(6).reshape(3, 2)}, batched=True, remove_columns=["a", "t"])
    )
    assert [row["m"].tolist() for row in batched] == [[0, 1], [2, 3], [4, 5]]


def test_functions_see_plain_rows(stream):
    assert {type(row) for row in stream} == {dict}
    seen = []
    list(stream.map(lambda row: seen.append(type(row))))
    assert seen == [dict] * 3


def test_deleted_and_removed_columns(stream):
    def drop(row):
        del row["t"]
        return row

    assert list(stream.map(drop)) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert next(iter(stream.map(lambda row: {"t": 1}, remove_columns=["a", "t"]))) == {"t": 1}
    assert next(iter(stream.map(lambda b: {"t": [1] * 3}, batched=True, remove_columns="t"))) == {
        "a": 1,
        "t": 1,
    }

    def drop_column(batch):
        del batch["t"]
        return batch

    assert list(stream.map(drop_column, batched=True)) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert list(stream.map(lambda row: None)) == list(stream)


def test_tables_and_frames_are_answers(stream):
    arrow = stream.with_format("arrow").map(lambda t: t.append_column("b", t["a"]), batched=True)
    assert arrow.with_format(None).to_dict()["b"] == [1, 2, 3]
    pytest.importorskip("pandas")
    frames = stream.with_format("pandas").map(lambda df: df.assign(b=df["a"] * 2), batched=True)
    assert frames.with_format(None).to_dict()["b"] == [2, 4, 6]


def test_features_are_checked_and_kept(stream):
    label = ClassLabel(names=["x", "y", "z"])
    wanted = Features({"a": Value("int8"), "t": label})
    assert list(stream.map(lambda row: {}, features=wanted))[1] == {"a": 2, "t": 1}
    labels = IterableDataset.from_generator(lambda: iter([{"t": "z"}]), Features({"t": label}))
    assert list(labels) == [{"t": 2}]
    with pytest.raises(CastError, match="missing"):
        list(stream.map(lambda row: {}, features=Features({"b": Value("int8")})))
    assert stream.batch(2).features == Features({"a": List(Value("int64")), "t": List(Value("string"))})
    assert stream.map(lambda row: {}).features is None
    assert stream.map(lambda row: {})._resolve_features().features == stream.features
    assert stream.filter(lambda row: True).column_names == ["a", "t"]
    # A label that was not touched stays one.
    kept = IterableDataset.from_dict({"l": [0]}, Features({"l": label})).map(lambda row: {"b": 1})
    features = kept._resolve_features().features
    assert features is not None
    assert features["l"] == label


def test_columnar_from_end_to_end(monkeypatch):
    """map(batched), filter(batched) and numpy never make Python objects of rows."""
    for name in ("ChunkedArray", "Table"):
        assert hasattr(getattr(pa, name), "to_pylist")
    made = []
    monkeypatch.setattr("gristmill.formatting.python_rows.make_rows", lambda *args: made.append(args))
    monkeypatch.setattr("gristmill.iterable.columnar.make_rows", lambda *args: made.append(args))
    monkeypatch.setattr("gristmill.iterable.block.Columns.rows", made.append)
    stream = Dataset.from_dict({"a": range(5000)}).to_iterable_dataset().with_format("numpy")
    kept = stream.map(lambda b: {"b": b["a"] * 2}, batched=True).filter(
        lambda b: b["b"] % 3 == 0, batched=True
    )
    found = list(kept.iter(700))
    assert np.concatenate([batch["b"] for batch in found]).tolist() == [
        n for n in range(0, 10_000, 2) if n % 3 == 0
    ]
    assert all(isinstance(batch["b"], np.ndarray) for batch in found)
    assert made == []


def test_every_format(stream):
    assert isinstance(next(iter(stream.with_format("numpy")))["a"], np.integer)
    assert next(iter(stream.with_format("arrow").iter(2))).to_pydict() == {"a": [1, 2], "t": ["x", "y"]}
    pytest.importorskip("polars")
    assert len(next(iter(stream.with_format("polars").iter(2)))) == 2
    eager = Dataset.from_dict({"a": [1]}).with_format("numpy").to_iterable_dataset()
    assert isinstance(next(iter(eager))["a"], np.integer)


def test_columns(stream):
    assert list(stream["t"]) == ["x", "y", "z"]
    nested = IterableDataset.from_list([{"a": {"b": 1}}, {"a": {"b": 2}}])
    assert list(nested["a"]["b"]) == [1, 2]
    with pytest.raises(ColumnNotFoundError):
        list(stream["nope"])


# ---------------------------------------------------------------- what is asked ahead, and errors


def test_rows_come_before_the_error(stream):
    def fail(row):
        if row["a"] == 3:
            raise KeyError("oh")
        return {"b": row["a"]}

    rows, found = iter(stream.map(fail)), []
    with pytest.raises(KeyError) as caught:
        found.extend(rows)
    assert isinstance(caught.value, TransformError)
    assert "row 2" in str(caught.value)
    assert len(found) in (0, 2)
    one_by_one = iter(stream.map(fail))
    assert [next(one_by_one), next(one_by_one)] == [{"a": 1, "t": "x", "b": 1}, {"a": 2, "t": "y", "b": 2}]
    with pytest.raises(KeyError):
        next(one_by_one)


def test_the_first_row_does_not_wait_for_others():
    called: list[dict[str, int]] = []
    stream = Dataset.from_dict({"a": range(5000)}).to_iterable_dataset().map(called.append)
    next(iter(stream))
    assert len(called) == 1


def test_skipping_errors(stream, caplog):
    def fail(row):
        return {"b": 1 // (row["a"] - 2)}

    assert [row["a"] for row in stream.map(fail, on_error="skip")] == [1, 3]
    assert "1 rows, which were left out" in caplog.text
    assert [row["a"] for row in stream.filter(lambda row: 1 // (row["a"] - 1), on_error="skip")] == [2]
    with pytest.raises(InvalidArgumentError, match="on_error"):
        stream.map(fail, on_error="ignore")


def test_answers_that_are_none(stream):
    with pytest.raises(TransformOutputError, match="row 0"):
        list(stream.map(lambda row: 5))
    with pytest.raises(TransformOutputError, match="different lengths"):
        list(stream.map(lambda b: {"b": [1], "c": [1, 2]}, batched=True))
    with pytest.raises(TransformOutputError, match=r"remove_columns=\['a', 't'\]"):
        list(stream.map(lambda b: {"b": [1]}, batched=True))
    with pytest.raises(TransformOutputError, match="answers"):
        list(stream.filter(lambda b: [True], batched=True))
    with pytest.raises(TransformOutputError, match="not a dict"):
        list(IterableDataset.from_generator(lambda: iter([1])))  # type: ignore[arg-type,return-value]


def test_a_generator_names_its_row():
    def rows():
        yield {"a": 1}
        raise OSError("gone")

    reading = iter(IterableDataset.from_generator(rows))
    assert next(reading) == {"a": 1}
    with pytest.raises(OSError, match=r"(?s)rows.*row 1.*gone"):
        next(reading)


def test_a_bad_row_names_file_and_row(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n2\nx\n")
    stream = IterableDataset.from_csv(str(tmp_path / "a.csv"), features=Features({"n": Value("int64")}))
    with pytest.raises(CastError, match=r'a\.csv.*row 2.*"n"'):
        list(stream)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FileFormatError, match=r"a\.parquet"):
        IterableDataset.from_parquet(str(tmp_path / "a.parquet"))


def test_one_dict_given_again_and_again():
    def rows():
        row = {}
        for n in range(5):
            row["a"] = n
            yield row

    assert [row["a"] for row in IterableDataset.from_generator(rows)] == list(range(5))


def test_generators_are_closed():
    closed = []

    def rows():
        try:
            yield from ({"a": n} for n in range(10_000))
        finally:
            closed.append(True)

    before = threading.active_count()
    reading = iter(IterableDataset.from_generator(rows).shuffle(seed=1).map(lambda row: row))
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert closed == [True]
    assert threading.active_count() == before


def test_empty_things_are_normal(tmp_path):
    empty = Dataset.from_dict({"a": []}, features=Features({"a": Value("int8")})).to_iterable_dataset()
    for made in (
        empty,
        empty.shuffle(seed=1),
        empty.batch(2),
        empty.repeat(None),
        empty.skip(1),
        empty.map(dict),
    ):
        assert list(made) == []
    some = IterableDataset.from_dict({"a": [1]})
    assert concatenate_datasets([empty, some]).to_dict() == {"a": [1]}
    assert IterableDataset.from_generator(numbers, gen_kwargs={"parts": []}).to_list() == []
    Dataset.from_dict({"a": []}, features=Features({"a": Value("int8")})).to_parquet(tmp_path / "e.parquet")
    assert IterableDataset.from_parquet(str(tmp_path / "e.parquet")).features == empty.features


# ---------------------------------------------------------------- states, epochs, copies


def test_states_are_checked(stream):
    with pytest.raises(InvalidArgumentError, match="another stream"):
        stream.load_state_dict(stream.map(lambda row: {}).state_dict())
    with pytest.raises(InvalidArgumentError, match="state_dict"):
        stream.load_state_dict({"a": 1})
    with pytest.raises(InvalidArgumentError, match="version 9"):
        stream.load_state_dict({**stream.state_dict(), "version": 9})


def test_a_state_brings_its_seeds_and_epoch():
    rows = Dataset.from_dict({"a": range(50)}).to_iterable_dataset(5)
    first = rows.shuffle(buffer_size=10)
    first.set_epoch(3)
    reading = iter(first)
    head = [next(reading) for _ in range(20)]
    other = rows.shuffle(buffer_size=10)  # draws another seed
    other.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert other.epoch == 3
    assert head + list(other) == list(first)
    other.load_state_dict(first.state_dict())
    other.set_epoch(4)
    assert len(list(other)) == 50, "another epoch starts at its beginning"


def test_epochs_reach_all_parts():
    def mixed():
        parts = [
            IterableDataset.from_generator(numbers, gen_kwargs={"parts": list(range(n, n + 20))}).shuffle(
                seed=0
            )
            for n in (0, 100)
        ]
        return interleave_datasets(
            parts, [0.5, 0.5], seed=1, stopping_strategy="all_exhausted_without_replacement"
        )

    orders = []
    for epoch in (0, 1, 1):
        stream = mixed()
        stream.set_epoch(epoch)
        orders.append([row["p"] for row in stream.map(lambda row: row)])
    assert orders[0] != orders[1] == orders[2]
    assert sorted(orders[0]) == sorted(orders[1])
    # take() and skip() say which rows are meant by their order, which stays.
    first = Dataset.from_dict({"a": range(20)}).to_iterable_dataset(10).take(5)
    later = first.shuffle(seed=1)
    later.set_epoch(5)
    assert sorted(row["a"] for row in later) == list(range(5))


def test_copies(stream):
    shuffled = stream.shuffle(seed=1).map(lambda row: {"b": row["a"]}).with_format("numpy")
    for made in (copy.copy(shuffled), copy.deepcopy(shuffled)):
        assert [row["a"] for row in made] == [row["a"] for row in shuffled]
    plain = stream.shuffle(seed=1).filter(functools.partial(np.all))
    reading = iter(plain)
    next(reading)
    sent = pickle.loads(pickle.dumps(plain))
    assert list(sent) == list(plain)


def test_repr(stream):
    assert repr(stream) == "IterableDataset({\n    features: ['a', 't'],\n    num_shards: 1\n})"
    assert "Unknown" in repr(stream.map(lambda row: {}))


# ---------------------------------------------------------------- sharing


def test_ranks_and_workers():
    stream = Dataset.from_dict({"a": range(24)}).to_iterable_dataset(num_shards=4)
    assert [row["a"] for row in split_dataset_by_node(stream, 1, 2)] == [*range(6, 12), *range(18, 24)]
    assert [row["a"] for row in split_dataset_by_node(stream, 1, 3)] == list(range(1, 24, 3))
    assert len(list(split_dataset_by_node(stream, 0, 3, strategy="shards"))) == 12
    assert [row["a"] for row in split_dataset_by_node(stream, 0, 2, strategy="examples")] == list(
        range(0, 24, 2)
    )
    assert split_dataset_by_node(Dataset.from_dict({"a": range(5)}), 1, 2)["a"][:] == [3, 4]
    for rank, world in ((-1, 2), (2, 2), (0, 0), (True, 2)):
        with pytest.raises(InvalidArgumentError):
            split_dataset_by_node(stream, rank, world)
    with pytest.raises(InvalidArgumentError, match="shards"):
        split_dataset_by_node(stream, 0, 5, strategy="shards")
    with pytest.raises(InvalidArgumentError, match="strategy"):
        split_dataset_by_node(stream, 0, 2, strategy="rows")
    with pytest.raises(InvalidArgumentError, match="strategy"):
        split_dataset_by_node(Dataset.from_dict({"a": range(5)}), 0, 2, strategy="shards")


def test_machines_that_take_turns_work_on_their_rows_only():
    called = []
    stream = Dataset.from_dict({"a": range(9)}).to_iterable_dataset()
    mine = split_dataset_by_node(
        stream.map(lambda row: called.append(row["a"])).rename_column("a", "b"), 1, 3
    )
    assert len(list(mine)) == 3
    batched = split_dataset_by_node(stream.map(lambda b: {"n": [len(b["a"])] * 9}, batched=True), 1, 3)
    assert [row["n"] for row in batched] == [9, 9, 9]


def test_more_readers_than_shards_cut_them():
    stream = Dataset.from_dict({"a": range(6000)}).to_iterable_dataset()
    parts = [list(stream._derive(part_of(stream._node, 3, index))) for index in range(3)]
    assert [len(part) for part in parts] == [2000, 2000, 2000]
    assert parts[0][:2] == [{"a": 0}, {"a": 1}], "neighbours stay together"


# ---------------------------------------------------------------- arguments

NO_NUMBERS = [None, True, 1.5, "1", -1]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda s, x: s.skip(x),
        lambda s, x: s.take(x),
        lambda s, x: s.shard(x, 0),
        lambda s, x: s.iter(x),
        lambda s, x: s.batch(x),
        lambda s, x: s.shuffle(buffer_size=x),
        lambda s, x: s.set_epoch(x),
        lambda s, x: s.repeat("x" if x is None else x),
        lambda s, x: s.shuffle(seed="x" if x is None else x),
        lambda s, x: s.decode(num_threads="x" if x is None else x),
        lambda s, x: IterableDataset.from_dict({"a": [1]}, num_shards=x),
    ],
)
def test_numbers_are_checked_at_the_call(stream, call, value):
    with pytest.raises(InvalidArgumentError):
        call(stream, value)


def test_other_arguments_are_checked_at_the_call(stream):
    for call in (
        lambda: stream.map(5),
        lambda: stream.shard(2, 0),
        lambda: stream.shard(1, 1),
        lambda: stream.batch(0),
        lambda: stream.with_format("nope"),
        lambda: stream.cast(Features({"a": Value("int8")})),
        lambda: stream.rename_column("a", "t"),
        lambda: stream.map(lambda row: {}).decode(),
        lambda: stream.shuffle(generator=1),
        lambda: stream.shuffle(1, np.random.default_rng()),
        lambda: IterableDataset(5),  # type: ignore[arg-type]
        lambda: IterableDataset.from_generator(5),  # type: ignore[arg-type]
        lambda: IterableDataset.from_generator(numbers, gen_kwargs={"parts": [1], "more": [1, 2]}),
        lambda: IterableDataset.from_csv("x.csv", nope=1),
        lambda: stream.add_column("a", [1, 2, 3]),
        lambda: concatenate_datasets([stream, stream], axis=1),
        lambda: concatenate_datasets([stream, stream], axis=2),
        lambda: concatenate_datasets([stream, Dataset.from_dict({"a": [1]})]),
        lambda: concatenate_datasets([IterableDatasetDict({"train": stream})]),  # type: ignore[type-var]
        lambda: interleave_datasets([stream], [0.5]),
        lambda: interleave_datasets([stream], stopping_strategy="nope"),
        lambda: Dataset.from_dict({"a": [1]}).to_iterable_dataset(2),
    ):
        with pytest.raises(InvalidArgumentError):
            call()
    for call in (
        lambda: stream.remove_columns("z"),
        lambda: stream.select_columns(["z"]),
        lambda: stream.cast_column("z", Value("int8")),
        lambda: stream.map(lambda row: {}, remove_columns=["z"]),
        lambda: stream.filter(lambda z: True, input_columns="z"),
        lambda: stream.batch(by_column="z"),
    ):
        with pytest.raises(ColumnNotFoundError):
            call()
    with pytest.raises(ColumnNotFoundError):  # the columns are only known when rows are read
        list(stream.map(lambda row: {}).select_columns("z"))


def test_generators_of_seeds_stay_as_they_were(stream):
    generator = np.random.default_rng(5)
    before = generator.bit_generator.state
    first, second = stream.shuffle(generator=generator), stream.shuffle(generator=generator)
    assert generator.bit_generator.state == before
    assert list(first) == list(second)


def test_splits(stream, tmp_path):
    parts = IterableDatasetDict({"train": stream, "test": stream.take(1)})
    doubled = parts.map(lambda row, split: {"s": split}, with_split=True)
    assert next(iter(doubled["test"])) == {"a": 1, "t": "x", "s": "test"}
    renamed = (
        parts.rename_column("a", "b").remove_columns("t").cast_column("b", Value("string")).with_format(None)
    )
    assert list(renamed["test"]) == [{"b": "1"}]
    assert parts.select_columns("a").column_names == {"train": ["a"], "test": ["a"]}
    assert parts.num_columns == {"train": 2, "test": 2}
    with pytest.raises(SplitNotFoundError, match="dev"):
        parts["dev"]
    assert repr(parts).startswith("IterableDatasetDict({\n    train: IterableDataset({\n        features")
    for name in ("train", "test"):
        Dataset.from_dict({"a": [name]}).to_parquet(tmp_path / f"{name}.parquet")
    both = IterableDataset.from_parquet({n: str(tmp_path / f"{n}.parquet") for n in ("train", "test")})
    assert {name: next(iter(part))["a"] for name, part in both.items()} == {"train": "train", "test": "test"}
    assert both["test"].split == "test"


# ---------------------------------------------------------------- torch


def test_no_torch_is_imported():
    code = (
        "import sys\nfrom gristmill import Dataset\n"
        "next(iter(Dataset.from_dict({'a': [1]}).to_iterable_dataset().shuffle(seed=1)))\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.filterwarnings(
    "ignore:This DataLoader will create"
)  # more workers than processors are the point
def test_workers_of_a_data_loader():
    stream = (
        Dataset.from_dict({"a": range(24)}).to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=5)
    )
    torch = framework("torch")
    assert isinstance(stream, torch.utils.data.IterableDataset)
    for workers in (0, 2, 5):
        loader = torch.utils.data.DataLoader(
            stream, batch_size=5, num_workers=workers, persistent_workers=workers > 0
        )
        orders = []
        for epoch in (0, 1):
            stream.set_epoch(epoch)
            orders.append([int(n) for batch in loader for n in batch["a"]])
        assert sorted(orders[0]) == sorted(orders[1]) == list(range(24))
        assert orders[0] != orders[1], "persistent workers see the epoch"


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata's own affair with torch
@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_data_loader(workers):
    framework("torch")
    stateful = framework("torchdata.stateful_dataloader")

    def loader():
        stream = Dataset.from_dict({"a": range(24)}).to_iterable_dataset(num_shards=4)
        return stateful.StatefulDataLoader(
            stream.shuffle(seed=1, buffer_size=5), batch_size=4, num_workers=workers
        )

    whole = [batch["a"].tolist() for batch in loader()]
    for stop in (1, 4):
        first = loader()
        reading = iter(first)
        head = [next(reading)["a"].tolist() for _ in range(stop)]
        second = loader()
        second.load_state_dict(first.state_dict())
        assert head + [batch["a"].tolist() for batch in second] == whole
