"""What tensors and arrays are made of."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gristmill.formatting.structure import Ragged, structure_of


def plain(structure):
    """Python values again, NaN for the nulls among numbers."""
    if isinstance(structure, Ragged):
        return [piece.tolist() for piece in structure.pieces()]
    if isinstance(structure, np.ndarray | np.generic):
        return structure.tolist()
    if isinstance(structure, list):
        return [plain(item) for item in structure]
    if isinstance(structure, dict):
        return {name: plain(item) for name, item in structure.items()}
    return structure


def same(mine, theirs):
    if isinstance(theirs, list):
        return isinstance(mine, list) and len(mine) == len(theirs) and all(map(same, mine, theirs))
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[name], theirs[name]) for name in theirs)
    if theirs is None:
        return mine is None or math.isnan(mine)
    return mine == theirs


def lists(items):
    return st.none() | st.lists(items, max_size=3)


INTEGERS = st.none() | st.integers(-(2**24), 2**24)  # exact as float32 too, which nulls make of them
COLUMNS = {
    "integers": (INTEGERS, pa.int32()),
    "floats": (st.none() | st.floats(-1000, 1000, width=32), pa.float32()),
    "booleans": (st.none() | st.booleans(), pa.bool_()),
    "texts": (st.none() | st.text(max_size=3), pa.string()),
    "lists": (lists(INTEGERS), pa.list_(pa.int32())),
    "pairs": (st.none() | st.lists(INTEGERS, min_size=2, max_size=2), pa.list_(pa.int32(), 2)),
    "deep": (lists(lists(INTEGERS)), pa.large_list(pa.list_(pa.int32()))),
    "square": (st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=2), pa.list_(pa.list_(pa.int32()))),
    "lists of texts": (lists(st.none() | st.text(max_size=2)), pa.list_(pa.string())),
    "dicts": (
        st.none() | st.fixed_dictionaries({"n": INTEGERS, "l": lists(INTEGERS), "t": st.none() | st.text(max_size=2)}),
        pa.struct({"n": pa.int32(), "l": pa.list_(pa.int32()), "t": pa.string()}),
    ),
    "lists of dicts": (lists(st.fixed_dictionaries({"n": INTEGERS})), pa.list_(pa.struct({"n": pa.int32()}))),
}  # fmt: skip


@st.composite
def columns(draw, kinds=tuple(COLUMNS)):
    """Draws (values, the same as a column cut into chunks and sliced)."""
    values, arrow_type = COLUMNS[draw(st.sampled_from(kinds))]
    rows = draw(st.lists(values, max_size=8))
    array = pa.array([*rows[:1], *rows, *rows[:1]], arrow_type)  # sliced, so that offsets do not start at 0
    array = array.slice(min(1, len(rows)), len(rows))
    cut = draw(st.integers(0, len(rows)))
    return rows, pa.chunked_array([array.slice(0, cut), array.slice(cut)], arrow_type)


@given(columns(), st.booleans())
def test_values_come_back(column, by_row):
    rows, values = column
    assert same(plain(structure_of(values, by_row)), rows)


def test_one_array_where_the_shape_allows():
    def made(rows, arrow_type=None, by_row=False):
        return structure_of(pa.chunked_array([pa.array(rows, arrow_type)]), by_row)

    assert made([[[1, 2]], [[3, 4]]]).shape == (2, 1, 2)
    assert made([[1, None], [2, 3]]).dtype == np.float64
    assert [row.dtype.kind for row in made([[1, None], [2, 3]], by_row=True)] == ["f", "i"]
    assert isinstance(made([[1], [2, 3]]), Ragged)
    assert [row.dtype.kind for row in made([[None], [2, 3]])] == ["f", "i"]
    assert made(["a", "a"], pa.dictionary(pa.int8(), pa.string())) == ["a", "a"]
    assert made([True, False]).dtype == np.bool_
    assert made([True, None]) == [True, None]
    assert [type(value) for value in made([1, None], by_row=True)] == [np.int64, np.float64]
    assert made([[]], pa.list_(pa.list_(pa.int8()))) == [[]]
    assert made([[1, 2]], pa.list_view(pa.int64())).tolist() == [[1, 2]]
    shared = pa.chunked_array([pa.array([1, 2, 3])])
    assert not structure_of(shared).flags.owndata, "numbers without nulls are not copied"
