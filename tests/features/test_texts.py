"""Values that are no text where a feature is text: as Python writes them in rows, as Arrow does in casts."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gristmill.builder.arrow_writer import ArrowWriter
from gristmill.dataset import Dataset
from gristmill.errors import CastError
from gristmill.features import Features, LargeList, List, Sequence, Value
from gristmill.iterable import IterableDataset

TEXT = Features({"a": Value("string")})
KINDS: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "bool": ([True, None, False], ["True", None, "False"], ["true", None, "false"]),
    "float": ([1.0, None, 1e16, 1e-7], ["1.0", None, "1e+16", "1e-07"], ["1", None, "1e+16", "1e-7"]),
    "nan": ([float("nan"), float("inf")], ["nan", "inf"], ["nan", "inf"]),
    "int": ([1, None, -3], ["1", None, "-3"], ["1", None, "-3"]),
    "large int": ([2**64 - 1, None], [str(2**64 - 1), None], [str(2**64 - 1), None]),
    "moment": (
        [dt.datetime.fromisoformat("2020-01-02T03:00:00")],
        ["2020-01-02 03:00:00"],
        ["2020-01-02 03:00:00.000000"],
    ),
    "date": ([dt.date(2020, 1, 2), None], ["2020-01-02", None], ["2020-01-02", None]),
    "time": ([dt.time(1, 2, 3)], ["01:02:03"], ["01:02:03.000000"]),
    "duration": ([dt.timedelta(seconds=3)], ["0:00:03"], ["3000000"]),
    "decimal": ([Decimal("1.50")], ["1.50"], ["1.50"]),
    "bytes": ([b"ab", None], ["ab", None], ["ab", None]),
    "text": (["True", None, "1.0"], ["True", None, "1.0"], ["True", None, "1.0"]),
    "nothing": ([None, None], [None, None], [None, None]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_given_become_the_text_of_python(kind):
    values, text, _ = KINDS[kind]
    rows = [{"a": value} for value in values]
    assert Dataset.from_dict({"a": values}, features=TEXT)["a"][:] == text
    assert Dataset.from_list(rows, features=TEXT)["a"][:] == text
    assert Dataset.from_dict({"a": values}, features=Features(a=Value("large_string")))["a"][:] == text
    stream = IterableDataset.from_generator(lambda: iter(rows), features=TEXT)
    assert [row["a"] for row in stream] == text
    added = Dataset.from_dict({"n": values}).add_column("a", values, feature=Value("string"))
    assert added["a"][:] == text


def test_a_generator_gives_the_text_of_python(tmp_path):
    def rows():
        yield from ({"a": value} for value in [True, 1.0, None, 3])

    made = Dataset.from_generator(rows, features=TEXT, cache_dir=str(tmp_path))
    assert made["a"][:] == ["True", "1.0", None, "3"]


@pytest.mark.parametrize("kind", KINDS)
def test_casts_map_frames_and_the_writer_give_the_text_of_arrow(kind, tmp_path):
    values, _, text = KINDS[kind]
    numbers = Dataset.from_dict({"i": list(range(len(values)))})
    assert Dataset.from_dict({"a": values}).cast(TEXT)["a"][:] == text
    assert Dataset.from_dict({"a": values}).cast_column("a", Value("string"))["a"][:] == text
    made = numbers.map(lambda row: {"a": values[row["i"]]}, features=TEXT, remove_columns=["i"])
    assert made["a"][:] == text
    with ArrowWriter(path=str(tmp_path / "a.arrow"), features=TEXT) as writer:
        writer.write_batch({"a": values})
        writer.finalize()
    assert Dataset.from_file(str(tmp_path / "a.arrow"))["a"][:] == text


@pytest.mark.parametrize(
    ("feature", "value", "python", "arrow"),
    [
        (List(Value("string")), [True, None], ["True", None], ["true", None]),
        (LargeList(Value("string")), [1.0], ["1.0"], ["1"]),
        (List(Value("string"), length=2), [True, 2], ["True", "2"], ["true", "2"]),
        (List(List(Value("string"))), [[True], None], [["True"], None], [["true"], None]),
        ({"b": Value("string"), "c": Value("bool")}, {"b": True, "c": True}, {"b": "True", "c": True}, {"b": "true", "c": True}),
        (Sequence({"b": Value("string")}), {"b": [True]}, {"b": ["True"]}, {"b": ["true"]}),
        (Sequence({"b": Value("string")}), [{"b": True}], {"b": ["True"]}, {"b": ["true"]}),
        ({"b": List(Value("string"))}, {"b": None}, {"b": None}, {"b": None}),
    ],
)  # fmt: skip
def test_text_inside_lists_and_structs(feature, value, python, arrow):
    features = Features({"a": feature})
    given = Dataset.from_dict({"a": [value, None]}, features=features)["a"][:]
    assert given[0] == python
    made = Dataset.from_dict({"i": [0]}).map(
        lambda row: {"a": value}, features=features, remove_columns=["i"]
    )
    assert made["a"][:] == [arrow]


def test_one_text_for_a_value_whatever_stands_beside_it():
    mixed = [True, 1, 1.5, "x", None]
    assert Dataset.from_dict({"a": mixed}, features=TEXT)["a"][:] == ["True", "1", "1.5", "x", None]
    arrow = ["true", "1", "1.5", "x", None]
    numbers = Dataset.from_dict({"i": [0, 1, 2, 3, 4]})
    for size in (1, 2, 5):  # blocks of one type and of several
        made = numbers.map(
            lambda row: {"a": mixed[row["i"]]}, features=TEXT, remove_columns=["i"], writer_batch_size=size
        )
        assert made["a"][:] == arrow
    assert Dataset.from_pandas(pd.DataFrame({"a": mixed}), features=TEXT)["a"][:] == arrow


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, 2.5]), ["1.0", "2.5"]),
        (np.array([0.1, 1.0], "f4"), ["0.1", "1.0"]),
        (np.array([True, False]), ["True", "False"]),
        (np.array([[True], [False]]), [["True"], ["False"]]),
        (np.array(["2020-01-02", "NaT"], "M8[D]"), ["2020-01-02", None]),
        (pd.Series([True, False]), ["True", "False"]),
        ([pd.Timestamp("2020-01-02"), pd.NaT], ["2020-01-02 00:00:00", None]),
    ],
)
def test_arrays_and_series(array, text):
    feature = List(Value("string")) if isinstance(text[0], list) else Value("string")
    assert Dataset.from_dict({"a": array}, features=Features({"a": feature}))["a"][:] == text


def test_lists_and_dicts_are_no_text():
    for value in ([1, 2], {"b": 1}):
        with pytest.raises(CastError, match="can't become string"):
            Dataset.from_dict({"a": [value]}, features=TEXT)
