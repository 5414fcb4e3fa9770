"""Tensors of torch, jax and TensorFlow: the same values, in the shapes and types that are documented."""

import math
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from gristmill import Dataset, Features, List, Value
from gristmill.errors import CastError, InvalidArgumentError, MissingDependencyError
from tests.formatting.test_structure import columns, same
from tests.frameworks import framework

INTEGER = {"torch": "int64", "jax": "int32", "tensorflow": "int64"}
ROWS: dict[str, list[Any]] = {
    "i": [1, 2, 3],
    "f": [1.5, 2.5, 3.5],
    "b": [True, False, True],
    "s": ["x", "y", "z"],
    "r": [[1, 2], [3, 4], [5, 6]],
    "l": [[1], [2, 3], []],
    "m": [[[1, 2], [3, 4]]] * 3,
    "d": [{"x": 1, "y": "t"}] * 3,
    "n": [1, None, 3],
    "t": ["a", None, "c"],
    "w": [["a"], ["b", "c"], []],
    "o": [[1, 2], None, [3, 4]],
}


@pytest.fixture(params=["torch", "jax", "tensorflow"])
def name(request):
    framework(request.param)
    return request.param


def plain(value):
    """Python values again."""
    if hasattr(value, "to_list") and hasattr(value, "row_splits"):
        return plain(value.to_list())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "dtype"):
        return plain(np.asarray(value).tolist())
    return value


def dtype(tensor):
    return str(getattr(tensor.dtype, "name", tensor.dtype)).removeprefix("torch.")


def test_batches(name):
    batch = Dataset.from_dict(ROWS).with_format(name)[:]
    assert {key: dtype(batch[key]) for key in "ifbrmn"} == {
        "i": INTEGER[name], "f": "float32", "b": "bool", "r": INTEGER[name], "m": INTEGER[name], "n": "float32",
    }  # fmt: skip
    assert tuple(batch["m"].shape) == (3, 2, 2)
    for key, values in ROWS.items():
        assert same(plain(batch[key]), values), key
    assert batch["t"][1] is None
    assert batch["o"][1] is None
    assert dtype(batch["d"][0]["x"]) == INTEGER[name]


def test_rows(name):
    ds = Dataset.from_dict(ROWS).with_format(name)
    rows = [{key: values[row] for key, values in ROWS.items()} for row in range(3)]
    for found in (list(ds), [ds[0], ds[1], ds[2]], ds.__getitems__([0, 1, 2])):
        assert all(same(plain(row), expected) for row, expected in zip(found, rows, strict=True))
        assert dtype(found[0]["n"]) == INTEGER[name], "a row without null keeps its integers"
        assert math.isnan(float(found[1]["n"]))
        assert tuple(found[1]["m"].shape) == (2, 2)
    assert same(plain(ds["l"][:]), ROWS["l"])
    assert plain(ds["i"][1]) == 2


def test_columns_and_the_others(name):
    ds = Dataset.from_dict(ROWS)
    assert ds.with_format(name, columns=["i"])[0].keys() == {"i"}
    both = ds.with_format(name, columns=["i"], output_all_columns=True)
    assert dtype(both[:]["i"]) == INTEGER[name]
    assert both[:]["f"] == ROWS["f"]
    assert both[0]["f"] == 1.5
    assert type(both[0]["f"]) is float


def test_widths_that_tensors_do_not_have(name):
    features = Features({"u": Value("uint32"), "h": Value("float16"), "b": Value("uint64")})
    batch = Dataset.from_dict({"u": [1, 2], "h": [1.0, 2.0], "b": [3, 4]}, features=features).with_format(
        name
    )[:]
    assert [dtype(batch[key]) for key in "uhb"] == [INTEGER[name], "float32", INTEGER[name]]
    assert [plain(batch[key]) for key in "uhb"] == [[1, 2], [1.0, 2.0], [3, 4]]
    large = Dataset(pa.table({"b": pa.array([2**64 - 1], pa.uint64())})).with_format(name)
    with pytest.raises(CastError, match="18446744073709551615"):
        large[0]


def test_what_has_no_tensors_is_named(name):
    ds = Dataset(pa.table({"when": pa.array([0], pa.timestamp("us")), "i": [1]}))
    with pytest.raises(CastError, match=r'"when".*columns='):
        ds.with_format(name)[0]
    assert plain(ds.with_format(name, columns=["i"])[0]) == {"i": 1}


def test_map_sees_tensors_and_keeps_what_it_gives(name):
    ds = Dataset.from_dict({"i": [1, 2], "l": [[1.0], [2.0, 3.0]]}).with_format(name)
    assert ds.map(lambda row: {"j": row["i"] * 2}).with_format(None)["j"][:] == [2, 4]
    assert ds.map(lambda batch: {"j": batch["i"] * 2}, batched=True).with_format(None)["j"][:] == [2, 4]
    assert len(ds.filter(lambda row: row["i"] > 1)) == 1


def test_it_travels(name):
    ds = pickle.loads(pickle.dumps(Dataset.from_dict(ROWS).with_format(name)))
    assert dtype(ds[0]["i"]) == INTEGER[name]
    assert plain(ds.select([])[:]["i"]) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(columns())
def test_values_come_back(name, column):
    rows, values = column
    ds = Dataset(pa.table({"c": values})).with_format(name)
    assert same(plain(ds[:]["c"]), rows)
    assert all(same(plain(found["c"]), row) for found, row in zip(ds, rows, strict=True))


