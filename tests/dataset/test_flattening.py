"""Structs taken apart: each field of a row under the names on the way to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dataset import Dataset, DatasetDict
from gristmill.errors import InvalidArgumentError
from gristmill.features import ClassLabel, Features, List, Value


def test_flatten():
    ds = Dataset.from_dict({"n": [0, 1], "x": [{"p": 1, "q": {"r": 2}}, None], "y": [[1], [2]]})
    flat = ds.flatten()
    assert flat.to_list() == [
        {"n": 0, "x.p": 1, "x.q.r": 2, "y": [1]},
        {"n": 1, "x.p": None, "x.q.r": None, "y": [2]},
    ]
    assert flat.features == {
        "n": Value("int64"),
        "x.p": Value("int64"),
        "x.q.r": Value("int64"),
        "y": List(Value("int64")),
    }
    one = ds.flatten(max_depth=1)
    assert one.column_names == ["n", "x.p", "x.q", "y"]
    assert one["x.q"][:] == [{"r": 2}, None]
    assert ds.flatten(max_depth=0).to_list() == ds.to_list()
    assert ds.select([1, 0]).flatten()["x.p"][:] == [None, 1]
    assert DatasetDict({"t": ds}).flatten()["t"].to_list() == flat.to_list()
    with pytest.raises(InvalidArgumentError, match="max_depth"):
        ds.flatten(max_depth=-1)


def test_meaning_and_format_are_kept():
    label = ClassLabel(names=["a", "b"])
    ds = Dataset.from_dict({"x": [{"c": 1}]}, features=Features({"x": {"c": label}}))
    assert ds.flatten().features == {"x.c": label}
    assert ds.with_format("numpy", columns=["x"]).flatten().format["columns"] == ["x.c"]


def test_no_rows_and_names_that_meet():
    empty = Dataset.from_dict({"x": []}, features=Features({"x": {"a": Value("int8")}}))
    assert empty.flatten().features == {"x.a": Value("int8")}
    assert len(empty.flatten()) == 0
    with pytest.raises(InvalidArgumentError, match=r'"x\.a"'):
        Dataset.from_dict({"x": [{"a": 1}], "x.a": [1]}).flatten()


inner = st.one_of(st.none(), st.integers(0, 3))
struct = st.one_of(
    st.none(),
    st.fixed_dictionaries({"a": inner, "b": st.one_of(st.none(), st.fixed_dictionaries({"c": inner}))}),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(struct, max_size=12), st.integers(0, 4), st.booleans())
def test_flattening_equals_reaching_in(values, seed, shuffled):
    features = Features({"n": Value("int64"), "x": {"a": Value("int64"), "b": {"c": Value("int64")}}})
    ds = Dataset.from_dict({"n": range(len(values)), "x": values}, features=features)
    ds = ds.shuffle(seed=seed) if shuffled else ds.skip(seed)
    rows = ds.to_list()

    def reach(row, *names):
        for name in names:
            row = None if row is None else row[name]
        return row

    assert ds.flatten().to_list() == [
        {"n": row["n"], "x.a": reach(row, "x", "a"), "x.b.c": reach(row, "x", "b", "c")} for row in rows
    ]
