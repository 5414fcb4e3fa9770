"""Tables of what a function returned for rows: many blocks together become what each alone would."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import ClassLabel, Dataset, Features, Value
from gristmill.calling import gathering
from gristmill.errors import GristmillError, TransformError, TransformOutputError

VALUES = {
    "ints": lambda number: {"v": number},
    "big": lambda number: {"v": 2**62 + number},
    "too big": lambda number: {"v": 2**64 + number},
    "floats": lambda number: {"v": number / 7},
    "texts": lambda number: {"v": f"text {number}"},
    "Nones": lambda number: {"v": None if number % 3 else number},
    "bools": lambda number: {"v": number % 2 == 0},
    "lists": lambda number: {"v": [number]},
    "two": lambda number: {"v": number, "w": str(number)},
    "turned": lambda number: {"w": str(number), "v": number},
    "old": lambda number: {"i": number, "v": number},
    "none": lambda number: None,
    "empty": lambda number: {},
    "text that is none": lambda number: {"v": "\ud800"},
}


def outcome(answers):
    ds = Dataset.from_dict({"i": list(range(len(answers)))})
    try:
        made = ds.map(lambda row: answers[row["i"]], keep_in_memory=True)
    except GristmillError as error:
        return type(error), str(error)
    return made.features, made.to_dict()


@given(st.lists(st.tuples(st.sampled_from(sorted(VALUES)), st.integers(1, 1500)), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_many_blocks_become_what_each_alone_would(runs):
    kinds = [kind for kind, count in runs for _ in range(count)]
    answers = [VALUES[kind](number) for number, kind in enumerate(kinds)]
    together = outcome(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "_MOST_ROWS", 0)
        assert together == outcome(answers)


def test_values_of_many_blocks_are_written_in_order():
    ds = Dataset.from_dict({"i": list(range(30_000)), "t": [f"t{number}" for number in range(30_000)]})
    made = ds.map(lambda row: {"n": row["i"] + 1, "u": row["t"].upper()})
    assert made["n"] == list(range(1, 30_001))
    assert made["u"] == [f"T{number}" for number in range(30_000)]
    assert made["t"][29_999] == "t29999"


def test_what_is_wrong_with_a_row_comes_before_a_later_failure():
    def function(row):
        if row["i"] == 1700:
            raise ValueError("boom")
        return {"n": "\ud800" if row["i"] == 1300 else "fine"}

    with pytest.raises(TransformOutputError, match="row 1300") as caught:
        Dataset.from_dict({"i": list(range(2000))}).map(function)
    assert "boom" not in str(caught.value)


def test_a_failure_is_told_with_the_functions_own_error():
    def function(row):
        return {"n": 10 // (1500 - row["i"])}

    with pytest.raises(TransformError, match="row 1500: ZeroDivisionError") as caught:
        Dataset.from_dict({"i": list(range(2000))}).map(function)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__traceback__ is not None


def test_a_class_that_there_is_not_is_found_in_later_blocks():
    features = Features({"i": Value("int64"), "y": ClassLabel(names=["a", "b"])})
    ds = Dataset.from_dict({"i": list(range(2000)), "y": [0] * 2000}, features=features)
    assert ds.map(lambda row: {"y": 1 - row["y"]})["y"] == [1] * 2000
    with pytest.raises(TransformOutputError, match="row 1900"):
        ds.map(lambda row: {"y": 7 if row["i"] == 1900 else 1})


def test_progress_is_told_block_after_block():
    told: list[int] = []
    ds = Dataset.from_dict({"i": list(range(1200))})
    caller, outputs = _plan(ds, lambda row: {"n": row["i"]})
    tables = list(gathering.iter_row_tables(caller, outputs, 100, 1200, None, told.append))
    assert told == [512, 512, 76]
    assert [(begin, rows, table and table.num_rows) for begin, rows, table in tables] == [
        (100, 512, 512),
        (612, 588, 588),
    ]


def _plan(ds, function):
    from gristmill.calling.caller import Caller
    from gristmill.calling.outputs import Outputs
    from gristmill.formatting import FormatSpec

    told: dict[str, Any] = {
        "batched": False,
        "with_indices": False,
        "with_rank": False,
        "input_columns": None,
        "fn_kwargs": None,
    }
    caller = Caller.plan(ds._view, ds.features, FormatSpec(), function=function, **told)
    return caller, Outputs("the function", None, {}, {})