def test_array_features(name):
    from gristmill import Array2D

    features = Features({"a": Array2D((2, 2), "int32"), "v": Array2D((None, 2), "int32")})
    rows = {"a": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "v": [[[1, 2]], [[3, 4], [5, 6]]]}
    ds = Dataset.from_dict(rows, features=features).with_format(name)
    assert tuple(ds[:]["a"].shape) == (2, 2, 2)
    assert plain(ds[:]["v"]) == rows["v"]
    assert tuple(ds[1]["v"].shape) == (2, 2)
    assert dtype(ds[0]["a"]) == INTEGER[name]


# ---------------------------------------------------------------- torch


def test_torch_options():
    torch = framework("torch")
    ds = Dataset.from_dict({"i": [1, 2], "f": [0.1, 0.2], "l": [[1.0], [2.0, 3.0]]})
    exact = ds.with_format("torch", dtype=torch.float64)
    assert exact[:]["i"].dtype == torch.float64
    assert exact[0]["f"].item() == 0.1
    assert ds.with_format("pt", device="cpu")[0]["i"].device == torch.device("cpu")
    grad = ds.with_format("torch", columns=["f", "l"], requires_grad=True)
    assert all(row[key].is_leaf and row[key].requires_grad for row in grad for key in ("f", "l"))


def test_torch_tensors_may_be_changed(tmp_path):
    framework("torch")
    path = tmp_path / "t.arrow"
    table = pa.table({"i": range(10), "f": pa.array(np.arange(10, dtype=np.float32))})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    ds = Dataset.from_file(str(path)).with_format("torch")
    for key in ("i", "f"):
        ds[:][key].add_(1)
        for row in ds:
            row[key].mul_(0)
        assert ds[:][key].tolist() == list(range(10))


LOADING = """
import torch
from gristmill import Dataset

if __name__ == "__main__":
    ds = Dataset.from_dict({"i": range(20), "r": [[n, n] for n in range(20)]}).add_column("j", range(0, -20, -1))
    for workers in (0, 2):
        batches = list(torch.utils.data.DataLoader(ds.with_format("torch"), batch_size=6, num_workers=workers))
        assert torch.cat([batch["i"] for batch in batches]).tolist() == list(range(20))
        assert torch.cat([batch["j"] for batch in batches]).tolist() == list(range(0, -20, -1))
        assert batches[0]["r"].shape == (6, 2)
    print("loaded")
"""


def test_torch_data_loader(tmp_path):
    framework("torch")
    # In a process of its own: jax in this one does not want to be forked.
    (tmp_path / "loading.py").write_text(LOADING)
    ran = subprocess.run(
        [sys.executable, tmp_path / "loading.py"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.stdout == "loaded\n", ran.stderr


# ---------------------------------------------------------------- jax


def test_jax_device():
    jax = framework("jax")
    ds = Dataset.from_dict({"i": [1]})
    assert plain(ds.with_format("jax", device=str(jax.devices()[0]))[0]) == {"i": 1}
    with pytest.raises(InvalidArgumentError, match="device"):
        ds.with_format("jax", device="no such")[0]
    with pytest.raises(InvalidArgumentError, match="text"):
        ds.with_format("jax", device=jax.devices()[0])[0]
    assert ds.with_format("jax", dtype="float32")[0]["i"].dtype == "float32"


# ---------------------------------------------------------------- TensorFlow


def test_tensorflow_texts_and_ragged():
    tf = framework("tensorflow")
    batch = Dataset.from_dict(ROWS).with_format("tf")[:]
    assert batch["s"].dtype == tf.string
    assert isinstance(batch["l"], tf.RaggedTensor)
    assert isinstance(batch["w"], tf.RaggedTensor)
    assert batch["t"][1] is None
    half = Dataset.from_dict({"i": [1], "f": [1.5]}).with_format("tf", dtype=tf.float16)[:]
    assert half["i"].dtype == half["f"].dtype == tf.float16


# ---------------------------------------------------------------- without


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow", "polars"])
def test_a_framework_that_is_not_installed_is_named(name, monkeypatch):
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, name, None)
    ds = Dataset.from_dict({"i": [1]}).with_format(name)
    with pytest.raises(MissingDependencyError, match=rf"gristmill\[{name}\]"):
        ds[0]


KEPT = Features(
    {"u": Value("uint8"), "h": Value("float16"), "d": Value("float64"), "i": Value("int64"), "b": Value("bool"),
     "l": List(Value("int16")), "m": List(Value("uint8"), length=2), "s": {"x": Value("int8")}}
)  # fmt: skip
KEPT_ROWS = {
    "u": [1, 255], "h": [0.5, 2.0], "d": [0.1, 0.2], "i": [1, 2], "b": [True, False], "l": [[1], [2, 3]],
    "m": [[1, 2], [3, 4]], "s": [{"x": 1}, {"x": -1}],
}  # fmt: skip
NARROW = {"int64": "int32", "float64": "float32"}


def test_types_can_be_kept(name):
    ds = Dataset.from_dict(KEPT_ROWS, KEPT).with_format(name, dtype="keep")
    types = {"u": "uint8", "h": "float16", "d": "float64", "i": "int64", "b": "bool", "m": "uint8"}
    if name == "jax":
        types = {column: NARROW.get(type_, type_) for column, type_ in types.items()}
    batch = ds[:]
    assert {column: dtype(batch[column]) for column in types} == types
    assert {column: dtype(ds[0][column]) for column in types} == types
    assert dtype(ds["u"][:]) == "uint8"
    assert dtype(batch["l"][0]) == dtype(ds[1]["l"]) == "int16"
    assert dtype(batch["s"][0]["x"]) == "int8"
    assert plain(batch["i"]) == [1, 2]
    assert plain(batch["l"]) == [[1], [2, 3]]


def test_types_kept_by_jax_are_checked_for_room():
    framework("jax")
    ds = Dataset.from_dict({"i": [2**40]}).with_format("jax", dtype="keep")
    with pytest.raises(CastError, match="out of the range of int32"):
        ds[:]
