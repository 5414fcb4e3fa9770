"""What a row is does not depend on the block that it comes in: blocks are cut by the clock."""

import os
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import interleave_datasets
from gristmill.features import ClassLabel, Features, Value
from gristmill.iterable import IterableDataset
from gristmill.iterable.pacing import Pace

VALUES = [
    None, 1, -5, 1 << 62, 1 << 63, True, 2.5, float("nan"), "x", "", b"b", [1, 2], [1, 2.5], [], [None, 1], ["x"], [[1], []],
    {"x": 1}, {"x": None, "y": "a"}, np.int8(3), np.float32(0.5), np.arange(3, dtype=np.int16), np.ones((2, 2)), np.array([]),
]  # fmt: skip
FORMATS = [None, "numpy", "arrow"]


def exact(value):
    """Gives a value with all that tells it from others: types, and the order of columns."""
    if isinstance(value, dict):
        return [(name, exact(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [list, *map(exact, value)]
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, [exact(item) for item in value.ravel()])
    if isinstance(value, pa.Table):
        return (str(value.schema), repr(value.to_pylist()))
    return (type(value).__name__, repr(value))


def paced(monkeypatched, seed):
    draws = random.Random(seed)
    monkeypatched.setattr(Pace, "stop", lambda self, rows: setattr(self, "rows", draws.randint(1, 7)))


def answer(kind, value, row):
    if kind == "in place":
        row["b"] = value
        if row["n"] % 3 == 0:
            row["n"] = row["n"] + 1
        return row
    if kind == "keys":
        return {"b": value} if row["n"] % 2 else {"c": value, "b": 1}
    if kind == "nothing":
        return {"b": value} if row["n"] % 3 else None
    return {"b": value}


SCHEMA = Features({"n": Value("int16"), "label": ClassLabel(names=["no", "yes"])})


@settings(max_examples=int(os.environ.get("GRISTMILL_TREES", "60")))
@given(
    values=st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=12),
    kind=st.sampled_from(["plain", "keys", "in place", "nothing"]),
    inner=st.sampled_from(FORMATS[:2]),
    outer=st.sampled_from(FORMATS),
    after=st.sampled_from(["as it is", "interleave", "shuffle", "batch", "filter", "group"]),
)
def test_rows_do_not_depend_on_blocks(values, kind, inner, outer, after):
    rows = {"n": list(range(len(values))), "label": [n % 2 for n in range(len(values))]}

    def make():
        stream = IterableDataset.from_dict(rows, SCHEMA).with_format(inner)
        stream = stream.map(lambda row: answer(kind, VALUES[values[int(row["n"]) % len(values)]], row))
        if after == "interleave":
            other = IterableDataset.from_dict({"n": [10.5, 11.5, 12.5], "label": ["a", "b", "c"]})
            stream = interleave_datasets(
                [stream, other], stopping_strategy="all_exhausted_without_replacement"
            )
        elif after == "shuffle":
            stream = stream.shuffle(seed=1, buffer_size=5)
        elif after == "batch":
            stream = stream.batch(2)
        elif after == "group":
            stream = stream.batch(by_column="label")
        elif after == "filter":
            stream = stream.filter(lambda label: label == 0, input_columns="label")
        return stream.with_format(outer)

    def read(seed, start=0):
        with pytest.MonkeyPatch.context() as patched:
            paced(patched, seed)
            stream = make()
            reading, found = iter(stream), []
            try:
                for row in reading:
                    found.append(exact(row))
                    if start and len(found) == start:
                        again = make()
                        again.load_state_dict(stream.state_dict())
                        reading.close()
                        return found + [exact(row) for row in again]
            except Exception as error:  # noqa: BLE001  # what Arrow can't hold is refused, whatever the block
                found.append([type(error).__name__])
            return found

    whole = read(0)
    assert read(1) == whole
    assert read(2) == whole
    if len(whole) > 1 and len(whole[-1]) > 1:
        assert read(3, start=len(whole) // 2) == whole


def test_none_among_numbers_is_none():
    stream = IterableDataset.from_dict({"n": range(40)}).map(
        lambda row: {"b": row["n"] if row["n"] % 5 else None}
    )
    found = [row["b"] for row in stream.with_format("numpy")]
    assert [value is None for value in found] == [n % 5 == 0 for n in range(40)]
    assert all(type(value) is np.int64 for value in found if value is not None)
    batch = next(stream.with_format("numpy").iter(6))["b"]
    assert np.array_equal(batch, [np.nan, 1, 2, 3, 4, np.nan], equal_nan=True)


def test_what_was_not_touched_stays_what_it_was():
    def change(row):
        if row["n"] == 3:
            row["n"] = 7
        return row

    changed = list(
        IterableDataset.from_dict({"n": [1, 2, 3, 4], "label": [0, 1, 0, 1]}, SCHEMA).map(change).iter(4)
    )
    assert changed == [{"n": [1, 2, 7, 4], "label": [0, 1, 0, 1]}]
    rows = list(
        IterableDataset.from_dict({"n": [1, 2, 3], "label": [0, 1, 0]}, SCHEMA)
        .map(change)
        .with_format("numpy")
    )
    assert [row["n"].dtype for row in rows] == ["int16", "int16", "int64"]
