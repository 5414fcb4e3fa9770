"""Rows joined into batches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dataset import Dataset
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, List, Value


def test_by_size():
    ds = Dataset.from_dict({"a": [3, None, 1], "b": ["x", None, "y"], "l": [[1], [], None]})
    assert ds.batch(2).to_dict() == {
        "a": [[3, None], [1]],
        "b": [["x", None], ["y"]],
        "l": [[[1], []], [None]],
    }
    assert ds.batch(2, drop_last_batch=True)["a"][:] == [[3, None]]
    assert ds.batch(10)["a"][:] == [[3, None, 1]]
    assert ds.batch(10, drop_last_batch=True)["a"][:] == []
    assert ds.batch(2).features["l"] == List(List(Value("int64")))
    for size in (None, 0, -1):
        with pytest.raises(InvalidArgumentError, match="batch_size"):
            ds.batch(size)


def test_by_column():
    ds = Dataset.from_dict({"k": [1, 1, None, None, 2, 1], "v": list("abcdef")})
    assert ds.batch(by_column="k")["v"][:] == [["a", "b"], ["c", "d"], ["e"], ["f"]]
    assert ds.batch(1, by_column="k")["k"][:] == [[1, 1], [None, None], [2], [1]]
    lists = Dataset.from_dict({"k": [[1], [1], [2]], "v": [1, 2, 3]})
    assert lists.batch(by_column="k")["v"][:] == [[1, 2], [3]]
    assert len(ds.select([]).batch(by_column="k")) == 0
    with pytest.raises(ColumnNotFoundError):
        ds.batch(by_column="zz")


def test_by_several_columns():
    ds = Dataset.from_dict(
        {"a": [1, 1, 1, 2, 2], "b": ["x", "x", "y", "y", "y"], "l": [[1], [1], [1], [1], [2]]}
    )
    stream = ds.to_iterable_dataset()
    untyped = stream.map(lambda row: {"a": row["a"], "b": row["b"], "l": row["l"]})
    for rows in (ds, stream, untyped):
        assert [row["a"] for row in rows.batch(by_column=["a", "b"])] == [[1, 1], [1], [2, 2]]
        assert [row["a"] for row in rows.batch(by_column=("b", "l", "b"))] == [[1, 1], [1, 2], [2]]
        with pytest.raises(InvalidArgumentError, match="by_column"):
            rows.batch(by_column=[])
        with pytest.raises(InvalidArgumentError):
            rows.batch(by_column=3)  # type: ignore[arg-type]
    with pytest.raises(ColumnNotFoundError):
        ds.batch(by_column=["a", "zz"])
    assert len(ds.select([]).batch(by_column=["a", "b"])) == 0


def test_labels_and_empty_datasets():
    label = ClassLabel(names=["a", "b"])
    ds = Dataset.from_dict({"c": [0, 1]}, features=Features({"c": label}))
    assert ds.batch(2).features == {"c": List(label)}
    assert ds.select([]).batch(2).features == {"c": List(label)}
    assert len(ds.select([]).batch(2)) == 0


def test_workers_and_cache(tmp_path):
    Dataset.from_dict({"a": range(1000)}).save_to_disk(tmp_path / "d")
    ds = Dataset.load_from_disk(tmp_path / "d").shuffle(seed=1)
    values = ds["a"][:]
    expected = [values[start : start + 7] for start in range(0, 1000, 7)]
    first = ds.batch(7, num_proc=2)
    assert first["a"][:] == expected
    assert ds.batch(7).cache_files == first.cache_files


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=25), st.integers(1, 6), st.booleans())
def test_batching_equals_slicing_lists(values, size, drop):
    ds = Dataset.from_dict({"a": values}, features=Features({"a": Value("int64")}))
    expected = [values[start : start + size] for start in range(0, len(values), size)]
    if drop:
        expected = [batch for batch in expected if len(batch) == size]
    assert ds.batch(size, drop_last_batch=drop)["a"][:] == expected
    groups: list[list[int | None]] = []
    for value in values:
        if groups and groups[-1][0] == value:
            groups[-1].append(value)
        else:
            groups.append([value])
    assert ds.batch(by_column="a")["a"][:] == groups
