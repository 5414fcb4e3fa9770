"""Rows without columns are rows: their number is kept, or what can't hold it says so."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import (
    Dataset,
    DatasetDict,
    Features,
    IterableDataset,
    Json,
    List,
    Value,
    concatenate_datasets,
    interleave_datasets,
    load_dataset,
    load_from_disk,
)
from gristmill.errors import InvalidArgumentError


def _base() -> Dataset:
    return Dataset.from_dict({"a": [1, 2, 3], "b": ["x", "y", "z"]})


def _from_generator(folder: Path) -> Dataset:
    return Dataset.from_generator(lambda: iter([{}, {}, {}]), cache_dir=str(folder))


MAKERS: dict[str, Callable[[Path], Dataset]] = {
    "selected": lambda _: _base().select_columns([]),
    "removed": lambda _: _base().remove_columns(["a", "b"]),
    "shuffled": lambda _: _base().shuffle(seed=1).select_columns([]),
    "mapped": lambda _: _base().map(lambda row: {}, remove_columns=["a", "b"]),
    "in two parts": lambda _: _base().map(lambda row: {"c": 1}).select_columns([]),
    "listed": lambda _: Dataset.from_list([{}, {}, {}]),
    "generated": _from_generator,
    "concatenated": lambda _: concatenate_datasets([Dataset.from_list([{}]), Dataset.from_list([{}, {}])]),
}


@pytest.fixture(params=MAKERS)
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    return MAKERS[request.param](tmp_path / "made")


def test_rows_are_read_and_counted(bare: Dataset) -> None:
    assert (len(bare), bare.shape, bare.data.num_rows, list(bare)) == (3, (3, 0), 3, [{}, {}, {}])
    assert [len(bare.with_format(kind)[:]) for kind in ("pandas", "arrow", "polars")] == [3, 3, 3]
    assert sum(table.num_rows for table in bare.with_format("arrow").iter(2)) == 3


STEPS: dict[str, tuple[Callable[[Dataset], Dataset], int]] = {
    "select": (lambda ds: ds.select([0, 2]), 2),
    "skip": (lambda ds: ds.skip(1), 2),
    "shuffle": (lambda ds: ds.shuffle(seed=2), 3),
    "repeat": (lambda ds: ds.repeat(2), 6),
    "batch": (lambda ds: ds.batch(2), 2),
    "filter": (lambda ds: ds.filter(lambda row, number: number > 0, with_indices=True), 2),
    "map": (lambda ds: ds.map(lambda row: {}), 3),
    "map of nothing": (lambda ds: ds.map(lambda rows: None, batched=True), 3),
    "flatten_indices": (lambda ds: ds.shuffle(seed=2).flatten_indices(), 3),
    "flatten": (lambda ds: ds.flatten(), 3),
    "cast": (lambda ds: ds.cast(Features({})), 3),
    "concatenate": (lambda ds: concatenate_datasets([ds, ds.select([0])]), 4),
    "side by side": (lambda ds: concatenate_datasets([ds, ds], axis=1), 3),
    "interleave": (lambda ds: interleave_datasets([ds, ds]), 6),
    "add_item": (lambda ds: ds.add_item({}), 4),
    "split": (lambda ds: ds.train_test_split(1)["train"], 2),
    "pickle": (lambda ds: pickle.loads(pickle.dumps(ds)), 3),
    "table": (lambda ds: Dataset(ds.data), 3),
}


@pytest.mark.parametrize("step", STEPS)
def test_transforms_keep_the_number_of_rows(bare: Dataset, step: str) -> None:
    made, rows = STEPS[step][0](bare), STEPS[step][1]
    assert (len(made), list(made)) == (rows, [{}] * rows)


def test_columns_can_be_put_beside(bare: Dataset) -> None:
    numbered = bare.map(lambda row, number: {"n": number}, with_indices=True)
    assert numbered["n"][:] == bare.add_column("n", [0, 1, 2])["n"][:] == [0, 1, 2]
    assert concatenate_datasets([bare, _base()], axis=1)["a"][:] == [1, 2, 3]
    assert concatenate_datasets([bare, _base()])["a"][:] == [None, None, None, 1, 2, 3]
    with pytest.raises(InvalidArgumentError, match='"n" has 2 values, and the dataset has 3 rows'):
        bare.add_column("n", [0, 1])


def test_saved_folders_keep_them(bare: Dataset, tmp_path: Path) -> None:
    bare.save_to_disk(tmp_path / "one", num_shards=2)
    assert len(load_from_disk(str(tmp_path / "one"))) == 3
    DatasetDict({"train": bare}).save_to_disk(tmp_path / "dict")
    assert DatasetDict.load_from_disk(str(tmp_path / "dict")).num_rows == {"train": 3}


@pytest.mark.parametrize("lines", [True, False])
def test_json_keeps_them(bare: Dataset, tmp_path: Path, lines: bool) -> None:
    bare.to_json(tmp_path / "a.json", lines=lines)
    made = load_dataset(
        "json", data_files=str(tmp_path / "a.json"), split="train", cache_dir=str(tmp_path / "c")
    )
    assert (list(made), made.origins()["row_index"].to_pylist()) == ([{}] * 3, [0, 1, 2])
    part = load_dataset(
        "json", data_files=str(tmp_path / "a.json"), split="train[1:]", cache_dir=str(tmp_path / "c")
    )
    assert len(part) == 2


def _streams(bare: Dataset) -> list[IterableDataset]:
    return [
        bare.to_iterable_dataset(2),
        _base().to_iterable_dataset(2).select_columns([]),
        _base().to_iterable_dataset(2).remove_columns(["a", "b"]),
    ]


def test_streams_keep_them(bare: Dataset, tmp_path: Path) -> None:
    for stream in _streams(bare):
        assert (list(stream), list(stream.skip(1)), stream.to_list()) == ([{}] * 3, [{}] * 2, [{}] * 3)
        assert sum(table.num_rows for table in stream.with_format("arrow").iter(2)) == 3
        stream.to_json(tmp_path / "a.jsonl")
        assert (tmp_path / "a.jsonl").read_text() == "{}\n" * 3


@pytest.mark.parametrize(("method", "kind"), [("to_csv", "CSV"), ("to_parquet", "Parquet")])
def test_files_that_cannot_hold_them_are_not_written(
    bare: Dataset, tmp_path: Path, method: str, kind: str
) -> None:
    for one in (bare, *_streams(bare)):
        with pytest.raises(InvalidArgumentError, match=f"rows and no columns: {kind} can't hold that"):
            getattr(one, method)(tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_databases_cannot_hold_them(bare: Dataset, tmp_path: Path) -> None:
    for to_sql in (bare.to_sql, *(stream.to_sql for stream in _streams(bare))):
        with pytest.raises(InvalidArgumentError, match="There are no columns"):
            to_sql("t", f"sqlite:///{tmp_path / 'a.db'}")


def test_parquet_read_without_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "a.parquet")
    made = load_dataset(
        "parquet",
        data_files=str(tmp_path / "a.parquet"),
        columns=[],
        split="train",
        cache_dir=str(tmp_path / "c"),
    )
    assert list(made) == [{}] * 3


def test_lists_of_json_without_rows(tmp_path):
    features = Features({"i": Value("int64"), "l": List(Json()), "s": {"j": Json()}})
    ds = Dataset.from_dict({"i": [1], "l": [[1, "x"]], "s": [{"j": None}]}, features=features)
    nothing = ds.select([])
    assert nothing.batch(2).features == {name: List(feature) for name, feature in features.items()}
    assert nothing.batch(2).to_list() == []
    stream = ds.to_iterable_dataset().filter(lambda row: False)
    assert list(stream.to_pandas().columns) == ["i", "l", "s"]
    stream.to_parquet(tmp_path / "none.parquet")
    assert Dataset.from_parquet(str(tmp_path / "none.parquet"), cache_dir=str(tmp_path)).features == features
    assert (
        Dataset.from_generator(lambda: iter(()), features=features, keep_in_memory=True).features == features
    )
    path = str(tmp_path / "one.parquet")
    ds.to_parquet(path)
    for limit, rows in ((0, 1), (5, 0)):
        filters = [("i", ">", limit)]
        assert Dataset.from_parquet(path, filters=filters, cache_dir=str(tmp_path)).num_rows == rows


def test_no_rows_written_out_are_no_rows_of_the_table_behind():
    ds = Dataset.from_dict({"a": [1, 2]}).select([]).flatten_indices()
    assert (ds._indices, ds.data.num_rows) == (None, 0)
    texts = Features({"a": Value("string")})
    as_text = Dataset.from_dict({"a": [1, 2]}).select([]).flatten_indices(features=texts)
    assert (as_text.features, as_text.data.schema.types) == (texts, [pa.string()])
    assert as_text.add_item({"a": "x"}).to_list() == [{"a": "x"}]
