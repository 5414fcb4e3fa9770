"""Odd names of columns and odd values from functions: right in every method and file, or an error that says where."""

import json
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from gristmill import Dataset, Features, Value, load_dataset, load_from_disk
from gristmill.errors import InvalidArgumentError, TransformOutputError

NAMES = [
    "",
    "é",
    "a.b",
    '"',
    "'",
    "two\nlines",
    "x" * 5000,
    "a,b",
    "\t",
    "{}",
    "%s",
    "\\",
    "huggingface",
    "self",
]
NAMES += ["__index_level_0__", "\u2028", "a\0b", "😀", "]", "*", "$", "SELECT", "class", "-", "#"]


def _rows(name: str) -> list[dict[str, Any]]:
    return [{name: 1, "other": "x"}, {name: 2, "other": "y"}]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_any_name_goes_through_all_methods(name: str) -> None:
    ds = Dataset.from_list(_rows(name))
    assert ds.map(lambda row: {name: row[name] + 1})[name] == [2, 3]
    assert ds.map(lambda rows: {name: [x + 1 for x in rows[name]]}, batched=True)[name] == [2, 3]
    assert ds.map(lambda x: {"z": x}, input_columns=name)["z"] == [1, 2]
    assert ds.filter(lambda row: row[name] == 1).to_list() == _rows(name)[:1]
    assert ds.sort(name, reverse=True)[name] == [2, 1]
    assert ds.remove_columns(name).column_names == ["other"]
    assert ds.rename_column(name, "q").select_columns(["q"]).to_list() == [{"q": 1}, {"q": 2}]
    assert ds.cast_column(name, Value("int8")).features[name] == Value("int8")
    assert ds.batch(2)[0][name] == [1, 2]
    assert pickle.loads(pickle.dumps(ds)).to_list() == _rows(name)
    assert Features.from_dict(json.loads(json.dumps(ds.features.to_dict()))) == ds.features
    assert Features._from_yaml_list(ds.features._to_yaml_list()) == ds.features
    assert Dataset.from_list([{"s": {name: 1}}]).flatten().column_names == [f"s.{name}"]
    stream = ds.to_iterable_dataset(1)
    assert list(stream.map(lambda row: {name: row[name] + 1}).select_columns([name])) == [
        {name: 2},
        {name: 3},
    ]
    for kind in ("numpy", "pandas", "polars", "arrow"):
        assert list(ds.with_format(kind)[:][name]) is not None
    assert Dataset.from_pandas(ds.to_pandas()).to_list() == _rows(name)
    assert ds.to_polars().columns == stream.to_polars().columns == [name, "other"]
    if "\0" in name:
        with pytest.raises(InvalidArgumentError, match="zero byte"):
            Dataset.from_polars(pl.DataFrame({name: [1]}))
    else:
        assert Dataset.from_polars(ds.to_polars()).to_list() == _rows(name)


@pytest.mark.parametrize("name", NAMES, ids=repr)
@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_any_name_goes_through_all_files(name: str, kind: str, tmp_path: Path) -> None:
    ds = Dataset.from_list(_rows(name))
    ds.save_to_disk(tmp_path / "saved")
    assert list(load_from_disk(str(tmp_path / "saved"))) == _rows(name)
    file = str(tmp_path / f"a.{kind}")
    getattr(ds, f"to_{kind}")(file)
    # A header without a name is what pandas calls it.
    wanted = _rows("Unnamed: 0" if kind == "csv" and not name else name)
    back = load_dataset(kind, data_files=file, split="train", cache_dir=str(tmp_path / "cache"))
    assert back.to_list() == wanted
    assert list(load_dataset(kind, data_files=file, split="train", streaming=True)) == wanted


ODD: dict[str, Any] = {
    "complex": lambda: 1j,
    "longdouble": lambda: np.longdouble(1.5),
    "record": lambda: np.array((1, 2.0), dtype=[("x", "i4"), ("y", "f8")]),
    "months": lambda: np.timedelta64(3, "M"),
    "generator": lambda: (x for x in range(2)),
    "object": object,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_no_type_holds_names_row_and_column(kind: str) -> None:
    def make(row: dict[str, Any]) -> dict[str, Any]:
        return {"o": ODD[kind]() if row["a"] == 2 else None}

    with pytest.raises(TransformOutputError, match=r'row 2, column "o": .* can\'t be stored'):
        Dataset.from_dict({"a": [0, 1, 2]}).map(make)


def test_a_list_that_holds_itself_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TransformOutputError, match='column "o": values are nested too deep'):
        Dataset.from_dict({"a": [0]}).map(lambda row: {"o": endless})


def test_an_array_without_dimensions_is_no_column() -> None:
    ds = Dataset.from_dict({"a": [0, 1]})
    for one in (ds, ds.to_iterable_dataset()):
        with pytest.raises(TransformOutputError, match='column "o"'):
            list(one.map(lambda rows: {"o": np.array(3)}, batched=True))


UUIDS = [uuid.UUID(int=1), uuid.UUID(int=2)]
WAYS: dict[str, Callable[[Dataset], Any]] = {
    "rows": lambda ds: ds.map(lambda row: {"u": UUIDS[row["a"]]}),
    "array": lambda ds: ds.map(lambda rows: {"u": pa.array(UUIDS, pa.uuid())}, batched=True),
    "table": lambda ds: ds.map(lambda rows: pa.table({"u": pa.array(UUIDS, pa.uuid())}), batched=True),
    "column": lambda ds: ds.add_column("u", UUIDS),
    "dict": lambda ds: Dataset.from_dict({"u": UUIDS}),
    "stream of arrays": lambda ds: ds.to_iterable_dataset().map(
        lambda rows: {"u": pa.array(UUIDS, pa.uuid())}, batched=True
    ),
    "stream of tables": lambda ds: ds.to_iterable_dataset().map(
        lambda rows: pa.table({"u": pa.array(UUIDS, pa.uuid())}), batched=True
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_uuids_are_their_bytes_however_they_come(way: str) -> None:
    made = WAYS[way](Dataset.from_dict({"a": [0, 1]}))
    assert [row["u"] for row in made] == [one.bytes for one in UUIDS]
    if isinstance(made, Dataset):
        assert made.data.schema.field("u").type == pa.binary(16)
