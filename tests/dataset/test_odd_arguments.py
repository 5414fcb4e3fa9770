"""Arguments of the wrong kind are refused by name, in errors that are ours; odd datasets work in every method."""

import contextlib
import copy
import datetime as dt
import inspect
import io
import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gristmill import (
    Dataset,
    DatasetDict,
    Features,
    Value,
    concatenate_datasets,
    interleave_datasets,
)
from gristmill.errors import (
    CastError,
    GristmillError,
    InvalidArgumentError,
    TransformError,
    TransformOutputError,
)
from gristmill.table.arrow_file import write_arrow


class Weird:
    def __repr__(self) -> str:
        return "Weird()"  # test names must not hold addresses: workers compare them


NO_PATHS = [3, None, [1], "", Weird(), {"a": 1}, True, "\0"]


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": [1, 2, 3], "s": ["x", "y", None]})


@pytest.mark.parametrize(
    "column", [3, None, Weird(), "abc", b"abc", {"x": 1, "y": 2, "z": 3}, {1, 2, 3}, np.array(5)]
)
def test_a_column_that_is_no_list(ds, column):
    with pytest.raises(InvalidArgumentError, match="column="):
        ds.add_column("b", column)


@pytest.mark.parametrize(
    "column", [[1], [1, 2, 3, 4], (i for i in range(2)), np.zeros((2, 3)), pa.array([1])]
)
def test_a_column_of_the_wrong_length(ds, column):
    with pytest.raises(InvalidArgumentError, match="the dataset has 3 rows"):
        ds.add_column("b", column)


@pytest.mark.parametrize("name", [3, None, b"b", ("x",)])
def test_names_that_are_no_text(ds, name):
    for make in (
        lambda: ds.add_column(name, [1, 2, 3]),
        lambda: ds.add_item({name: 1}),
        lambda: ds.rename_column("a", name),
        lambda: Dataset.from_dict({name: [1]}),
        lambda: DatasetDict({"x": ds}).rename_columns({"a": name}),
    ):
        with pytest.raises(InvalidArgumentError):
            make()
    with pytest.raises(CastError, match="row 1"):
        Dataset.from_list([{"a": 1}, {name: 1}])
    for batched in (False, True):
        with pytest.raises(TransformOutputError, match="row 0"):
            ds.map(lambda row: {name: [1, 2, 3]}, batched=batched)
    with pytest.raises(InvalidArgumentError, match="text"):
        Dataset.from_dict({"\ud800": [1]})


