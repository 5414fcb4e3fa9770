"""Rows in any order out of columns of any type."""

import numpy as np
import pyarrow as pa
import pytest

from gristmill.features.visit import storage_type, with_type
from gristmill.table.gather import gather

VIEWS = [
    pa.string_view(),
    pa.list_(pa.string_view()),
    pa.struct({"a": pa.binary_view()}),
    pa.list_(pa.list_(pa.json_())),
]
VALUES = [
    ["a", None, "b" * 20],
    [["a"], None, ["b" * 20, None]],
    [{"a": b"a"}, None, {"a": None}],
    [[["1"]], None, [None, []]],
]


@pytest.mark.parametrize(("type_", "values"), list(zip(VIEWS, VALUES, strict=True)))
@pytest.mark.parametrize("chunks", [1, 2])
def test_views_and_extension_types(type_, values, chunks):
    column = with_type(pa.array(values, storage_type(type_)), type_)
    table = pa.table({"x": pa.chunked_array([column] * chunks)})
    rows = np.array([2, 0, 1, 2]) + 3 * (chunks - 1) * np.array([1, 0, 1, 0])
    made = gather(table, rows)
    made.validate(full=True)
    assert made.schema == table.schema
    assert made["x"].to_pylist() == [values[row % 3] for row in rows]