@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
def test_paths_that_are_none(ds, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where an empty path would lead
    for give in (
        ds.to_json,
        ds.to_csv,
        ds.to_parquet,
        ds.save_to_disk,
        Dataset.load_from_disk,
        Dataset.from_file,
    ):
        with pytest.raises(InvalidArgumentError):
            give(path)
    for read in (Dataset.from_csv, Dataset.from_json, Dataset.from_parquet, Dataset.from_text):
        with pytest.raises((InvalidArgumentError, FileNotFoundError)):
            read(path)
    if path is not None:
        for compute in (
            lambda: ds.map(lambda row: {"b": 1}, cache_file_name=path),
            lambda: ds.filter(lambda row: True, cache_file_name=path),
            lambda: ds.select([1, 0]).flatten_indices(cache_file_name=path),
            lambda: ds.cast(Features({"a": Value("int8"), "s": Value("string")}), cache_file_name=path),
            lambda: DatasetDict({"t": ds}).map(lambda row: row, cache_file_names={"t": path}),
        ):
            with pytest.raises(InvalidArgumentError, match="cache_file_name"):
                compute()
    assert list(tmp_path.iterdir()) == []


def test_targets_that_take_text(ds):
    for give in (ds.to_json, ds.to_csv, ds.to_parquet):
        with pytest.raises(InvalidArgumentError, match="bytes"):
            give(io.StringIO())


@pytest.mark.parametrize("orient", ["table", "odd", 3, None, [1], ""])
def test_odd_orients(ds, orient, tmp_path):
    for lines in (True, False):
        with pytest.raises(InvalidArgumentError, match="orient"):
            ds.to_json(tmp_path / "a.json", orient=orient, lines=lines)


@pytest.mark.parametrize("size", [-1, 1.5, "3", True, Weird(), [1]])
def test_odd_batch_sizes(ds, size, tmp_path):
    for name in ("to_parquet", "to_json", "to_csv"):
        with pytest.raises(InvalidArgumentError, match="batch_size"):
            getattr(ds, name)(tmp_path / "a", batch_size=size)
    for name in ("to_dict", "to_pandas", "to_polars"):
        with pytest.raises(InvalidArgumentError, match="batch_size"):
            getattr(ds, name)(batch_size=size, batched=True)


def test_sizes_that_mean_the_default(ds, tmp_path):
    for size in (0, None):
        assert ds.to_parquet(tmp_path / "a", batch_size=size) > 0
        assert next(iter(ds.to_dict(batch_size=size, batched=True)))["a"] == [1, 2, 3]


def test_a_cache_file_of_something_else(ds, tmp_path):
    file = tmp_path / "mine.arrow"
    ds.map(lambda row: {"b": 1}, cache_file_name=file)
    with pytest.raises(InvalidArgumentError, match=r"mine\.arrow"):
        ds.filter(lambda row: True, cache_file_name=file)
    assert len(ds.filter(lambda row: True, cache_file_name=file, load_from_cache_file=False)) == 3
    with pytest.raises(InvalidArgumentError, match=r"mine\.arrow"):
        ds.take(1).filter(lambda row: True, cache_file_name=file)


@pytest.mark.parametrize("odd", [3, "odd", b"numpy", True, Weird(), [1], {"a": 1}, ("numpy",), np])
def test_odd_formats(ds, odd):
    with pytest.raises(InvalidArgumentError, match="type="):
        ds.set_format(odd)
    with pytest.raises(InvalidArgumentError, match="transform"):
        ds.with_transform(odd)
    if odd != {"a": 1}:
        with pytest.raises((InvalidArgumentError, ValueError)):
            ds.set_format("numpy", columns=odd)
    assert ds[0] == {"a": 1, "s": "x"}


def test_odd_options_of_formats(ds):
    with pytest.raises(InvalidArgumentError, match="odd"):
        ds.with_format("numpy", odd=1)[0]
    with pytest.raises(InvalidArgumentError, match="dtype"):
        ds.with_format("numpy", dtype="odd")[0]
    with pytest.raises(InvalidArgumentError, match="transform"):
        ds.with_format("custom")
    with pytest.raises(InvalidArgumentError, match="fn_kwargs"):
        ds.map(lambda row: row, fn_kwargs=[1])
    with pytest.raises(InvalidArgumentError, match="cache_file_names"):
        DatasetDict({"t": ds}).map(lambda row: row, cache_file_names=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [None, 3, "x", [1], {"a": 1}, {"a": []}, Weird()], ids=repr)
def test_transforms_that_return_no_batch(ds, answer):
    odd = ds.with_transform(lambda batch: answer)
    for read in (lambda: odd[0], lambda: list(odd)):
        with pytest.raises(TransformOutputError, match="one value a row"):
            read()
    if not isinstance(answer, dict):
        with pytest.raises(TransformOutputError, match='column "a"'):
            odd["a"][:]


NAT = np.datetime64("NaT")


@pytest.mark.parametrize(
    "missing",
    [NAT, np.datetime64("NaT", "s"), np.timedelta64("NaT"), pd.NaT, pd.NA, np.array([NAT], object)[0]],
)
def test_missing_values_of_other_libraries_are_none(ds, missing):
    assert ds.map(lambda row: {"b": missing})["b"][:] == [None] * 3
    assert ds.map(lambda batch: {"b": [missing] * 3}, batched=True)["b"][:] == [None] * 3
    assert Dataset.from_dict({"b": [missing, None], "c": [[missing], []]})["c"][:] == [[None], []]


def test_missing_values_among_others(ds):
    day = dt.date(2020, 1, 1)
    made = ds.map(lambda row: {"b": NAT if row["a"] == 2 else np.datetime64("2020-01-01")})
    assert made["b"][:] == [day, None, day]
    made = ds.map(lambda row: {"b": pd.NaT if row["a"] == 1 else pd.Timestamp("2020-01-01")})
    assert [value and value.date() for value in made["b"][:]] == [None, day, day]
    assert Dataset.from_dict({"b": [pd.NA, 1]})["b"][:] == [None, 1]
    with pytest.raises(CastError, match="row 0"):
        Dataset.from_dict({"b": [np.timedelta64(3)]})


@pytest.mark.parametrize(
    "junk", [3, None, "x", [("a", 2)], (1, 2), {3: 1}, {"a": "x"}, {"a": [1]}, {"a": Weird()}]
)
def test_generators_that_yield_junk_name_the_row(junk):
    def generate():
        yield {"a": 1}
        yield junk

    with pytest.raises(TransformError, match="row 1"):
        Dataset.from_generator(generate, keep_in_memory=True, on_mixed_types=None)


TWICE = pa.table([[1], [2]], names=["x", "x"])


def test_two_columns_of_one_name(ds, tmp_path):
    write_arrow(tmp_path / "a.arrow", TWICE)
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    for make in (
        lambda: Dataset(TWICE),
        lambda: Dataset.from_file(str(tmp_path / "a.arrow")),
        lambda: Dataset.from_pandas(frame),
        lambda: ds.map(lambda batch: TWICE, batched=True, remove_columns=["a", "s"]),
        lambda: ds.map(lambda batch: frame, batched=True, remove_columns=["a", "s"]),
    ):
        with pytest.raises(InvalidArgumentError, match='"x"'):
            make()
    assert ds.select_columns(["a", "a"]).column_names == ["a"]
    assert ds.remove_columns(["a", "a"]).column_names == ["s"]
    assert ds.with_format("numpy", columns=["a", "a"])[0] == {"a": 1}


def test_mixed_answers_for_all_splits(ds):
    parts = DatasetDict({"t": ds})
    assert parts.map(lambda row: {"b": row["s"] or 1}, on_mixed_types="use_json")["t"]["b"][:] == [
        "x",
        "y",
        1,
    ]
    with pytest.raises(TransformOutputError, match="row 2"):
        parts.map(lambda row: {"b": row["s"] or 1})


def test_names_of_splits_that_are_no_folders(ds, tmp_path):
    names: list[Any] = ["a/b", 3, "..", ""]
    for name in names:
        with pytest.raises(ValueError, match=r"can't be used|leaves the folder"):
            DatasetDict({name: ds}).save_to_disk(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


ODD = {
    "names": Dataset.from_dict(
        {"": [1, 2, 3], "a.b": ["x", "y", None], "é \n": [[1], [2, 3], []], "indices": [0, 1, 2]}
    ),
    "no columns": Dataset.from_dict({}),
    "rows without columns": Dataset.from_dict({"a": [1, 2, 3]}).remove_columns("a"),
    "no rows": Dataset.from_dict({"a": [1], "s": ["x"]}).select([]),
    "nothing but None": Dataset.from_dict({"a": [None, None, None]}),
}
SAME = {
    "map": lambda ds: ds.map(lambda row: row),
    "map batched": lambda ds: ds.map(lambda batch: batch, batched=True),
    "filter": lambda ds: ds.filter(lambda row: True),
    "select": lambda ds: ds.select(range(len(ds))),
    "shuffle": lambda ds: ds.shuffle(seed=1).sort(ds.column_names[:1]) if ds.column_names else ds.shuffle(),
    "shards": lambda ds: concatenate_datasets([ds.shard(2, 0), ds.shard(2, 1)]),
    "repeat": lambda ds: ds.repeat(1),
    "flatten": lambda ds: ds.flatten(),
    "flatten_indices": lambda ds: (
        ds.select(range(len(ds))[::-1]).flatten_indices().select(range(len(ds))[::-1])
    ),
    "cast": lambda ds: ds.cast(ds.features),
    "pickle": lambda ds: pickle.loads(pickle.dumps(ds)),
    "added and taken away": lambda ds: ds.add_column("new", range(len(ds))).remove_columns("new"),
    "interleave": lambda ds: interleave_datasets([ds]),
    "dict": lambda ds: DatasetDict({"é ": ds}).map(lambda row: row)["é "],
}


@pytest.mark.parametrize(("kind", "method"), list(itertools.product(ODD, SAME)))
def test_odd_datasets_go_through_every_method(kind, method):
    ds = ODD[kind]
    made = SAME[method](ds)
    assert made.column_names == ds.column_names
    assert len(made) == len(ds)
    assert made.to_list() == ds.to_list()
    assert made.features == ds.features


@pytest.mark.parametrize("kind", [kind for kind in ODD if kind not in ("no columns", "rows without columns")])
def test_odd_datasets_are_saved_and_given_away(kind, tmp_path):
    ds = ODD[kind]
    ds.save_to_disk(tmp_path / "saved")
    assert Dataset.load_from_disk(tmp_path / "saved").to_dict() == ds.to_dict()
    ds.to_parquet(tmp_path / "a.parquet")
    assert Dataset.from_parquet(str(tmp_path / "a.parquet"), cache_dir=tmp_path).to_dict() == ds.to_dict()
    ds.to_json(tmp_path / "a.json")
    if len(ds):
        assert Dataset.from_json(str(tmp_path / "a.json"), cache_dir=tmp_path).to_dict() == ds.to_dict()
    assert ds.to_pandas().shape == ds.to_polars().shape == ds.shape
    for format in (None, "numpy", "pandas", "polars", "arrow"):
        assert len(list(ds.with_format(format))) == len(ds)


# What each method is called with, before one of its arguments is replaced by something odd.
CALLS: dict[str, dict[str, Any]] = {
    "add_column": {"name": "n", "column": [1, 2, 3]},
    "add_exact_index": {"column": "a"},
    "add_item": {"item": {"a": 1}},
    "align_labels_with_mapping": {"label2id": {"x": 0}, "label_column": "s"},
    "batch": {"batch_size": 2},
    "cast": {"features": Features({"a": Value("int8"), "s": Value("string")})},
    "cast_column": {"column": "a", "feature": Value("int8")},
    "class_encode_column": {"column": "s"},
    "filter": {"function": lambda *_, **__: True},
    "flatten_indices": {},
    "from_dict": {"mapping": {"a": [1]}},
    "from_list": {"mapping": [{"a": 1}]},
    "iter": {"batch_size": 2},
    "map": {"function": lambda *_, **__: {"b": 1}},
    "remove_columns": {"column_names": "a"},
    "rename_column": {"original_column_name": "a", "new_column_name": "b"},
    "rename_columns": {"column_mapping": {"a": "b"}},
    "repeat": {"num_times": 2},
    "select": {"indices": [0]},
    "select_columns": {"column_names": "a"},
    "set_format": {},
    "set_transform": {"transform": lambda batch: batch},
    "shard": {"num_shards": 2, "index": 0},
    "shuffle": {},
    "skip": {"n": 1},
    "sort": {"column_names": "a"},
    "take": {"n": 1},
    "train_test_split": {"test_size": 1},
    "unique": {"column": "a"},
}


@pytest.mark.parametrize("method", CALLS)
def test_whatever_an_argument_is_the_error_is_ours(ds, method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "x" and b"a" are good names for a file
    for name in inspect.signature(getattr(ds, method)).parameters:
        for odd in (3, None, "x", [1], Weird(), {"a": 1}, 1.5, -1, b"a", float("nan"), ()):
            if name == "num_proc" and odd == 3:
                continue
            for target in (copy.copy(ds), DatasetDict({"t": ds})):
                function = getattr(target, method, None)
                if function is None or name not in inspect.signature(function).parameters:
                    continue
                with contextlib.suppress(GristmillError), warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore", DeprecationWarning
                    )  # of numpy, for the name b"a" of a type
                    made = function(**{**CALLS[method], name: odd})
                    if method == "iter":
                        list(made)


@pytest.mark.parametrize("odd", [3, None, "x", [1], Weird(), {"a": 1}, b"a", ()])
def test_whatever_is_put_together_the_error_is_ours(ds, odd):
    for function in (concatenate_datasets, interleave_datasets):
        with pytest.raises(InvalidArgumentError):
            function(odd)
        if odd is not None:
            with pytest.raises(InvalidArgumentError, match="info="):
                function([ds, ds], info=odd)
            with contextlib.suppress(InvalidArgumentError):
                function([ds, ds], split=odd)
    if odd is not None:
        with pytest.raises(InvalidArgumentError, match="probabilities"):
            interleave_datasets([ds, ds], probabilities=odd)


def test_a_working_folder_that_was_deleted_is_told(tmp_path, monkeypatch):
    saved = tmp_path / "saved"
    Dataset.from_dict({"a": [1, 2]}).save_to_disk(saved)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ds = Dataset.load_from_disk(saved)
    assert ds.map(lambda row: {"b": row["a"]}, num_proc=2)["b"] == [1, 2]
    for call in (
        lambda: ds.save_to_disk("d"),
        lambda: DatasetDict({"train": ds}).save_to_disk("d"),
        lambda: ds.to_json("a.jsonl"),
        lambda: Dataset.from_csv("a.csv", cache_dir=str(tmp_path)),
        lambda: Dataset.load_from_disk("d"),
    ):
        with pytest.raises(GristmillError):
            call()
    ds.save_to_disk(saved)
    monkeypatch.undo()
    assert Dataset.load_from_disk(saved)["a"] == [1, 2]
